import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { ConsensusError } from '../../raft/index.ts'
import type { Consensus, ProposalResult, ReadPort } from '../../raft/index.ts'
import { encodeCommand } from './command-codec.ts'
import type { ClusterIdentity, Command, Outcome, Settings } from './command.ts'
import { StoreError } from './store-errors.ts'
import type { Key, KeyPrefix } from './key.ts'
import type { StoreLimits } from './store-limits.ts'
import type { MachineState } from './machine/state.ts'
import type {
  ListSlice,
  ObjectStore,
  PastView,
  StorageFill,
  StoreReads,
  StoredObject,
  View,
  WatchCursor,
  WatchInterest,
} from './object-store.ts'
import { compactedError } from './past-versions.ts'
import { HistoricalView } from './historical-view.ts'
import { quarantinedError } from './quarantine.ts'
import type { Revision } from './revision.ts'
import { RevisionWaiters } from './revision-waiters.ts'
import type { StoreMachine } from './store-machine.ts'
import { ApplyTimes } from './watch/apply-times.ts'
import { WatchHub } from './watch/hub.ts'

export type StoreOptions = {
  readonly consensus: Consensus<Outcome>
  readonly machine: StoreMachine
  readonly clock: Clock
  readonly limits: StoreLimits
}

/**
 * Read and write access to one member's state. Reads of the newest state are from memory; those of
 * past revisions may be from disk. Writes go through the log.
 */
export class Store implements ObjectStore {
  readonly #options: StoreOptions
  readonly #hub: WatchHub
  readonly #waiters: RevisionWaiters
  readonly #applyTimes: ApplyTimes
  readonly #unsubscribe: readonly (() => void)[]
  readonly reads: StoreReads

  constructor(options: StoreOptions) {
    this.#options = options
    const { machine, clock, limits, consensus } = options
    this.reads = readsOf(consensus.reads)
    this.#hub = new WatchHub({ machine, clock, limits })
    this.#applyTimes = new ApplyTimes(clock)
    this.#applyTimes.applied(machine.lastState.revision)
    this.#waiters = new RevisionWaiters({ clock, waitersMax: limits.waitersMax })
    this.#unsubscribe = [
      machine.onApplied(() => {
        this.#applyTimes.applied(machine.state.revision)
        this.#waiters.reached(machine.state.revision)
        this.#hub.applied()
        this.#applyLeaseSetting()
      }),
      // Watches fail at their next read.
      machine.onQuarantine(() => this.#hub.invalidate()),
    ]
    this.#applyLeaseSetting()
  }

  get identity(): ClusterIdentity | null {
    const { machine } = this.#options
    return machine.quarantine === null ? machine.state.identity : null
  }

  get settings(): Settings {
    return this.#options.machine.state.settings
  }

  get featureLevel(): number {
    return this.#options.machine.lastState.featureLevel
  }

  get storage(): StorageFill {
    const { usage, settings, storageAlarm } = this.#options.machine.lastState
    return {
      usedBytes: usage.bytes,
      bytesMax: settings.storageBytesMax,
      alarm: storageAlarm,
      largest: (count) => usage.largest(count),
      largestPlaces: () => usage.largestPlaces(),
    }
  }

  /** Newest applied revision. */
  get revision(): Revision {
    return this.#options.machine.lastState.revision
  }

  /** See `ApplyTimes.of`. */
  appliedMs(of: Revision): number | null {
    return this.#applyTimes.of(of)
  }

  get openWatches(): number {
    return this.#hub.openCursors
  }

