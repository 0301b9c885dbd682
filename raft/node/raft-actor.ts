import type { Clock, Timer } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { SnapshotMeta } from '../core/types.ts'
import type { LogToRaft, RaftToLog } from '../log/log-protocol.ts'
import type { Channel, PeerMessage, RecoveredLog, SnapshotSink, Transport } from '../ports.ts'
import type { PeerCredentials } from '../transport/peer-identity.ts'
import { Acquaintances } from './acquaintances.ts'
import { Driver } from './driver.ts'
import type { LeaseBoard } from './lease-board.ts'
import type { Meter } from './meter.ts'
import { initialConfiguration } from './options.ts'
import type { NodeOptions } from './options.ts'
import type { ApiToRaft, RaftToApi } from './protocol.ts'
import { oneLine } from './snapshot-desk.ts'

export type RaftActorOptions = {
  readonly node: NodeOptions
  readonly clock: Clock
  readonly random: Random
  readonly transport: Transport
  readonly api: Channel<RaftToApi, ApiToRaft>
  readonly log: Channel<RaftToLog, LogToRaft>
  /** Shared with the api thread. Unset: no lease is held. */
  readonly lease?: LeaseBoard
  /** Unset: nobody wants numbers. */
  readonly meter?: Meter
  /** Unset: peers are not told by certificates. */
  readonly renewKeys?: (credentials: PeerCredentials) => void
}

/**
 * The life of the raft thread, from the log's first word to its last:
 *
 * log: opened ──> api: recovered ──> api says start ──> driver runs ──> api says stop ──> log: stop ──>
 * stopped
 *                                                             └─ log failed ──> fatal
 */
export class RaftActor {
  readonly #options: RaftActorOptions
  #recovered: RecoveredLog | null = null
  #driver: Driver | null = null
  #acquaintances: Acquaintances | null = null
  #metering: Timer | null = null
  #ended = false
  #stopping = false

  constructor(options: RaftActorOptions) {
    this.#options = options
  }

  /** Begins to listen. */
  begin(): void {
    const options = this.#options
    options.log.onMessages((messages) => {
      for (const message of messages) this.#fromLog(message)
    })
    options.api.onMessages((messages) => {
      for (const message of messages) this.#fromApi(message)
    })
    const { meter } = options
    if (meter !== undefined) this.#metering = options.clock.every(meter.periodMs, () => this.#measure(meter))
  }

  /** A peer knows this member by another log. */
  turnedAway(peerName: string): void {
    this.#fail(
      `member "${peerName}" knows this member by another log: this one lost its log, and its vote with it. ` +
        'Bring its old data directory back; under this name nothing else may take part',
    )
  }

  #fromLog(message: LogToRaft): void {
    switch (message.kind) {
      case 'opened': {
        this.#recovered = message.recovered
        const { base, lastIndex, repaired } = message.recovered
        this.#options.api.post({ kind: 'recovered', base, lastIndex, repaired })
        return
      }
      case 'persisted':
        this.#options.meter?.synced(message.syncMs, message.writes, message.size)
        this.#driver?.written(message.ticket)
        return
      case 'fetched':
        this.#driver?.fetched(message.entries)
        return
      case 'fetch-refused':
        this.#driver?.fetched([])
        return
      case 'cut-done':
        this.#driver?.cut(message.index)
        return
      case 'failed':
        // Told to close, it writes nothing more either way, and will not say that it stopped.
        if (this.#stopping) this.#options.api.post({ kind: 'stopped' })
        else this.#fail(message.message)
        return
      case 'stopped':
        this.#options.api.post({ kind: 'stopped' })
        return
    }
  }

  #fromApi(message: ApiToRaft): void {
    if (this.#ended) return
    if (message.kind === 'start') this.#start(message)
    else if (message.kind === 'peer-recorded') this.#acquaintances?.recorded(message.met)
    else if (message.kind === 'renew-keys') this.#options.renewKeys?.(message.credentials)
    else if (message.kind === 'stop') void this.#stop()
    else this.#driver?.take(message)
  }

  #start({ applied, known }: Extract<ApiToRaft, { readonly kind: 'start' }>): void {
    const { node, clock, random, transport, api, log, lease } = this.#options
    if (this.#recovered === null || this.#driver !== null) return
    const recovered = this.#began(this.#recovered)
    let fetches = 0
    const driver = new Driver(
      {
        node,
        clock,
        random,
        transport,
        api,
        recovered,
        ...(lease === undefined ? {} : { lease }),
        onBroken: (cause) => this.#fail(cause),
        log: {
          write: (ticket, write) => log.post({ kind: 'write', ticket, ...write }),
          fetch: (from, bytesMax) => log.post({ kind: 'fetch', id: ++fetches, from, bytesMax }),
          cut: (base) => log.post({ kind: 'cut', base }),
        },
      },
      applied,
    )
    this.#driver = driver
    const acquaintances = new Acquaintances(known, (met) => api.post({ kind: 'peer-met', met }))
    this.#acquaintances = acquaintances
    transport
      .start({
        logId: recovered.logId,
        meet: (peer, logId) => acquaintances.meet(peer, logId),
        receive: (message: PeerMessage) => driver.receive(message),
        unreachable: (peer) => driver.unreachable(peer),
        disowned: (_peer, configurationIndex) => driver.disowned(configurationIndex),
        receiveSnapshot: (header): Promise<SnapshotSink> => driver.inbox.receive(header),
      })
      .catch((cause: unknown) => this.#fail(oneLine(cause)))
  }

  /** A new log begins with the configuration all first members were given; from then on the log knows. */
  #began(recovered: RecoveredLog): RecoveredLog {
    const { members } = this.#options.node
    const fresh = recovered.base.index === 0 && recovered.base.configuration.members.length === 0
    if (!fresh || members.length === 0) return recovered
    const configuration = initialConfiguration(members)
    const base: SnapshotMeta = { ...recovered.base, configuration }
    if (recovered.lastIndex > 0) return { ...recovered, base }
    this.#options.log.post({ kind: 'write', ticket: 0, snapshot: base, entries: [], hardState: null })
    return { ...recovered, base, configuration }
  }

  #measure(meter: Meter): void {
    if (this.#driver === null || this.#ended) return
    this.#options.api.post({ kind: 'measured', measured: meter.take(this.#driver.succession) })
  }

  async #stop(): Promise<void> {
    this.#ended = true
    this.#stopping = true
    this.#metering?.cancel()
    this.#driver?.stop()
    // The peers first: nothing may be promised any more that the log does not take.
    await this.#options.transport.close().catch(() => undefined)
    this.#options.log.post({ kind: 'stop' })
  }

  #fail(cause: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#metering?.cancel()
    this.#driver?.stop()
    this.#options.api.post({ kind: 'fatal', cause })
    void this.#options.transport.close().catch(() => undefined)
  }
}
