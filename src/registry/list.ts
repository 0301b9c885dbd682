import { expiredContinueToken, serviceUnavailable } from '../api/api-errors.ts'
import { StoreFailure } from '../store/errors.ts'
import type { Key } from '../store/key.ts'
import type { ListSlice, StoredObject, View } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'
import type { Answer, VerbRequest } from './answer.ts'
import { readContinueToken, writeContinueToken } from './continue-token.ts'
import type { ListScope, PagePosition } from './continue-token.ts'
import { apiVersionOf } from './definition.ts'
import { readListOptions } from './options.ts'
import type { ListOptions } from './options.ts'
import type { VerbParts } from './parts.ts'
import { listPieces } from './pieces.ts'
import { readState } from './read-state.ts'
import { selectionOf } from './selection.ts'
import type { Selection } from './selection.ts'
import { apiErrorOf } from './store-errors.ts'
import { tableHead } from './table.ts'
import { tablePieces } from './table-pieces.ts'

/** Spec 4.8. All pages of a list show one revision; a page needs nothing kept on any member. */
export async function list(parts: VerbParts, request: VerbRequest): Promise<Answer> {
  const options = readListOptions(request.query)
  const selection = selectionOf(request.definition, request.target, options)
  const page = await readPage(parts, request, options, selection)
  const { definition, table } = request
  const metadata = listMetadata(page, continueTokenOf(parts, page, scopeOf(request, options, selection)))
  const items = page.unfiltered ? matching(page.objects, selection) : page.objects
  if (table !== undefined) {
    const head = tableHead(definition, table, metadata)
    return {
      kind: 'pieces',
      code: 200,
      pieces: tablePieces({ definition, shape: table }, head, items, parts),
    }
  }
  const head = listHead(request, metadata)
  return { kind: 'pieces', code: 200, pieces: listPieces(head, items, parts.limits.pieceBytes) }
}

type Page = {
  readonly revision: Revision
  readonly objects: readonly StoredObject[]
  /** The selection is still to be applied, piece by piece: an unlimited list may be long. */
  readonly unfiltered: boolean
  /** Where the next page goes on; null: this is the last. */
  readonly next: { readonly after: Key; readonly remaining: number | null } | null
}

/** @throws ApiError */
export async function readPage(
  parts: VerbParts,
  request: VerbRequest,
  options: ListOptions,
  selection: Selection,
): Promise<Page> {
  const { store, limits } = parts
  if (options.continueToken !== null) {
    const bytesMax = limits.continueTokenBytesMax
    const key = continueKey(parts)
    const scope = scopeOf(request, options, selection)
    const from = readContinueToken(options.continueToken, scope, { key, bytesMax })
    return readNextPage(parts, request, options, selection, from)
  }
  const { wanted } = options
  await readState(parts, request.context, wanted)
  const view = store.view()
  if (wanted.kind !== 'exact' || view.revision === wanted.revision) {
    const remaining = selection.everything ? view.count(selection.prefix) : null
    return pageOf(view, parts, options, selection, { after: null, remaining })
  }
  try {
    return await pageAt(parts, wanted.revision, options, selection, null)
  } catch (cause) {
    throw apiErrorOf(cause)
  }
}

async function readNextPage(
  parts: VerbParts,
  request: VerbRequest,
  options: ListOptions,
  selection: Selection,
  from: PagePosition,
): Promise<Page> {
  const { store } = parts
  const { revision, after } = from
  if (revision === null) {
    await readState(parts, request.context, { kind: 'most-recent' })
    const view = store.view()
    // Rare enough to be counted one by one.
    const behind = selection.everything ? view.list(selection.prefix, { after, limit: null }) : null
    return pageOf(view, parts, options, selection, { after, remaining: behind?.objects.length ?? null })
  }
  await readState(parts, request.context, { kind: 'exact', revision })
  const view = store.view()
  if (view.revision === revision) return pageOf(view, parts, options, selection, from)
  try {
    return await pageAt(parts, revision, options, selection, from)
  } catch (cause) {
    if (!isCompacted(cause)) throw apiErrorOf(cause)
    const position = { revision: null, after, remaining: null }
    const scope = scopeOf(request, options, selection)
    throw expiredContinueToken(writeContinueToken(position, scope, continueKey(parts)))
  }
}

type Start = {
  readonly after: Key | null
  /** Objects behind `after`, those of this page included. */
  readonly remaining: number | null
}

