import type { ProposeAnswer } from '../core/errors.ts'
import type { NodeId, Term } from '../core/types.ts'
import type { PeerMessage, ProposalId } from '../ports.ts'
import { envelopeBytes, isEnvelope, proposalIdOf } from '../protocol/envelope.ts'
import type { TryRefused } from '../protocol/thread-messages.ts'

/** The core and the driver, as the relay uses them. */
export interface ProposalRelayDependencies {
  readonly self: NodeId
  readonly term: Term
  /** The node id of the leader. null: none is known. */
  readonly leader: NodeId | null
  propose(datas: readonly Uint8Array[], expectedTerm: Term): ProposeAnswer
  send(message: PeerMessage): void
  /** Reports dropped proposals to the api thread of this member. */
  dropped(term: Term, proposals: readonly ProposalId[], reason: TryRefused): void
  /** Returns whether the state machine can decode the payload of an envelope. */
  isCommand(payload: Uint8Array): boolean
  /** Closes the link of a peer that sent something impossible. */
  refusePeer(peer: NodeId, violation: string): void
}

export type ProposalRelayLimits = {
  /** Limit in bytes of the proposals in one forwarded message; a larger proposal is sent alone. */
  readonly forwardBytesMax: number
  /** Limit in bytes of all proposals of peers that wait for the end of a turn. */
  readonly waitingBytesMax: number
}

/**
 * Collects the proposals of one turn, of this member and forwarded by followers, and passes them to
 * the leader: all at once to the core if this member leads, otherwise in messages of limited size.
 * A refused proposal certainly has no effect, and its proposer is notified; a lost one is sent
 * again by its proposer.
 */
export class ProposalRelay {
  readonly #dependencies: ProposalRelayDependencies
  readonly #limits: ProposalRelayLimits
  #waiting: Batch[] = []
  #waitingBytes = 0
  /**
   * The member that proposals of each of the last `termsMax` terms were forwarded to: only that
   * member may refuse them.
   */
  readonly #forwardedTo = new Map<Term, NodeId>()

  constructor(dependencies: ProposalRelayDependencies, limits: ProposalRelayLimits) {
    this.#dependencies = dependencies
    this.#limits = limits
  }

  /** Takes proposals of the api thread, which limits how many are in progress. */
  local(term: Term, proposals: readonly Uint8Array[]): void {
    this.#waiting.push({ from: null, term, proposals })
  }

  /**
   * Takes proposals of a peer, but not those that are altered. Returns why some were not taken;
   * null: none was altered.
   */
  forwarded(message: PeerMessage & { readonly kind: 'forward' }): string | null {
    const { from, term } = message
    const proposals = message.proposals.filter(isEnvelope)
    const batch: Batch = { from, term, proposals }
    const bytes = sum(proposals)
    if (this.#waitingBytes + bytes > this.#limits.waitingBytesMax) this.#drop(batch, 'too-many-uncommitted')
    else {
      this.#waitingBytes += bytes
      this.#waiting.push(batch)
    }
    return proposals.length === message.proposals.length ? null : 'it forwards a command that was altered'
  }

  /** @returns why the refusal is impossible; null: it was taken, or came too late to matter */
  refused(message: PeerMessage & { readonly kind: 'forward-refused' }): string | null {
    const leader = this.#forwardedTo.get(message.term)
    if (leader === undefined) return null
    if (leader !== message.from) return `it refuses proposals that were forwarded to member ${leader}`
    const reason = message.reason === 'unreadable' ? message.reason : 'not-leader'
    this.#dependencies.dropped(message.term, message.proposals, reason)
    return null
  }

  /** Passes on the collected proposals. Runs after the inputs of a turn. */
  flush(): void {
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    const { term, leader, self } = this.#dependencies
    const current: Batch[] = []
    for (const batch of waiting) {
      if (batch.term !== term) this.#drop(batch, 'term-changed')
      else if (leader === null) this.#drop(batch, 'no-leader')
      else if (leader === self) current.push(this.#readable(batch))
      else if (batch.from === null) this.#forward(leader, term, batch.proposals)
      // Forwarding what was forwarded could create a loop.
      else this.#drop(batch, 'not-leader')
    }
    if (current.length > 0) this.#propose(term, current)
  }

  /**
   * Decodes forwarded proposals before they are proposed: once committed, an entry cannot be
   * refused any more. A member forwards only commands of the cluster's feature level, so a command
   * that cannot be decoded is a violation. This member's own proposals were encoded by its own api
   * thread.
   */
  #readable(batch: Batch): Batch {
    if (batch.from === null) return batch
    const proposals: Uint8Array[] = []
    const unreadable: Uint8Array[] = []
    for (const proposal of batch.proposals) {
      const isCommand = this.#dependencies.isCommand(proposal.subarray(envelopeBytes))
      ;(isCommand ? proposals : unreadable).push(proposal)
    }
    this.#drop({ ...batch, proposals: unreadable }, 'unreadable')
    if (unreadable.length > 0)
      this.#dependencies.refusePeer(batch.from, 'it forwards a command that cannot be decoded')
    return { ...batch, proposals }
  }

  #propose(term: Term, batches: readonly Batch[]): void {
    const all = batches.length === 1 ? (batches[0]?.proposals ?? []) : batches.flatMap((b) => b.proposals)
    if (all.length === 0) return
    const answer = this.#dependencies.propose(all, term)
    if (answer.kind === 'accepted') return
    // The core accepts all or none, and a smaller batch may still fit.
    if (answer.reason === 'too-many-uncommitted' && batches.length > 1) {
      for (const batch of batches) this.#propose(term, [batch])
    } else for (const batch of batches) this.#drop(batch, answer.reason)
  }

  #forward(leader: NodeId, term: Term, proposals: readonly Uint8Array[]): void {
    this.#forwardedTo.set(term, leader)
    for (const old of this.#forwardedTo.keys()) {
      if (this.#forwardedTo.size <= termsMax) break
      this.#forwardedTo.delete(old)
    }
    let part: Uint8Array[] = []
    let bytes = 0
    const send = (): void => {
      if (part.length === 0) return
      this.#dependencies.send({
        kind: 'forward',
        from: this.#dependencies.self,
        to: leader,
        term,
        proposals: part,
      })
      part = []
      bytes = 0
    }
    for (const proposal of proposals) {
      if (bytes + proposal.byteLength > this.#limits.forwardBytesMax) send()
      part.push(proposal)
      bytes += proposal.byteLength
    }
    send()
  }

  #drop(batch: Batch, reason: TryRefused): void {
    const proposals = batch.proposals.map(proposalIdOf)
    if (proposals.length === 0) return
    if (batch.from === null) this.#dependencies.dropped(batch.term, proposals, reason)
    else {
      this.#dependencies.send({
        kind: 'forward-refused',
        from: this.#dependencies.self,
        to: batch.from,
        term: batch.term,
        reason: reason === 'unreadable' ? reason : 'not-now',
        proposals,
      })
    }
  }
}

/**
 * Number of terms whose leader is remembered. A refusal from an older term is ignored: the entries
 * applied since then have decided those proposals.
 */
const termsMax = 8

/** @param from null: this member */
type Batch = {
  readonly from: NodeId | null
  readonly term: Term
  readonly proposals: readonly Uint8Array[]
}

function sum(proposals: readonly Uint8Array[]): number {
  let bytes = 0
  for (const proposal of proposals) bytes += proposal.byteLength
  return bytes
}
