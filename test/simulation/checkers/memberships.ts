import { noIndex, noSnapshot } from '../../../raft/index.ts'
import type { Configuration, Entry, LogIndex } from '../../../raft/index.ts'
import { Finding } from './finding.ts'
import type { ConfigurationEntry, Placed } from './shadow-log.ts'

/** What was decided of members, and what came of it. */
export const membershipEvents = [
  ...(['member-promoted', 'member-replaced', 'member-removed', 'member-demoted', 'member-moved'] as const),
  ...(['joint-configuration', 'leader-removed-itself', 'joined-leads'] as const),
  ...(['removed-by-own-log', 'removed-by-hearsay'] as const),
] as const

export type MembershipEvent = (typeof membershipEvents)[number]

/**
 * I8: once it is decided that a member goes, it is none for ever: no reign of it begins once it
 * knows, its id never comes back; and nobody believes to be removed of whom that was not decided.
 * I7, as far as it takes all members to tell, is in `configurations`.
 */
export class Memberships {
  #decided: Placed
  /** Whose removal is decided, and by which entry. */
  readonly #gone = new Map<number, number>()
  /** Who said that an entry, or one before it, removed them; and no committed one did yet. */
  #left: { readonly member: number; readonly index: number }[] = []
  #committedIndex: LogIndex = noIndex
  readonly #founding: Configuration
  /** By term. */
  readonly #leaders = new Map<number, number>()
  readonly #met = new Set<MembershipEvent>()

  constructor(founding: Configuration) {
    this.#founding = founding
    this.#decided = { ...noSnapshot, configuration: founding }
  }

  /** The newest that is committed. */
  get decided(): Placed {
    return this.#decided
  }

  /** The last entry that is committed. */
  get committedIndex(): LogIndex {
    return this.#committedIndex
  }

  get met(): ReadonlySet<MembershipEvent> {
    return this.#met
  }

  isGone(member: number): boolean {
    return this.#gone.has(member)
  }

  /** Of those that are members, by what is decided. */
  isMember(member: number): boolean {
    return this.#decided.configuration.members.some(({ id }) => id === member)
  }

  /** In order. @throws Finding */
  committed(entry: Entry): void {
    this.#committedIndex = entry.index
    if (entry.kind === 'configuration') this.#decide(entry)
    for (const { member, index } of this.#left) if (index <= entry.index) this.#checkGone(member, index)
    this.#left = this.#left.filter(({ index }) => index > entry.index)
  }

  /**
   * The first that is seen of a reign. Not every reign of whoever has no vote by what is decided is
   * wrong: that it is decided may have reached neither the member nor those who elect it. A later
   * configuration in their logs may give it a vote; and where the one that takes its vote is in its
   * log, it has to stand, as it may be the only one that has it (thesis §4.2.2): it commits it once
   * more, and steps down. It may not have less than what is decided, nor know it.
   *
   * @param goesBy what it knows to be decided, and what is later in its log; the newest first,
   *   empty: not known
   * @throws Finding
   */
  leads(member: number, term: number, goesBy: readonly Placed[]): void {
    this.#leaders.set(term, member)
    if (!this.#founding.members.some(({ id }) => id === member)) this.#met.add('joined-leads')
    if (votes(this.#decided.configuration, member)) return
    const [newest] = goesBy
    const hasIt = newest !== undefined && (newest.index > this.#decided.index || this.#isDecided(newest))
    if (hasIt && goesBy.some(({ configuration }) => votes(configuration, member))) return
    const decided = `by what entry ${this.#decided.index} decided it does not vote`
    throw new Finding('I8 leads', `${member} begins to lead in term ${term}; ${decided}`)
  }

  /**
   * A member says that an entry, or one before it, removed it. @param knows whether its log does.
   * @throws Finding
   */
  left(member: number, index: number, knows: boolean): void {
    this.#met.add(knows ? 'removed-by-own-log' : 'removed-by-hearsay')
    // Whoever leads knows what is committed before it tells anybody.
    if (index > this.#committedIndex) this.#left.push({ member, index })
    else this.#checkGone(member, index)
  }

  #isDecided({ index, term }: Placed): boolean {
    return index === this.#decided.index && term === this.#decided.term
  }

  #checkGone(member: number, index: number): void {
    if ((this.#gone.get(member) ?? Infinity) <= index) return
    throw new Finding('I8 believes', `${member} believes that entry ${index} or one before removed it`)
  }

  #decide({ index, term, configuration }: ConfigurationEntry): void {
    const before = this.#decided.configuration
    for (const { id } of configuration.members) {
      const gone = this.#gone.get(id)
      if (gone === undefined) continue
      throw new Finding('I8 removed', `${id} is a member again at ${index}, though ${gone} removed it`)
    }
    this.#decided = { index, term, configuration }
    for (const { id } of before.members) {
      if (this.isMember(id)) continue
      this.#gone.set(id, index)
      if (this.#leaders.get(term) === id) this.#met.add('leader-removed-itself')
    }
    for (const event of eventsOf(before, configuration)) this.#met.add(event)
  }

  /** At the end. @throws Finding */
  end(): void {
    for (const { member, index } of this.#left) this.#checkGone(member, index)
  }
}

function votes({ voters, votersOutgoing }: Configuration, member: number): boolean {
  return [...voters, ...(votersOutgoing ?? [])].some((voter) => voter === member)
}

function eventsOf(before: Configuration, after: Configuration): readonly MembershipEvent[] {
  const events: MembershipEvent[] = after.votersOutgoing === null ? [] : ['joint-configuration']
  for (const old of before.members) {
    const member = after.members.find(({ id }) => id === old.id)
    if (member === undefined) events.push('member-removed')
    else if (member.role !== old.role) {
      events.push(member.role === 'voter' ? 'member-promoted' : 'member-demoted')
      if (old.replaces !== null && member.role === 'voter') events.push('member-replaced')
    } else if (member.peerAddress !== old.peerAddress) events.push('member-moved')
  }
  return events
}
