import type { Clock } from '../../base/clock.ts'
import type { ConsensusStatus } from '../../raft/index.ts'
import type { Configuration, LogIndex, MemberInfo } from '../../raft/index.ts'

/** A named check of this member. */
export type HealthCheck = {
  readonly name: string
  /** Also part of liveness: a failure means that only a restart helps. */
  readonly live: boolean
  /** Returns the failure, or null. Cheap, and safe to show to the caller. */
  readonly failure: () => string | null
  /**
   * Whether the path of the whole set shows the reason, too, which anonymous callers may read.
   * Unset: only the path of this check and the log show it.
   */
  readonly isPublic?: boolean
}

/** The checks behind each path. The set of checks never changes. */
export type Health = {
  readonly livez: readonly HealthCheck[]
  readonly readyz: readonly HealthCheck[]
  /** Makes this member unready from now on, so that clients turn to another one. */
  readonly shutDown: () => void
  readonly close: () => void
}

/** The part of `Consensus` that the checks use. */
export type StatusSource = {
  readonly status: ConsensusStatus
  readonly onStatus: (listener: (status: ConsensusStatus) => void) => () => void
}

export type HealthOptions = {
  readonly consensus: StatusSource
  readonly clock: Clock
  readonly bounds: HealthBounds
  /** Returns the name of a thread that does not respond, or null. */
  readonly silentThread: () => string | null
  /** For how long after the start liveness does not depend on the checks, in ms. Unset: 0. */
  readonly livezGraceMs?: number
  /** Checks of other modules. */
  readonly more?: readonly HealthCheck[]
}

/** The bounds beyond which a check fails. */
export type HealthBounds = {
  /** Entries by which memory may lag behind the commit index before `apply-lag` fails. */
  readonly applyLagEntriesMax: number
  /** Ms for which memory or log may make no progress while there is work. */
  readonly stallMsMax: number
  /** Maximum age of the last contact with a quorum, in ms. */
  readonly quorumContactMsMax: number
}

export const defaultHealthBounds: HealthBounds = Object.freeze({
  applyLagEntriesMax: 5000,
  stallMsMax: 3000,
  quorumContactMsMax: 5000,
})

/**
 * The health of one member, as spec 4.5 defines it. Readiness follows membership: only a caught-up
 * member of a configuration with a reachable quorum is ready. Every check evaluates the current
 * state, so a member that recovers is ready again.
 */
export function memberHealth(options: HealthOptions): Health {
  const { consensus, clock, bounds } = options
  const logProgress = new Progress(clock)
  const applyProgress = new Progress(clock)
  const note = (status: ConsensusStatus): void => {
    logProgress.note(status.persistedIndex, status.lastIndex)
    applyProgress.note(status.appliedMemory, status.commit)
  }
  note(consensus.status)
  const stopListening = consensus.onStatus(note)
  let shuttingDown = false
  const graceUntilMs = clock.monotonicMs() + (options.livezGraceMs ?? 0)

  const check = (name: string, live: boolean, failure: () => string | null): HealthCheck => ({
    name,
    live,
    failure,
  })
  const checks: readonly HealthCheck[] = [
    check('ping', true, () => null),
    check('threads', true, () => {
      const silent = options.silentThread()
      return silent === null ? null : `the ${silent} thread does not answer`
    }),
    check('leader', false, () => (consensus.status.leader === null ? 'no leader is known' : null)),
    check('log', false, () => {
      note(consensus.status)
      return logProgress.stalledMs() > bounds.stallMsMax ? 'the log makes no progress' : null
    }),
    check('apply-lag', false, () => {
      note(consensus.status)
      const { commit, appliedMemory } = consensus.status
      if (commit - appliedMemory > bounds.applyLagEntriesMax)
        return `${commit - appliedMemory} entries behind`
      return applyProgress.stalledMs() > bounds.stallMsMax ? 'committed entries are not applied' : null
    }),
    check('membership', false, () => membershipFailure(consensus.status, clock, bounds)),
    ...(options.more ?? []),
    check('shutdown', false, () => (shuttingDown ? 'this member is shutting down' : null)),
  ]
  return {
    livez: checks
      .filter(({ live }) => live)
      .map((one) => ({ ...one, failure: () => (clock.monotonicMs() < graceUntilMs ? null : one.failure()) })),
    readyz: checks,
    shutDown: () => {
      shuttingDown = true
    },
    close: stopListening,
  }
}

function membershipFailure(status: ConsensusStatus, clock: Clock, bounds: HealthBounds): string | null {
  const { configuration } = status
  if (status.removed !== null) return status.removed
  if (configuration.members.length === 0) return 'this member has not received anything from its cluster yet'
  const me = configuration.members.find((member) => member.id === status.id)
  if (me === undefined) return 'this member is not part of the configuration'
  const idle = idleness(me, configuration)
  if (idle !== null) return idle
  if (status.quorumContactMs === null) return 'no quorum has been reached yet'
  const ageMs = clock.monotonicMs() - status.quorumContactMs
  return ageMs > bounds.quorumContactMsMax ? 'no quorum has been reached lately' : null
}

/**
 * A learner that is to stay one counts like a voter; a learner that is to be promoted does not. A
 * separate check with a read barrier determines whether a member has caught up.
 *
 * @returns why it does not take part, or null
 */
function idleness({ id, wantedRole }: MemberInfo, configuration: Configuration): string | null {
  const { voters, votersOutgoing, learnersNext } = configuration
  if (voters.includes(id) || learnersNext.includes(id)) return null
  if (votersOutgoing?.includes(id) === true) return 'this member is being removed'
  if (wantedRole === 'learner') return null
  return 'this member is a learner that is still catching up: it is ready once it votes'
}

/** Measures for how long work has made no progress. */
class Progress {
  readonly #clock: Clock
  #reached = -1
  #sinceMs: number | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  note(reached: LogIndex, wanted: LogIndex): void {
    if (reached >= wanted) this.#sinceMs = null
    else if (this.#sinceMs === null || reached !== this.#reached) this.#sinceMs = this.#clock.monotonicMs()
    this.#reached = reached
  }

  stalledMs(): number {
    return this.#sinceMs === null ? 0 : this.#clock.monotonicMs() - this.#sinceMs
  }
}
