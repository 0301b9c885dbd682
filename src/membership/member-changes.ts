import type { Clock } from '../../base/clock.ts'
import { ConsensusError, MembershipError, nodeId, planChange } from '../../raft/index.ts'
import type {
  ChangeRefusal,
  Configuration,
  Consensus,
  LogIndex,
  MemberChange,
  MembershipPort,
  NodeId,
} from '../../raft/index.ts'
import { ApiError } from '../api/errors/api-error.ts'
import {
  conflict,
  forbidden,
  serviceUnavailable,
  timeout,
  tooManyRequests,
} from '../api/errors/standard-errors.ts'
import type { Names } from '../api/metadata/names.ts'
import type { MembershipChange, MembershipChanges } from '../registry/shared/membership-changes.ts'

export type MemberChangesDependencies = {
  readonly consensus: Pick<Consensus<never>, 'onApplied'> & MembershipPort
  /** The highest index applied to this member's memory. */
  readonly applied: () => LogIndex
  /** The configuration at that index. */
  readonly configuration: () => Configuration
  readonly clock: Clock
  readonly names: Names
}

/**
 * Applies the membership changes that follow from objects of kind Member: requests them from
 * consensus and waits until this member's memory has them.
 */
export class MemberChanges implements MembershipChanges {
  readonly #dependencies: MemberChangesDependencies

  constructor(dependencies: MemberChangesDependencies) {
    this.#dependencies = dependencies
  }

  async apply(change: MembershipChange, deadlineMs: number): Promise<void> {
    const { consensus } = this.#dependencies
    let index: LogIndex
    try {
      index = (await consensus.changeMembers(changeOf(change), deadlineMs)).index
    } catch (cause) {
      throw this.#translated(cause, change)
    }
    await this.#seen(index, change, deadlineMs)
  }

  /** Checks the change as if every member were in touch and no change pending. */
  dryRun(change: MembershipChange): void {
    const configuration = this.#dependencies.configuration()
    const everyone = new Set(configuration.members.map(({ id }) => id))
    const plan = planChange({ ...configuration, votersOutgoing: null }, changeOf(change), {
      ...{ pending: false, settled: true, configurationIndex: this.#dependencies.applied() },
      ...{ responding: everyone, caughtUp: new Set<NodeId>() },
    })
    if (plan.kind === 'refused') throw this.#refused(plan.reason, plan.message, change, null)
  }

  async #seen(index: LogIndex, change: MembershipChange, deadlineMs: number): Promise<void> {
    const { consensus, applied, clock } = this.#dependencies
    if (applied() >= index) return
    // A removed member does not need to see its removal: the decision is enough.
    const untilMs =
      change.kind === 'remove-member'
        ? Math.min(deadlineMs, clock.monotonicMs() + removalSeenMsMax)
        : deadlineMs
    const inTime = await new Promise<boolean>((resolve) => {
      const timer = clock.after(Math.max(0, untilMs - clock.monotonicMs()), () => end(false))
      const stop = consensus.onApplied((reached) => {
        if (reached >= index) end(true)
      })
      const end = (reached: boolean): void => {
        timer.cancel()
        stop()
        resolve(reached)
      }
    })
    if (inTime || change.kind === 'remove-member') return
    throw timeout('the change is made, but this member has not applied it in time')
  }

  #translated(cause: unknown, change: MembershipChange): unknown {
    if (cause instanceof MembershipError) return this.#refused(cause.code, cause.message, change, cause)
    if (!(cause instanceof ConsensusError)) return cause
    switch (cause.code) {
      case 'overloaded':
        return tooManyRequests(1)
      case 'stopped':
        return serviceUnavailable('the server is shutting down: use another member', { retryAfterSeconds: 1 })
      case 'timed-out':
      case 'no-leader':
      case 'not-a-voter':
      case 'target-silent':
      case 'target-behind':
      case 'target-declined':
        return timeout('no quorum answered in time; the change may still be made, and a retry is safe')
    }
  }

  #refused(
    reason: ChangeRefusal,
    message: string,
    change: MembershipChange,
    cause: MembershipError | null,
  ): ApiError {
    const { configuration, names } = this.#dependencies
    const member = configuration().members.find(({ id }) => String(id) === change.id)
    const resource = { group: names.group('cluster'), resource: 'members' }
    const error = refusalError[reason](resource, member?.name ?? change.id, message)
    const causes = [{ reason: causeWord(reason), message, field: fieldOf[change.kind] }]
    return new ApiError(error.code, error.message, { ...error.details, causes }, { cause })
  }
}

function changeOf(change: MembershipChange): MemberChange {
  const id = nodeId(Number(change.id))
  switch (change.kind) {
    case 'remove-member':
      return { kind: 'remove', id }
    case 'set-member-role':
      return { kind: 'set-role', id, role: change.voter ? 'voter' : 'learner' }
    case 'move-member': {
      const { peerAddress, clientAddress } = change
      return { kind: 'move', id, peerAddress, clientAddress }
    }
  }
}

const fieldOf = {
  'remove-member': '',
  'set-member-role': 'spec.role',
  'move-member': 'spec.peerAddress',
} as const satisfies Record<MembershipChange['kind'], string>

/**
 * 503 where a retry soon helps; 409 where the current members do not permit the change; 403 where
 * the change is not allowed.
 */
const refusalError: Readonly<Record<ChangeRefusal, typeof conflict>> = {
  'name-taken': conflict,
  'id-taken': conflict,
  'address-taken': conflict,
  'unknown-member': conflict,
  'replaced-unknown': conflict,
  'replaces-pinned': forbidden,
  'last-voter': forbidden,
  'below-live-quorum': forbidden,
  'not-caught-up': conflict,
  'too-many-members': forbidden,
  'change-pending': (_, __, message) => serviceUnavailable(message, { retryAfterSeconds: 1 }),
  'term-unsettled': (_, __, message) => serviceUnavailable(message, { retryAfterSeconds: 1 }),
  impossible: forbidden,
}

/** Converts `last-voter` to `LastVoter`, the spelling of causes. */
function causeWord(reason: ChangeRefusal): string {
  return reason
    .split('-')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

const removalSeenMsMax = 1000
