import { assert, assertNever } from '../../../raft/base/assert.ts'
import { decodeEnvelope } from '../../../raft/index.ts'
import type { Entry, SettledProposal, SnapshotMeta } from '../../../raft/index.ts'
import { decodeCommand } from '../command-codec.ts'
import type { Command, Operation, Outcome } from '../command.ts'
import { noRevision, revision } from '../revision.ts'
import type { Revision } from '../revision.ts'
import { refusalOf } from './decide.ts'
import { addHash, newHash, subtractHash } from './hash.ts'
import { featureLevelMax } from './state.ts'
import type { MachineState } from './state.ts'
import { deletedVersion, hashOf, putVersion, recordOf } from './version.ts'
import type { Version, VersionPlace } from './version.ts'

/** What changed since the changes were last taken, for the database to follow. */
export type VersionChanges = {
  readonly made: readonly Version[]
  /** Versions nobody can read any more. Some may be in `made` too. */
  readonly gone: readonly Revision[]
  /** Of the records in `made`. */
  readonly bytes: number
}

/**
 * Applies the log to the state: same entries, same state, on every member and after every restart. Reads
 * no clock, draws no randomness, awaits nothing.
 */
export class Machine {
  readonly state: MachineState
  #made: Version[] = []
  #gone: Revision[] = []
  #madeBytes = 0

  constructor(state: MachineState) {
    this.state = state
  }

  /** Where the state stands in the log. */
  get applied(): SnapshotMeta {
    const { appliedIndex, appliedTerm, configuration } = this.state
    return { index: appliedIndex, term: appliedTerm, configuration }
  }

  get changedBytes(): number {
    return this.#madeBytes
  }

  /**
   * In order, each once; those at or below the applied index were applied before and do nothing.
   * @returns the fate of each command that `session` made
   */
  apply(entries: readonly Entry[], session: number): SettledProposal<Outcome>[] {
    const settled: SettledProposal<Outcome>[] = []
    for (const entry of entries) {
      if (entry.index <= this.state.appliedIndex) continue
      assert(entry.index === this.state.appliedIndex + 1, 'entries are applied without gaps')
      assert(entry.term >= this.state.appliedTerm, 'terms never go back')
      // First, because commands ask what index they are at.
      this.state.appliedIndex = entry.index
      this.state.appliedTerm = entry.term
      if (entry.kind === 'configuration') this.state.configuration = entry.configuration
      if (entry.kind === 'command') this.#command(entry, session, settled)
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

  #command(
    entry: Extract<Entry, { readonly kind: 'command' }>,
    ownSession: number,
    settled: SettledProposal<Outcome>[],
  ): void {
    const { session, sequence, acknowledgedBelow, expectedTerm, payload } = decodeEnvelope(entry.data)
    const { sessions } = this.state
    sessions.heard(session, acknowledgedBelow, entry.index)
    const known = sessions.outcomeOf(session, sequence)
    if (known === 'settled') return
    // A second try of what was decided has that outcome, whatever its own term.
    const isVoid = known === null && entry.term !== expectedTerm
    const outcome = known ?? (isVoid ? null : this.#perform(decodeCommand(payload)))
    if (known === null && outcome !== null) sessions.settle(session, sequence, outcome)
    if (session !== ownSession) return
    const fate = outcome === null ? ({ kind: 'void' } as const) : ({ kind: 'applied', outcome } as const)
    settled.push({ sequence, index: entry.index, fate })
  }

  #perform(command: Command): Outcome {
    switch (command.kind) {
      case 'write':
        return this.#write(command.operations)
      case 'bootstrap':
        return this.#bootstrap(command)
      case 'trim':
        return this.#trim(command.upTo)
      case 'change-settings':
        this.state.settings = command.settings
        return noRevisions
      case 'raise-feature-level':
        return this.#raise(command.level)
      case 'expire-sessions':
        return this.state.sessions.expire(command.before) > 0 ? noRevisions : nothing
      default:
        return assertNever(command)
    }
  }

  #write(operations: readonly Operation[]): Outcome {
    const refusal = refusalOf(this.state.objects, operations, this.state.revision)
    if (refusal !== null) return refusal
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
    this.#made.push(version)
    this.#madeBytes += recordOf(version).byteLength
  }

  #bootstrap(command: Extract<Command, { readonly kind: 'bootstrap' }>): Outcome {
    if (this.state.identity !== null) return nothing
    const outcome = this.#write(command.operations)
    if (outcome.kind === 'refused') return outcome
    this.state.identity = command.identity
    this.state.settings = command.settings
    return outcome
  }

  /** The floor in events holds even against a proposer that forgot it. */
  #trim(upTo: Revision): Outcome {
    const { history, settings } = this.state
    const floor = Math.max(0, this.state.revision - settings.historyEventsMin)
    const to = revision(Math.min(upTo, floor))
    if (to <= history.trimmed) return nothing
    const left = history.trim(to, (version) => this.#gone.push(version))
    subtractHash(this.state.versionsSum, left)
    return noRevisions
  }

  #raise(level: number): Outcome {
    // To go on would be to decide by other rules than the members that know them.
    assert(level <= featureLevelMax, `feature level ${level} is known to this program`)
    if (level <= this.state.featureLevel) return nothing
    this.state.featureLevel = level
    return noRevisions
  }
}

const nothing: Outcome = { kind: 'nothing' }
const noRevisions: Outcome = { kind: 'done', revisions: [] }
const scratch = newHash()
