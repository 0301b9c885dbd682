import { assert } from '../base/assert.ts'
import type { Timer } from '../base/clock.ts'
import type { Message } from '../core/message.ts'
import type { Ready } from '../core/ready.ts'
import { Raft } from '../core/raft.ts'
import type { Entry, LogIndex, NodeId, SnapshotMeta } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import type { DriverOptions } from './driver-options.ts'
import { EntryFeed } from './entry-feed.ts'
import { LogCutter } from './log-cutter.ts'
import { LogExtent } from './log-extent.ts'
import { checkNodeOptions, coreConfigOf } from './options.ts'
import { ProposalRelay } from './proposal-relay.ts'
import type { ApiToRaft, RaftToApi } from './protocol.ts'
import { ReadRelay } from './read-relay.ts'
import { RepairRelay } from './repair-relay.ts'
import { ReportRelay } from './report-relay.ts'
import { SnapshotInbox } from './snapshot-inbox.ts'
import { SnapshotOutbox } from './snapshot-outbox.ts'
import { Succession } from './succession.ts'
import type { SuccessionCounts } from './succession.ts'

/**
 * The raft thread: the core, its ticks, and its links to the peers, the log and the api thread. It decides
 * nothing about consensus and touches no file. One turn:
 *
 *   inputs (ticks, peers, log, api) ──> proposals and reads of the turn, each as one ──> ready ──┐
 *   ┌────────────────────────────────────────────────────────────────────────────────────────────┘
 *   └─> send at once ─> write to the log ─> commit and entries to api ─> reads, snapshots, fetches
 *                             └ durable ─> held messages leave, `persisted`
 */
export class Driver {
  readonly #options: DriverOptions
  readonly #id: NodeId
  readonly #core: Raft
  readonly #feed: EntryFeed
  readonly #extent: LogExtent
  readonly #cutter: LogCutter
  readonly #proposals: ProposalRelay
  readonly #reads: ReadRelay
  readonly #reports: ReportRelay
  readonly #repairs: RepairRelay
  readonly #outbox: SnapshotOutbox
  readonly #inbox: SnapshotInbox
  /** Writes handed to the log and not durable yet, by ticket, with what waits for them. */
  readonly #writes: Held[] = []
  readonly #succession: Succession
  readonly #ticks: Timer
  #turnPlanned = false
  #stopped = false
  #toldTerm = -1
  #toldLeader: NodeId | null = null
  #statusAtMs = Number.NEGATIVE_INFINITY
  #contacts = 0
  #contactAtMs: number | null = null
  #appliedIndex: LogIndex

