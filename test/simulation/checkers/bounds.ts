import type { Call, History, Mode, Proof, WatchRecord } from '../clients/history.ts'
import { Finding } from './finding.ts'
import { labelOf } from './object-history.ts'
import { pointOf } from './real-time.ts'
import type { Truth } from './truth.ts'

/**
 * I21: a response is not staler than its staleness bound. Everything that was acknowledged longer
 * ago than the bound is within the state of the response, or of the beginning of a watch; and the
 * bound that the response states is not larger than requested.
 *
 * @throws Finding
 */
export function checkBounds(history: History, truth: Truth): void {
  const acknowledged = acknowledgedIn(history)
  for (const call of history.calls) {
    const { proof, request } = call
    if (proof === null) continue
    const mode = request.kind === 'get' || request.kind === 'list' ? request.mode : null
    checkBound(proof, mode, {
      acknowledged: acknowledged,
      holds: (floor) => pointOf(call, truth, floor) !== 'none',
      label: () => labelOf(call),
    })
  }
  for (const watch of history.watches) {
    const { proof, mode } = watch
    if (proof === null) continue
    checkBound(proof, mode, {
      acknowledged: acknowledged,
      holds: (floor) => proof.revision >= floor,
      label: () => describeWatch(watch),
    })
  }
}

type Judged = {
  readonly acknowledged: readonly Acknowledged[]
  /** Returns whether the state may be at that revision or a later one. */
  readonly holds: (floor: number) => boolean
  readonly label: () => string
}

function checkBound({ mode, boundMs, atMs }: Proof, requested: Mode | null, of: Judged): void {
  if (boundMs === null) return
  if (mode === 'bounded' && requested?.kind === 'bounded' && boundMs > requested.boundMs) {
    throw new Finding('I21 bound', `${boundMs} ms exceeds the bound: ${of.label()}`)
  }
  // The bound is on the clock of the member, which may be slow.
  const since = atMs - boundMs * slowest - roundingMs
  const floor = newestBefore(of.acknowledged, since)
  if (of.holds(floor)) return
  throw new Finding(
    'I21 bound',
    `${floor} was acknowledged ${atMs - since} ms before, but is missing at a bound of ${boundMs} ms: ${of.label()}`,
  )
}

function describeWatch({ watcher, member, start, proof }: WatchRecord): string {
  return `watch ${watcher} at member ${member} from ${JSON.stringify(start)}, ${JSON.stringify(proof)}`
}

/**
 * A member's clock runs at least at 0.95 of the true rate, so its milliseconds may be this long.
 */
const slowest = 1 / 0.95
const roundingMs = 1

type Acknowledged = { readonly atMs: number; readonly revision: number }

/** Returns the known revisions with the times when they were acknowledged; ascending in both. */
function acknowledgedIn({ calls }: History): readonly Acknowledged[] {
  const acknowledged = calls
    .map((call) => ({ atMs: call.endMs, revision: shownIn(call) }))
    .filter(({ atMs, revision }) => Number.isFinite(atMs) && revision > 0)
    .sort((a, b) => a.atMs - b.atMs)
  let newest = 0
  return acknowledged.map(({ atMs, revision }) => ({ atMs, revision: (newest = Math.max(newest, revision)) }))
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

function newestBefore(acknowledged: readonly Acknowledged[], atMs: number): number {
  let [low, high] = [0, acknowledged.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((acknowledged[middle]?.atMs ?? Infinity) < atMs) low = middle + 1
    else high = middle
  }
  return acknowledged[low - 1]?.revision ?? 0
}
