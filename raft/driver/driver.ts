import { assert } from '../../base/assert.ts'
import type { Message } from '../core/message.ts'
import type { Ready } from '../core/ready.ts'
import { Raft } from '../core/raft.ts'
import { logIndex } from '../core/types.ts'
import type { Configuration, LogIndex, NodeId, SnapshotMeta } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import { CommandChecksumGuard } from '../protocol/command-checksum-guard.ts'
import type { DriverOptions } from './driver-options.ts'
import { CommittedEntryStream } from './committed-entry-stream.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import { LogCompactor } from './log-compactor.ts'
import { LogBounds } from './log-bounds.ts'
import { checkNodeOptions, coreConfigOf } from '../protocol/node-options.ts'
import type { ApiToDriver, RaftToApi } from '../protocol/thread-messages.ts'
import { Relays } from './relays.ts'
import { SelfMembership } from './self-membership.ts'
import type { SnapshotInbox } from './snapshot-inbox.ts'
import { StatusPublisher } from './status-publisher.ts'
import { LeadershipTransferPolicy } from './leadership-transfer-policy.ts'
import type { TransferCounts } from '../protocol/measured.ts'
import { TickTimer } from './tick-timer.ts'

/**
 * The raft thread: the core, its ticks, and its links to the peers, the log and the api thread. It
 * decides nothing about consensus and touches no file. One turn:
 *
 *   inputs (ticks, peers, log, api) ──> proposals and reads of the turn, each as one ──> ready ──┐
 *   ┌────────────────────────────────────────────────────────────────────────────────────────────┘
 *   └─> send at once ─> write to the log ─> reads, snapshots, fetches ─> commit and entries to api
 *                             └ durable ─> `persisted`, messages that waited are sent
 */
export class Driver {
  readonly #options: DriverOptions
  readonly #id: NodeId
  readonly #core: Raft
  readonly #entryStream: CommittedEntryStream
  readonly #logBounds: LogBounds
  readonly #compactor: LogCompactor
  readonly #checksumGuard: CommandChecksumGuard
  readonly #relays: Relays
  readonly #membership: SelfMembership
  readonly #status: StatusPublisher
  readonly #lease: LeaseKeeper
  /** Writes that are not durable yet, by ascending ticket, each with what waits for it. */
  readonly #writes: PendingWrite[] = []
  readonly #transferPolicy: LeadershipTransferPolicy
  readonly #ticks: TickTimer
  #turnPlanned = false
  #stopped = false
  #appliedIndex: LogIndex

