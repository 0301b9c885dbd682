import { present } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { emptyConfiguration } from '../core/types.ts'
import type { Configuration, Entry, LogIndex, NodeId, SnapshotMeta } from '../core/types.ts'
import { replaceMember } from '../log/errors.ts'
import type { LogToRaft, RaftToLog, DamageSummary } from '../log/log-protocol.ts'
import type { Channel, PeerMessage, RecoveredLog, SnapshotHeader, SnapshotSink, Transport } from '../ports.ts'
import { TransportError } from '../transport/errors.ts'
import type { PeerCredentials } from '../transport/peer-identity.ts'
import { Driver } from './driver.ts'
import { knownByAnotherLog } from '../protocol/node-errors.ts'
import { FoundingDriver } from './founding-driver.ts'
import type { SharedLease } from '../protocol/shared-lease.ts'
import { LogRepair } from './log-repair.ts'
import type { Meter } from './meter.ts'
import { initialConfiguration } from '../protocol/node-options.ts'
import { hasConfiguration, lostBeginning } from './log-beginning.ts'
import type { NodeOptions } from '../protocol/node-options.ts'
import { PeerLogIds } from '../protocol/peer-log-ids.ts'
import type { ApiToRaft, RaftToApi } from '../protocol/thread-messages.ts'
import { isProof } from './refusals.ts'
import { removedBecause } from './self-membership.ts'
import { oneLine } from '../protocol/one-line.ts'

type Start = Extract<ApiToRaft, { readonly kind: 'start' }>

export type RaftActorOptions = {
  readonly node: NodeOptions
  readonly clock: Clock
  readonly random: Random
  readonly transport: Transport
  readonly api: Channel<RaftToApi, ApiToRaft>
  readonly log: Channel<RaftToLog, LogToRaft>
  /** Shared with the api thread. Unset: no lease is held. */
  readonly lease?: SharedLease
  /**
   * Returns whether the state machine can decode a command that another member forwards. Unset: not
   * checked.
   */
  readonly isCommand?: (payload: Uint8Array) => boolean
  /** Unset: nothing is measured. */
  readonly meter?: Meter
  /** Replaces the keys of the peer links. Unset: peers are not authenticated by certificates. */
  readonly renewKeys?: (credentials: PeerCredentials) => void
}

/**
 * The life cycle of the raft thread, from the first message of the log to the last:
 *
 * log: opened ──> api: recovered ──> api: start ──> founding ──> driver runs ──> api: stop ──>
 * log: stop ──> stopped
 *
 * A damaged log sends `damaged` first, and `opened` once it is repaired, which begins at `start`.
 * There is no driver before the cluster is founded (see `Founding`). A failure of the log is fatal,
 * except while this thread stops.
 */
export class RaftActor {
  readonly #options: RaftActorOptions
  #recovered: RecoveredLog | null = null
  /** The damage of the log, which must be repaired first; null: the log is intact. */
  #damagedLog: DamageSummary | null = null
  /** The start message of the api thread, if the log had to be repaired. */
  #waiting: Start | null = null
  #driver: Driver | null = null
  #founding: FoundingDriver | null = null
  #peerLogIds: PeerLogIds | null = null
  /** Peers that have recorded this member with another log, with their names. */
  readonly #logRefusedBy = new Map<NodeId, string>()
  /**
   * Peers that reported a committed configuration without this member while there was no driver.
   */
  readonly #removedBy = new Set<NodeId>()
  /**
   * The callbacks of the reads of the log in progress, which serve followers that lag and peers
   * that request entries.
   */
  readonly #fetches = new Map<number, (entries: readonly Entry[]) => void>()
  #nextFetch = 1
  #logRepair: LogRepair | null = null
  #ended = false
  #stopping = false

  constructor(options: RaftActorOptions) {
    this.#options = options
  }

  /** Begins to handle messages. */
  begin(): void {
    const options = this.#options
    options.log.onMessages((messages) => {
      for (const message of messages) this.#fromLog(message)
    })
    options.api.onMessages((messages) => {
      for (const message of messages) this.#fromApi(message)
    })
  }

