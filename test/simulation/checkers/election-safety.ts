import { Finding } from './finding.ts'

/** At most one leader in a term. Raft paper figure 3. */
export class ElectionSafety {
  readonly #leaders = new Map<number, number>()

  /** Distinct reigns seen. */
  get reigns(): number {
    return this.#leaders.size
  }

  leads(member: number, term: number): void {
    const known = this.#leaders.get(term)
    if (known === undefined) this.#leaders.set(term, member)
    else if (known !== member) {
      throw new Finding('I1 election safety', `${known} and ${member} both lead in term ${term}`)
    }
  }
}
