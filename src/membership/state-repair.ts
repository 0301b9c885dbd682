import type { Clock } from '../../base/clock.ts'
import type { Consensus, MemberInfo, NodeId } from '../../raft/index.ts'
import type { DigestReport } from '../state-agreement/member-report.ts'
import type { MemberReports } from '../state-agreement/member-reports.ts'
import { MembersFailure } from './members.ts'
import { digestsCompared } from '../state-agreement/state-agreement.ts'
import { reportAgeMsMax } from '../state-agreement/state-guard.ts'
import type { GuardedState, StateGuard } from '../state-agreement/state-guard.ts'

/** A member reports once a second. */
const reportMsMax = 3000
const pollMs = 100

/** What an operator decides about the state of the member that is asked. */
export type StateDecision = {
  readonly name: string
  /** Names are used again: the member that the operator has in mind. null: the one with the name. */
  readonly id: NodeId | null
} &
  /** Its state is wrong: it is set aside, and the leader's is fetched. */
  (
    | {
        readonly kind: 'repair'
        /** Name of the member whose state is right: it leads first. null: whichever leads. */
        readonly from: string | null
      }
    /** Its state is right, whatever others have. */
    | { readonly kind: 'trust' }
  )

export type StateRepairParts = {
  readonly state: Pick<GuardedState, 'quarantine' | 'samples'> & { repair(reason: string): void }
  readonly guard: Pick<StateGuard, 'trustByOperator'>
  readonly reports: Pick<MemberReports, 'latest'>
  readonly consensus: Pick<Consensus<never>, 'status' | 'transferLeadership'>
  readonly clock: Clock
}

/**
 * Where members have different states, counting does not prove which one is right: states are copied. So an operator
 * says it, to the members concerned themselves, as no other one is sure to serve. Each decision may be repeated.
 */
export class StateRepair {
  readonly #parts: StateRepairParts

  constructor(parts: StateRepairParts) {
    this.#parts = parts
  }

  /**
   * @param deadlineMs on the monotonic clock
   * @returns whether there was anything to do
   * @throws MembersFailure `unknown-member`, `elsewhere`, `no-state`; ConsensusFailure
   */
  async decide(decision: StateDecision, deadlineMs: number): Promise<boolean> {
    this.#checkSelf(decision)
    if (decision.kind === 'trust') return this.#trust()
    const { state, consensus } = this.#parts
    if (state.quarantine !== null && state.quarantine.cause !== 'disagreement') return false
    if (decision.from === null) return this.#fetch(null, deadlineMs)
    const from = this.#named(decision.from)
    if (from.id === consensus.status.id) throw refused('a member is not repaired from itself')
    // One that was trusted a moment ago says so within a second.
    await this.#reported(() => this.#reportOf(from)?.state === 'healthy', deadlineMs)
    this.#checkState(from)
    if (consensus.status.leader !== from.id) await consensus.transferLeadership(from.id, deadlineMs)
    return this.#fetch(from, deadlineMs)
  }

  #trust(): boolean {
    const { state, guard } = this.#parts
    const { quarantine } = state
    if (quarantine !== null && quarantine.cause !== 'disagreement')
      throw refused(`this member has no state, it fetches one: ${quarantine.reason}`)
    guard.trustByOperator()
    return quarantine !== null
  }

  /** Waits as long as another report may still say it. */
  async #reported(holds: () => boolean, deadlineMs: number): Promise<void> {
    const { clock } = this.#parts
    const untilMs = Math.min(deadlineMs, clock.monotonicMs() + reportMsMax)
    while (!holds() && clock.monotonicMs() < untilMs) {
      await new Promise<void>((resolve) => {
        clock.after(pollMs, resolve)
      })
    }
  }

  /** @param from who has to lead; null: it does not matter */
  async #fetch(from: MemberInfo | null, deadlineMs: number): Promise<boolean> {
    const { state } = this.#parts
    const compared = (): ReturnType<typeof digestsCompared> =>
      digestsCompared(state.samples, this.#checkSource(from).samples)
    // One that was repaired a moment ago has not been compared yet.
    if (state.quarantine === null) await this.#reported(() => compared() !== null, deadlineMs)
    // It is undecided at first: a majority is known once enough members have reported.
    if (from === null) await this.#reported(() => !isUndecided(state), deadlineMs)
    // Nothing is awaited between the checks and the repair.
    const source = this.#checkSource(from)
    if (state.quarantine !== null && state.quarantine.cause !== 'disagreement') return false
    if (from === null && isUndecided(state)) {
      // The leader may become suspect in a moment too, and then sends its state to no member.
      throw refused('no majority is known to have one state: name the member whose state is right (--from)')
    }
    if (state.quarantine === null && compared()?.differs === false) return false
    state.repair(`an operator has it replaced by the state of ${source.name}`)
    return true
  }

  /** Returns the leader and its digests, if it can give its state. */
  #checkSource(from: MemberInfo | null): Pick<MemberInfo, 'name'> & Pick<DigestReport, 'samples'> {
    const { consensus } = this.#parts
    const { id: self, leader: leaderId, configuration } = consensus.status
    const leader = configuration.members.find(({ id }) => id === leaderId)
    if (leader === undefined)
      throw refused('there is no leader to fetch a state from: start a majority of the voters')
    if (leader.id === self) {
      throw refused('this member leads: name the member whose state is right (--from), it will lead instead')
    }
    if (from !== null && from.id !== leader.id)
      throw refused(`${leader.name} leads and not ${from.name}: ask again`)
    return { name: leader.name, samples: this.#checkState(leader).samples }
  }

  #checkSelf({ name, id }: StateDecision): void {
    const { id: self } = this.#parts.consensus.status
    const named = this.#named(name)
    if (id !== null && named.id !== id) {
      const message = `${name} is another member by now, ${named.id} and not ${id}: look, and ask again`
      throw new MembersFailure('unknown-member', message)
    }
    if (named.id !== self) {
      const message = `only ${name} itself can do that: send it to https://${named.clientAddress}`
      throw new MembersFailure('elsewhere', message)
    }
  }

  /** @returns what it reported last */
  #checkState({ id, name }: MemberInfo): DigestReport {
    const report = this.#reportOf({ id })
    if (report === undefined)
      throw refused(`${name} has not reported its state lately: start it, or look at it`)
    if (report.state === 'healthy') return report
    const why = report.state === 'quarantined' ? 'has no state' : 'does not trust its state either'
    throw refused(`${name} ${why}: name the member whose state is right (--from)`)
  }

  #reportOf({ id }: Pick<MemberInfo, 'id'>): DigestReport | undefined {
    return this.#parts.reports.latest(reportAgeMsMax).get(id)
  }

  #named(name: string): MemberInfo {
    const { members } = this.#parts.consensus.status.configuration
    const found = members.find((member) => member.name === name)
    if (found !== undefined) return found
    const names = members.map((member) => member.name).toSorted()
    throw new MembersFailure('unknown-member', `there is no member ${name}: there are ${names.join(', ')}`)
  }
}

function isUndecided({ quarantine }: StateRepairParts['state']): boolean {
  return quarantine?.cause === 'disagreement' && quarantine.disagreement === 'undecided'
}

function refused(message: string): MembersFailure {
  return new MembersFailure('no-state', message)
}
