import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Raft } from '../core/raft.ts'
import type { Ready } from '../core/ready.ts'
import type { LogIndex, NodeId, SnapshotMeta } from '../core/types.ts'
import type { PeerMessage, Transport } from '../ports.ts'
import { EntryRelay } from './entry-relay.ts'
import type { EntryRelayDependencies } from './entry-relay.ts'
import { MembershipCoordinator } from './membership-coordinator.ts'
import type { NodeLimits } from '../protocol/node-options.ts'
import { ProposalRelay } from './proposal-relay.ts'
import type { RaftToApi } from '../protocol/thread-messages.ts'
import { ReadRelay } from './read-relay.ts'
import { RepairRelay } from './repair-relay.ts'
import { ReportRelay } from './report-relay.ts'
import { SnapshotInbox } from './snapshot-inbox.ts'
import { SnapshotOutbox } from './snapshot-outbox.ts'
import { TransferRelay } from './transfer-relay.ts'

/** The driver, as the relays use it. */
export type RelaysDependencies = {
  readonly self: NodeId
  readonly core: Raft
  readonly transport: Transport
  readonly clock: Clock
  readonly random: Random
  readonly limits: NodeLimits
  readonly electionMs: number
  readonly post: (message: RaftToApi) => void
  readonly send: (message: PeerMessage) => void
  readonly fetch: EntryRelayDependencies['fetch']
  /** See `RaftActorOptions`. */
  readonly isCommand: (payload: Uint8Array) => boolean
  /** Requests a turn. */
  readonly wake: () => void
  /** Tries for at most this long to transfer leadership to any voter that takes it. */
  readonly transferAway: (forMs: number) => void
  /** See `LogBounds`. */
  readonly complete: (snapshot: SnapshotMeta) => SnapshotMeta
  /** See `LogCompactor.beginAfter`. */
  readonly beginLogAfter: (snapshot: SnapshotMeta) => 'begun' | 'later' | 'never'
  /** The base of the log. */
  readonly logBase: () => LogIndex
}

/**
 * The messages between members that are not part of the Raft algorithm, one relay for each concern.
 * Most relays serve the api thread of this member and the same relay of its peers. `SnapshotOutbox`
 * and `SnapshotInbox` serve each other, and `EntryRelay` serves the `LogRepair` of peers. A new
 * concern gets its own relay and a case in `fromPeer`.
 * (`SelfMembership` and `FoundingDriver` handle their own messages.)
 */
export class Relays {
  readonly proposals: ProposalRelay
  readonly reads: ReadRelay
  readonly reports: ReportRelay
  readonly repairs: RepairRelay
  readonly entries: EntryRelay
  readonly membership: MembershipCoordinator
  readonly transfers: TransferRelay
  readonly outbox: SnapshotOutbox
  readonly inbox: SnapshotInbox
  #closed = false

  constructor(dependencies: RelaysDependencies) {
    const { limits, clock, random } = dependencies
    const common = this.#common(dependencies)
    this.proposals = new ProposalRelay(common, {
      forwardBytesMax: limits.appendBytesMax,
      waitingBytesMax: limits.forwardedBytesMax,
    })
    this.reads = new ReadRelay(common, { waitingMax: limits.readRequestsMax }, random)
    this.reports = new ReportRelay(common)
    this.repairs = new RepairRelay(common, clock)
    this.entries = new EntryRelay(common, { bytesMax: limits.appendBytesMax })
    this.membership = new MembershipCoordinator(common, clock, random)
    this.transfers = new TransferRelay(common)
    this.outbox = new SnapshotOutbox(common, {
      streamsMax: limits.snapshotStreamsMax,
      windowChunks: limits.snapshotWindowChunks,
    })
    this.inbox = new SnapshotInbox(common, { windowChunks: limits.snapshotWindowChunks })
  }

