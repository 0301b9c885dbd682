import { assertNever } from '../../../base/assert.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import { StoreError } from '../../store/store-errors.ts'
import type { Revision } from '../../store/revision.ts'
import type { ProvenMode, ReadMode } from '../calls/consistency.ts'
import type { RequestContext } from '../calls/request.ts'
import type { WantedRevision } from '../calls/query-options.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'
import { fromRead, notReached, readErrorOf } from '../shared/store-error-mapping.ts'

/** The synchronous part of a read, once memory is new enough. */
export type ReadAction<T> = {
  readonly take: () => T
  /**
   * Releases a value that turned out to be too old, or to be taken after the lease had ended.
   * Unset: nothing to release.
   */
  readonly drop?: (value: T) => void
}

/**
 * Waits until local memory is as new as the caller requires (`exact`: until the revision exists),
 * takes the value, and reports the consistency proof to the context. Conditions that depend on time
 * are checked after the value was taken, as the process may have been paused.
 *
 * @throws ApiError `Timeout` when memory is not new enough in time; `BadRequest` for lease reads
 *   where they are disabled; otherwise as `readErrorOf`
 * @source spec 4.8.3, 4.8.5
 */
export async function readState<T>(
  dependencies: VerbDependencies,
  context: RequestContext,
  wanted: WantedRevision | ReadMode,
  action: ReadAction<T>,
): Promise<T> {
  const { take, drop } = action
  const { store, clock } = dependencies
  const read = new ProofRecorder(dependencies, context)
  switch (wanted.kind) {
    case 'most-recent':
      await barrier(dependencies, context)
      return read.prove('linearizable', take())
    case 'any':
      return read.prove('any', take())
    case 'not-older-than':
    case 'exact':
      await reached(dependencies, context, wanted.revision)
      return read.prove(wanted.kind, take(), wanted.kind === 'exact' ? wanted.revision : null)
    case 'log':
      await logRead(dependencies, context)
      return read.prove('log', take())
    case 'bounded':
      return read.prove('bounded', await withinBound(dependencies, context, wanted.boundMs, action))
    case 'lease': {
      await requireLeases(dependencies, context)
      const lease = store.reads.lease()
      if (lease !== null) {
        const beganMs = clock.monotonicMs()
        await fromRead(store.reads.reached(lease.index, deadlineOf(dependencies, context)))
        const value = take()
        if (lease.holds()) return read.prove('lease', value, null, beganMs)
        drop?.(value)
      }
      // Without a lease, fall back to a barrier and report that mode.
      await barrier(dependencies, context)
      return read.prove('linearizable', take())
    }
    default:
      return assertNever(wanted)
  }
}

/** Reports the proof for a value that was taken at a revision that exists, without waiting. */
export function provenAt<T>(
  dependencies: VerbDependencies,
  context: RequestContext,
  value: T,
  revision: number,
): T {
  return new ProofRecorder(dependencies, context).prove('exact', value, revision)
}

/** Records the times of one read and reports its proof. */
class ProofRecorder {
  readonly #dependencies: VerbDependencies
  readonly #context: RequestContext
  readonly #beganMs: number

  constructor(dependencies: VerbDependencies, context: RequestContext) {
    this.#dependencies = dependencies
    this.#context = context
    this.#beganMs = dependencies.clock.monotonicMs()
  }

  /**
   * @param revision of the value; null: of the newest state
   * @param asOfMs the value has all writes acknowledged before this time; null: time of the latest
   * barrier
   */
  prove<T>(mode: ProvenMode, value: T, revision: number | null = null, asOfMs: number | null = null): T {
    const { store, clock } = this.#dependencies
    const { freshness, term } = store.reads
    const fixedMs = clock.monotonicMs()
    const since = asOfMs ?? freshness?.asOfMs ?? null
    // The staleness of an exact revision is not bounded.
    const boundMs = since === null || mode === 'exact' ? null : Math.ceil(fixedMs - since)
    const confirmedMs = Math.max(this.#beganMs, mode === 'lease' ? 0 : (freshness?.confirmedMs ?? 0))
    this.#context.proven?.({
      mode,
      term,
      revision: revision ?? store.view().revision,
      boundMs,
      waitedMs: { confirm: confirmedMs - this.#beganMs, apply: fixedMs - confirmedMs },
      fixedMs,
    })
    return value
  }
}

