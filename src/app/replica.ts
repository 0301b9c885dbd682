import { join } from 'node:path'
import type { RaftNode, StartedThreads } from '../../raft/index.ts'
import type { StateGuard } from '../state-agreement/state-guard.ts'
import type { Outcome } from '../store/command.ts'
import type { KeyValueDatabases } from '../store/disk/key-value-store.ts'
import { MemoryKeyValueDatabases } from '../store/disk/memory-key-value-store.ts'
import { hasNewerDatabase } from '../store/disk/newer-database.ts'
import type { StoreMachine } from '../store/store-machine.ts'
import type { ConsensusMetrics } from '../metrics/consensus-metrics.ts'
import { openConsensus } from './consensus.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import { StartError } from '../config/start-error.ts'
import { openStore } from './open-store.ts'
import { withReplacement } from './replacement-advice.ts'
import { storeLimits } from './context.ts'
import type { MemberContext } from './context.ts'
import { databaseFolder } from '../data-dir/layout.ts'

/** This member's copy of the replicated state, and the node that maintains it. */
export type Replica = {
  readonly node: RaftNode<Outcome>
  readonly machine: StoreMachine
  /** Sets the guard that decides whether the state may be sent to other members. */
  readonly judgedBy: (judge: StateGuard) => void
}

export type ReplicaDependencies = {
  readonly directory: string
  readonly keys: MemberKeys
  readonly threads: ConsensusMetrics
  /** See `ConsensusDependencies`. */
  readonly workers: StartedThreads | null
  readonly onMachine: (machine: StoreMachine) => void
}

/** How long a member may take to transfer leadership and close. */
const leaveMsMax = 3000

/**
 * Opens the log and the database and starts consensus.
 * @throws ConsensusError, StartError `data-directory`
 */
export async function openReplica(site: MemberContext, dependencies: ReplicaDependencies): Promise<Replica> {
  const { clock, random, log, onFatal, config, cluster, id, joined, closing } = site
  const { directory, keys, threads, workers } = dependencies
  const node = openConsensus(config, {
    ...{ cluster, id, joined, directory, keys, workers, clock, random, log, onFatal },
    onMeasured: (measured) => threads.take(measured),
  })
  let opened: StoreMachine | null = null
  // Nothing may be applied once the database closes.
  closing.add(async () => {
    await node.stop(clock.monotonicMs() + leaveMsMax)
    await opened?.close()
  })
  // Loaded while the threads open the log.
  const opening = config['in-memory']
    ? new MemoryKeyValueDatabases()
    : onDisk(join(directory, databaseFolder))
  const [{ base, lastIndex, repaired, damage }, databases] = await Promise.all([node.recovered, opening])
  if (repaired !== null) log.warn({ repaired }, 'the log was repaired')
  if (damage !== null && (await hasNewerDatabase(databases, base.index))) {
    throw new StartError('data-directory', withReplacement(damage, config))
  }
  let judge: StateGuard | null = null
  const machine = await openStore(
    {
      databases,
      clock,
      limits: storeLimits,
      logBase: base,
      logLast: lastIndex,
      featureLevelMax: config['feature-level-max'],
      onFailure: onFatal,
      mayGive: () => judge?.mayGive() ?? true,
    },
    { directory, log, config },
  )
  opened = machine
  dependencies.onMachine(machine)
  await node.start(machine)
  return {
    node,
    machine,
    judgedBy: (guard) => {
      judge = guard
    },
  }
}

/** LevelDB is loaded only where it is used. */
async function onDisk(directory: string): Promise<KeyValueDatabases> {
  const { LevelKeyValueDatabases } = await import('../store/disk/level-key-value-store.ts')
  return new LevelKeyValueDatabases(directory)
}
