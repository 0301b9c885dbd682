import type { SeededRandom } from '../../base/random.ts'
import { defaultLimits } from '../../raft/index.ts'
import type { NodeLimits, NodeTiming } from '../../raft/index.ts'
import type { LogLimits } from '../../raft/log/limits.ts'
import { defaultStoreLimits } from '../../src/store/store-limits.ts'
import type { StoreLimits } from '../../src/store/store-limits.ts'
import type { ChannelDelays } from './channel.ts'
import type { KeyValueDelays } from './kv.ts'
import type { NetworkOptions } from './link.ts'
import { membershipActionKinds } from './membership-plan.ts'
import { faultKinds } from './plan.ts'
import type { FaultKind, FaultRates } from './plan.ts'

/**
 * How many faults occur: none, one kind repeatedly, a handful of kinds, mostly crashes at chosen
 * steps, or nearly all kinds at once.
 */
export type FaultProfile = 'calm' | 'single' | 'mixed' | 'steps' | 'storm'
export const faultProfiles: readonly FaultProfile[] = ['calm', 'single', 'mixed', 'steps', 'storm']

/** Background faults that occur all the time. */
export type Noise = 'loss' | 'duplicates' | 'reordering' | 'heavy-tail' | 'streams' | 'channels' | 'drift'
export const noises: readonly Noise[] = [
  ...(['loss', 'duplicates', 'reordering', 'heavy-tail', 'streams', 'channels', 'drift'] as const),
]

/** All parameters of one run that the seed draws at its start. */
export type Swarm = {
  readonly profile: FaultProfile
  readonly voters: number
  readonly learners: number
  /** Start times of the founders, in ms; the others wait for them. */
  readonly lateMs: readonly number[]
  readonly clients: number
  readonly payloadBytesMax: number
  readonly network: NetworkOptions
  /** Delays between raft and api thread, and between the log thread and the two others. */
  readonly apiDelays: ChannelDelays
  readonly logDelays: ChannelDelays
  readonly keyValueDelays: KeyValueDelays
  readonly segmentBytes: number
  /** Limits of the scrub of the log. */
  readonly logLimits: LogLimits
  readonly timing: NodeTiming
  readonly limits: NodeLimits
  readonly storeLimits: StoreLimits
  /** Maximum drift of a machine's clock relative to virtual time, as a share. */
  readonly driftMax: number
  readonly faultRates: FaultRates
  readonly downMsMax: number
}

/** Short intervals, so that passes end within a run; each turn is an event. */
const scrubOften: LogLimits = {
  ...{ scrubFirstMs: 300, scrubPeriodMs: 1_500, scrubTurnBytes: 4_096, scrubPauseMs: 20 },
  rewriteBytesMax: 64 * 1024,
}

/**
 * Draws the parameters of a run. Each kind of fault is left out of some runs: faults mask one
 * another when all occur all the time.
 */
export function drawSwarm(random: SeededRandom): Swarm {
  const profile = drawProfile(random)
  const [voters, learners] = drawMembers(random)
  const lateMs = drawLate(random, voters + learners)
  const clients = 1 + random.below(6)
  // Not used: without this draw every seed would be another run.
  random.below(3)
  return {
    profile,
    voters,
    learners,
    lateMs,
    clients,
    payloadBytesMax: random.pick([10, 200, 2_000]),
    network: drawNetwork(random, profile),
    apiDelays: drawDelays(random),
    logDelays: drawDelays(random),
    keyValueDelays: { writeMsMax: random.pick([2, 30, 500]), readMsMax: random.pick([0.2, 5]) },
    // Small, so that runs of seconds fill and remove many.
    segmentBytes: random.pick([6, 16, 64]) * 1024,
    logLimits: scrubOften,
    timing: { heartbeatMs: 50, electionMs: 300, tickMs: 25 },
    limits: drawLimits(random, profile),
    storeLimits: drawStoreLimits(random),
    driftMax: random.pick([0, 0, 0.001, 0.05]),
    faultRates: drawFaultRates(random, profile),
    downMsMax: random.pick([300, 2_000, 6_000]),
  }
}

/** Returns the same run without some of the background noise. */
export function without(swarm: Swarm, quiet: ReadonlySet<Noise>): Swarm {
  const { network } = swarm
  const calm = (delays: ChannelDelays): ChannelDelays =>
    quiet.has('channels') ? { ...delays, stallChance: 0 } : delays
  return {
    ...swarm,
    network: {
      ...network,
      lossChance: quiet.has('loss') ? 0 : network.lossChance,
      duplicateChance: quiet.has('duplicates') ? 0 : network.duplicateChance,
      reorderChance: quiet.has('reordering') ? 0 : network.reorderChance,
      tail: quiet.has('heavy-tail') ? 'even' : network.tail,
      streamResetChance: quiet.has('streams') ? 0 : network.streamResetChance,
      streamCutShortChance: quiet.has('streams') ? 0 : network.streamCutShortChance,
    },
    apiDelays: calm(swarm.apiDelays),
    logDelays: calm(swarm.logDelays),
    driftMax: quiet.has('drift') ? 0 : swarm.driftMax,
  }
}

function drawProfile(random: SeededRandom): FaultProfile {
  const of100 = random.below(100)
  if (of100 < 8) return 'calm'
  if (of100 < 25) return 'single'
  if (of100 < 45) return 'steps'
  return of100 < 85 ? 'mixed' : 'storm'
}

