import { Finding } from './finding.ts'

/** At most one leader in a term. Raft paper figure 3. */
export class ElectionSafety {
  readonly #leaders = new Map<number, number>()

  /** Number of distinct leader terms. */
  get leaderTerms(): number {
    return this.#leaders.size
  }

  /** @returns whether this is the first report of a leader in that term. @throws Finding */
  leads(member: number, term: number): boolean {
    const known = this.#leaders.get(term)
    if (known !== undefined && known !== member) {
      throw new Finding('I1 election safety', `${known} and ${member} both lead in term ${term}`)
    }
    this.#leaders.set(term, member)
    return known === undefined
  }
}