  /** @returns why the message is impossible, in one line; null: it was taken */
  fromPeer(
    message: Exclude<PeerMessage, { readonly kind: 'core' | 'founding' | 'members-wanted' | 'members' }>,
  ): string | null {
    switch (message.kind) {
      case 'forward':
        return this.proposals.forwarded(message)
      case 'forward-refused':
        return this.proposals.refused(message)
      case 'read-request':
        this.reads.requested(message)
        return null
      case 'read-response':
        return this.reads.responded(message)
      case 'report':
        this.reports.received(message.from, message.bytes)
        return null
      case 'state-wanted':
        this.repairs.requested(message.from, message.atLeast)
        return null
      case 'entries-wanted':
        this.entries.requested(message.from, message.first, message.last)
        return null
      case 'entries-sent':
        // The entries belong to a repair that has ended.
        return null
      case 'change-wanted':
        return this.membership.requested(message)
      case 'change-answer':
        this.membership.answered(message)
        return null
      case 'transfer-wanted':
        this.transfers.requested(message)
        return null
      case 'transfer-refused':
        this.transfers.refused(message)
        return null
    }
  }

  /** Passes on the inputs of a turn, batched by kind. */
  flush(): void {
    this.proposals.flush()
    this.reads.flush()
    this.reports.flush()
  }

  /** Passes the results of the core to the relays. */
  perform({ readsConfirmed, readsFailed, snapshotsToSend }: Ready): void {
    for (const { context, index } of readsConfirmed) {
      this.reads.confirmed(context, index)
      this.membership.confirmed(context)
    }
    for (const context of readsFailed) {
      this.reads.failed(context)
      this.membership.failed(context)
    }
    for (const peer of snapshotsToSend) this.outbox.wanted(peer)
  }

  close(): void {
    this.#closed = true
    this.outbox.close()
    this.inbox.close()
  }

  /** The core and the driver, as all relays use them. */
  #common(dependencies: RelaysDependencies): Common {
    const {
      self,
      core,
      transport,
      post,
      send,
      wake,
      complete,
      beginLogAfter,
      electionMs,
      transferAway: transferAway,
      isCommand,
    } = dependencies
    const stateWanted = (): LogIndex | null => this.repairs.wanted
    return {
      self,
      core,
      electionMs,
      transport,
      transferAway: transferAway,
      isCommand,
      refusePeer: (peer, violation) => transport.refuse(peer, violation),
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
      get logBase() {
        return dependencies.logBase()
      },
      get stateWanted() {
        return stateWanted()
      },
      post,
      wake,
      fetch: dependencies.fetch,
      complete,
      beginLogAfter,
      propose: (datas, expectedTerm) => core.propose(datas, expectedTerm),
      readIndex: (withHeartbeat) => core.readIndex(withHeartbeat),
      send,
      answer: (round, index) => post({ kind: 'read-result', round, index }),
      dropped: (term, proposals, reason) => post({ kind: 'dropped', term, proposals, reason }),
      report: (peer, outcome) => {
        if (this.#closed) return
        core.reportSnapshot(peer, outcome)
        wake()
      },
      passToCore: (message) => {
        const violation = core.step(message)
        if (violation !== null) transport.refuse(message.from, violation)
      },
      violation: (message) => {
        const violation = core.violation(message)
        if (violation !== null) transport.refuse(message.from, violation)
        return violation
      },
      changeAnswered: (request, answer) => post({ kind: 'change-answer', request, answer }),
      transferLeadership: (to) => core.transferLeadership(to),
      transferRefused: (request, reason) => post({ kind: 'transfer-refused', request, reason }),
      sendState: (peer, atLeast) => this.outbox.wantedBy(peer, atLeast),
    }
  }
}

type Common = ConstructorParameters<typeof ProposalRelay>[0] &
  ConstructorParameters<typeof ReadRelay>[0] &
  ConstructorParameters<typeof ReportRelay>[0] &
  ConstructorParameters<typeof RepairRelay>[0] &
  EntryRelayDependencies &
  ConstructorParameters<typeof MembershipCoordinator>[0] &
  ConstructorParameters<typeof TransferRelay>[0] &
  ConstructorParameters<typeof SnapshotOutbox>[0] &
  ConstructorParameters<typeof SnapshotInbox>[0]
