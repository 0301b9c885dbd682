import { INITIAL_EVENTS_END } from '../../api/watch-event.ts'
import type { VerbResponse, VerbRequest } from '../calls/verb.ts'
import { wantedBy } from '../calls/consistency.ts'
import { convertedFraming, objectFraming } from '../representations/framing.ts'
import type { Framing } from '../representations/framing.ts'
import { readWatchOptions } from '../calls/query-options.ts'
import type { WatchOptions } from '../calls/query-options.ts'
import { InitialObjects } from '../reading/initial-objects.ts'
import { ObjectWatch } from '../reading/object-watch.ts'
import { openCursor } from '../reading/watch-cursor.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { readState, provenAt } from '../reading/read-state.ts'
import { STORED_FORM, formOf, isStoredForm } from '../representations/representation.ts'
import type { RequestContext } from '../calls/request.ts'
import { selectionOf } from '../reading/selection.ts'
import type { Selection } from '../reading/selection.ts'
import { apiErrorOf } from '../shared/store-error-mapping.ts'
import { tableFraming } from '../representations/table-framing.ts'
import { inRevisionOrder } from '../reading/revision-order.ts'
import type { StoredObject, WatchCursor } from '../../store/object-store.ts'

/**
 * Nothing is sent before the start is known to be within the history, so a start that is too old is
 * a plain 410. @source spec 4.8.4
 */
export async function watch(dependencies: VerbDependencies, request: VerbRequest): Promise<VerbResponse> {
  const { definition, context } = request
  const options = readWatchOptions(request.query)
  const selection = selectionOf(definition, request.target, options)
  const wanted = wantedBy(request, options.start)
  const take = (): Start => startOf(dependencies, selection, options)
  const start =
    wanted.kind === 'exact'
      ? startFrom(dependencies, context, take())
      : await readState(dependencies, context, wanted, { take, drop: ({ cursor }) => cursor?.close() })
  // In order of revision: a client that is disconnected can resume after the last event and misses
  // nothing.
  const initial = await initialOf(dependencies, selection, start, context.deadlineMs)
  const timeoutMs = options.timeoutMs ?? randomTimeoutMs(dependencies)
  const stream = new ObjectWatch({
    store: dependencies.store,
    clock: dependencies.clock,
    limits: dependencies.limits,
    framing: framingOf(dependencies, request),
    selection,
    initial,
    cursor: start.cursor,
    after: start.after,
    bookmarks: options.bookmarks,
    initialEnd: options.initialEventsEnd ? `${dependencies.names.domain}/${INITIAL_EVENTS_END}` : null,
    timeoutMs,
    observer: dependencies.observeWatch?.(definition) ?? null,
    until: (end) => dependencies.kindWatches.add(definition, end),
  })
  return { kind: 'watch', stream }
}

function framingOf(
  { frames, rows, clock, schemas }: VerbDependencies,
  { definition, representation = STORED_FORM }: VerbRequest,
): Framing {
  if (representation.as === 'table') {
    const { shape, encoding } = representation
    return tableFraming({ definition, shape, encoding, rows, nowMs: () => clock.wallMs() })
  }
  const form = formOf(definition, representation, schemas.of(definition))
  return isStoredForm(representation)
    ? objectFraming(frames, form)
    : convertedFraming(frames, form, representation)
}

type Start = {
  /** The existing objects, unordered. */
  readonly existing: readonly StoredObject[]
  /** null: the revision `after` does not exist yet. */
  readonly cursor: WatchCursor | null
  readonly after: number
}

/** Synchronous, so that no change is missed between the objects and the cursor. */
function startOf(
  dependencies: VerbDependencies,
  selection: Selection,
  { start: wanted, initialEvents }: WatchOptions,
): Start {
  const { store } = dependencies
  const view = store.view()
  const { prefix, key } = selection
  try {
    if (wanted.kind === 'exact') {
      const after = wanted.revision
      const cursor = after > view.revision ? null : openCursor(store, selection, after)
      return { existing: [], cursor, after }
    }
    if (!initialEvents) {
      return { existing: [], cursor: openCursor(store, selection, view.revision), after: view.revision }
    }
    const one = key === null ? null : view.get(key)
    const only = one === null ? [] : [one]
    const existing = key === null ? view.list(prefix, { after: null, limit: null }).objects : only
    return { existing, cursor: openCursor(store, selection, view.revision), after: view.revision }
  } catch (cause) {
    throw apiErrorOf(cause)
  }
}

/** A future version is awaited inside the stream: nothing is read or proven before. */
function startFrom(dependencies: VerbDependencies, context: RequestContext, start: Start): Start {
  return start.cursor === null ? start : provenAt(dependencies, context, start, start.after)
}

/** Closes the cursor on errors, as no watch owns it yet. */
async function initialOf(
  dependencies: VerbDependencies,
  selection: Selection,
  { existing, cursor }: Start,
  deadlineMs: number,
): Promise<InitialObjects> {
  try {
    const ordered = await inRevisionOrder(dependencies, selection, existing, deadlineMs)
    const initial = new InitialObjects(dependencies, ordered)
    // Prepared before the response begins, so that a webhook that does not respond causes an error
    // response.
    await initial.prepare(deadlineMs)
    return initial
  } catch (cause) {
    cursor?.close()
    throw cause
  }
}

/** Randomized, so that the watches after a restart do not all end in the same second. */
function randomTimeoutMs(dependencies: VerbDependencies): number {
  const { watchTimeoutMsMin } = dependencies.limits
  // In whole seconds: Node.js keeps one list per timer duration, and ten thousand lists cost more
  // than their timers.
  return watchTimeoutMsMin + 1000 * dependencies.random.below(Math.ceil(watchTimeoutMsMin / 1000))
}
