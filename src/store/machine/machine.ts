import { assert, assertNever } from '../../../base/assert.ts'
import { decodeEnvelope, initialConfiguration } from '../../../raft/index.ts'
import type { Entry, Envelope, LogIndex, SettledProposal, SnapshotMeta } from '../../../raft/index.ts'
import { featureLevelMax as newestLevel } from '../../version.ts'
import { decodeCommand } from '../command-codec.ts'
import { MalformedCommandError } from '../malformed-command-error.ts'
import type { Command, Founding, Operation, Outcome, Settings } from '../command.ts'
import { noRevision, revision } from '../revision.ts'
import type { Revision } from '../revision.ts'
import { refusalOf } from './decide.ts'
import type { DigestSamples } from './digest-samples.ts'
import { addHash, newHash, subtractHash } from './hash.ts'
import { memberObjectsLevel, storageRulesLevel, tooNew, unreadableCommandsLevel } from './feature-level.ts'
import { memberOperations, memberPrefix } from './member-objects.ts'
import type { MachineState } from './state.ts'
import { beginsAlarm, endsAlarm, eventsKept, firstQuota, sizeRefusalOf } from './storage-rules.ts'
import { deletedVersion, hashOf, putVersion, recordBytes } from './object-version.ts'
import type { Version, VersionPlace } from './object-version.ts'

/** Changes since the last call of `takeChanges`, for the database. */
export type VersionChanges = {
  readonly made: readonly Version[]
  /** Versions that became unreadable. Some may be in `made` too. */
  readonly gone: readonly Revision[]
  /** Bytes of the records in `made`. */
  readonly bytes: number
}

/**
 * Applies the log to the state: same entries, same state, on every member and after every restart.
 * Reads no clock, draws no randomness, awaits nothing.
 */
export class Machine {
  readonly state: MachineState
  readonly #samples: DigestSamples | null
  #made: Version[] = []
  #gone: Revision[] = []
  #madeBytes = 0
  readonly #featureLevelMax: number

  /**
   * @param featureLevelMax the highest feature level of this member
   * @param samples called after each entry; null: the state is not compared with others
   */
  constructor(state: MachineState, featureLevelMax = newestLevel, samples: DigestSamples | null = null) {
    this.state = state
    this.#featureLevelMax = featureLevelMax
    this.#samples = samples
  }

  /** Position of the state in the log. */
  get applied(): SnapshotMeta {
    const { appliedIndex, appliedTerm, configuration } = this.state
    return { index: appliedIndex, term: appliedTerm, configuration }
  }

  get changedBytes(): number {
    return this.#madeBytes
  }

  /**
   * Applies entries in order, each once; those at or below the applied index are skipped.
   * @returns the outcome of each command of `session`
   * @throws DatabaseError `unsupported` before an entry that raises the feature level beyond this
   * member's
   * @throws MalformedCommandError below feature level 3, for a command that cannot be decoded
   */
  apply(entries: readonly Entry[], session: number): SettledProposal<Outcome>[] {
    const settled: SettledProposal<Outcome>[] = []
    for (const entry of entries) {
      if (entry.index <= this.state.appliedIndex) continue
      assert(entry.index === this.state.appliedIndex + 1, 'entries are applied without gaps')
      assert(entry.term >= this.state.appliedTerm, 'terms never go back')
      const proposal = entry.kind === 'command' ? this.#read(entry) : null
      // Nothing changes before `#read`, which may throw.
      this.state.appliedIndex = entry.index
      this.state.appliedTerm = entry.term
      if (entry.kind === 'configuration') this.state.configuration = entry.configuration
      // Also for the first entry of each leader: a restored or recovered state has members of
      // another incarnation.
      if (entry.kind !== 'command') this.#updateMembers(0)
      if (proposal !== null) this.#command(proposal, session, settled)
      this.#samples?.applied(this.state)
    }
    return settled
  }

  takeChanges(): VersionChanges {
    const changes = { made: this.#made, gone: this.#gone, bytes: this.#madeBytes }
    this.#made = []
    this.#gone = []
    this.#madeBytes = 0
    return changes
  }

  /**
   * Runs before any change: a command that this member cannot apply must leave no trace in its
   * state.
   */
  #read(entry: Extract<Entry, { readonly kind: 'command' }>): Proposal {
    const envelope = decodeEnvelope(entry.data)
    const command = this.#decode(envelope.payload)
    const isVoid = entry.term !== envelope.expectedTerm
    const level = isVoid ? 0 : this.#levelAfter(command)
    if (level > this.#featureLevelMax) throw tooNew(level, this.#featureLevelMax)
    return { index: entry.index, envelope, command, isVoid }
  }

  /**
   * A leader proposes no command that it cannot decode. Should one be committed nevertheless, it
   * has no effect on any member: otherwise, no member could apply the entries after it.
   * @returns null: it cannot be decoded
   * @throws MalformedCommandError for such a command below feature level 3
   */
  #decode(payload: Uint8Array): Command | null {
    try {
      return decodeCommand(payload)
    } catch (cause) {
      const skips = this.state.featureLevel >= unreadableCommandsLevel
      if (skips && cause instanceof MalformedCommandError) return null
      throw cause
    }
  }

