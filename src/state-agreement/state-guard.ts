import type { Clock, Timer } from '../../base/clock.ts'
import { ConsensusError, logIndex, noIndex } from '../../raft/index.ts'
import type { Consensus, ConsensusStatus, LogIndex, NodeId } from '../../raft/index.ts'
import type {
  DigestReport,
  Disagreement,
  DigestSample,
  MemberReport,
  ReportedState,
} from './member-report.ts'
import type { MemberReports } from './member-reports.ts'
import { judgeState } from './state-agreement.ts'
import type { StateVerdict } from './state-agreement.ts'

/** Why a state is not served. */
export type StateQuarantine =
  /** The database is moved away, and another member's state is fetched. */
  | { readonly cause: 'damaged' | 'operator'; readonly reason: string }
  | { readonly cause: 'disagreement'; readonly disagreement: Disagreement; readonly reason: string }

/** The replicated state of this member, as the guard sees it. */
export interface GuardedState {
  readonly appliedMemory: LogIndex
  /** Empty without a state. */
  readonly samples: readonly DigestSample[]
  /** null: trusted. */
  readonly quarantine: StateQuarantine | null
  /** null: no other state is to be fetched now. */
  readonly wanted: LogIndex | null
  sampleNow(): void
  sampleAt(index: LogIndex): void
  /** Stops serving the state and keeps it. */
  suspect(disagreement: Disagreement, reason: string): void
  /** Serves a suspect state again. */
  trust(): void
}

