import type { Entry, PeerMessage } from '../../../raft/index.ts'
import { Finding } from './finding.ts'

/**
 * I9: a leader answers no read round before an entry of its own term is committed, and none at an index before it. Only
 * then does it know all that was committed before its reign.
 *
 * I10: there are no leases, so no read is answered without a quorum; were there any, this is where they would be
 * checked. I21: no mode of reading with a bound on its age is served.
 */
export class ReadIndexes {
  /** By term: the first committed entry of it. */
  readonly #first = new Map<number, number>()

  committed(entry: Entry): void {
    if (!this.#first.has(entry.term)) this.#first.set(entry.term, entry.index)
  }

  /** @throws Finding */
  sent(message: PeerMessage): void {
    if (message.kind !== 'read-response' || message.index === null) return
    const { from, term, index } = message
    const first = this.#first.get(term)
    if (first === undefined || index < first) {
      const known = first === undefined ? 'nothing of that term is committed' : `its first entry is ${first}`
      throw new Finding('I9 read index', `${from} answers a read of term ${term} at ${index}; ${known}`)
    }
  }
}