function drawMembers(random: SeededRandom): readonly [voters: number, learners: number] {
  const of100 = random.below(100)
  const voters = of100 < 4 ? 1 : of100 < 52 ? 3 : 5
  return [voters, random.pick([0, 0, 0, 0, 1, 2])]
}

/** In most runs all founders start at once. */
function drawLate(random: SeededRandom, members: number): readonly number[] {
  const some = random.chance(0.3)
  return Array.from({ length: members }, () => (some && random.chance(0.4) ? 1 + random.below(4_000) : 0))
}

function drawFaultRates(random: SeededRandom, profile: FaultProfile): FaultRates {
  const faultRates = new Map<FaultKind, number>()
  const often = (kind: FaultKind, meanMs: number): unknown =>
    faultRates.set(kind, meanMs * (0.5 + random.below(1000) / 1000))
  switch (profile) {
    case 'calm':
      break
    case 'single':
      often(random.pick(faultKinds), 1_500)
      break
    case 'steps':
      often('crash-step', 500)
      // A member that was down has to catch up.
      often('power-cut', 2_500)
      break
    case 'mixed':
      for (const kind of faultKinds) if (random.chance(0.25)) often(kind, 4_000)
      break
    case 'storm':
      for (const kind of faultKinds) if (random.chance(0.7)) often(kind, 10_000)
  }
  // Only a repair heals a state that diverged unnoticed.
  if (faultRates.has('diverge') && random.chance(0.6)) often('repair', 3_000)
  // The one fault in which a deposed leader still appears healthy to itself.
  if (profile !== 'calm' && random.chance(0.4)) often('depose', 5_000)
  // A new member takes a while to join, and the cluster continues in the meantime.
  if (profile !== 'calm' && random.chance(0.25)) for (const kind of membershipActionKinds) often(kind, 3_000)
  return faultRates
}

function drawNetwork(random: SeededRandom, profile: FaultProfile): NetworkOptions {
  const noisy = profile !== 'calm' && random.chance(0.8)
  const some = (chances: readonly number[]): number => {
    const drawn = random.pick(chances)
    return noisy ? drawn : 0
  }
  return {
    delayMsMin: 0.1,
    delayMsMax: random.pick([0.5, 3, 25]),
    tail: random.pick(['even', 'even', 'heavy'] as const),
    lossChance: some([0, 0.01, 0.1, 0.3]),
    duplicateChance: some([0, 0.05, 0.3]),
    reorderChance: some([0, 0.02, 0.2]),
    lateMsMax: random.pick([20, 300, 2_000]),
    streamResetChance: some([0, 0, 0.02, 0.2]),
    streamCutShortChance: some([0, 0, 0.02]),
  }
}

function drawDelays(random: SeededRandom): ChannelDelays {
  return {
    delayMsMax: random.pick([0.05, 0.5, 4]),
    stallMsMax: random.pick([10, 400, 1_500]),
    stallChance: random.pick([0, 0.001, 0.01]),
  }
}

/** Small limits are reached often, and handling them is half of the code. */
function drawLimits(random: SeededRandom, profile: FaultProfile): NodeLimits {
  const entryBytesMax = 4_096
  const tight = random.chance(0.5)
  return {
    ...defaultLimits,
    entryBytesMax,
    appendBytesMax: tight ? random.pick([500, 5_000]) : 100_000,
    inflightMessagesMax: tight ? random.pick([1, 4]) : 64,
    inflightBytesMax: tight ? 20_000 : 1_000_000,
    uncommittedBytesMax: tight ? random.pick([10_000, 50_000]) : 1_000_000,
    logCacheBytesMax: tight ? random.pick([5_000, 30_000]) : 1_000_000,
    readRoundsMax: tight ? 2 : 64,
    readRequestsMax: tight ? 2 : 64,
    proposalsMax: tight ? 8 : 1_000,
    entryCreditBytes: tight ? random.pick([5_000, 20_000]) : 1_000_000,
    entryTailBytesMax: tight ? random.pick([5_000, 20_000]) : 1_000_000,
    applySliceEntriesMax: random.pick([1, 7, 256]),
    catchUpBytesMax: tight ? random.pick([100, 5_000]) : 100_000,
    snapshotStreamsMax: random.pick([1, 2]),
    snapshotWindowChunks: random.pick([1, 4]),
    // A log that is compacted at once needs a snapshot after every absence.
    retentionEntries: profile === 'steps' ? random.pick([0, 0, 5, 5_000]) : random.pick([0, 0, 5, 50, 5_000]),
    resendMs: random.pick([50, 500]),
    // Longer than a usual round trip: otherwise every round would time out at first.
    readRetryMs: random.pick([100, 250]),
  }
}

function drawStoreLimits(random: SeededRandom): StoreLimits {
  return {
    ...defaultStoreLimits,
    batchBytesMax: random.pick([500, 10_000, 1_000_000]),
    batchGatherMs: random.pick([1, 20, 200]),
    backlogBytesMax: random.pick([20_000, 1_000_000]),
    historyMemoryEventsMax: random.pick([3, 100, 10_000]),
    // With the smallest size a state has about a hundred frames.
    snapshotFrameBytesMax: random.pick([1_000, 5_000, 100_000]),
    scrubFirstMs: random.pick([500, 4_000, 300_000]),
    scrubPeriodMs: random.pick([1_500, 300_000]),
  }
}
