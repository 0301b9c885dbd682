import { Gauge, Histogram } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { Measured } from '../../raft/index.ts'
import { counter, gauge } from './gauges.ts'

/** Buckets in seconds, from a write to memory to one longer than an election timeout. */
const syncBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3]
const groupBuckets = [1, 2, 4, 8, 16, 32, 64, 128]

/** Metrics of the raft and log threads, which are updated about once a second. */
export class ConsensusMetrics {
  readonly #syncs = new Histogram({
    name: 'orch_log_sync_duration_seconds',
    help: 'Duration of the write and fdatasync of one group of log entries.',
    buckets: syncBuckets,
    registers: [],
  })
  readonly #groups = new Histogram({
    name: 'orch_log_group_writes',
    help: 'Writes that shared one fdatasync.',
    buckets: groupBuckets,
    registers: [],
  })
  #last: Measured | null = null

  take(measured: Measured): void {
    this.#last = measured
    for (const ms of measured.syncMs) this.#syncs.observe(ms / 1000)
    for (const writes of measured.groupWrites) this.#groups.observe(writes)
  }

  register(register: MetricsRegistry): void {
    register.registerMetric(this.#syncs)
    register.registerMetric(this.#groups)
    const last = (): Measured | null => this.#last
    gauge(register, 'orch_log_bytes', 'Size of the log on disk.', () => last()?.log?.bytes)
    gauge(register, 'orch_log_segments', 'Number of log files (segments).', () => last()?.log?.segments)
    counter(register, 'orch_log_scrubs', 'Completed scrubs of the log.', () => last()?.logHealth.scrubs)
    counter(
      register,
      'orch_log_damages',
      'Damaged places that the scrub found in the log.',
      () => last()?.logHealth.damages,
    )
    counter(
      register,
      'orch_log_repairs',
      'Repairs of a damaged log, at the start or while the member runs.',
      () => last()?.logHealth.repairs,
    )
    counter(
      register,
      'orch_raft_stalls',
      'Times this leader offered leadership to others because its log or api thread stalled.',
      () => last()?.transfers.transferred,
    )
    counter(
      register,
      'orch_raft_takeovers_declined',
      'Offers of leadership rejected because the log or api thread stalled.',
      () => last()?.transfers.declined,
    )
    counter(
      register,
      'orch_raft_resignations',
      'Times this leader stepped down without a successor, because it had no state to send and nothing could be committed.',
      () => last()?.transfers.resigned,
    )
    this.#registerTransport(register)
  }

  #registerTransport(register: MetricsRegistry): void {
    const counters = () => this.#last?.transport?.counters
    const count = (name: string, help: string, read: () => number | undefined): void =>
      counter(register, `orch_peer_${name}`, help, read)
    count('messages_sent', 'Messages sent to all peers.', () => counters()?.messagesSent)
    count('messages_received', 'Messages received from all peers.', () => counters()?.messagesReceived)
    count(
      'messages_dropped',
      'Messages dropped because the link was down or its queue full; Raft repeats them.',
      () => counters()?.messagesDropped,
    )
    count('bytes_sent', 'Bytes sent to all peers, without snapshots.', () => counters()?.bytesSent)
    count(
      'bytes_received',
      'Bytes received from all peers, without snapshots.',
      () => counters()?.bytesReceived,
    )
    count('links_opened', 'Connections to peers that were established.', () => counters()?.linksOpened)
    count('refusals', 'Callers of the peer port that were rejected.', () => counters()?.refusals)
    count(
      'violations',
      'Impossible messages from members; each closed its connection.',
      () => counters()?.violations,
    )
    count('snapshots_sent', 'Snapshots sent to peers.', () => counters()?.snapshotsSent)
    count('snapshots_received', 'Snapshots received from peers.', () => counters()?.snapshotsReceived)
    count('snapshots_failed', 'Snapshot streams that failed.', () => counters()?.snapshotsFailed)
    this.#perPeer(register, 'up', '1 while the link to the peer is up, else 0.', ({ up }) => (up ? 1 : 0))
    this.#perPeer(register, 'queue_messages', 'Messages waiting for the peer.', (link) => link.queuedMessages)
    this.#perPeer(register, 'queue_bytes', 'Bytes waiting for the peer.', (link) => link.queuedBytes)
  }

  #perPeer(register: MetricsRegistry, name: string, help: string, read: (link: Link) => number): void {
    const links = (): readonly Link[] => this.#last?.transport?.links ?? []
    new Gauge({
      name: `orch_peer_link_${name}`,
      help,
      labelNames: ['peer'],
      registers: [register],
      collect() {
        this.reset()
        for (const link of links()) this.set({ peer: link.name }, read(link))
      },
    })
  }
}

type Link = NonNullable<Measured['transport']>['links'][number]