  /** @param applied what the state machine durably holds */
  constructor(options: DriverOptions, applied: SnapshotMeta) {
    const { node, clock, random, recovered, api } = options
    checkNodeOptions(node)
    this.#options = options
    this.#id = node.id
    this.#appliedIndex = applied.index
    assert(applied.index <= recovered.lastIndex, 'the log reaches as far as the database')
    this.#core = new Raft(coreConfigOf(node, random), recovered, laterOf(applied.index, recovered.base.index))
    this.#succession = new Succession(this.#id, this.#core, node.limits)
    const { limits } = node
    const post = (message: RaftToApi): void => api.post(message)
    this.#feed = new EntryFeed(
      { creditBytes: limits.entryCreditBytes, tailBytesMax: limits.entryTailBytesMax, post },
      recovered.lastIndex,
    )
    this.#extent = new LogExtent(limits, recovered.base, recovered.lastIndex)
    const needs = this.#needs(post)
    this.#cutter = new LogCutter({
      core: this.#core,
      extent: this.#extent,
      cut: (base) => options.log.cut(base),
      install: (snapshot) => this.#inbox.install(snapshot),
    })
    this.#proposals = new ProposalRelay(needs, {
      forwardBytesMax: limits.appendBytesMax,
      waitingBytesMax: limits.forwardedBytesMax,
    })
    this.#reads = new ReadRelay(needs, { waitingMax: limits.readRequestsMax }, random)
    this.#reports = new ReportRelay(needs)
    this.#repairs = new RepairRelay(needs, clock)
    this.#outbox = new SnapshotOutbox(needs, {
      streamsMax: limits.snapshotStreamsMax,
      windowChunks: limits.snapshotWindowChunks,
    })
    this.#inbox = new SnapshotInbox(needs, { windowChunks: limits.snapshotWindowChunks })
    options.transport.setPeers(recovered.configuration.members)
    // A late tick is not made up for: after a pause the world has moved on, not this member's patience.
    this.#ticks = clock.every(node.timing.tickMs, () => this.#tick())
    const { voters, votersOutgoing } = recovered.configuration
    if (voters.length === 1 && voters[0] === node.id && votersOutgoing === null) this.#core.campaign()
    this.#planTurn()
  }

  /** The receiver of the transport. */
  receive(message: PeerMessage): void {
    if (this.#stopped) return
    if (message.kind === 'core') {
      // A snapshot is believed only from the channel that staged it.
      if (message.message.to !== this.#id || message.message.kind === 'snapshot') return
      if (message.message.kind === 'timeout-now' && !this.#succession.mayTakeOver(this.#now())) return
      this.#core.step(message.message)
    } else if (message.to === this.#id) this.#fromShell(message)
    this.#planTurn()
  }

  #fromShell(message: Exclude<PeerMessage, { readonly kind: 'core' }>): void {
    switch (message.kind) {
      case 'forward':
        return this.#proposals.forwarded(message)
      case 'forward-refused':
        return this.#proposals.refused(message)
      case 'read-request':
        return this.#reads.requested(message)
      case 'read-response':
        return this.#reads.responded(message)
      case 'report':
        return this.#reports.received(message.from, message.bytes)
      case 'state-wanted':
        return this.#repairs.requested(message.from, message.atLeast)
    }
  }

  unreachable(peer: NodeId): void {
    if (this.#stopped) return
    this.#core.reportUnreachable(peer)
    this.#planTurn()
  }

  get succession(): SuccessionCounts {
    return this.#succession.counts
  }

  get inbox(): SnapshotInbox {
    return this.#inbox
  }

  /** The log: everything up to `ticket` is durable. */
  written(ticket: number): void {
    if (this.#stopped) return
    this.#core.persisted(ticket)
    this.#feed.written(ticket)
    for (;;) {
      const held = this.#writes[0]
      if (held === undefined || held.ticket > ticket) break
      this.#writes.shift()
      for (const message of held.messages) this.#send({ kind: 'core', message })
      if (held.snapshot !== null) this.#inbox.install(held.snapshot)
    }
    this.#succession.writing.answered(this.#now(), this.#writes.length > 0)
    this.#planTurn()
  }

  /** The log: what a fetch asked for; empty when it was cut meanwhile. */
  fetched(entries: readonly Entry[]): void {
    if (this.#stopped) return
    this.#core.supply(entries)
    this.#planTurn()
  }

  /** The log: everything at and below `index` is forgotten, durably. */
  cut(index: LogIndex): void {
    if (!this.#stopped) this.#cutter.done(index)
  }

  /** The api thread, except `start` and `stop`. */
  take(message: ApiToRaft): void {
    if (this.#stopped) return
    switch (message.kind) {
      case 'propose':
        this.#proposals.local(message.term, message.proposals)
        break
      case 'read':
        this.#reads.local(message.round)
        break
      case 'transfer':
        this.#transfer(message.request, message.to)
        break
      case 'hand-over':
        this.#succession.handOver(this.#now(), message.forMs)
        break
      case 'report':
        this.#reports.local(message.to, message.bytes)
        return
      case 'state-wanted':
        this.#repairs.local(message.atLeast)
        return
      case 'applied':
        this.#applied(message.index)
        this.#feed.granted(message.credit)
        return
      case 'applied-disk':
        this.#appliedDisk(message.snapshot)
        return
      case 'resume':
        this.#feed.resume(message.from)
        return
      case 'installed':
        this.#applied(message.index)
        this.#repairs.fulfilled()
        this.#inbox.installed()
        return
      case 'source-opened':
      case 'source-chunk':
      case 'source-failed':
        this.#outbox.take(message)
        return
      case 'sink-taken':
      case 'sink-failed':
        this.#inbox.take(message)
        return
      case 'start':
      case 'peer-recorded':
      case 'stop':
        assert(false, 'the life of the driver is in its owner’s hands')
    }
    this.#planTurn()
  }

  stop(): void {
    this.#stopped = true
    this.#ticks.cancel()
    this.#outbox.close()
    this.#inbox.close()
  }

  #tick(): void {
    this.#core.tick()
    this.#feed.remind()
    const now = this.#now()
    this.#succession.tick(now)
    if (now - this.#statusAtMs >= statusPeriodMs) this.#postStatus(now)
    this.#planTurn()
  }

  #now(): number {
    return this.#options.clock.monotonicMs()
  }

  #applied(index: LogIndex): void {
    this.#core.applied(index)
    this.#appliedIndex = index
    this.#succession.applying.answered(this.#now(), index < this.#feed.told)
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
    this.#inbox.flush()
    // Then who leads, so that the api thread never asks again by an older word than the answer it got.
    if (this.#core.term !== this.#toldTerm || this.#core.leader !== this.#toldLeader) {
      this.#reads.leaderChanged()
      this.#postStatus(this.#now())
    }
    this.#proposals.flush()
    this.#reads.flush()
    this.#reports.flush()
    let rounds = 0
    while (this.#core.hasReady() && rounds++ < readyRoundsMax) this.#perform(this.#core.ready())
    if (rounds > readyRoundsMax) this.#planTurn()
    else this.#inbox.turnEnded()
    this.#feed.move(this.#core.commit)
    if (this.#appliedIndex < this.#feed.told) this.#succession.applying.owes(this.#now())
    if (this.#core.quorumContacts !== this.#contacts) {
      this.#contacts = this.#core.quorumContacts
      this.#contactAtMs = this.#now()
    }
  }

  #perform(ready: Ready): void {
    for (const message of ready.messagesAtOnce) this.#send({ kind: 'core', message })
    if (ready.persist !== null) this.#persist(ready.persist)
    if (ready.transition !== null) {
      this.#options.transport.setPeers(ready.transition.configuration.members)
      this.#reads.leaderChanged()
      this.#postStatus(this.#now())
    }
    for (const { context, index } of ready.readsConfirmed) this.#reads.confirmed(context, index)
    for (const context of ready.readsFailed) this.#reads.failed(context)
    for (const peer of ready.snapshotsToSend) this.#outbox.wanted(peer)
    for (const { from, bytesMax } of ready.fetches) this.#options.log.fetch(from, bytesMax)
  }

  #persist({ ticket, snapshot, entries, hardState, messages }: NonNullable<Ready['persist']>): void {
    this.#writes.push({ ticket, messages, snapshot })
    this.#succession.writing.owes(this.#now())
    this.#feed.writing(ticket, snapshot, entries)
    this.#extent.writing(snapshot, entries)
    if (snapshot !== null) this.#inbox.taken()
    this.#options.log.write(ticket, { snapshot, entries, hardState })
  }

  #send(message: PeerMessage): void {
    this.#options.transport.send(message)
  }

  #transfer(request: number, to: NodeId): void {
    const answer = this.#core.transferLeadership(to)
    if (answer.kind === 'refused') {
      this.#options.api.post({ kind: 'transfer-refused', request, reason: answer.reason })
    }
  }

  #appliedDisk(snapshot: SnapshotMeta): void {
    if (!this.#extent.durable(snapshot)) return
    this.#core.applied(snapshot.index)
    if (this.#outbox.opening) return
    this.#cutter.durable(this.#outbox.lowestIndex)
  }

  #postStatus(now: number): void {
    const status = this.#core.status()
    this.#toldTerm = status.term
    this.#toldLeader = status.leader
    this.#statusAtMs = now
    const quorumContactAgeMs = this.#contactAtMs === null ? null : now - this.#contactAtMs
    this.#options.api.post({ kind: 'status', status: { ...status, quorumContactAgeMs } })
  }

  /** The core and the shell, as the relays and the snapshot streams see them. */
  #needs(post: (message: RaftToApi) => void): Needs {
    const core = this.#core
    const stateWanted = (): LogIndex | null => this.#repairs.wanted
    return {
      self: this.#id,
      transport: this.#options.transport,
      get term() {
        return core.term
      },
      get leader() {
        return core.leader
      },
      get commit() {
        return core.commit
      },
      get members() {
        return core.status().configuration.members
      },
      post,
      propose: (datas, expectedTerm) => core.propose(datas, expectedTerm),
      readIndex: () => core.readIndex(),
      send: (message) => this.#send(message),
      answer: (round, index) => post({ kind: 'read-result', round, index }),
      dropped: (term, proposals, reason) => post({ kind: 'dropped', term, proposals, reason }),
      complete: (snapshot) => this.#extent.complete(snapshot),
      report: (peer, outcome) => {
        if (this.#stopped) return
        core.reportSnapshot(peer, outcome)
        this.#planTurn()
      },
      wake: () => this.#planTurn(),
      staged: (message) => core.step(message),
      get stateWanted() {
        return stateWanted()
      },
      sendState: (peer, atLeast) => this.#outbox.wantedBy(peer, atLeast),
      beginLogBehind: (snapshot) => this.#cutter.beginBehind(snapshot),
    }
  }
}

/** Without news, status is told this often, so that its age says whether the raft thread lives. */
const statusPeriodMs = 100
/** A bound on one turn; the core settles in two or three. */
const readyRoundsMax = 16

type Held = {
  readonly ticket: number
  readonly messages: readonly Message[]
  readonly snapshot: SnapshotMeta | null
}

type Needs = ConstructorParameters<typeof ProposalRelay>[0] &
  ConstructorParameters<typeof ReadRelay>[0] &
  ConstructorParameters<typeof ReportRelay>[0] &
  ConstructorParameters<typeof RepairRelay>[0] &
  ConstructorParameters<typeof SnapshotOutbox>[0] &
  ConstructorParameters<typeof SnapshotInbox>[0]

function laterOf(a: LogIndex, b: LogIndex): LogIndex {
  return a > b ? a : b
}
