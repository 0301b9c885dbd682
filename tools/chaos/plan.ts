import { assertNever } from '../../base/assert.ts'
import { SeededRandom } from '../../base/random.ts'
import { ChaosError } from './errors.ts'
import { allMembers, theLeader } from './fault.ts'
import type { Fault, FaultKind, FaultSpec } from './fault.ts'
import { chaosLimits } from './limits.ts'

export type PlanOptions = {
  readonly seed: number
  readonly durationMs: number
  readonly members: readonly string[]
  /** At least one; all are equally likely. */
  readonly kinds: readonly FaultKind[]
}

/** Minimum and maximum in ms. */
type Span = readonly [number, number]

/** Durations around the election timeout (0.3 s), the keepalive of links (3 + 2 s), and longer. */
const durations: Readonly<Record<FaultKind, Span>> = {
  kill: [200, 4000],
  pause: [200, 6000],
  stop: [200, 4000],
  partition: [300, 8000],
  cut: [300, 8000],
  'slow-link': [2000, 8000],
  'lossy-link': [2000, 8000],
  'slow-disk': [1000, 6000],
  'full-disk': [500, 4000],
  'clock-skew': [1000, 8000],
  // Per member; the actual duration is known only afterwards.
  'rolling-restart': [1500, 1500],
  outage: [200, 2000],
  demote: [200, 4000],
  'member-churn': [200, 3000],
}

/** Pause before each fault of a lane. */
const quiet: Span = [500, 3000]
/** Time that is left at the end for reverting the last fault, in ms. */
const recoveryMs = 3000

/**
 * Returns a plan that depends only on the options, not on the state of the cluster. The faults of
 * one lane follow one another, and there are as many lanes as a minority has members (at least
 * one), so faults of single members affect at most a minority at once, or one member of a small
 * cluster. Partitions, demotions and faults of all members run alone.
 *
 * @throws ChaosError `no-plan` when no fault fits into the duration, or the cluster has too few
 *   members
 */
export function planChaos({ seed, durationMs, members, kinds }: PlanOptions): readonly Fault[] {
  const random = new SeededRandom(seed)
  const minority = minorityOf(members.length)
  const possible = kinds.filter((kind) => isPossible(kind, members.length))
  if (possible.length === 0) {
    const why = `needs at least 3 members, the cluster has ${members.length}`
    throw new ChaosError('no-plan', `${kinds.join(', ')}: ${why}`)
  }
  const lanes = Array.from({ length: Math.max(1, minority) }, () => 0)
  const faults: Fault[] = []
  while (faults.length < chaosLimits.faultsMax) {
    const kind = random.pick(possible)
    const spec = drawSpec(kind, random, minority)
    const lane = alone.has(kind) ? null : lanes.indexOf(Math.min(...lanes))
    const atMs = (lane === null ? Math.max(...lanes) : (lanes[lane] ?? 0)) + within(random, quiet)
    const forMs = within(random, durations[kind]) * times(kind, members.length)
    const target = affectsAll.has(kind) ? allMembers : random.chance(0.5) ? theLeader : random.pick(members)
    if (atMs + forMs + recoveryMs > durationMs) break
    faults.push({ atMs, forMs, target, lane, spec })
    if (lane === null) lanes.fill(atMs + forMs)
    else lanes[lane] = atMs + forMs
  }
  if (faults.length === 0) {
    const enough = Math.ceil(enoughMs(possible, members.length) / 1000)
    throw new ChaosError(
      'no-plan',
      `no fault fits into ${durationMs / 1000} s with seed ${seed}: ${enough} s are enough for every seed`,
    )
  }
  return faults.sort((a, b) => a.atMs - b.atMs)
}

/** Returns a duration into which a fault always fits. */
function enoughMs(kinds: readonly FaultKind[], members: number): number {
  const longest = Math.max(...kinds.map((kind) => durations[kind][1] * times(kind, members)))
  return quiet[1] + longest + recoveryMs
}

function times(kind: FaultKind, members: number): number {
  return kind === 'rolling-restart' ? members : 1
}

/** Returns whether a cluster of that size can have the fault. */
export function isPossible(kind: FaultKind, members: number): boolean {
  return minorityOf(members) > 0 || !needsThreeMembers.has(kind)
}

function minorityOf(members: number): number {
  return Math.floor((members - 1) / 2)
}

/** Faults of links and demotions: fewer members have no majority without the target. */
const needsThreeMembers: ReadonlySet<FaultKind> = new Set([
  ...(['partition', 'cut', 'slow-link', 'lossy-link'] as const),
  'demote',
])
const affectsAll: ReadonlySet<FaultKind> = new Set(['rolling-restart', 'outage', 'member-churn'])
const alone: ReadonlySet<FaultKind> = new Set([...affectsAll, 'partition', 'demote'])

function drawSpec(kind: FaultKind, random: SeededRandom, minority: number): FaultSpec {
  switch (kind) {
    case 'kill':
    case 'pause':
    case 'stop':
    case 'full-disk':
    case 'rolling-restart':
    case 'outage':
    case 'demote':
    case 'member-churn':
      return { kind }
    case 'partition':
      return { kind, size: 1 + random.below(minority) }
    case 'cut':
      return { kind, direction: random.chance(0.5) ? 'to' : 'from' }
    case 'slow-link':
      return { kind, delayMs: random.pick([5, 20, 50, 100, 200]) }
    case 'lossy-link':
      return { kind, lossPercent: random.pick([1, 3, 10, 30]) }
    case 'slow-disk':
      return { kind, delayMs: random.pick([10, 50, 200, 1000]) }
    case 'clock-skew':
      return { kind, skewMs: (random.chance(0.5) ? 1 : -1) * random.pick([500, 5000, 60_000, 600_000]) }
    default:
      return assertNever(kind)
  }
}

/** Short durations are more likely: most edge cases occur early. */
function within(random: SeededRandom, [min, max]: Span): number {
  const range = max - min + 1
  return min + Math.min(random.below(range), random.below(range))
}
