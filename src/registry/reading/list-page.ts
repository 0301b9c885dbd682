import { expiredContinueToken, serviceUnavailable } from '../../api/errors/standard-errors.ts'
import { StoreError } from '../../store/store-errors.ts'
import type { Key } from '../../store/key.ts'
import type { ListSlice, ObjectStore, StoredObject } from '../../store/object-store.ts'
import type { Revision } from '../../store/revision.ts'
import type { VerbRequest } from '../calls/verb.ts'
import { wantedBy } from '../calls/consistency.ts'
import { readContinueToken, writeContinueToken } from '../calls/continue-token.ts'
import type { ListScope, PagePosition } from '../calls/continue-token.ts'
import type { ListOptions } from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { readState } from './read-state.ts'
import type { Selection } from './selection.ts'
import { selectedOf, sliceAt } from './slices.ts'
import { yieldToEventLoop } from '../shared/yield-budget.ts'
import type { Batches } from './slices.ts'
import { apiErrorOf } from '../shared/store-error-mapping.ts'

/** The result of one list request. */
export type ListPage = {
  /** null: the objects are not stored. */
  readonly revision: Revision | null
  /**
   * The selected objects in key order. The first batch is read already, so that errors are found
   * before the response begins; a later one throws StoreError `compacted` if the history is
   * compacted before it is read.
   */
  readonly batches: Batches
  /** Start of the next page; null: this is the last page. */
  readonly next: { readonly token: string; readonly remaining: number | null } | null
}

/** @throws ApiError */
export async function readPage(
  dependencies: VerbDependencies,
  request: VerbRequest,
  options: ListOptions,
  selection: Selection,
): Promise<ListPage> {
  const { store, limits } = dependencies
  const wanted = wantedBy(request, options.wanted)
  if (options.continueToken !== null) {
    const scope = scopeOf(request, options, selection)
    const bytesMax = limits.continueTokenBytesMax
    const from = readContinueToken(options.continueToken, scope, { key: continueKey(store), bytesMax })
    return readNextPage(dependencies, request, options, selection, from)
  }
  const revision = await readState(dependencies, request.context, wanted, {
    take: () => (wanted.kind === 'exact' ? wanted.revision : store.view().revision),
  })
  try {
    const counted = options.limit !== null && selection.everything && selection.key === null
    const remaining = counted ? await countAt(store, revision, selection) : null
    const start = { revision, after: null, remaining }
    return await pageAt(dependencies, request, options, selection, start)
  } catch (cause) {
    throw apiErrorOf(cause)
  }
}

async function readNextPage(
  dependencies: VerbDependencies,
  request: VerbRequest,
  options: ListOptions,
  selection: Selection,
  from: PagePosition,
): Promise<ListPage> {
  const { store } = dependencies
  const { revision, after } = from
  if (revision === null) {
    const start = await readState(
      dependencies,
      request.context,
      { kind: 'most-recent' },
      {
        take: () => {
          const view = store.view()
          // Rare, so counting them one by one is acceptable.
          const following = selection.everything ? view.list(selection.prefix, { after, limit: null }) : null
          return { revision: view.revision, after, remaining: following?.objects.length ?? null }
        },
      },
    )
    return pageAt(dependencies, request, options, selection, start)
  }
  await readState(dependencies, request.context, { kind: 'exact', revision }, { take: () => undefined })
  try {
    return await pageAt(dependencies, request, options, selection, { ...from, revision })
  } catch (cause) {
    if (!isCompacted(cause)) throw apiErrorOf(cause)
    const position = { revision: null, after, remaining: null }
    const scope = scopeOf(request, options, selection)
    throw expiredContinueToken(writeContinueToken(position, scope, continueKey(store)))
  }
}

type PageStart = {
  readonly revision: Revision
  readonly after: Key | null
  /** Number of objects after `after`, including those of this page; null: unknown. */
  readonly remaining: number | null
}

async function pageAt(
  dependencies: VerbDependencies,
  request: VerbRequest,
  options: ListOptions,
  selection: Selection,
  start: PageStart,
): Promise<ListPage> {
  const { revision } = start
  const { deadlineMs } = request.context
  const reading = { deadlineMs, ...start }
  if (selection.key !== null) return singleObjectPage(dependencies, selection, selection.key, reading)
  if (options.limit === null) return unlimitedPage(dependencies, selection, reading)
  const gathered = await collectPage(dependencies, selection, reading, options.limit)
  const { objects, after } = gathered
  if (!gathered.more || after === null) return { revision, batches: [objects], next: null }
  const remaining =
    start.remaining === null || !selection.everything ? null : Math.max(1, start.remaining - objects.length)
  const scope = scopeOf(request, options, selection)
  const token = writeContinueToken({ revision, after, remaining }, scope, continueKey(dependencies.store))
  return { revision, batches: [objects], next: { token, remaining } }
}

