import { Counter, Gauge } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { NodeLoad } from '../../raft/index.ts'
import type { Consensus } from '../../raft/index.ts'
import type { StateVerdict } from '../state-agreement/state-agreement.ts'
import type { Outcome } from '../store/command.ts'
import type { QuarantineCause } from '../store/quarantine.ts'
import type { ScrubCounters } from '../store/scrub.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { counter as countedIn, gauge as gaugeIn } from './gauges.ts'

export type MetricsDependencies = {
  readonly machine: {
    readonly lastState: { readonly revision: number }
    readonly quarantine: object | null
    readonly quarantines: Readonly<Record<QuarantineCause, number>>
  }
  readonly consensus: Pick<Consensus<Outcome>, 'status'>
  readonly node: { readonly load: NodeLoad }
  readonly watch: {
    readonly guard: { readonly verdict: StateVerdict }
    readonly scrub: { readonly counters: ScrubCounters }
  }
  readonly store: Pick<ObjectStore, 'featureLevel' | 'storage'> & { readonly openWatches: number }
}

/** Registers the metrics of the cluster and of this member's state. */
export function registerClusterMetrics(
  register: MetricsRegistry,
  { consensus, node, store, machine, watch }: MetricsDependencies,
): void {
  const gauge = (name: string, help: string, read: () => number): void => gaugeIn(register, name, help, read)
  gauge('orch_raft_is_leader', '1 on the leader, else 0.', () => (consensus.status.role === 'leader' ? 1 : 0))
  gauge('orch_raft_has_leader', '1 while a leader is known, else 0.', () =>
    consensus.status.leader === null ? 0 : 1,
  )
  gauge('orch_raft_term', 'Current Raft term of this member.', () => consensus.status.term)
  gauge(
    'orch_raft_commit_index',
    'Commit index: highest index of a log entry that is known to be committed.',
    () => consensus.status.commit,
  )
  gauge(
    'orch_raft_last_index',
    'Index of the last log entry of this member.',
    () => consensus.status.lastIndex,
  )
  gauge(
    'orch_raft_persisted_index',
    'Index up to which log entries are on the disk of this member.',
    () => consensus.status.persistedIndex,
  )
  gauge(
    'orch_store_applied_memory_index',
    'Index up to which log entries are applied to memory.',
    () => consensus.status.appliedMemory,
  )
  gauge(
    'orch_store_applied_disk_index',
    'Index up to which the database has the effects of log entries.',
    () => consensus.status.appliedDisk,
  )
  gauge('orch_store_revision', 'Newest resourceVersion in memory.', () => machine.lastState.revision)
  gauge('orch_store_feature_level', 'Feature level of the cluster.', () => store.featureLevel)
  gauge(
    'orch_storage_used_bytes',
    'Bytes of objects and their history, as the quota counts them.',
    () => store.storage.usedBytes,
  )
  gauge('orch_storage_quota_bytes', 'Storage quota; 0 without a quota.', () => store.storage.bytesMax ?? 0)
  gauge('orch_storage_alarm', '1 while writes that grow the storage are refused, else 0.', () =>
    store.storage.alarm ? 1 : 0,
  )
  registerUsageByResource(register, store)
  gauge(
    'orch_store_quarantined',
    '1 while this member does not serve because its state is not trusted, else 0.',
    () => (machine.quarantine === null ? 0 : 1),
  )
  registerQuarantines(register, machine.quarantines)
  gauge('orch_cluster_state_apart', 'Number of members whose state differs from that of this member.', () =>
    watch.guard.verdict.kind === 'agree' ? 0 : watch.guard.verdict.members.length,
  )
  registerScrub(register, watch.scrub.counters)
  gauge('orch_store_open_watches', 'Open watch cursors.', () => store.openWatches)
  gauge(
    'orch_raft_proposals_waiting',
    'Proposals of this member whose outcome is not known yet.',
    () => node.load.proposals,
  )
  gauge(
    'orch_raft_readers_waiting',
    'Linearizable reads waiting for a ReadIndex round, or until its index is applied.',
    () => node.load.readers,
  )
}

/** `disagreement` without known damage is a fault of a program or of memory. */
function registerQuarantines(
  register: MetricsRegistry,
  quarantines: Readonly<Record<QuarantineCause, number>>,
): void {
  new Counter({
    name: 'orch_store_quarantines_total',
    help: 'Number of quarantines of the local state, by cause.',
    labelNames: ['cause'],
    registers: [register],
    collect() {
      this.reset()
      for (const [cause, count] of Object.entries(quarantines)) this.inc({ cause }, count)
    },
  })
}

function registerScrub(register: MetricsRegistry, counters: Readonly<ScrubCounters>): void {
  const count = (name: string, help: string, read: () => number): void =>
    countedIn(register, `orch_store_scrub_${name}`, help, read)
  count('rounds', 'Completed scrubs of the database.', () => counters.rounds)
  count('records', 'Records that scrubs have checked.', () => counters.records)
  count('findings', 'Scrubs that found damage.', () => counters.findings)
}

/** One series per resource in use, at most `resourceSeriesMax`; the largest are kept. */
function registerUsageByResource(register: MetricsRegistry, store: Pick<ObjectStore, 'storage'>): void {
  new Gauge({
    name: 'orch_storage_resource_bytes',
    help: 'Part of orch_storage_used_bytes that belongs to each resource.',
    labelNames: ['resource'],
    registers: [register],
    collect() {
      this.reset()
      for (const { resource, bytes } of store.storage.largest(resourceSeriesMax))
        this.set({ resource }, bytes)
    },
  })
  new Gauge({
    name: 'apiserver_storage_objects',
    help: 'Number of stored objects, by resource.',
    labelNames: ['resource'],
    registers: [register],
    collect() {
      this.reset()
      for (const { resource, objects } of store.storage.largest(resourceSeriesMax)) {
        this.set({ resource }, objects)
      }
    },
  })
}

/** Users define kinds. Beyond this number the smallest resources have no series. */
const resourceSeriesMax = 1000