  /** Returns the feature level that a command requests; 0: it requests none. */
  #levelAfter(command: Command | null): number {
    if (command === null) return 0
    if (command.kind === 'raise-feature-level') return command.level
    return command.kind === 'bootstrap' && this.state.identity === null ? command.featureLevel : 0
  }

  #command(proposal: Proposal, ownSession: number, settled: SettledProposal<Outcome>[]): void {
    const { index, command } = proposal
    const { session, sequence, acknowledgedBelow } = proposal.envelope
    const { sessions } = this.state
    sessions.recordActivity(session, acknowledgedBelow, index)
    const known = sessions.outcomeOf(session, sequence)
    if (known === 'settled') return
    // A retry of an applied command has its first outcome, regardless of its term.
    const outcome = known ?? (proposal.isVoid ? null : this.#perform(command))
    if (known === null && outcome !== null) sessions.settle(session, sequence, outcome)
    if (session !== ownSession) return
    const result = outcome === null ? ({ kind: 'void' } as const) : ({ kind: 'applied', outcome } as const)
    settled.push({ sequence, index, result })
  }

  #perform(command: Command | null): Outcome {
    if (command === null) return nothing
    switch (command.kind) {
      case 'write':
        return this.#refusal(command.operations) ?? this.#writeAndUpdateAlarm(command.operations)
      case 'bootstrap':
        return this.#bootstrap(command)
      case 'trim':
        return this.#trim(command.upTo)
      case 'change-settings':
        return this.#change(command)
      case 'raise-feature-level':
        return this.#raise(command)
      case 'expire-sessions':
        return this.state.sessions.expire(command.before) > 0 ? noRevisions : nothing
      default:
        return assertNever(command)
    }
  }

  /**
   * Conditions come first, so that a lost race is reported as such. A write that the quota refuses
   * raises the alarm when little space is left; the alarm then refuses later writes, too.
   */
  #refusal(operations: readonly Operation[]): Outcome | null {
    const { state } = this
    const lost = refusalOf(state.objects, operations, state.revision)
    if (lost !== null || state.featureLevel < storageRulesLevel) return lost
    const { settings, storageAlarm: alarm, revision: last } = state
    const fill = { settings, usedBytes: state.usage.bytes, alarm, revision: last }
    const refusal = sizeRefusalOf(fill, (key) => state.objects.get(key), operations)
    const quota = settings.storageBytesMax
    if (refusal?.kind === 'over-quota' && quota !== null && !endsAlarm(fill.usedBytes, quota)) {
      state.storageAlarm = true
    }
    return refusal
  }

  #writeAndUpdateAlarm(operations: readonly Operation[]): Outcome {
    const outcome = this.#write(operations)
    this.#updateAlarm()
    return outcome
  }

  #write(operations: readonly Operation[]): Outcome {
    const revisions: Revision[] = []
    for (let at = 0; at < operations.length; at++) {
      const operation = operations[at]
      if (operation === undefined) break
      this.#operate(operation, at === operations.length - 1)
      revisions.push(this.state.revision)
    }
    return { kind: 'done', revisions }
  }

  #operate(operation: Operation, lastOfCommand: boolean): void {
    const { objects } = this.state
    const old = objects.get(operation.key)
    const next = revision(this.state.revision + 1)
    const place: VersionPlace = {
      key: old?.key ?? operation.key,
      revision: next,
      previous: old?.revision ?? noRevision,
      lastOfCommand,
    }
    if (operation.kind === 'put') {
      const version = putVersion(place, operation.object)
      objects.set(version)
      this.#note(version, old)
      return
    }
    assert(old !== null, 'a deletion was decided on an object that is there')
    objects.delete(operation.key)
    this.#note(deletedVersion(place, old), old)
  }

  #note(version: Version, old: Version | null): void {
    this.state.revision = version.revision
    this.state.history.append(version, old)
    addHash(this.state.versionsSum, hashOf(version, scratch))
    this.state.usage.put(version, old)
    this.#made.push(version)
    this.#madeBytes += recordBytes(version)
  }

  #bootstrap(command: Extract<Command, { readonly kind: 'bootstrap' }>): Outcome {
    if (this.state.identity !== null) return nothing
    // Checks conditions only: the quota does not apply to the initial objects.
    const refusal = refusalOf(this.state.objects, command.operations, this.state.revision)
    if (refusal !== null) return refusal
    const outcome = this.#write(command.operations)
    this.state.identity = command.identity
    this.state.featureLevel = Math.max(this.state.featureLevel, command.featureLevel)
    this.#set(command.settings)
    this.#applyFounding(command.founding)
    return outcome
  }

  /** Applies the initial members. A configuration entry in the log has precedence over them. */
  #applyFounding(founding: Founding | undefined): void {
    const { state } = this
    if (founding !== undefined && state.configuration.members.length === 0) {
      state.configuration = initialConfiguration(founding.members)
    }
    this.#updateMembers(founding?.atMs ?? 0)
  }

  /** Member objects are not subject to conditions or the quota. */
  #updateMembers(atMs: number): void {
    const { objects, configuration, identity, featureLevel } = this.state
    if (identity === null || featureLevel < memberObjectsLevel) return
    const shown = objects.list(memberPrefix(identity.apiDomain), null, null).objects
    this.#writeAndUpdateAlarm(memberOperations(shown, { configuration, identity, atMs }))
  }

  #change({ settings, expected }: Extract<Command, { readonly kind: 'change-settings' }>): Outcome {
    const { state } = this
    const isConditional = expected !== undefined && state.featureLevel >= storageRulesLevel
    if (isConditional && !sameSettings(expected, state.settings)) return nothing
    this.#set(settings)
    return noRevisions
  }

  /** A quota that the command omits is unchanged; before feature level 2 there is none. */
  #set(settings: Settings): void {
    const { state } = this
    const quota = settings.storageBytesMax ?? state.settings.storageBytesMax ?? firstQuota(state.usage.bytes)
    const storageBytesMax = state.featureLevel < storageRulesLevel ? null : quota
    const { leaseReads, staleAccessMs, ...others } = settings
    const isSupported = state.featureLevel >= storageRulesLevel
    state.settings = {
      ...{ ...others, storageBytesMax },
      ...(isSupported && leaseReads === 1 ? { leaseReads } : {}),
      ...(isSupported && staleAccessMs !== undefined ? { staleAccessMs } : {}),
    }
    this.#updateAlarm()
  }

  /**
   * Keeps the events that `eventsKept` requires, even if the proposer ignored it. Readers rely on
   * the history window, which the proposer respects even while the storage is full; an operator may
   * shorten it.
   */
  #trim(upTo: Revision): Outcome {
    const { history, settings, usage, storageAlarm: alarm } = this.state
    const floor = this.state.revision - eventsKept(settings, { usedBytes: usage.bytes, alarm })
    const to = revision(Math.max(0, Math.min(upTo, floor)))
    if (to <= history.trimmed) return nothing
    const left = history.trim(
      to,
      (version) => this.#gone.push(version),
      (key, bytes) => usage.freed(key, bytes),
    )
    subtractHash(this.state.versionsSum, left)
    this.#updateAlarm()
    return noRevisions
  }

  #updateAlarm(): void {
    const { state } = this
    const { storageBytesMax } = state.settings
    const { bytes } = state.usage
    if (storageBytesMax === null || endsAlarm(bytes, storageBytesMax)) state.storageAlarm = false
    else if (beginsAlarm(bytes, storageBytesMax)) state.storageAlarm = true
  }

  #raise({ level, founding }: Extract<Command, { readonly kind: 'raise-feature-level' }>): Outcome {
    if (level <= this.state.featureLevel) return nothing
    this.state.featureLevel = level
    this.#set(this.state.settings)
    this.#applyFounding(founding)
    return noRevisions
  }
}

/** A command and its proposer. */
type Proposal = {
  readonly index: LogIndex
  readonly envelope: Envelope
  /** null: it cannot be decoded. */
  readonly command: Command | null
  /** Proposed in another term than its entry's: it has no effect, unless it was applied before. */
  readonly isVoid: boolean
}

function sameSettings(a: Settings, b: Settings): boolean {
  return (
    a.historyWindowMs === b.historyWindowMs &&
    a.historyEventsMin === b.historyEventsMin &&
    a.objectBytesMax === b.objectBytesMax &&
    a.storageBytesMax === b.storageBytesMax &&
    (a.leaseReads ?? 0) === (b.leaseReads ?? 0) &&
    a.staleAccessMs === b.staleAccessMs
  )
}

const nothing: Outcome = { kind: 'nothing' }
const noRevisions: Outcome = { kind: 'done', revisions: [] }
const scratch = newHash()