  /** @param applied the snapshot metadata of the durable state of the state machine */
  constructor(options: DriverOptions, applied: SnapshotMeta) {
    const { node, clock, random, recovered, api } = options
    checkNodeOptions(node)
    this.#options = options
    this.#id = node.id
    this.#appliedIndex = applied.index
    assert(applied.index <= recovered.lastIndex, 'the log reaches as far as the database')
    const durable = logIndex(Math.max(applied.index, recovered.base.index))
    this.#core = new Raft(coreConfigOf(node, random), recovered, durable)
    this.#transferPolicy = new LeadershipTransferPolicy(this.#id, this.#core, node.limits)
    const { limits } = node
    const post = (message: RaftToApi): void => api.post(message)
    this.#entryStream = new CommittedEntryStream(
      { creditBytes: limits.entryCreditBytes, tailBytesMax: limits.entryTailBytesMax, post },
      recovered.lastIndex,
    )
    this.#logBounds = new LogBounds(limits, recovered, applied)
    this.#checksumGuard = new CommandChecksumGuard({
      now: () => this.#now(),
      report: (event) => post({ kind: 'peer-event', event }),
    })
    this.#status = new StatusPublisher(this.#core, post, options.onStatus)
    this.#lease = new LeaseKeeper(this.#core, options.lease ?? null)
    this.#relays = new Relays({
      ...{ self: this.#id, core: this.#core, clock, random, limits, post },
      send: (message) => this.#send(message),
      transport: options.transport,
      isCommand: options.isCommand ?? (() => true),
      electionMs: node.timing.electionMs,
      wake: () => this.#planTurn(),
      fetch: (from, bytesMax, take) => options.log.fetch(from, bytesMax, take),
      transferAway: (forMs) => this.#transferPolicy.transferAway(this.#now(), forMs),
      complete: (snapshot) => this.#logBounds.complete(snapshot),
      beginLogAfter: (snapshot) => this.#compactor.beginAfter(snapshot),
      logBase: () => this.#logBounds.base.index,
    })
    this.#compactor = new LogCompactor({
      core: this.#core,
      bounds: this.#logBounds,
      compact: (base) => options.log.compact(base),
      install: (snapshot) => this.#relays.inbox.install(snapshot),
    })
    this.#membership = new SelfMembership({
      self: this.#id,
      joining: node.joining,
      core: this.#core,
      transport: options.transport,
      removed: (cause, index) => post({ kind: 'removed', cause, index }),
      send: (message) => this.#send(message),
    })
    this.#membership.refresh()
    this.#core.setWallTime(clock.wallMs())
    const pass = (ticks: number, isLate: boolean): void => this.#tick(ticks, isLate)
    const mayStall = (): boolean => this.#transferPolicy.mayStall(this.#now())
    this.#ticks = new TickTimer({ clock, timing: node.timing, core: this.#core, mayStall, pass })
    if (this.#core.votesAlone) this.#core.campaign()
    this.#planTurn()
  }

  /** Handles a message of a peer. */
  receive(message: PeerMessage): void {
    if (this.#stopped) return
    this.#ticks.received(message)
    if (message.kind === 'core') {
      // A snapshot message is accepted only from the channel that staged its state.
      if (message.message.to !== this.#id || message.message.kind === 'snapshot') return
      if (message.message.kind === 'timeout-now' && !this.#transferPolicy.mayTakeOver(this.#now())) return
      if (!this.#checksumGuard.admits(message.message)) return
      this.#refuse(message.message.from, this.#core.step(message.message))
      if (message.message.kind === 'heartbeat') this.#relays.reads.heartbeat()
    } else if (message.to === this.#id && message.kind !== 'founding') {
      if (message.kind === 'members' || message.kind === 'members-wanted') this.#membership.receive(message)
      else this.#refuse(message.from, this.#relays.fromPeer(message))
    }
    this.#planTurn()
  }

  /** Closes the link of a peer that sent an impossible message; null: the message was possible. */
  #refuse(peer: NodeId, violation: string | null): void {
    if (violation !== null) this.#options.transport.refuse(peer, violation)
  }

  unreachable(peer: NodeId): void {
    if (this.#stopped) return
    this.#core.reportUnreachable(peer)
    this.#planTurn()
  }

  /** Handles the report that a peer has ended, or is connected again; see `Raft.reportEnded`. */
  ended(peer: NodeId, hasEnded: boolean): void {
    if (this.#stopped) return
    this.#ticks.reported()
    this.#core.reportEnded(peer, hasEnded)
    this.#planTurn()
  }

  /** Handles that a peer reports that this member is not in the committed configuration. */
  removedByPeer(peer: NodeId, configurationIndex: LogIndex): void {
    if (!this.#stopped) this.#membership.onRemovedByPeer(peer, configurationIndex)
  }

  get configuration(): Configuration {
    return this.#core.configuration
  }

  get transferCounts(): TransferCounts {
    return this.#transferPolicy.counts
  }

  get inbox(): SnapshotInbox {
    return this.#relays.inbox
  }

  /** Handles the report of the log that every write up to `ticket` is durable. */
  written(ticket: number): void {
    if (this.#stopped) return
    this.#core.persisted(ticket)
    this.#entryStream.written(ticket)
    for (;;) {
      const held = this.#writes[0]
      if (held === undefined || held.ticket > ticket) break
      this.#writes.shift()
      for (const message of held.messages) this.#send({ kind: 'core', message })
      if (held.snapshot !== null) this.#relays.inbox.install(held.snapshot)
    }
    this.#transferPolicy.writing.stop(this.#now(), this.#writes.length > 0)
    this.#planTurn()
  }

  /** Handles the report of the log that everything at and below `index` is durably removed. */
  compacted(index: LogIndex): void {
    if (!this.#stopped) this.#compactor.done(index)
  }

  /** Handles the report of the log that damage was found, or that it was repaired. */
  logDamage(found: boolean): void {
    if (!this.#stopped) this.#compactor[found ? 'damageFound' : 'damageRepaired']()
  }

  /** Handles a message of the api thread. */
  take(message: ApiToDriver): void {
    if (this.#stopped) return
    this.#ticks.taken(message)
    switch (message.kind) {
      case 'propose':
        this.#core.expectLeader()
        this.#relays.proposals.local(message.term, message.proposals)
        break
      case 'read':
        // A client waits for the leader.
        if (!message.withHeartbeat) this.#core.expectLeader()
        this.#relays.reads.local(message.round, message.withHeartbeat)
        break
      case 'transfer':
        this.#relays.transfers.local(message.request, message.to)
        break
      case 'change':
        this.#relays.membership.local(message.request, message.change)
        break
      case 'lease':
        this.#lease.update(message.wanted, message.sentMs, this.#now())
        break
      case 'transfer-away':
        this.#transferPolicy.transferAway(this.#now(), message.forMs)
        break
      case 'report':
        this.#relays.reports.local(message.to, message.bytes)
        return
      case 'state-wanted':
        this.#relays.repairs.local(message.atLeast)
        return
      case 'applied':
        this.#applied(message.index)
        this.#entryStream.granted(message.credit)
        return
      case 'applied-disk':
        this.#appliedDisk(message.snapshot)
        return
      case 'trim-log':
        this.#trimLog(message.request, message.through)
        return
      case 'state-quarantined':
        this.#compactor.stateQuarantined()
        return
      case 'resume':
        this.#entryStream.resume(message.from)
        return
      case 'installed':
        this.#applied(message.index)
        this.#relays.repairs.fulfilled()
        this.#relays.inbox.installed()
        this.#compactor.stateInstalled()
        return
      case 'source-opened':
      case 'source-chunk':
      case 'source-failed':
        this.#relays.outbox.take(message)
        return
      case 'sink-taken':
      case 'sink-failed':
        this.#relays.inbox.take(message)
        return
    }
    this.#planTurn()
  }

  stop(): void {
    this.#stopped = true
    this.#lease.stop()
    this.#ticks.stop()
    this.#relays.close()
  }

  #tick(ticks: number, isLate: boolean): void {
    const now = this.#now()
    this.#lease.updateTime(now)
    this.#core.setWallTime(this.#options.clock.wallMs())
    this.#core.pass(ticks, isLate)
    this.#entryStream.flush()
    this.#transferPolicy.tick(now, (follower) => this.#relays.outbox.isUnserved(follower))
    this.#relays.membership.tick()
    this.#membership.tick(now, this.#core.leader !== null)
    this.#compactWithoutState()
    this.#status.tick(now, this.#ticks.isIdle)
    this.#planTurn()
  }

  #now(): number {
    return this.#options.clock.monotonicMs()
  }

  #applied(index: LogIndex): void {
    this.#core.applied(index)
    this.#appliedIndex = index
    this.#transferPolicy.applying.stop(this.#now(), index < this.#entryStream.sentCommit)
  }

  #planTurn(): void {
    if (this.#turnPlanned || this.#stopped) return
    this.#turnPlanned = true
    this.#options.clock.soon(() => {
      this.#turnPlanned = false
      if (!this.#stopped) this.#turn()
    })
  }

  #turn(): void {
    this.#lease.updateTime(this.#now())
    this.#relays.inbox.flush()
    // A new leader is reported to the api thread before the results of this turn, so that the api
    // thread does not retry for the previous leader.
    if (this.#status.outdated) {
      this.#relays.reads.leaderChanged()
      this.#status.publish(this.#now())
    }
    this.#relays.flush()
    let rounds = 0
    while (this.#core.hasReady() && rounds++ < readyRoundsMax) this.#perform(this.#core.ready())
    if (this.#stopped) return
    if (rounds > readyRoundsMax) this.#planTurn()
    else this.#relays.inbox.turnEnded()
    this.#relays.membership.settle()
    this.#membership.refresh()
    this.#entryStream.move(this.#core.commit)
    if (this.#appliedIndex < this.#entryStream.sentCommit) this.#transferPolicy.applying.start(this.#now())
    this.#lease.publish()
    this.#status.turnEnded(this.#now())
    this.#ticks.handled()
    // The other threads begin before this one encodes what it sends to peers.
    this.#options.flush()
  }

  #perform(ready: Ready): void {
    this.#lease.publish()
    for (const message of ready.messagesAtOnce) this.#send({ kind: 'core', message })
    if (this.#stopped) return
    if (ready.persist !== null) this.#persist(ready.persist)
    if (ready.transition !== null) {
      this.#membership.refresh()
      this.#relays.reads.leaderChanged()
      this.#status.publish(this.#now())
    }
    this.#relays.perform(ready)
    for (const { from, bytesMax } of ready.fetches) {
      this.#options.log.fetch(from, bytesMax, (entries) => {
        if (!this.#stopped) this.#core.supply(entries)
        this.#planTurn()
      })
    }
  }

  #persist({ ticket, snapshot, entries, hardState, messages }: NonNullable<Ready['persist']>): void {
    this.#writes.push({ ticket, messages, snapshot })
    this.#transferPolicy.writing.start(this.#now())
    this.#entryStream.writing(ticket, snapshot, entries)
    this.#logBounds.writing(snapshot, entries)
    if (snapshot !== null) this.#relays.inbox.taken()
    this.#options.log.write(ticket, { snapshot, entries, hardState })
  }

  #send(message: PeerMessage): void {
    if (this.#stopped) return
    const wrong = this.#checksumGuard.alterationIn(message)
    if (wrong === null) this.#options.transport.send(message)
    else {
      this.#stopped = true
      this.#lease.stop()
      this.#options.onBroken(wrong)
    }
  }

  #appliedDisk(snapshot: SnapshotMeta): void {
    if (!this.#logBounds.durable(snapshot)) return
    this.#core.applied(snapshot.index)
    const { outbox } = this.#relays
    if (!outbox.opening) this.#compactor.durable(outbox.logNeeds(this.#core.status().followers))
  }

  #trimLog(request: number, through: LogIndex): void {
    const { inbox, outbox } = this.#relays
    const needs = outbox.logNeeds(this.#core.status().followers)
    const isFree = !inbox.isInstalling && !outbox.opening
    if (isFree && this.#compactor.compactThrough(through, needs)) this.#options.log.trim(request, through)
    else this.#options.api.post({ kind: 'log-trimmed', request, isDone: false })
  }

  #compactWithoutState(): void {
    const { inbox, outbox, repairs } = this.#relays
    // The log is not compacted while it begins after a snapshot that is not installed yet, or while
    // the index of a snapshot for a peer is not known yet.
    if (inbox.isInstalling || outbox.opening) return
    this.#compactor.tick(() => {
      const own = inbox.logNeed ?? repairs.logNeed
      const needs = outbox.logNeeds(this.#core.status().followers)
      return own === null ? needs : [...needs, own]
    })
  }
}

/** Limit of the calls of `ready` in one turn; two or three usually take all work of the core. */
const readyRoundsMax = 16

type PendingWrite = {
  readonly ticket: number
  readonly messages: readonly Message[]
  readonly snapshot: SnapshotMeta | null
}
