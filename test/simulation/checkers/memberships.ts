import { noIndex, noSnapshot } from '../../../raft/index.ts'
import type { Configuration, Entry, LogIndex } from '../../../raft/index.ts'
import { Finding } from './finding.ts'
import type { ConfigurationEntry, Placed } from './shadow-log.ts'

/** Committed membership changes and their effects. */
export const membershipEvents = [
  ...(['member-promoted', 'member-replaced', 'member-removed', 'member-demoted', 'member-moved'] as const),
  ...(['joint-configuration', 'leader-removed-itself', 'joined-leads'] as const),
  ...(['removed-by-own-log', 'removed-by-peers'] as const),
] as const

export type MembershipEvent = (typeof membershipEvents)[number]

/**
 * I8: a member whose removal is committed is never a member again: it does not become leader once
 * it knows of its removal, and its id is never reused. A member reports its removal only if that
 * was committed. The steps of a change (I7) are checked in `configurations`.
 */
export class Memberships {
  #decided: Placed
  /** Members with a committed removal, and the index of its entry. */
  readonly #gone = new Map<number, number>()
  /**
   * Members that reported their removal by an entry or an earlier one, while no such entry is known
   * to be committed.
   */
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

  /** The latest committed configuration. */
  get decided(): Placed {
    return this.#decided
  }

  /** The last committed index. */
  get committedIndex(): LogIndex {
    return this.#committedIndex
  }

  get met(): ReadonlySet<MembershipEvent> {
    return this.#met
  }

  isGone(member: number): boolean {
    return this.#gone.has(member)
  }

  /** Returns whether the committed configuration contains it. */
  isMember(member: number): boolean {
    return this.#decided.configuration.members.some(({ id }) => id === member)
  }

  /** Called in order. @throws Finding */
  committed(entry: Entry): void {
    this.#committedIndex = entry.index
    if (entry.kind === 'configuration') this.#decide(entry)
    for (const { member, index } of this.#left) if (index <= entry.index) this.#checkGone(member, index)
    this.#left = this.#left.filter(({ index }) => index > entry.index)
  }

  /**
   * Checks the first report of a leader in a term. Leading without a vote in the committed
   * configuration is not always wrong: that configuration may be unknown to the member and its
   * electors. A later configuration in their logs may give it a vote. If the configuration that
   * takes its vote away is in its log, it has to campaign, because no other member may have that
   * entry (thesis §4.2.2): it commits the entry, and steps down. Leading is wrong if its log lacks
   * the committed configuration, or if it knows that this configuration is committed.
   *
   * @param usable the committed configuration that it knows, and later ones in its log, the newest
   *   first; empty if its log is not known
   * @throws Finding
   */
  leads(member: number, term: number, usable: readonly Placed[]): void {
    this.#leaders.set(term, member)
    if (!this.#founding.members.some(({ id }) => id === member)) this.#met.add('joined-leads')
    if (votes(this.#decided.configuration, member)) return
    const [newest] = usable
    const hasIt = newest !== undefined && (newest.index > this.#decided.index || this.#isDecided(newest))
    if (hasIt && usable.some(({ configuration }) => votes(configuration, member))) return
    const decided = `entry ${this.#decided.index} decided that it does not vote`
    throw new Finding('I8 leads', `${member} begins to lead in term ${term}; ${decided}`)
  }

  /**
   * A member reports that an entry, or an earlier one, removed it.
   *
   * @param knows whether its log contains the removal
   * @throws Finding
   */
  left(member: number, index: number, knows: boolean): void {
    this.#met.add(knows ? 'removed-by-own-log' : 'removed-by-peers')
    // A leader knows what is committed before it reports it.
    if (index > this.#committedIndex) this.#left.push({ member, index })
    else this.#checkGone(member, index)
  }

  #isDecided({ index, term }: Placed): boolean {
    return index === this.#decided.index && term === this.#decided.term
  }

  #checkGone(member: number, index: number): void {
    if ((this.#gone.get(member) ?? Infinity) <= index) return
    throw new Finding(
      'I8 reported removal',
      `${member} reports that entry ${index} or an earlier one removed it`,
    )
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