/** @param deadlineMs of the request */
type Reading = PageStart & { readonly deadlineMs: number }

async function singleObjectPage(
  dependencies: VerbDependencies,
  selection: Selection,
  key: Key,
  { revision, deadlineMs }: Reading,
): Promise<ListPage> {
  const { store } = dependencies
  const view = store.view()
  const stored = view.revision === revision ? view.get(key) : await store.viewAt(revision).get(key)
  const found = stored === null ? [] : [stored]
  const objects = await selectedOf(dependencies, selection, found, { most: 1, deadlineMs })
  return { revision, batches: [objects], next: null }
}

/** Returns everything in slices, each read on demand. */
async function unlimitedPage(
  dependencies: VerbDependencies,
  selection: Selection,
  reading: Reading,
): Promise<ListPage> {
  const { revision, after, deadlineMs } = reading
  const limit = dependencies.limits.sliceObjectsMax
  const slice = await sliceAt(dependencies.store, revision, selection.prefix, { after, limit })
  const first = await selectedOf(dependencies, selection, slice.objects, { most: limit, deadlineMs })
  const many: Batches = {
    [Symbol.asyncIterator]: () => remainingBatches(dependencies, selection, reading, { first, slice }),
  }
  return { revision, batches: slice.more ? many : [first], next: null }
}

async function* remainingBatches(
  dependencies: VerbDependencies,
  selection: Selection,
  { revision, deadlineMs }: Reading,
  { first, slice: before }: { readonly first: readonly StoredObject[]; readonly slice: ListSlice },
): AsyncGenerator<readonly StoredObject[], void> {
  const limit = dependencies.limits.sliceObjectsMax
  yield first
  for (let slice = before; slice.more;) {
    await yieldToEventLoop(dependencies.clock)
    slice = await sliceAt(dependencies.store, revision, selection.prefix, { after: lastKeyOf(slice), limit })
    yield await selectedOf(dependencies, selection, slice.objects, { most: limit, deadlineMs })
  }
}

type PageObjects = {
  readonly objects: readonly StoredObject[]
  readonly after: Key | null
  readonly more: boolean
}

/** Collects one page from as many slices as needed, yielding between them. */
async function collectPage(
  dependencies: VerbDependencies,
  selection: Selection,
  start: Reading,
  limit: number,
): Promise<PageObjects> {
  const { store, clock, limits } = dependencies
  const { deadlineMs } = start
  const objects: StoredObject[] = []
  let { after } = start
  while (true) {
    const missing = limit - objects.length
    // Without a selector, no more than the missing objects are read.
    const most = selection.everything ? Math.min(missing, limits.sliceObjectsMax) : limits.sliceObjectsMax
    const slice = await sliceAt(store, start.revision, selection.prefix, { after, limit: most })
    const selected = await selectedOf(dependencies, selection, slice.objects, { most: missing, deadlineMs })
    for (const stored of selected) objects.push(stored)
    const last = slice.objects.at(-1)
    if (selected.length === missing) {
      const taken = objects.at(-1)
      return { objects, after: taken?.key ?? after, more: slice.more || taken !== last }
    }
    after = last?.key ?? after
    if (!slice.more) return { objects, after, more: false }
    await yieldToEventLoop(clock)
  }
}

function lastKeyOf(slice: ListSlice): Key | null {
  return slice.objects.at(-1)?.key ?? null
}

function countAt(store: ObjectStore, revision: Revision, { prefix }: Selection): number | Promise<number> {
  const view = store.view()
  return view.revision === revision ? view.count(prefix) : store.viewAt(revision).count(prefix)
}

function scopeOf({ target }: VerbRequest, options: ListOptions, { prefix }: Selection): ListScope {
  const { labelSelector, fieldSelector } = options
  return { namespace: target.namespace, prefix, labelSelector, fieldSelector }
}

function continueKey({ identity }: ObjectStore): Uint8Array {
  if (identity === null)
    throw serviceUnavailable('the cluster has not been created yet', { retryAfterSeconds: 1 })
  return identity.continueTokenKey
}

function isCompacted(cause: unknown): boolean {
  return cause instanceof StoreError && cause.code === 'compacted'
}
