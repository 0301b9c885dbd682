import type { Call, History } from '../clients/history.ts'
import { Finding } from './finding.ts'
import { labelOf } from './object-history.ts'
import { pointOf } from './real-time.ts'
import type { Truth } from './truth.ts'

/**
 * I21: what is said to be at most so many ms behind is. Whatever anybody was told before that moment of virtual time is
 * within the state of the answer; and an answer to a bounded read names no larger bound than was asked for.
 *
 * @throws Finding
 */
export function checkBounds(history: History, truth: Truth): void {
  const told = toldIn(history)
  for (const call of history.calls) {
    const { proof, request } = call
    if (proof === null || proof.boundMs === null) continue
    const bounded = request.kind === 'get' || request.kind === 'list' ? request.mode : null
    if (proof.mode === 'bounded' && bounded?.kind === 'bounded' && proof.boundMs > bounded.boundMs) {
      throw new Finding('I21 bound', `${proof.boundMs} ms is beyond the bound: ${labelOf(call)}`)
    }
    // On the clock of the member, which may be fast.
    const since = proof.atMs - proof.boundMs * slowest - roundingMs
    const floor = newestBefore(told, since)
    if (pointOf(call, truth, floor) !== 'none') continue
    throw new Finding(
      'I21 bound',
      `${floor} was told ${proof.atMs - since} ms before, and is not in what is at most ${proof.boundMs} ms behind: ` +
        labelOf(call),
    )
  }
}

/** A member's clock runs at 0.95 of the true time at least, so its ms are longer. */
const slowest = 1 / 0.95
const roundingMs = 1

type Told = { readonly atMs: number; readonly revision: number }

/** What was known to exist, by when; ascending in both. */
function toldIn({ calls }: History): readonly Told[] {
  const told = calls
    .map((call) => ({ atMs: call.endMs, revision: shownIn(call) }))
    .filter(({ atMs, revision }) => Number.isFinite(atMs) && revision > 0)
    .sort((a, b) => a.atMs - b.atMs)
  let newest = 0
  return told.map(({ atMs, revision }) => ({ atMs, revision: (newest = Math.max(newest, revision)) }))
}

function shownIn({ answer }: Call): number {
  switch (answer.kind) {
    case 'object':
      return answer.object.revision
    case 'list':
      return answer.revision
    case 'done':
      return Math.max(0, ...answer.revisions)
    case 'refused':
    case 'unknown':
      return 0
  }
}

function newestBefore(told: readonly Told[], atMs: number): number {
  let [low, high] = [0, told.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((told[middle]?.atMs ?? Infinity) < atMs) low = middle + 1
    else high = middle
  }
  return told[low - 1]?.revision ?? 0
}
