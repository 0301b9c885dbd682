import type { Clock, Timer } from '../../raft/base/clock.ts'
import { ConsensusFailure, logIndex, noIndex } from '../../raft/index.ts'
import type { Consensus, ConsensusStatus, LogIndex, NodeId } from '../../raft/index.ts'
import { Disputes } from './disputes.ts'
import type { Dispute } from './disputes.ts'
import type { CopiedStretch, DigestSample, MemberReport } from './member-report.ts'
import type { MemberReports } from './member-reports.ts'
import { isConfirmedAgainst, judgeState, mayGive } from './state-agreement.ts'
import type { StateVerdict, Testimony } from './state-agreement.ts'

/** The replicated state of this member, as the guard sees it. */
export interface GuardedState {
  readonly appliedMemory: LogIndex
  readonly samples: readonly DigestSample[]
  /** See `MemberReport.copied`. */
  readonly descent: readonly CopiedStretch[]
  /** null: trusted. */
  readonly quarantine: { readonly reason: string } | null
  /** null in quarantine: it is not the time yet to ask for another. */
  readonly wanted: LogIndex | null
  sampleNow(): void
  sampleAt(index: LogIndex): void
  /** Others confirmed the state up to there: whom it was copied from before is of no account any more. */
  proven(index: LogIndex): void
  condemn(reason: string, why: 'outvoted'): void
}

export type StateGuardParts = {
  readonly state: GuardedState
  readonly consensus: Pick<Consensus<never>, 'status' | 'transferLeadership'>
  readonly reports: MemberReports
  readonly clock: Clock
  readonly log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
}

const periodMs = 1000
/** Older ones say nothing: their member may have been mended since. */
const reportAgeMsMax = 10_000
const transferMsMax = 2000
/** Behind its start nobody can have said anything yet: whoever asks for a repair asks again. */
const gatherMs = 3000
/** Enough for a sample ahead to be known everywhere before anybody gets there. */
const aheadEntriesMin = 8
/** A quarantine that lasts is told of this often. */
const lastingMs = 30_000
const untold: StateVerdict = { kind: 'agree', upTo: null, provenUpTo: null }

/**
 * Compares the state of this member with the others' all the time. Once a second it takes a sample where it rests, names
 * an index ahead for everyone to take one at, and looks at what the others said: a member in the minority does not trust
 * its state any more. While it does not, it gives leadership away: only a leader that trusts its own can send a state.
 */
export class StateGuard {
  readonly #parts: StateGuardParts
  #timer: Timer | null = null
  #stopListening: () => void = () => undefined
  #lastApplied: LogIndex | null = null
  #sampleAt: LogIndex = noIndex
  #verdict: StateVerdict = untold
  readonly #disputes = new Disputes()
  #openDisputes: readonly Dispute[] = []
  #announced: StateVerdict['kind'] | 'disputed' = 'agree'
  #quarantinedSinceMs: number | null = null
  #toldMs = Number.NEGATIVE_INFINITY
  #givingWay = false
  readonly #startedMs: number

  constructor(parts: StateGuardParts) {
    this.#parts = parts
    this.#startedMs = parts.clock.monotonicMs()
  }