export type StateGuardDependencies = {
  readonly state: GuardedState
  readonly consensus: Pick<Consensus<never>, 'status' | 'transferLeadership'>
  readonly reports: MemberReports
  readonly clock: Clock
  /** How long an operator's decision holds where no majority agrees, in ms. */
  readonly trustMs?: number
  readonly log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

const periodMs = 1000
/** Older reports prove nothing: their member may have been repaired since. */
export const reportAgeMsMax = 10_000
const transferMsMax = 2000
/** Enough for every member in touch to have reported the digests that decide. */
const undecidedMsMax = 3000
/**
 * Enough to repair the others. The state may go wrong again during that time, and nothing would
 * notice.
 */
const operatorTrustMs = 600_000
/** Enough for a sample ahead to be known everywhere before any member gets there. */
const aheadEntriesMin = 8
/** A fetch that lasts is logged this often. */
const lastingMs = 30_000
const unknown: StateVerdict = { kind: 'agree', agreedUpTo: null }

/**
 * Compares the state of this member with those of the others continuously. Once a second it takes a
 * sample when the index rests, names an index ahead at which every member takes one, and judges the
 * reports of the others. A member that a majority contradicts stops serving at once, one that
 * differs from another without a majority on its side after three seconds; either serves again once
 * a majority has its state. An operator's decision that a state is right overrules the others until
 * a majority has it, for ten minutes at most. A leader without a trusted state transfers
 * leadership.
 */
export class StateGuard {
  readonly #dependencies: StateGuardDependencies
  #timer: Timer | null = null
  #stopListening: () => void = () => undefined
  #lastApplied: LogIndex | null = null
  #sampleAt: LogIndex = noIndex
  #verdict: StateVerdict = unknown
  /** The first difference that no majority has settled yet. */
  #differsSince: { readonly index: LogIndex; readonly ms: number } | null = null
  /** The newest index of any difference. */
  #differedAt: LogIndex = noIndex
  /**
   * An operator decided that this state is right: until then, or until a majority has it,
   * differences do not count.
   */
  #trustedUntilMs = Number.NEGATIVE_INFINITY
  #logged: 'agree' | 'majority' = 'agree'
  #quarantinedSinceMs: number | null = null
  #loggedMs = Number.NEGATIVE_INFINITY
  #isTransferring = false
  /** The target that was logged last. */
  #transferTo: NodeId | null = null
  #transferLoggedMs = Number.NEGATIVE_INFINITY

  constructor(dependencies: StateGuardDependencies) {
    this.#dependencies = dependencies
  }

  start(): void {
    const { clock, reports, state } = this.#dependencies
    this.#timer = clock.every(periodMs, () => this.#look())
    this.#stopListening = reports.onReceived((_from, report) => {
      state.sampleAt(report.sampleAt)
      this.#judge()
    })
  }

  close(): void {
    this.#timer?.cancel()
    this.#stopListening()
  }

  /** Returns what is sent to the others. */
  describe(): Pick<MemberReport, 'appliedIndex' | 'sampleAt' | 'samples' | 'state'> {
    const { appliedMemory, samples } = this.#dependencies.state
    return { appliedIndex: appliedMemory, sampleAt: this.#sampleAt, samples, state: this.#reported }
  }

  get verdict(): StateVerdict {
    return this.#verdict
  }

  /** Returns why there is no state, or null. */
  quarantineFailure(): string | null {
    const { quarantine } = this.#dependencies.state
    if (quarantine === null || quarantine.cause === 'disagreement') return null
    return `the state is quarantined, that of another member is fetched: ${quarantine.reason}`
  }

  /** Returns why the state is suspect or about to be, or null. */
  agreementFailure(): string | null {
    const { quarantine } = this.#dependencies.state
    if (quarantine?.cause === 'disagreement') {
      return `the state is not served until a majority has it or an operator decides: ${quarantine.reason}`
    }
    const isOpen = this.#verdict.kind === 'undecided' && !this.#isTrustedByOperator
    return isOpen ? this.#reasonOf(this.#verdict) : null
  }

  /**
   * Returns whether this member's state may be sent to another: it is served, and it has no open
   * difference or an operator decided that it is right.
   */
  mayGive(): boolean {
    if (this.#dependencies.state.quarantine !== null) return false
    return this.#isTrustedByOperator || this.#verdict.kind === 'agree' || this.#verdict.kind === 'majority'
  }

  /**
   * Records an operator's decision that this member's state is right. Where no member contradicts
   * the state the decision has no effect: otherwise it would hide a difference that begins later.
   */
  trustByOperator(): void {
    const { state, clock, trustMs = operatorTrustMs } = this.#dependencies
    const { kind } = this.#verdict
    if (state.quarantine === null && (kind === 'agree' || kind === 'majority')) return
    this.#trustedUntilMs = clock.monotonicMs() + trustMs
    state.trust()
  }

  get #isTrustedByOperator(): boolean {
    return this.#dependencies.clock.monotonicMs() < this.#trustedUntilMs
  }

  get #reported(): ReportedState {
    const { quarantine } = this.#dependencies.state
    if (quarantine === null) return 'healthy'
    return quarantine.cause === 'disagreement' ? quarantine.disagreement : 'quarantined'
  }

  #look(): void {
    const { state } = this.#dependencies
    const applied = state.appliedMemory
    const moved = this.#lastApplied === null ? 0 : applied - this.#lastApplied
    // At rest every member is at the same index sooner or later.
    if (applied === this.#lastApplied) state.sampleNow()
    this.#lastApplied = applied
    const sampleAt = logIndex(applied + Math.max(aheadEntriesMin, 2 * moved))
    this.#sampleAt = sampleAt
    state.sampleAt(sampleAt)
    this.#judge()
    this.#watchQuarantine()
  }

  #judge(): void {
    const { state, consensus, reports } = this.#dependencies
    if (this.#reported === 'quarantined') {
      this.#verdict = unknown
      this.#differsSince = null
      this.#differedAt = noIndex
      this.#trustedUntilMs = Number.NEGATIVE_INFINITY
      return
    }
    const { configuration, id: self } = consensus.status
    const others = new Map<NodeId, DigestReport>()
    for (const [id, report] of reports.latest(reportAgeMsMax)) {
      if (report.state !== 'quarantined') others.set(id, report)
    }
    this.#verdict = judgeState({ self, configuration, own: state.samples, others })
    this.#act(this.#verdict)
    this.#log(this.#verdict)
  }

  #act(verdict: StateVerdict): void {
    const { state, clock } = this.#dependencies
    const { agreedUpTo } = verdict
    if (verdict.kind === 'agree' || verdict.kind === 'majority') {
      this.#differsSince = null
      if (agreedUpTo === null || agreedUpTo < this.#differedAt) return
      this.#trustedUntilMs = Number.NEGATIVE_INFINITY
      state.trust()
      return
    }
    const { index } = verdict
    if (index > this.#differedAt) this.#differedAt = index
    const isSettled = (agreedUpTo ?? noIndex) >= (this.#differsSince?.index ?? noIndex)
    if (this.#differsSince === null || isSettled) this.#differsSince = { index, ms: clock.monotonicMs() }
    if (this.#isTrustedByOperator) return
    const isOver = clock.monotonicMs() - this.#differsSince.ms >= undecidedMsMax
    if (verdict.kind === 'outvoted' || isOver) state.suspect(verdict.kind, this.#reasonOf(verdict))
  }

  #log(verdict: StateVerdict): void {
    const kind = verdict.kind === 'majority' ? 'majority' : 'agree'
    if (kind === this.#logged) return
    this.#logged = kind
    if (verdict.kind !== 'majority') return
    const { index, digest } = verdict
    const members = this.#namesOf(verdict.members)
    this.#dependencies.log.warn(
      { index, digest, members },
      'members have another state than the majority and serve nothing: orchctl member repair replaces it',
    )
  }

  #watchQuarantine(): void {
    const { state, clock, log, consensus } = this.#dependencies
    const nowMs = clock.monotonicMs()
    const { quarantine } = state
    if (quarantine === null) {
      if (this.#quarantinedSinceMs !== null) {
        const tookMs = Math.round(nowMs - this.#quarantinedSinceMs)
        log.info({ appliedIndex: state.appliedMemory, tookMs }, 'the state is trusted again')
      }
      this.#quarantinedSinceMs = null
      return
    }
    if (this.#quarantinedSinceMs === null) this.#loggedMs = nowMs
    this.#quarantinedSinceMs ??= nowMs
    const { status } = consensus
    if (status.role === 'leader') this.#transferLeadership(status)
    if (state.wanted === null || nowMs - this.#loggedMs < lastingMs) return
    this.#loggedMs = nowMs
    log.error(
      { reason: quarantine.reason, leader: status.leader },
      'still without a state: no healthy leader sends one. Start the other members; if there are none, ' +
        'restore a snapshot',
    )
  }

  /** Transfers leadership to a voter that trusts its own state, as far as is known. */
  #transferLeadership(status: ConsensusStatus): void {
    const { consensus, clock, reports, log } = this.#dependencies
    const known = reports.latest(reportAgeMsMax)
    const [target] = status.followers
      .filter(({ id, recentlyActive, state }) => {
        const isVoter = status.configuration.voters.includes(id)
        return recentlyActive && state === 'replicate' && isVoter
      })
      .filter(({ id }) => (known.get(id)?.state ?? 'healthy') === 'healthy')
      .toSorted((a, b) => b.match - a.match)
    if (target === undefined || this.#isTransferring) return
    this.#isTransferring = true
    // A transfer that fails is tried again each second, and logged again when the target changes or
    // it lasts.
    const nowMs = clock.monotonicMs()
    if (target.id !== this.#transferTo || nowMs - this.#transferLoggedMs >= lastingMs) {
      this.#transferTo = target.id
      this.#transferLoggedMs = nowMs
      log.warn({ to: this.#namesOf([target.id]) }, 'a leader without a trusted state transfers leadership')
    }
    consensus
      .transferLeadership(target.id, clock.monotonicMs() + transferMsMax)
      .catch((cause: unknown) => {
        if (!(cause instanceof ConsensusError)) throw cause
      })
      .finally(() => {
        this.#isTransferring = false
      })
  }

  #reasonOf(verdict: StateVerdict): string {
    if (!('members' in verdict)) return ''
    const names = this.#namesOf(verdict.members)
    const what = verdict.kind === 'outvoted' ? 'agree on another state than' : 'have another state than'
    return `at index ${verdict.index} ${names} ${what} this member has`
  }

  #namesOf(ids: readonly NodeId[]): string {
    const { members } = this.#dependencies.consensus.status.configuration
    return ids.map((id) => members.find((member) => member.id === id)?.name ?? String(id)).join(', ')
  }
}
