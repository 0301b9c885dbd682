import type { Clock, Timer } from '../../base/clock.ts'
import type { Consensus, ConsensusStatus, Term } from '../../raft/index.ts'
import { isJsonObject, textMember } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import { formatTime, parseTimeMs } from '../api/metadata/time.ts'
import type { MemberReport } from '../state-agreement/member-report.ts'
import type { MemberReports } from '../state-agreement/member-reports.ts'
import { lagToShow, memberStatuses } from './member-status.ts'
import type { Judgement, MemberStatus } from './member-status.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { encode, parseStored } from '../registry/kinds/encode.ts'
import type { Operation } from '../store/command.ts'
import { StoreError } from '../store/store-errors.ts'
import { memberObjectsLevel } from '../store/machine/feature-level.ts'
import { memberPrefix } from '../store/machine/member-objects.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'

export type MemberStatusWriterDependencies = {
  readonly store: Pick<ObjectStore, 'identity' | 'featureLevel' | 'view' | 'write'>
  readonly consensus: Pick<Consensus<never>, 'status' | 'onStatus'>
  readonly reports: Pick<MemberReports, 'latest'>
  readonly self: () => Pick<MemberReport, 'state' | 'version'>
  readonly clock: Clock
  readonly onFailure: (cause: unknown) => void
}

const periodMs = 500
/**
 * Minimum time between two evaluations because of the status of consensus; a new term, role or
 * configuration is evaluated at once.
 */
const lookMsMin = 100
/** Minimum time between two writes that only update a lag; pause while the storage is full. */
const driftMsMin = 5000
/** Pause after a write that failed. */
const pauseMs = 500
const proposalMsMax = 5000
const reportAgeMsMax = 5000
/** An announced member that has not joined within this time is no longer listed. */
const pendingMsMax = 24 * 60 * 60_000

/**
 * On the leader, writes the status of the members into their objects: leadership and health at
 * once, the lag every few seconds, and nothing while nothing changes. Each write is conditional on
 * what was read, so that of two members that consider themselves the leader neither overwrites the
 * other.
 */
export class MemberStatusWriter {
  readonly #dependencies: MemberStatusWriterDependencies
  #stops: (() => void)[] = []
  #timer: Timer | null = null
  #writing = false
  #closed = false
  #lastLookMs = -Infinity
  #lastDriftMs = -Infinity
  #pausedUntilMs = -Infinity
  /** This member's leadership, if it leads. */
  #leadership: { readonly term: Term; readonly commitAtStart: number } | null = null
  /** The status at the last evaluation. */
  #seen: Pick<ConsensusStatus, 'term' | 'role' | 'configuration'> | null = null

  constructor(dependencies: MemberStatusWriterDependencies) {
    this.#dependencies = dependencies
  }

