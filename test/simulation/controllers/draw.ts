import type { SeededRandom } from '../../../base/random.ts'
import { defaultLimits } from '../../../raft/index.ts'
import type { ApiDomain } from '../../../src/api/metadata/names.ts'
import { drawPlan } from '../plan.ts'
import type { FaultAction, FaultKind, ScheduledFault } from '../plan.ts'
import { drawSwarm } from '../swarm.ts'
import type { Swarm } from '../swarm.ts'
import { drawSizes } from './workload.ts'
import type { Sizes } from './workload.ts'

/** All parameters of a run, drawn from its seed. */
export type ControllersPlan = {
  readonly swarm: Swarm
  readonly domain: ApiDomain
  readonly work: 'on-leader' | 'everywhere'
  readonly sizes: Sizes
  /** The faults of each round, with times from its beginning. */
  readonly faults: readonly (readonly ScheduledFault[])[]
}

const hourMs = 3_600_000
/** Virtual ms of the faults of a round. */
export const faultsMs = 10_000
export const rounds = 2

/** Faults that end or interrupt the work of a leader. */
const leaderFaults: readonly FaultKind[] = [
  ...(['kill', 'power-cut', 'stop', 'crash-step', 'pause'] as const),
  ...(['transfer', 'isolate', 'sync-stall', 'slow-link', 'restart-loop'] as const),
]

/**
 * Numbers of retained log entries with which a member that is cut off for seconds needs a snapshot.
 */
const shortRetentions = [0, 10]

export function drawControllersPlan(random: SeededRandom): ControllersPlan {
  const swarm = drawControllersSwarm(random)
  return {
    swarm,
    domain: random.pick(['orch.io', 'k8s.io'] as const),
    work: random.chance(0.25) ? 'everywhere' : 'on-leader',
    sizes: drawSizes(random),
    faults: Array.from({ length: rounds }, () => drawFaults(random, swarm)),
  }
}

/** Draws a swarm as in other runs, but with a disk and a network that are fast enough to finish. */
function drawControllersSwarm(random: SeededRandom): Swarm {
  const drawn = drawSwarm(random)
  const voters = random.chance(0.1) ? 5 : 3
  const { network } = drawn
  return {
    ...drawn,
    ...{ voters, learners: 0, lateMs: Array.from({ length: voters }, () => 0), profile: 'mixed' },
    network: {
      ...network,
      delayMsMax: Math.min(network.delayMsMax, 5),
      lossChance: Math.min(network.lossChance, 0.02),
      lateMsMax: Math.min(network.lateMsMax, 300),
      streamResetChance: Math.min(network.streamResetChance, 0.02),
    },
    keyValueDelays: { ...drawn.keyValueDelays, writeMsMax: random.pick([2, 30]) },
    segmentBytes: 64 * 1024,
    // No fault of these runs damages a disk, and scrubs take a quarter of the time.
    logLimits: { ...drawn.logLimits, scrubFirstMs: hourMs, scrubPeriodMs: hourMs },
    storeLimits: { ...drawn.storeLimits, scrubFirstMs: hourMs, scrubPeriodMs: hourMs },
    // Ticks are half as frequent as by default, because most of a run is waiting.
    timing: { heartbeatMs: 100, electionMs: 600, tickMs: 50 },
    limits: { ...defaultLimits, retentionEntries: random.pick([...shortRetentions, 5_000]) },
  }
}

function drawFaults(random: SeededRandom, { voters, downMsMax, limits }: Swarm): readonly ScheduledFault[] {
  const rates = new Map<FaultKind, number>()
  const count = 1 + random.below(4)
  for (let at = 0; at < count; at++) rates.set(random.pick(leaderFaults), 1_000 + random.below(4_000))
  const drawn = drawPlan({
    ...{ random, faultRates: rates, members: voters, forMs: faultsMs },
    downMsMax: Math.min(downMsMax, 2_000),
  })
  const faults = drawn.map(({ atMs, fault }) => ({
    atMs,
    fault: random.chance(0.8) ? atLeader(fault) : fault,
  }))
  if (!shortRetentions.includes(limits.retentionEntries)) return faults
  return [...faults, ...drawAbsence(random, voters)].sort((a, b) => a.atMs - b.atMs)
}

/**
 * Draws faults that cut off a member while most of the work of a round is done, and transfer
 * leadership to it soon after it is back: its controllers then work on a state that came as a
 * snapshot.
 */
function drawAbsence(random: SeededRandom, voters: number): readonly ScheduledFault[] {
  const member = 1 + random.below(voters)
  const atMs = random.below(1_000)
  const forMs = 4_000 + random.below(2_000)
  const leadsAtMs = atMs + forMs + 200 + random.below(1_500)
  return [
    { atMs, fault: { kind: 'isolate', target: { member, preferLeader: false }, way: 'both', forMs } },
    { atMs: leadsAtMs, fault: { kind: 'transfer', to: member } },
  ]
}

function atLeader(fault: FaultAction): FaultAction {
  if (!('target' in fault)) return fault
  const target = { ...fault.target, preferLeader: true }
  return { ...fault, target, ...('anyMember' in fault ? { anyMember: false } : {}) }
}
