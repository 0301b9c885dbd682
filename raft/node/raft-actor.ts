import { present } from '../base/assert.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Entry, SnapshotMeta } from '../core/types.ts'
import { replaceMember } from '../log/errors.ts'
import type { LogToRaft, RaftToLog, WoundedSummary } from '../log/log-protocol.ts'
import type { Channel, PeerMessage, RecoveredLog, SnapshotSink, Transport } from '../ports.ts'
import type { PeerCredentials } from '../transport/peer-identity.ts'
import { Acquaintances } from './acquaintances.ts'
import { Driver } from './driver.ts'
import type { LeaseBoard } from './lease-board.ts'
import { LogMender } from './log-mender.ts'
import type { Meter } from './meter.ts'
import { initialConfiguration } from './options.ts'
import type { NodeOptions } from './options.ts'
import type { ApiToRaft, RaftToApi } from './protocol.ts'
import { oneLine } from './snapshot-desk.ts'

type Start = Extract<ApiToRaft, { readonly kind: 'start' }>

export type RaftActorOptions = {
  readonly node: NodeOptions
  readonly clock: Clock
  readonly random: Random
  readonly transport: Transport
  readonly api: Channel<RaftToApi, ApiToRaft>
  readonly log: Channel<RaftToLog, LogToRaft>
  /** Shared with the api thread. Unset: no lease is held. */
  readonly lease?: LeaseBoard
  /** Whether the state machine can decode a command that another member forwards. Unset: nobody looks. */
  readonly isCommand?: (payload: Uint8Array) => boolean
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
  /** The log has to be repaired before anything begins. */
  #wounded: WoundedSummary | null = null
  /** The api thread's first word, while the log is repaired. */
  #waiting: Start | null = null
  #driver: Driver | null = null
  #acquaintances: Acquaintances | null = null
  #metering: Timer | null = null
  /** Reads of the log under way: one for each follower, and one for each peer that asks for entries. */
  readonly #fetches = new Map<number, (entries: readonly Entry[]) => void>()
  #nextFetch = 1
  #mender: LogMender | null = null
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
        'Bring its old data directory back, or it must be replaced by a new member',
    )
  }

  #fromLog(message: LogToRaft): void {
    switch (message.kind) {
      case 'opened': {
        this.#recovered = message.recovered
        if (this.#wounded !== null) return this.#repaired(message.recovered)
        const { base, lastIndex, repaired } = message.recovered
        this.#options.api.post({ kind: 'recovered', base, lastIndex, repaired, wounded: null })
        return
      }
      case 'wounded': {
        this.#wounded = message
        const { base, lastIndex, refusal } = message
        this.#options.api.post({ kind: 'recovered', base, lastIndex, repaired: null, wounded: refusal })
        return
      }
      case 'repair-wants':
        return this.#mend(message, present(this.#wounded, 'a damaged log wants'))
      case 'damage-found':
      case 'damage-repaired':
        return this.#damage(message)
      case 'scrubbed':
        return this.#options.meter?.scrubbed()
      case 'persisted':
        this.#options.meter?.synced(message.syncMs, message.writes, message.size)
        this.#driver?.written(message.ticket)
        return
      case 'fetched':
        return this.#fetched(message.id, message.entries)
      case 'fetch-refused':
        return this.#fetched(message.id, [])
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

  #damage({ kind, line }: Extract<LogToRaft, { readonly kind: 'damage-found' | 'damage-repaired' }>): void {
    const found = kind === 'damage-found'
    if (found) this.#options.meter?.damaged()
    else this.#options.meter?.repaired()
    this.#options.api.post({ kind: 'log-notice', line })
    this.#driver?.logDamage(found)
  }

  #fetched(id: number, entries: readonly Entry[]): void {
    const take = this.#fetches.get(id)
    this.#fetches.delete(id)
    if (!this.#ended) take?.(entries)
  }

  #fromApi(message: ApiToRaft): void {
    if (this.#ended) return
    if (message.kind === 'start') this.#begin(message)
    else if (message.kind === 'peer-recorded') this.#acquaintances?.recorded(message.met)
    else if (message.kind === 'renew-keys') this.#options.renewKeys?.(message.credentials)
    else if (message.kind === 'stop') void this.#stop()
    else this.#driver?.take(message)
  }

  /** Nothing is promised before the log is whole: without it there is no driver. */
  #begin(start: Start): void {
    if (this.#wounded === null) return this.#start(start)
    this.#waiting = start
    this.#options.log.post({ kind: 'repair', covered: start.applied, entries: [] })
  }

  /** Fetches what is missing. Peers are met and spoken with, but nothing is promised to them. */
  #mend(
    { first, anchor }: Extract<LogToRaft, { readonly kind: 'repair-wants' }>,
    { configuration, logId, refusal }: WoundedSummary,
  ): void {
    const { node, clock, transport, api, log } = this.#options
    const start = present(this.#waiting, 'the api thread said how far its database is')
    const known = [configuration, start.applied.configuration].find((one) => one.members.length > 0)
    const members = known?.members ?? node.joining?.members ?? node.members
    const peers = members.map(({ id }) => id).filter((id) => id !== node.id)
    transport.setPeers(members)
    this.#beginTransport(logId, start.known)
    this.#mender = new LogMender({
      ...{ self: node.id, peers, first, anchor, clock },
      send: (message) => transport.send(message),
      refusePeer: (peer, violation) => transport.refuse(peer, violation),
      done: (entries) => log.post({ kind: 'repair', covered: start.applied, entries }),
      refuse: (why) =>
        this.#fail(refusal.replace(replaceMember, `it cannot be repaired, as ${why}; ${replaceMember}`)),
      notice: (line) => api.post({ kind: 'log-notice', line }),
    })
  }

  #repaired({ repaired }: RecoveredLog): void {
    this.#wounded = null
    this.#options.meter?.repaired()
    if (repaired !== null) this.#options.api.post({ kind: 'log-notice', line: repaired })
    if (this.#waiting !== null && !this.#ended) this.#start(this.#waiting)
  }

  #start({ applied, known }: Start): void {
    const { node, clock, random, transport, api, log, lease, isCommand } = this.#options
    if (this.#recovered === null || this.#driver !== null) return
    const recovered = this.#began(this.#recovered)
    const driver = new Driver(
      {
        node,
        clock,
        random,
        transport,
        api,
        recovered,
        ...(lease === undefined ? {} : { lease }),
        ...(isCommand === undefined ? {} : { isCommand }),
        onBroken: (cause) => this.#fail(cause),
        log: {
          write: (ticket, write) => log.post({ kind: 'write', ticket, ...write }),
          fetch: (from, bytesMax, take) => {
            const id = this.#nextFetch++
            this.#fetches.set(id, take)
            log.post({ kind: 'fetch', id, from, bytesMax })
          },
          cut: (base) => log.post({ kind: 'cut', base }),
        },
      },
      applied,
    )
    this.#driver = driver
    this.#beginTransport(recovered.logId, known)
  }

  /** Once: before the driver when the log has to be mended first. */
  #beginTransport(logId: string, known: Start['known']): void {
    if (this.#acquaintances !== null) return
    const { api, transport } = this.#options
    const acquaintances = new Acquaintances(known, (met) => api.post({ kind: 'peer-met', met }))
    this.#acquaintances = acquaintances
    transport
      .start({
        logId,
        meet: (peer, theirs) => acquaintances.meet(peer, theirs),
        receive: (message: PeerMessage) => (this.#driver ?? this.#mender)?.receive(message),
        unreachable: (peer) => this.#driver?.unreachable(peer),
        disowned: (_peer, configurationIndex) => this.#driver?.disowned(configurationIndex),
        receiveSnapshot: (header): Promise<SnapshotSink> =>
          this.#driver?.inbox.receive(header) ?? Promise.reject(new Error('the log is being repaired')),
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
    this.#mender?.close()
    // The peers first: nothing may be promised any more that the log does not take.
    await this.#options.transport.close().catch(() => undefined)
    this.#options.log.post({ kind: 'stop' })
  }

  #fail(cause: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#metering?.cancel()
    this.#driver?.stop()
    this.#mender?.close()
    this.#options.api.post({ kind: 'fatal', cause })
    void this.#options.transport.close().catch(() => undefined)
  }
}