  view(): View {
    return new NewestView(this.#options.machine.state)
  }

  viewAt(revision: Revision): PastView {
    const { machine, clock, limits } = this.#options
    const { state } = machine
    if (revision > state.revision) {
      throw new StoreError(
        'future',
        `revision ${revision} was not reached yet, the newest is ${state.revision}`,
      )
    }
    if (revision < state.history.trimmed) throw compactedError(revision, state.history.trimmed)
    return new HistoricalView({ machine, clock, limits, revision })
  }

  async barrier(deadlineMs: number): Promise<void> {
    this.#checkTrusted()
    try {
      await this.#options.consensus.barrier(this.#quorumDeadline(deadlineMs))
    } catch (cause) {
      throw toStoreError(cause)
    }
  }

  async waitFor(revision: Revision, deadlineMs: number): Promise<void> {
    return this.#waiters.wait(revision, { reached: this.#options.machine.state.revision, deadlineMs })
  }

  async write(command: Command, deadlineMs: number): Promise<Outcome> {
    this.#checkTrusted()
    const payload = encodeCommand(command)
    const { consensus, machine, limits } = this.#options
    if (payload.byteLength > limits.commandBytesMax) {
      throw new StoreError(
        'too-large',
        `the command has ${payload.byteLength} bytes of ${limits.commandBytesMax}`,
      )
    }
    let result: ProposalResult<Outcome>
    try {
      result = await consensus.propose(payload, this.#quorumDeadline(deadlineMs))
    } catch (cause) {
      throw toStoreError(cause)
    }
    // The outcome of a command on a suspect state must not be returned.
    if (result.kind === 'applied' && machine.quarantine !== null) throw outcomeUnknownError()
    if (result.kind === 'applied') return result.outcome
    throw result.kind === 'unknown' ? outcomeUnknownError() : notApplied(result.reason)
  }

  watch(prefix: KeyPrefix, after: Revision, interest: WatchInterest | null = null): WatchCursor {
    return this.#hub.open(prefix, after, interest)
  }

  /** Stored objects are always readable; those of a store that decrypts may not be. */
  onReadable(): () => void {
    return () => undefined
  }

  /** Ends all watches, and rejects what waits for a revision. The caller closes the rest. */
  close(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#hub.close()
    this.#waiters.close()
  }

  /** Limits the wait for a quorum, whatever the caller's deadline. */
  #quorumDeadline(deadlineMs: number): number {
    const { clock, limits } = this.#options
    return Math.min(deadlineMs, clock.monotonicMs() + limits.quorumWaitMs)
  }

  /**
   * Applies the lease setting, which has an effect while this member leads. Cheap when it is
   * unchanged.
   */
  #applyLeaseSetting(): void {
    const { consensus, machine } = this.#options
    consensus.reads.useLease(machine.lastState.settings.leaseReads === 1)
  }

  /** Without a trusted state no outcome can be returned. @throws StoreError `quarantined` */
  #checkTrusted(): void {
    if (this.#options.machine.quarantine !== null) throw quarantinedError()
  }
}

class NewestView implements View {
  readonly revision: Revision
  readonly #state: MachineState

  constructor(state: MachineState) {
    this.#state = state
    this.revision = state.revision
  }

  get(key: Key): StoredObject | null {
    this.#check()
    return this.#state.objects.get(key)
  }

  list(prefix: KeyPrefix, options: { readonly after: Key | null; readonly limit: number | null }): ListSlice {
    this.#check()
    return this.#state.objects.list(prefix, options.after, options.limit)
  }

  count(prefix: KeyPrefix): number {
    this.#check()
    return this.#state.objects.count(prefix)
  }

  /**
   * A view used across an `await` would show newer objects under an older revision, and watches
   * would miss events.
   */
  #check(): void {
    assert(this.#state.revision === this.revision, 'a view is read in the turn it was taken in')
  }
}

function readsOf(reads: ReadPort): StoreReads {
  return {
    get term() {
      return reads.term
    },
    get freshness() {
      return reads.freshness
    },
    probe: () => reads.probe(),
    lease: () => reads.lease(),
    reached: async (index, deadlineMs) => {
      try {
        await reads.reached(index, deadlineMs)
      } catch (cause) {
        throw toStoreError(cause)
      }
    },
  }
}

function toStoreError(cause: unknown): unknown {
  if (!(cause instanceof ConsensusError)) return cause
  const { code } = cause
  switch (code) {
    case 'overloaded':
    case 'stopped':
      return new StoreError(code, cause.message, { cause })
    case 'timed-out':
    case 'no-leader':
      return new StoreError('timed-out', cause.message, { cause })
    case 'not-a-voter':
    case 'target-silent':
    case 'target-behind':
    case 'target-declined':
      return cause
  }
}

function notApplied(
  reason: Extract<ProposalResult<Outcome>, { readonly kind: 'not-applied' }>['reason'],
): StoreError {
  switch (reason) {
    case 'no-leader':
      return new StoreError('timed-out', 'no leader took the command in time')
    case 'overloaded':
      return new StoreError('overloaded', 'too many commands wait')
    case 'stopped':
      return new StoreError('stopped', 'this member is stopping')
    case 'too-large':
      return new StoreError('too-large', 'the command exceeds one log entry')
    case 'unreadable':
      return new StoreError(
        'unreadable',
        'the leader cannot read this change, as it runs another version: give all members the same version, or try another member',
      )
  }
}

function outcomeUnknownError(): StoreError {
  return new StoreError('timed-out', 'the command was not confirmed in time', { applied: 'unknown' })
}
