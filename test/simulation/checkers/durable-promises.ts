import type { PeerMessage } from '../../../raft/index.ts'
import { isQuorum } from './commit-quorum.ts'
import { Finding } from './finding.ts'
import type { ShadowLog } from './shadow-log.ts'

type CoreMessage = Extract<PeerMessage, { readonly kind: 'core' }>['message']

/**
 * The state that a message depends on is durable when the message is sent: term and vote (I6),
 * acknowledged entries (I5). Candidates are voters of a known configuration (I8), and no member
 * leads without a quorum of durable votes (I1).
 */
export class DurablePromises {
  readonly #logs: ReadonlyMap<number, ShadowLog>
  readonly #led = new Set<string>()
  /** Terms with a leader. */
  readonly #leaderTerms = new Set<number>()

  constructor(logs: ReadonlyMap<number, ShadowLog>) {
    this.#logs = logs
  }

  /** @throws Finding */
  sent(message: CoreMessage): void {
    const log = this.#logs.get(message.from)
    if (log === undefined) return
    const { hardState } = log.durable
    switch (message.kind) {
      case 'vote-request':
        this.#checkTerm(message)
        if (hardState.term === message.term && hardState.vote !== message.from) {
          throw new Finding(
            'I6 vote',
            `${message.from} requests votes in ${message.term} without its own on disk`,
          )
        }
        // The request may have waited long for the disk. If the sender is in a later term by then,
        // or this term has a leader, the campaign is over.
        if (hardState.term === message.term && !this.#leaderTerms.has(message.term)) {
          this.#checkVoter('I8 campaigns', message.from, message.term)
        }
        break
      case 'vote-response':
        // A refusal promises nothing.
        if (!message.granted) break
        this.#checkTerm(message)
        if (hardState.term === message.term && hardState.vote !== message.to) {
          const durable = `on its disk it voted for ${hardState.vote}`
          throw new Finding(
            'I6 vote',
            `${message.from} votes for ${message.to} in ${message.term}; ${durable}`,
          )
        }
        break
      case 'append-accepted':
        this.#checkTerm(message)
        // An acknowledgement of an earlier term was true when it was durable, and is sent late:
        // another leader replaced the entry since.
        if (hardState.term === message.term && log.durable.last < message.index) {
          const has = `has ${log.durable.last} on its disk`
          throw new Finding('I5 acknowledged', `${message.from} acknowledges ${message.index}, ${has}`)
        }
        break
      case 'append-request':
      case 'heartbeat':
        this.leads(message.from, message.term)
        break
      default:
    }
  }

  /** @throws Finding */
  leads(member: number, term: number): void {
    const name = `${member}/${term}`
    const log = this.#logs.get(member)
    if (log === undefined || this.#led.has(name)) return
    this.#led.add(name)
    this.#leaderTerms.add(term)
    const votes = (voter: number): boolean => {
      const state = this.#logs.get(voter)?.durable.hardState
      // A member that is in a later term by now may have voted for it in `term`.
      return state !== undefined && (state.term > term || (state.term === term && state.vote === member))
    }
    if (isQuorum(log.configuration, votes)) return
    throw new Finding('I1 votes', `${member} leads in ${term} without a quorum of durable votes`)
  }

  #checkTerm({ from, term, kind }: CoreMessage): void {
    const durable = this.#logs.get(from)?.durable.hardState.term ?? 0
    if (durable >= term) return
    throw new Finding('I6 term', `${from} sends a ${kind} of term ${term}, on its disk is ${durable}`)
  }

  /**
   * The member may have been removed without knowing it. It must be a voter of the latest
   * configuration that it knows to be committed, or of a later one in its log: if the newest one is
   * not committed, a member without a vote in it may still have to commit it (thesis §4.2.2).
   */
  #checkVoter(claim: string, member: number, term: number): void {
    const log = this.#logs.get(member)
    if (log === undefined) return
    const isVoter = log
      .usableConfigurations(log.checked)
      .some(({ configuration: { voters, votersOutgoing } }) =>
        [...voters, ...(votersOutgoing ?? [])].some((voter) => voter === member),
      )
    if (!isVoter) throw new Finding(claim, `${member} in ${term} is not a voter`)
  }
}
