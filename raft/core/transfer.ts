import type { TransferAnswer, TransferRefused } from './errors.ts'
import type { Progress } from './progress.ts'
import { isVoter, sendAtOnce } from './state.ts'
import type { State } from './state.ts'
import type { NodeId } from './types.ts'

/*
 * Leadership transfer (thesis §3.10). Proposals are dropped during a transfer, so one begins only
 * if it is likely to end soon, and after a failed one the same target is refused for a while.
 */

/** Maximum number of entries that the target may lack: they are sent before timeout-now. */
export const transferLagMax = 1024
/** Election timeouts for which a voter that did not take over is refused as target. */
export const transferPauseTimeouts = 4

export function startTransfer(state: State, to: NodeId): TransferAnswer {
  if (state.role !== 'leader') return { kind: 'refused', reason: 'not-leader' }
  if (to === state.id) {
    state.transfer = null
    return { kind: 'accepted' }
  }
  const progress = state.progress.get(to)
  if (progress === undefined || !isVoter(state, to)) return { kind: 'refused', reason: 'not-a-voter' }
  if (state.transfer?.to !== to) {
    const reason = transferRefusal(state, progress)
    if (reason !== null) return { kind: 'refused', reason }
    // Also pauses the previous target: without that, alternating requests for two targets would
    // block proposals forever.
    abandonTransfer(state)
    state.transfer = { to, elapsed: 0 }
  }
  maybeSendTimeoutNow(state, progress)
  return { kind: 'accepted' }
}

/** Handles a tick of the leader. */
export function tickTransfer(state: State): void {
  for (const progress of state.progress.values()) {
    if (progress.transferPauseTicks > 0) progress.transferPauseTicks--
  }
  if (state.transfer !== null && ++state.transfer.elapsed >= state.config.electionTicks)
    abandonTransfer(state)
}

/**
 * Sends timeout-now if the target has the whole log. Called when the transfer begins, and again
 * whenever the target accepts an append or responds to a heartbeat, because the message may have
 * been lost.
 */
export function maybeSendTimeoutNow(state: State, progress: Progress): void {
  if (state.transfer?.to === progress.id && progress.match === state.log.lastIndex) {
    sendTimeoutNow(state, progress)
  }
}

export function sendTimeoutNow(state: State, progress: Progress): void {
  state.lease.endedByTransfer = true
  sendAtOnce(state, { kind: 'timeout-now', from: state.id, to: progress.id, term: state.term })
}

/** Returns why this voter is refused as target; null: it is likely to take over soon. */
function transferRefusal(state: State, progress: Progress): TransferRefused | null {
  if (!progress.recentlyActive) return 'target-silent'
  if (progress.transferPauseTicks > 0) return 'target-declined'
  if (progress.state !== 'replicate') return 'target-behind'
  return state.log.lastIndex - progress.match > transferLagMax ? 'target-behind' : null
}

function abandonTransfer(state: State): void {
  if (state.transfer === null) return
  const target = state.progress.get(state.transfer.to)
  if (target !== undefined) target.transferPauseTicks = transferPauseTimeouts * state.config.electionTicks
  state.transfer = null
}
