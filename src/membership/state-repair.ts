import type { Clock } from '../../base/clock.ts'
import type { Consensus, MemberInfo, NodeId } from '../../raft/index.ts'
import type { DigestReport } from '../state-agreement/member-report.ts'
import type { MemberReports } from '../state-agreement/member-reports.ts'
import { MembersError } from './members.ts'
import { digestsCompared } from '../state-agreement/state-agreement.ts'
import { reportAgeMsMax } from '../state-agreement/state-guard.ts'
import type { GuardedState, StateGuard } from '../state-agreement/state-guard.ts'

/** How long a report is awaited: a member sends one at least every third second. */
const reportMsMax = 3000
const pollMs = 100

/** An operator's decision about the state of the member that receives it. */
export type StateDecision = {
  readonly name: string
  /**
   * Names can be reused: the id of the member that the operator means. null: the member with the
   * name.
   */
  readonly id: NodeId | null
} &
  /** The state is wrong: discard it and fetch the leader's. */
  (
    | {
        readonly kind: 'repair'
        /**
         * Name of the member with the right state, which becomes the leader first. null: any
         * leader.
         */
        readonly from: string | null
      }
    /** The state is right, even if it differs from that of the others. */
    | { readonly kind: 'trust' }
  )

export type StateRepairDependencies = {
  readonly state: Pick<GuardedState, 'quarantine' | 'samples'> & { repair(reason: string): void }
  readonly guard: Pick<StateGuard, 'trustByOperator'>
  readonly reports: Pick<MemberReports, 'latest'>
  readonly consensus: Pick<Consensus<never>, 'status' | 'transferLeadership'>
  readonly clock: Clock
}

/**
 * Where members have different states, the number of members with one state does not prove it
 * right, because states are copied. The operator decides, and sends the decision to the member
 * concerned, as no other member is certain to serve. Decisions are idempotent.
 */
export class StateRepair {
  readonly #dependencies: StateRepairDependencies

  constructor(dependencies: StateRepairDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * @param deadlineMs on the monotonic clock
   * @returns whether there was anything to do
   * @throws MembersError `unknown-member`, `elsewhere`, `no-state`; ConsensusError
   */
  async decide(decision: StateDecision, deadlineMs: number): Promise<boolean> {
    this.#checkSelf(decision)
    if (decision.kind === 'trust') return this.#trust()
    const { state, consensus } = this.#dependencies
    if (state.quarantine !== null && state.quarantine.cause !== 'disagreement') return false
    if (decision.from === null) return this.#fetch(null, deadlineMs)
    const from = this.#named(decision.from)
    if (from.id === consensus.status.id) throw refused('a member is not repaired from itself')
    // A member that was trusted a moment ago reports it within a second.
    await this.#reported(() => this.#reportOf(from)?.state === 'healthy', deadlineMs)
    this.#checkState(from)
    if (consensus.status.leader !== from.id) await consensus.transferLeadership(from.id, deadlineMs)
    return this.#fetch(from, deadlineMs)
  }

  #trust(): boolean {
    const { state, guard } = this.#dependencies
    const { quarantine } = state
    if (quarantine !== null && quarantine.cause !== 'disagreement')
      throw refused(`this member has no state, it fetches one: ${quarantine.reason}`)
    guard.trustByOperator()
    return quarantine !== null
  }

  /** Waits until the condition holds, for at most the time in which a new report is expected. */
  async #reported(holds: () => boolean, deadlineMs: number): Promise<void> {
    const { clock } = this.#dependencies
    const untilMs = Math.min(deadlineMs, clock.monotonicMs() + reportMsMax)
    while (!holds() && clock.monotonicMs() < untilMs) {
      await new Promise<void>((resolve) => {
        clock.after(pollMs, resolve)
      })
    }
  }

  /** @param from the member that must lead; null: any */
  async #fetch(from: MemberInfo | null, deadlineMs: number): Promise<boolean> {
    const { state } = this.#dependencies
    const compared = (): ReturnType<typeof digestsCompared> =>
      digestsCompared(state.samples, this.#checkSource(from).samples)
    // A member that was repaired a moment ago has not been compared yet.
    if (state.quarantine === null) await this.#reported(() => compared() !== null, deadlineMs)
    // A disagreement is undecided at first: a majority is known once enough members have reported.
    if (from === null) await this.#reported(() => !isUndecided(state), deadlineMs)
    // Nothing is awaited between the checks and the repair.
    const source = this.#checkSource(from)
    if (state.quarantine !== null && state.quarantine.cause !== 'disagreement') return false
    if (from === null && isUndecided(state)) {
      // The leader may become suspect in a moment too, and then sends its state to no member.
      throw refused('no majority is known to have one state: name the member whose state is right (--from)')
    }
    if (state.quarantine === null && compared()?.differs === false) return false
    state.repair(`an operator replaces this state with that of ${source.name}`)
    return true
  }

  /** Returns the leader and its digests, if it can give its state. */
  #checkSource(from: MemberInfo | null): Pick<MemberInfo, 'name'> & Pick<DigestReport, 'samples'> {
    const { consensus } = this.#dependencies
    const { id: self, leader: leaderId, configuration } = consensus.status
    const leader = configuration.members.find(({ id }) => id === leaderId)
    if (leader === undefined)
      throw refused('there is no leader to fetch a state from: start a majority of the voters')
    if (leader.id === self) {
      throw refused('this member leads: name the member whose state is right (--from), it will lead instead')
    }
    if (from !== null && from.id !== leader.id)
      throw refused(`${leader.name} leads and not ${from.name}: repeat the command`)
    return { name: leader.name, samples: this.#checkState(leader).samples }
  }

  #checkSelf({ name, id }: StateDecision): void {
    const { id: self } = this.#dependencies.consensus.status
    const named = this.#named(name)
    if (id !== null && named.id !== id) {
      const message = `${name} is another member now, ${named.id} and not ${id}: check and repeat the command`
      throw new MembersError('unknown-member', message)
    }
    if (named.id !== self) {
      const message = `only ${name} itself can do that: send it to https://${named.clientAddress}`
      throw new MembersError('elsewhere', message)
    }
  }

  /**
   * Returns the latest report of a member.
   *
   * @throws MembersError `no-state` when it sent no report lately, or is not healthy
   */
  #checkState({ id, name }: MemberInfo): DigestReport {
    const report = this.#reportOf({ id })
    if (report === undefined)
      throw refused(`${name} has not reported its state lately: start it, or check its log`)
    if (report.state === 'healthy') return report
    const why = report.state === 'quarantined' ? 'has no state' : 'does not trust its state either'
    throw refused(`${name} ${why}: name the member whose state is right (--from)`)
  }

  #reportOf({ id }: Pick<MemberInfo, 'id'>): DigestReport | undefined {
    return this.#dependencies.reports.latest(reportAgeMsMax).get(id)
  }

  #named(name: string): MemberInfo {
    const { members } = this.#dependencies.consensus.status.configuration
    const found = members.find((member) => member.name === name)
    if (found !== undefined) return found
    const names = members.map((member) => member.name).toSorted()
    throw new MembersError('unknown-member', `there is no member ${name}: there are ${names.join(', ')}`)
  }
}

function isUndecided({ quarantine }: StateRepairDependencies['state']): boolean {
  return quarantine?.cause === 'disagreement' && quarantine.disagreement === 'undecided'
}

function refused(message: string): MembersError {
  return new MembersError('no-state', message)
}