  start(): void {
    const { clock, reports, state } = this.#parts
    this.#timer = clock.every(periodMs, () => this.#look())
    this.#stopListening = reports.onHeard((_from, report) => {
      state.sampleAt(report.sampleAt)
      this.#judge()
    })
  }

  close(): void {
    this.#timer?.cancel()
    this.#stopListening()
  }

  /** What the others are told. */
  describe(): Pick<MemberReport, 'appliedIndex' | 'sampleAt' | 'samples' | 'copied' | 'state'> {
    const { appliedMemory, samples, descent, quarantine } = this.#parts.state
    const state = quarantine === null ? 'healthy' : 'quarantined'
    return { appliedIndex: appliedMemory, sampleAt: this.#sampleAt, samples, copied: descent, state }
  }

  get verdict(): StateVerdict {
    return this.#verdict
  }

  /** Why the state is not served; null: it is. */
  quarantineFailure(): string | null {
    const { quarantine } = this.#parts.state
    return quarantine === null ? null : `the state is not trusted and is fetched anew: ${quarantine.reason}`
  }

  /** null unless members have different states and nobody can tell which is right. */
  agreementFailure(): string | null {
    const verdict = this.#verdict
    if (verdict.kind === 'split') {
      return `at index ${verdict.index} ${this.#namesOf(verdict.members)} have another state than this member`
    }
    const [dispute] = this.#openDisputes
    if (dispute === undefined) return null
    const names = this.#namesOf(this.#openDisputes.map(({ id }) => id))
    return `at index ${dispute.index} ${names} had another state than this member, before they lost it`
  }

  /** Whether this member's state may be sent to another; see `mayGive` and `Disputes`. */
  mayGive(atLeast: LogIndex | null): boolean {
    const { consensus, reports, clock, state } = this.#parts
    if (this.#openDisputes.length > 0) return false
    if (clock.monotonicMs() - this.#startedMs < gatherMs) return atLeast === null
    const { status } = consensus
    const known = reports.latest(reportAgeMsMax)
    const inTouch = status.followers.filter(({ id, recentlyActive }) => recentlyActive && isVoter(id, status))
    const healthy = new Map([[status.id, state.descent]])
    for (const { id } of inTouch) {
      const report = known.get(id)
      if (report?.state === 'healthy') healthy.set(id, report.copied)
    }
    const asked = { atLeast, configuration: status.configuration, healthy }
    return mayGive(this.#verdict, asked)
  }

  #look(): void {
    const { state } = this.#parts
    const applied = state.appliedMemory
    const moved = this.#lastApplied === null ? 0 : applied - this.#lastApplied
    // At rest everyone is at the same index sooner or later.
    if (applied === this.#lastApplied) state.sampleNow()
    this.#lastApplied = applied
    const sampleAt = logIndex(applied + Math.max(aheadEntriesMin, 2 * moved))
    this.#sampleAt = sampleAt
    state.sampleAt(sampleAt)
    this.#judge()
    this.#watchQuarantine()
  }

  #judge(): void {
    const { state, consensus, reports } = this.#parts
    if (state.quarantine !== null) {
      this.#verdict = untold
      this.#disputes.clear()
      this.#openDisputes = []
      this.#announced = 'agree'
      return
    }
    const { status } = consensus
    const others = new Map<NodeId, Testimony>()
    const latest = reports.latest(reportAgeMsMax)
    for (const [id, report] of latest) {
      if (report.state === 'healthy') others.set(id, report)
    }
    const { configuration, id: self } = status
    const own = { samples: state.samples, copied: state.descent }
    const evidence = { self, configuration, own, others }
    const verdict = judgeState(evidence)
    this.#verdict = verdict
    if ('provenUpTo' in verdict && verdict.provenUpTo !== null) {
      state.proven(verdict.provenUpTo)
      this.#disputes.proven(verdict.provenUpTo)
    }
    this.#disputes.note(
      state.samples,
      latest,
      configuration.members.map((member) => member.id),
    )
    this.#disputes.confirm((theirs, index) => isConfirmedAgainst(theirs, index, evidence))
    this.#openDisputes = this.#disputes.open(latest)
    this.#announce(verdict)
    if (verdict.kind === 'minority') {
      const names = this.#namesOf(verdict.members)
      state.condemn(
        `at index ${verdict.index} ${names} agree on another state than this member has`,
        'outvoted',
      )
    }
  }

  #announce(verdict: StateVerdict): void {
    const [dispute] = this.#openDisputes
    const announced = verdict.kind === 'agree' && dispute !== undefined ? 'disputed' : verdict.kind
    if (announced === this.#announced) return
    this.#announced = announced
    if (announced !== 'disputed') return this.#tell(verdict)
    this.#parts.log.error(
      { index: dispute?.index, members: this.#namesOf(this.#openDisputes.map(({ id }) => id)) },
      'members that lost their state had another than this one, which is given to nobody until others confirm it',
    )
  }

  #tell(verdict: StateVerdict): void {
    const { log } = this.#parts
    if (verdict.kind === 'agree') return log.info({ upTo: verdict.upTo }, 'the states of members agree again')
    const { index, digest } = verdict
    const fields = { index, digest, members: this.#namesOf(verdict.members) }
    switch (verdict.kind) {
      case 'minority':
        return log.error(fields, 'the state of this member differs from that of a majority')
      case 'majority':
        return log.warn(fields, 'members have another state than the majority; each of them fetches it anew')
      case 'split':
        return log.error(
          fields,
          'members have different states and no majority has one: nobody heals by itself',
        )
    }
  }

  #watchQuarantine(): void {
    const { state, clock, log, consensus } = this.#parts
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
    if (this.#quarantinedSinceMs === null) this.#toldMs = nowMs
    this.#quarantinedSinceMs ??= nowMs
    const { status } = consensus
    if (status.role === 'leader') this.#giveWay(status)
    if (state.wanted === null || nowMs - this.#toldMs < lastingMs) return
    this.#toldMs = nowMs
    log.error(
      { reason: quarantine.reason, leader: status.leader },
      'still without a state: no healthy leader sends one. Start the other members; if there are none, ' +
        'restore a snapshot',
    )
  }

  /** To a voter that trusts its own state, as far as is known. */
  #giveWay(status: ConsensusStatus): void {
    const { consensus, clock, reports, log } = this.#parts
    const known = reports.latest(reportAgeMsMax)
    const [heir] = status.followers
      .filter(
        ({ id, recentlyActive, state }) => recentlyActive && state === 'replicate' && isVoter(id, status),
      )
      .filter(({ id }) => known.get(id)?.state !== 'quarantined')
      .toSorted((a, b) => b.match - a.match)
    if (heir === undefined || this.#givingWay) return
    this.#givingWay = true
    log.warn({ to: this.#namesOf([heir.id]) }, 'a leader without a trusted state gives way')
    consensus
      .transferLeadership(heir.id, clock.monotonicMs() + transferMsMax)
      .catch((cause: unknown) => {
        if (!(cause instanceof ConsensusFailure)) throw cause
      })
      .finally(() => {
        this.#givingWay = false
      })
  }

  #namesOf(ids: readonly NodeId[]): string {
    const { members } = this.#parts.consensus.status.configuration
    return ids.map((id) => members.find((member) => member.id === id)?.name ?? String(id)).join(', ')
  }
}

function isVoter(id: NodeId, { configuration }: ConsensusStatus): boolean {
  return configuration.voters.includes(id)
}