/** Synchronous: the newest view is good until something is awaited. */
function pageOf(
  view: View,
  parts: VerbParts,
  options: ListOptions,
  selection: Selection,
  start: Start,
): Page {
  const { revision } = view
  if (selection.key !== null) return onlyPage(revision, view.get(selection.key), selection)
  if (options.limit === null) {
    const { objects } = view.list(selection.prefix, { after: start.after, limit: null })
    return { revision, objects, unfiltered: !selection.everything, next: null }
  }
  const gathered = new Gathering(options.limit, selection, start)
  while (gathered.wantsMore) {
    const limit = gathered.sliceLimit(parts.limits.sliceObjectsMax)
    gathered.take(view.list(selection.prefix, { after: gathered.after, limit }))
  }
  return gathered.page(revision)
}

/** @param from null: from the first object on */
async function pageAt(
  parts: VerbParts,
  revision: Revision,
  options: ListOptions,
  selection: Selection,
  from: Start | null,
): Promise<Page> {
  const view = parts.store.viewAt(revision)
  if (selection.key !== null) return onlyPage(revision, await view.get(selection.key), selection)
  const isCounted = from === null && options.limit !== null && selection.everything
  const start = from ?? { after: null, remaining: isCounted ? await view.count(selection.prefix) : null }
  const gathered = new Gathering(options.limit ?? Infinity, selection, start)
  while (gathered.wantsMore) {
    const limit = gathered.sliceLimit(parts.limits.sliceObjectsMax)
    gathered.take(await view.list(selection.prefix, { after: gathered.after, limit }))
  }
  return gathered.page(revision)
}

function onlyPage(revision: Revision, stored: StoredObject | null, selection: Selection): Page {
  const objects = stored !== null && selection.matches(stored) ? [stored] : []
  return { revision, objects, unfiltered: false, next: null }
}

/** Collects one page from slices, up to its limit of matching objects. */
class Gathering {
  readonly #limit: number
  readonly #selection: Selection
  readonly #remaining: number | null
  readonly #objects: StoredObject[] = []
  #after: Key | null
  #more = true

  constructor(limit: number, selection: Selection, start: Start) {
    this.#limit = limit
    this.#selection = selection
    this.#after = start.after
    this.#remaining = start.remaining
  }

  get after(): Key | null {
    return this.#after
  }

  get wantsMore(): boolean {
    return this.#more && this.#objects.length < this.#limit
  }

  /** Without a selector a slice is exactly what is missing; with one, it is as large as allowed. */
  sliceLimit(sliceObjectsMax: number): number {
    const missing = this.#limit - this.#objects.length
    return this.#selection.everything ? Math.min(missing, sliceObjectsMax) : sliceObjectsMax
  }

  take(slice: ListSlice): void {
    this.#more = slice.more
    for (const [at, stored] of slice.objects.entries()) {
      this.#after = stored.key
      if (!this.#selection.matches(stored)) continue
      this.#objects.push(stored)
      if (this.#objects.length < this.#limit) continue
      this.#more = slice.more || at < slice.objects.length - 1
      return
    }
  }

  page(revision: Revision): Page {
    const objects = this.#objects
    const page = { revision, objects, unfiltered: false }
    if (!this.#more || this.#after === null) return { ...page, next: null }
    const remaining = this.#remaining === null ? null : Math.max(1, this.#remaining - objects.length)
    return { ...page, next: { after: this.#after, remaining: this.#selection.everything ? remaining : null } }
  }
}

function* matching(objects: readonly StoredObject[], selection: Selection): Generator<StoredObject, void> {
  for (const stored of objects) if (selection.matches(stored)) yield stored
}

function scopeOf({ target }: VerbRequest, options: ListOptions, { prefix }: Selection): ListScope {
  const { labelSelector, fieldSelector } = options
  return { namespace: target.namespace, prefix, labelSelector, fieldSelector }
}

function continueTokenOf(parts: VerbParts, page: Page, scope: ListScope): string | null {
  if (page.next === null) return null
  return writeContinueToken({ revision: page.revision, ...page.next }, scope, continueKey(parts))
}

function continueKey(parts: VerbParts): Uint8Array {
  const { identity } = parts.store
  if (identity === null)
    throw serviceUnavailable('the cluster has not been created yet', { retryAfterSeconds: 1 })
  return identity.continueTokenKey
}

function listMetadata(page: Page, token: string | null): object {
  const remaining = page.next?.remaining ?? null
  return {
    resourceVersion: String(page.revision),
    ...(token === null ? {} : { continue: token }),
    ...(remaining === null ? {} : { remainingItemCount: remaining }),
  }
}

function listHead({ definition }: VerbRequest, metadata: object): string {
  const type = `"kind":${JSON.stringify(`${definition.kind}List`)},"apiVersion":${JSON.stringify(apiVersionOf(definition))}`
  return `{${type},"metadata":${JSON.stringify(metadata)},"items":[`
}

function isCompacted(cause: unknown): boolean {
  return cause instanceof StoreFailure && cause.code === 'compacted'
}
