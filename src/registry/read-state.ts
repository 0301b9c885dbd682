import type { Revision } from '../store/revision.ts'
import type { RequestContext } from './request.ts'
import type { WantedRevision } from './options.ts'
import type { VerbParts } from './parts.ts'
import { fromStore, notReached } from './store-errors.ts'

/**
 * Waits until local memory is as new as the caller wants; `exact` until the revision exists. The caller takes
 * the view afterwards, so that nothing is awaited while it is held.
 *
 * @throws ApiError `Timeout` when the version is not reached in time
 * @source spec 4.8 items 3 and 5
 */
export async function readState(
  parts: VerbParts,
  context: RequestContext,
  wanted: WantedRevision,
): Promise<void> {
  switch (wanted.kind) {
    case 'most-recent':
      await fromStore(
        parts.store.barrier(
          Math.min(context.deadlineMs, parts.clock.monotonicMs() + parts.limits.quorumWaitMs),
        ),
      )
      break
    case 'any':
      break
    case 'not-older-than':
    case 'exact':
      await reached(parts, context, wanted.revision)
  }
}

async function reached(parts: VerbParts, context: RequestContext, wanted: Revision): Promise<void> {
  const { store, clock, limits } = parts
  if (store.view().revision >= wanted) return
  const deadlineMs = Math.min(context.deadlineMs, clock.monotonicMs() + limits.futureWaitMs)
  try {
    await store.waitFor(wanted, deadlineMs)
  } catch (cause) {
    throw notReached(wanted, store.view().revision, cause)
  }
}