function deadlineOf({ clock, limits }: VerbDependencies, context: RequestContext): number {
  return Math.min(context.deadlineMs, clock.monotonicMs() + limits.quorumWaitMs)
}

function barrier(dependencies: VerbDependencies, context: RequestContext): Promise<void> {
  return fromRead(dependencies.store.barrier(deadlineOf(dependencies, context)))
}

/** Upper bound of the staleness of memory, in ms. */
function ageMs({ store, clock }: VerbDependencies): number {
  const { freshness } = store.reads
  return freshness === null ? Infinity : clock.monotonicMs() - freshness.asOfMs
}

/**
 * Takes a value that is at most `boundMs` stale. A pause of the process can make even a barrier too
 * old, so there are several attempts; a bound shorter than a round with the quorum is never met.
 */
async function withinBound<T>(
  dependencies: VerbDependencies,
  context: RequestContext,
  boundMs: number,
  { take, drop }: ReadAction<T>,
): Promise<T> {
  const { store, clock, limits } = dependencies
  const deadlineMs = Math.min(context.deadlineMs, clock.monotonicMs() + limits.futureWaitMs)
  for (let barriers = 0; ; barriers++) {
    if (ageMs(dependencies) <= boundMs) {
      const value = take()
      const age = ageMs(dependencies)
      if (age <= boundMs) {
        // Refresh early, so that the next reads need not wait.
        if (2 * age > boundMs) store.reads.probe()
        return value
      }
      drop?.(value)
    }
    if (barriers === boundedReadBarriersMax) {
      throw boundNotMet(boundMs, `memory is proven to be at most ${Math.ceil(ageMs(dependencies))} ms behind`)
    }
    await oneBarrier(dependencies, boundMs, deadlineMs)
  }
}

/** Barriers of one bounded read. */
const boundedReadBarriersMax = 3

async function oneBarrier(
  dependencies: VerbDependencies,
  boundMs: number,
  deadlineMs: number,
): Promise<void> {
  try {
    await dependencies.store.barrier(deadlineMs)
  } catch (cause) {
    const isLate = cause instanceof StoreError && cause.code === 'timed-out'
    throw isLate ? boundNotMet(boundMs, 'no quorum answered in time') : readErrorOf(cause)
  }
}

function boundNotMet(boundMs: number, why: string): ApiError {
  return new ApiError('Timeout', `Timeout: Orch-Consistency: the bound of ${boundMs} ms is not met: ${why}`, {
    retryAfterSeconds: 1,
  })
}

/** Appends an empty entry: once this member has applied it, it has applied everything before it. */
async function logRead(dependencies: VerbDependencies, context: RequestContext): Promise<void> {
  // Reported as a read: it does not matter whether an entry without effect was written.
  await fromRead(
    dependencies.store.write({ kind: 'write', operations: [] }, deadlineOf(dependencies, context)),
  )
}

/**
 * Refuses a lease read where lease reads are disabled; only after a barrier, as memory may be
 * stale.
 */
async function requireLeases(dependencies: VerbDependencies, context: RequestContext): Promise<void> {
  const { store } = dependencies
  if (store.settings.leaseReads === 1) return
  await barrier(dependencies, context)
  if (store.settings.leaseReads === 1) return
  throw badRequest(
    'Orch-Consistency: "lease" is switched off in this cluster: orchctl settings set --lease-reads on',
  )
}

async function reached(
  dependencies: VerbDependencies,
  context: RequestContext,
  wanted: Revision,
): Promise<void> {
  const { store, clock, limits } = dependencies
  if (store.view().revision >= wanted) return
  const deadlineMs = Math.min(context.deadlineMs, clock.monotonicMs() + limits.futureWaitMs)
  try {
    await store.waitFor(wanted, deadlineMs)
  } catch (cause) {
    throw notReached(wanted, store.view().revision, cause)
  }
}