  /**
   * Handles a refusal: the peer has recorded another log for this member. This member ends once a
   * majority of the other voters has refused it, because it cannot be part of a quorum then. Before
   * that the refusing peers may be wrong, and others may still need this member.
   */
  logRefusedBy(peer: NodeId, peerName: string): void {
    this.#logRefusedBy.set(peer, peerName)
    if (!isProof(this.#configuration, this.#options.node.id, new Set(this.#logRefusedBy.keys()))) return
    this.#fail(knownByAnotherLog([...this.#logRefusedBy.values()]))
  }

  /** Handles that a peer accepted this member: if it refused earlier, that no longer counts. */
  acceptedBy(peer: NodeId): void {
    this.#logRefusedBy.delete(peer)
    this.#removedBy.delete(peer)
  }

  #fromLog(message: LogToRaft): void {
    switch (message.kind) {
      case 'opened': {
        this.#recovered = message.recovered
        if (this.#damagedLog !== null) return this.#repaired(message.recovered)
        const { base, lastIndex, repaired } = message.recovered
        this.#options.api.post({ kind: 'recovered', base, lastIndex, repaired, damage: null })
        return
      }
      case 'damaged': {
        this.#damagedLog = message
        const { base, lastIndex, refusal } = message
        this.#options.api.post({ kind: 'recovered', base, lastIndex, repaired: null, damage: refusal })
        return
      }
      case 'repair-wants':
        return this.#startLogRepair(message, present(this.#damagedLog, 'only a damaged log requests entries'))
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
      case 'compacted':
        this.#driver?.compacted(message.index)
        return
      case 'trimmed':
        return this.#options.api.post({ ...message, kind: 'log-trimmed' })
      case 'failed':
        // A log that fails after `stop` does not send `stopped`.
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
    else if (message.kind === 'peer-recorded') this.#peerLogIds?.recorded(message.met)
    else if (message.kind === 'cluster-recorded') this.#founding?.recorded(message.record)
    else if (message.kind === 'renew-keys') this.#options.renewKeys?.(message.credentials)
    else if (message.kind === 'stop') void this.#stop()
    else this.#driver?.take(message)
  }

  /**
   * Starts the founding and consensus, after a repair if the log is damaged: without an intact log
   * this member must not vote or acknowledge.
   */
  #begin(start: Start): void {
    if (this.#damagedLog === null) return this.#start(start)
    this.#waiting = start
    this.#options.log.post({ kind: 'repair', covered: start.applied, entries: [] })
  }

  /** Fetches the missing entries from peers, before this member votes or acknowledges anything. */
  #startLogRepair(
    { first, anchor }: Extract<LogToRaft, { readonly kind: 'repair-wants' }>,
    { configuration, logId, refusal }: DamageSummary,
  ): void {
    const { node, clock, transport, api, log } = this.#options
    const start = present(this.#waiting, 'the api thread has sent the state of its database')
    const known = [configuration, start.applied.configuration].find((one) => one.members.length > 0)
    const members = known?.members ?? node.joining?.members ?? node.members
    const peers = members.map(({ id }) => id).filter((id) => id !== node.id)
    transport.setPeers(members)
    this.#startFounding(logId, start)
    this.#logRepair = new LogRepair({
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
    this.#damagedLog = null
    this.#options.meter?.repaired()
    if (repaired !== null) this.#options.api.post({ kind: 'log-notice', line: repaired })
    if (this.#waiting !== null && !this.#ended) this.#start(this.#waiting)
  }

  #start(start: Start): void {
    const recovered = this.#recovered
    if (recovered === null || this.#driver !== null) return
    if (start.cluster === null && !isBlank(recovered)) {
      return this.#fail(
        'the record of the cluster that this log belongs to (cluster.json) is missing: restore it, or copy that of ' +
          'another initial member of this cluster, which is the same; otherwise this member must be replaced by a new one',
      )
    }
    const own = start.cluster?.founders.find(({ peer }) => peer === this.#options.node.id)
    if (own !== undefined && own.logId !== recovered.logId) {
      return this.#fail(
        'this member lost the log that its cluster was founded with: it must be replaced by a new member',
      )
    }
    if (this.#options.node.membersChanged === true && lostBeginning(recovered)) {
      return this.#fail(
        'the log lost its first record, and the list of initial members is not the one that it began with: start ' +
          'with the list of the founding, or this member must be replaced by a new one',
      )
    }
    this.#startFounding(recovered.logId, start).begin()
  }

  /**
   * Opens the links to peers. Has an effect once: before the repair if a damaged log needs entries
   * of peers, otherwise at the start.
   */
  #startFounding(logId: string, { applied, known, cluster }: Start): FoundingDriver {
    if (this.#founding !== null) return this.#founding
    const { node, clock, transport, api } = this.#options
    // The base of a restored log contains the initial members.
    const restored = this.#recovered?.base.configuration.members ?? []
    const members = restored.length > 0 ? restored : node.members
    const founding = new FoundingDriver({
      ...{ self: node.id, logId, members, record: cluster },
      ...{ clock, transport, post: (message) => api.post(message) },
      onFounded: () => this.#run(present(this.#recovered, 'the log is whole'), applied),
    })
    this.#founding = founding
    const peerLogIds = new PeerLogIds({
      known,
      cluster: () => founding.record,
      record: (met) => api.post({ kind: 'peer-met', met }),
    })
    this.#peerLogIds = peerLogIds
    // If the log was damaged, `#startLogRepair` has set the peers, or the driver sets them later.
    if (this.#waiting === null) transport.setPeers(members)
    transport
      .start({
        identity: () => founding.identity,
        verify: (peer, identity) => peerLogIds.verify(peer, identity),
        receive: (message) => this.#receive(message),
        unreachable: (peer) => this.#driver?.unreachable(peer),
        ended: (peer, hasEnded) => this.#driver?.ended(peer, hasEnded),
        removedByPeer: (peer, index) => this.#removedByPeer(peer, index),
        receiveSnapshot: (header): Promise<SnapshotSink> => this.#receiveSnapshot(header),
      })
      .catch((cause: unknown) => this.#fail(oneLine(cause)))
    return founding
  }

  /** Starts the driver, because the cluster is founded. */
  #run(found: RecoveredLog, applied: SnapshotMeta): void {
    if (this.#ended || this.#driver !== null) return
    const { node, clock, random, transport, api, log, lease, isCommand } = this.#options
    const recovered = this.#began(found)
    this.#driver = new Driver(
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
        flush: () => {
          api.flush()
          log.flush()
        },
        onStatus: () => this.#measure(),
        log: {
          write: (ticket, write) => log.post({ kind: 'write', ticket, ...write }),
          fetch: (from, bytesMax, take) => {
            const id = this.#nextFetch++
            this.#fetches.set(id, take)
            log.post({ kind: 'fetch', id, from, bytesMax })
          },
          compact: (base) => log.post({ kind: 'compact', base }),
          trim: (request, through) => log.post({ kind: 'trim', request, through }),
        },
      },
      applied,
    )
  }

  #receive(message: PeerMessage): void {
    if (this.#ended) return
    if (message.kind === 'founding') this.#founding?.receive(message.from, message.identity)
    else (this.#driver ?? this.#logRepair)?.receive(message)
  }

  async #receiveSnapshot(header: SnapshotHeader): Promise<SnapshotSink> {
    if (this.#driver === null) throw new TransportError('aborted', 'this member is not ready yet')
    return this.#driver.inbox.receive(header)
  }

  #removedByPeer(peer: NodeId, index: LogIndex): void {
    if (this.#driver !== null) return this.#driver.removedByPeer(peer, index)
    this.#removedBy.add(peer)
    if (!isProof(this.#configuration, this.#options.node.id, this.#removedBy)) return
    this.#removedBy.clear()
    this.#options.api.post({ kind: 'removed', cause: removedBecause(index), index })
  }

  /** The configuration whose voters may refuse this member or report its removal. */
  get #configuration(): Configuration {
    const { node } = this.#options
    const known = this.#driver?.configuration ?? emptyConfiguration
    if (known.members.length > 0) return known
    return initialConfiguration(node.joining?.members ?? node.members)
  }

  /** Adds the configuration of the initial members to a log without one; writes it to a new log. */
  #began(recovered: RecoveredLog): RecoveredLog {
    const { members } = this.#options.node
    if (hasConfiguration(recovered) || members.length === 0) return recovered
    const configuration = initialConfiguration(members)
    const base: SnapshotMeta = { ...recovered.base, configuration }
    if (recovered.lastIndex > 0) return { ...recovered, base }
    this.#options.log.post({ kind: 'write', ticket: 0, snapshot: base, entries: [], hardState: null })
    return { ...recovered, base, configuration }
  }

  /** Sends the measurements together with the status, which wakes the api thread anyway. */
  #measure(): void {
    const { meter, clock, api } = this.#options
    const nowMs = clock.monotonicMs()
    if (meter === undefined || this.#driver === null || !meter.isDue(nowMs)) return
    api.post({ kind: 'measured', measured: meter.take(this.#driver.transferCounts, nowMs) })
  }

  async #stop(): Promise<void> {
    this.#ended = true
    this.#stopping = true
    this.#founding?.stop()
    this.#driver?.stop()
    this.#logRepair?.close()
    // The transport is closed first: then no vote or acknowledgement is sent that the log does not
    // write.
    await this.#options.transport.close().catch(() => undefined)
    this.#options.log.post({ kind: 'stop' })
  }

  #fail(cause: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#founding?.stop()
    this.#driver?.stop()
    this.#logRepair?.close()
    this.#options.api.post({ kind: 'fatal', cause })
    void this.#options.transport.close().catch(() => undefined)
  }
}

/** Returns whether nothing was ever written to the log. */
function isBlank(recovered: RecoveredLog): boolean {
  return !hasConfiguration(recovered) && recovered.lastIndex === 0 && recovered.hardState.term === 0
}
