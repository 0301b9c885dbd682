import type { Entry, NodeId, PeerMessage } from '../../../raft/index.ts'
import { Finding } from './finding.ts'

/**
 * I9: a leader confirms no read round before an entry of its own term is committed, and none at an
 * index before that entry. Only then does it know everything committed before its term.
 *
 * I10: lease reads need no quorum, but must satisfy the same claims as other reads: `real-time.ts`.
 * I21: `bounds.ts`.
 */
export class ReadIndexes {
  /** The index of the first committed entry of each term. */
  readonly #first = new Map<number, number>()
  /**
   * A response that was too early when it was sent. The only voter of a cluster commits and
   * responds in one turn, and may report the response before the commit. That turn is over once
   * another member sends a message.
   */
  #early: Answer | null = null

  committed(entry: Entry): void {
    if (!this.#first.has(entry.term)) this.#first.set(entry.term, entry.index)
    if (this.#early?.term === entry.term && this.#isDue(this.#early)) this.#early = null
  }

  /** @throws Finding */
  sent(message: PeerMessage): void {
    const { from } = message.kind === 'core' ? message.message : message
    if (this.#early !== null && this.#early.from !== from) throw this.#finding(this.#early)
    if (message.kind !== 'read-response' || message.index === null) return
    const answer = { from, term: message.term, index: message.index }
    if (!this.#isDue(answer)) this.#early ??= answer
  }

  #isDue({ term, index }: { readonly term: number; readonly index: number }): boolean {
    const first = this.#first.get(term)
    return first !== undefined && index >= first
  }

  #finding({ from, term, index }: Answer): Finding {
    const first = this.#first.get(term)
    const known = first === undefined ? 'nothing of that term is committed' : `its first entry is ${first}`
    return new Finding('I9 read index', `${from} answers a read of term ${term} at ${index}; ${known}`)
  }
}

type Answer = { readonly from: NodeId; readonly term: number; readonly index: number }
