import { Gauge, Histogram } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { Measured } from '../../raft/index.ts'
import { counter, gauge } from './read-metrics.ts'

/** From what memory answers to what an election does not survive, in seconds. */
const syncBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3]
const groupBuckets = [1, 2, 4, 8, 16, 32, 64, 128]

/** Numbers of the raft and log threads, which tell them about once a second. */
export class ConsensusMetrics {
  readonly #syncs = new Histogram({
    name: 'orch_log_sync_duration_seconds',
    help: 'write and fdatasync of one group of the log',
    buckets: syncBuckets,
    registers: [],
  })
  readonly #groups = new Histogram({
    name: 'orch_log_group_writes',
    help: 'writes that shared one fdatasync',
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
    gauge(register, 'orch_log_bytes', 'what the log takes on its disk', () => last()?.log?.bytes)
    gauge(register, 'orch_log_segments', 'files of the log', () => last()?.log?.segments)
    counter(register, 'orch_log_scrubs', 'passes of the scrub over the log', () => last()?.logHealth.scrubs)
    counter(
      register,
      'orch_log_damages',
      'damaged places that the scrub found in the log',
      () => last()?.logHealth.damages,
    )
    counter(
      register,
      'orch_log_repairs',
      'repairs of a damaged log, at the start or while it runs',
      () => last()?.logHealth.repairs,
    )
    counter(
      register,
      'orch_raft_stalls',
      'times this leader offered leadership away because its own log or api thread stood still',
      () => last()?.succession.gaveWay,
    )
    counter(
      register,
      'orch_raft_takeovers_declined',
      'offers of leadership not taken because the log or the api thread stood still',
      () => last()?.succession.declined,
    )
    counter(
      register,
      'orch_raft_resignations',
      'times this leader stepped down with no heir, as it had no state to give and nothing could be committed',
      () => last()?.succession.resigned,
    )
    this.#registerTransport(register)
  }

  #registerTransport(register: MetricsRegistry): void {
    const counters = () => this.#last?.transport?.counters
    const count = (name: string, help: string, read: () => number | undefined): void =>
      counter(register, `orch_peer_${name}`, help, read)
    count('messages_sent', 'to all peers', () => counters()?.messagesSent)
    count('messages_received', 'of all peers', () => counters()?.messagesReceived)
    count(
      'messages_dropped',
      'link down or its queue full; said again later',
      () => counters()?.messagesDropped,
    )
    count('bytes_sent', 'to all peers, snapshots apart', () => counters()?.bytesSent)
    count('bytes_received', 'of all peers, snapshots apart', () => counters()?.bytesReceived)
    count('links_opened', 'connections to peers that came up', () => counters()?.linksOpened)
    count('refusals', 'callers of the peer port turned away', () => counters()?.refusals)
    count(
      'violations',
      'messages of members that cannot be true; each closed its link',
      () => counters()?.violations,
    )
    count('snapshots_sent', 'states streamed to peers', () => counters()?.snapshotsSent)
    count('snapshots_received', 'states received from peers', () => counters()?.snapshotsReceived)
    count('snapshots_failed', 'streams of states that broke', () => counters()?.snapshotsFailed)
    this.#perPeer(register, 'up', '1 while the link to the peer is up', ({ up }) => (up ? 1 : 0))
    this.#perPeer(register, 'queue_messages', 'waiting for the peer', (link) => link.queuedMessages)
    this.#perPeer(register, 'queue_bytes', 'waiting for the peer', (link) => link.queuedBytes)
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