  start(): void {
    const { clock, consensus } = this.#dependencies
    this.#timer = clock.every(periodMs, () => this.#look())
    this.#stops = [consensus.onStatus((status) => this.#onStatus(status))]
    this.#look()
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    for (const stop of this.#stops) stop()
  }

  #onStatus({ term, role, configuration }: ConsensusStatus): void {
    const seen = this.#seen
    const same = seen?.term === term && seen.role === role && seen.configuration === configuration
    if (same && this.#dependencies.clock.monotonicMs() - this.#lastLookMs < lookMsMin) return
    this.#look()
  }

  #look(): void {
    const { store, consensus, clock, onFailure } = this.#dependencies
    const nowMs = clock.monotonicMs()
    const { status } = consensus
    this.#seen = status
    this.#lastLookMs = nowMs
    if (this.#writing || this.#closed || status.role !== 'leader' || nowMs < this.#pausedUntilMs) return
    if (store.identity === null || store.featureLevel < memberObjectsLevel) return
    const { operations, drift } = this.#due(status, nowMs)
    if (operations.length === 0) return
    if (drift) this.#lastDriftMs = nowMs
    this.#writing = true
    this.#write(operations)
      .catch(onFailure)
      .finally(() => {
        this.#writing = false
        if (clock.monotonicMs() >= this.#pausedUntilMs) this.#look()
      })
  }

  async #write(operations: readonly Operation[]): Promise<void> {
    const { store, clock } = this.#dependencies
    try {
      const outcome = await store.write({ kind: 'write', operations }, clock.monotonicMs() + proposalMsMax)
      // After a concurrent write, the next evaluation reads the new state. A write that does not
      // fit into the quota is tried again later.
      if (outcome.kind === 'over-quota') this.#pausedUntilMs = clock.monotonicMs() + driftMsMin
    } catch (cause) {
      // No quorum, or leadership moved: the next evaluation decides again.
      if (!(cause instanceof StoreError)) throw cause
      this.#pausedUntilMs = clock.monotonicMs() + pauseMs
    }
  }

  /** Returns the writes that are due; `drift`: they include writes of the lag alone. */
  #due(
    status: ConsensusStatus,
    nowMs: number,
  ): { readonly operations: readonly Operation[]; readonly drift: boolean } {
    const { reports, self, clock } = this.#dependencies
    const { commitAtStart } = this.#leadershipOf(status)
    const received = reports.latest(reportAgeMsMax)
    const statuses = memberStatuses({ ...status, commitAtStart, reports: received, self: self() })
    const wallMs = clock.wallMs()
    const driftMayShow = nowMs - this.#lastDriftMs >= driftMsMin
    const transitions: Operation[] = []
    const drifts: Operation[] = []
    for (const stored of this.#objects()) {
      const object = parseStored(stored)
      const before = statusIn(object)
      const id = textMember(before, 'id')
      if (id === '') {
        if (isExpired(object, wallMs)) transitions.push(removal(stored))
        continue
      }
      const [, now] = [...statuses].find(([member]) => String(member) === id) ?? []
      if (now === undefined) continue
      const next = written(before, now, wallMs)
      const changed = Object.keys(next).filter((name) => next[name] !== before[name])
      if (changed.length === 0) continue
      const operation = rewrite(stored, { ...object, status: next })
      if (changed.every((name) => name === 'lag')) drifts.push(operation)
      else transitions.push(operation)
    }
    if (!driftMayShow || drifts.length === 0) return { operations: transitions, drift: false }
    return { operations: [...transitions, ...drifts], drift: true }
  }

  #leadershipOf({ term, commit }: ConsensusStatus): { readonly commitAtStart: number } {
    if (this.#leadership?.term !== term) this.#leadership = { term, commitAtStart: commit }
    return this.#leadership
  }

  #objects(): readonly StoredObject[] {
    const { store } = this.#dependencies
    const { identity } = store
    if (identity === null) return []
    try {
      return store.view().list(memberPrefix(identity.apiDomain), { after: null, limit: null }).objects
    } catch (cause) {
      // The state is not trusted: another member should lead, and writes the status.
      if (cause instanceof StoreError) return []
      throw cause
    }
  }
}

function statusIn(object: AnyObject): JsonObject {
  const status = object['status']
  return isJsonObject(status) ? status : {}
}

/** Returns the status with the current values; unchanged values stay the same. */
function written(before: JsonObject, now: MemberStatus, wallMs: number): JsonObject {
  const { leader, term, judgement, version } = now
  const lag = before['lag']
  return {
    ...before,
    leader,
    lag: lagToShow(typeof lag === 'number' ? lag : 0, now),
    ...(judgement === null ? { ready: before['ready'] === true } : judgedStatus(before, judgement, wallMs)),
    ...(term === null ? {} : { term }),
    ...(version === null ? {} : { version }),
  }
}

function judgedStatus(before: JsonObject, judgement: Judgement, wallMs: number): JsonObject {
  const { phase } = judgement
  return { phase, ready: phase === 'Ready', conditions: conditionsOf(before, judgement, wallMs) }
}

function conditionsOf(before: JsonObject, { phase, reason, message }: Judgement, wallMs: number): Json {
  const old = before['conditions']
  const [known] = Array.isArray(old) ? (old as readonly Json[]) : []
  const status = phase === 'Ready' ? 'True' : 'False'
  if (isJsonObject(known) && known['status'] === status && known['reason'] === reason) return old as Json
  const same = isJsonObject(known) && known['status'] === status ? known['lastTransitionTime'] : undefined
  const lastTransitionTime = same ?? formatTime(wallMs)
  return [{ type: 'Ready', status, lastTransitionTime, reason, message }]
}

function isExpired({ metadata }: AnyObject, wallMs: number): boolean {
  const created = parseTimeMs(metadata.creationTimestamp ?? '')
  return created !== null && wallMs - created > pendingMsMax
}

function rewrite({ key, revision }: StoredObject, object: AnyObject): Operation {
  return { kind: 'put', key, conditions: [{ kind: 'revision-is', revision }], object: encode(object) }
}

function removal({ key, revision }: StoredObject): Operation {
  return { kind: 'delete', key, conditions: [{ kind: 'revision-is', revision }] }
}
