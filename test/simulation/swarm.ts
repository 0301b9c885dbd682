import type { SeededRandom } from '../../raft/base/random.ts'
import { defaultLimits } from '../../raft/index.ts'
import type { NodeLimits, NodeTiming } from '../../raft/index.ts'
import { defaultStoreLimits } from '../../src/store/limits.ts'
import type { StoreLimits } from '../../src/store/limits.ts'
import type { ChannelDelays } from './channel.ts'
import type { KeyValueDelays } from './kv.ts'
import type { NetworkOptions } from './network.ts'

/** Everything about one run that the seed decides at its start. */
export type Swarm = {
  readonly members: number
  readonly clients: number
  readonly thinkMsMax: number
  readonly payloadBytesMax: number
  readonly network: NetworkOptions
  /** Between raft and api thread, and between the log and its neighbours. */
  readonly apiDelays: ChannelDelays
  readonly logDelays: ChannelDelays
  readonly keyValueDelays: KeyValueDelays
  readonly timing: NodeTiming
  readonly limits: NodeLimits
  readonly storeLimits: StoreLimits
  /** Mean ms between faults of each kind, for the whole cluster; null: none of this kind in this run. */
  readonly crashEveryMs: number | null
  readonly partitionEveryMs: number | null
  readonly pauseEveryMs: number | null
  readonly transferEveryMs: number | null
  readonly downMsMax: number
}

/**
 * Each kind of fault is left out of some runs: faults hide one another when all happen all the time.
 */
export function drawSwarm(random: SeededRandom): Swarm {
  const often = (probability: number, meanMs: number): number | null =>
    random.chance(probability) ? meanMs * (0.5 + random.below(1000) / 1000) : null
  const calm = random.chance(0.2)
  return {
    members: random.chance(0.9) ? 3 : random.pick([1, 5]),
    clients: 1 + random.below(6),
    thinkMsMax: random.pick([5, 40, 200]),
    payloadBytesMax: random.pick([10, 200, 2_000]),
    network: {
      delayMsMin: 0.1,
      delayMsMax: random.pick([0.5, 3, 25]),
      lossChance: calm ? 0 : random.pick([0, 0.01, 0.1]),
      duplicateChance: calm ? 0 : random.pick([0, 0.05]),
      lateChance: calm ? 0 : random.pick([0, 0.02]),
      lateMsMax: random.pick([20, 300, 2_000]),
    },
    apiDelays: drawDelays(random),
    logDelays: drawDelays(random),
    keyValueDelays: { writeMsMax: random.pick([2, 30, 500]), readMsMax: random.pick([0.2, 5]) },
    timing: { heartbeatMs: 50, electionMs: 300, tickMs: 25 },
    limits: drawLimits(random),
    storeLimits: drawStoreLimits(random),
    crashEveryMs: often(0.7, 3_000),
    partitionEveryMs: often(0.6, 3_000),
    pauseEveryMs: often(0.5, 2_000),
    transferEveryMs: often(0.3, 2_000),
    downMsMax: random.pick([300, 2_000, 6_000]),
  }
}

function drawDelays(random: SeededRandom): ChannelDelays {
  return {
    delayMsMax: random.pick([0.05, 0.5, 4]),
    stallMsMax: random.pick([10, 400, 1_500]),
    stallChance: random.pick([0, 0.001, 0.01]),
  }
}

/** Small bounds are reached often, and what happens then is half of the code. */
function drawLimits(random: SeededRandom): NodeLimits {
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
    retentionEntries: random.pick([0, 5, 50, 5_000]),
    resendMs: random.pick([50, 500]),
    readRetryMs: random.pick([30, 250]),
  }
}

function drawStoreLimits(random: SeededRandom): StoreLimits {
  return {
    ...defaultStoreLimits,
    batchBytesMax: random.pick([500, 10_000, 1_000_000]),
    batchGatherMs: random.pick([1, 20, 200]),
    backlogBytesMax: random.pick([20_000, 1_000_000]),
    historyMemoryEventsMax: random.pick([3, 100, 10_000]),
    snapshotFrameBytesMax: random.pick([100, 3_000, 100_000]),
  }
}
