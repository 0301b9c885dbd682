import { join } from 'node:path'
import type { Random } from '../../base/random.ts'
import { decodeEnvelope, FileDisk, LogError, logIndex, noIndex, Wal } from '../../raft/index.ts'
import type { Configuration, Entry, RecoveredLog } from '../../raft/index.ts'
import { FileClusterRecord } from '../data-dir/cluster-record-file.ts'
import { StartError } from '../config/start-error.ts'
import { hasLog } from '../data-dir/founding.ts'
import { readIdentity } from '../data-dir/member-identity.ts'
import type { MemberIdentity } from '../data-dir/member-identity.ts'
import { MalformedCommandError, decodeCommand } from '../store/command-codec.ts'
import { isCommand } from '../store/is-command.ts'
import { indexOfDatabase } from '../store/disk/database-names.ts'
import { readDisagreement } from '../store/disk/disagreement-record.ts'
import type { DisagreementRecord } from '../store/disk/disagreement-record.ts'
import type { KeyValueDatabases } from '../store/disk/key-value-store.ts'
import { LevelKeyValueDatabases } from '../store/disk/level-key-value-store.ts'
import { loadState } from '../store/disk/recovery.ts'
import { DatabaseError } from '../store/store-errors.ts'
import { defaultStoreLimits } from '../store/store-limits.ts'
import { Machine } from '../store/machine/machine.ts'
import { emptyState } from '../store/machine/state.ts'
import type { MachineState } from '../store/machine/state.ts'
import { featureLevelMax } from '../version.ts'
import { BackupError } from './errors.ts'
import { backupLimits } from './limits.ts'
import { ReadOnlyDisk } from './read-only-disk.ts'
import { placesOf } from './unfinished.ts'
import { claimFileName, clusterFileName, databaseFolder, logFolder } from '../data-dir/layout.ts'

/** Content of one surviving data directory. */
export type RecoveryCandidate = {
  readonly directory: string
  readonly identity: MemberIdentity
  /** ID of its cluster; null: never founded, or unknown. */
  readonly clusterId: string | null
  /** One line; null: log and state are intact, so the cluster can continue from it. */
  readonly damage: string | null
  /** One line; null: this member recorded no disagreement about its state. */
  readonly suspect: string | null
  /** null: the log cannot be read. */
  readonly log: CandidateLog | null
}

export type CandidateLog = {
  /** The highest term it knows, including that of its vote. */
  readonly term: number
  readonly lastTerm: number
  readonly lastIndex: number
  readonly baseIndex: number
  readonly baseTerm: number
  /** Everything up to this index was committed; later entries may have been. */
  readonly committed: number
  /** Applied index of its database; null: it has no readable database. */
  readonly applied: number | null
  readonly appliedRevision: number | null
  /** Revision after the last entry. */
  readonly revision: number | null
  readonly configuration: Configuration
  readonly termRuns: RecoveredLog['termRuns']
  /** Write entries above `committed`, ascending; the first ones with their keys. */
  readonly unproven: readonly UnprovenWrite[]
}

export type UnprovenWrite = { readonly index: number; readonly keys: readonly string[] }

/**
 * Inspects a directory that the caller has locked; after an interrupted recovery, its original
 * files, wherever they are. The only changes are those that LevelDB makes when it opens a database,
 * and the completed removal of databases that a process had begun to remove.
 *
 * @returns also the state after the last entry; null when it is damaged
 * @throws BackupError `refused` when it is not the directory of a member, or its mark is damaged
 */
export async function inspectDataDir(
  directory: string,
  random: Random,
): Promise<{ readonly candidate: RecoveryCandidate; readonly state: MachineState | null }> {
  const placeOf = placesOf(directory)
  const identity = identityOf(directory, placeOf(claimFileName))
  const logDirectory = join(placeOf(logFolder), logFolder)
  if (!hasLog(logDirectory)) return { candidate: damagedCandidate('there is no log'), state: null }
  let wal: Wal
  try {
    const disk = new ReadOnlyDisk(new FileDisk(logDirectory))
    wal = Wal.open({ disk, random, owner: identity.id })
  } catch (cause) {
    if (!(cause instanceof LogError)) throw cause
    return { candidate: damagedCandidate(cause.message), state: null }
  }
  try {
    const { state, damage, suspect } = await stateOf(placeOf(databaseFolder), wal.recovered)
    const applied = state?.appliedIndex ?? null
    const appliedRevision = state?.revision ?? null
    const { hardState, base, lastIndex, lastTerm, termRuns, configuration } = wal.recovered
    const committed = Math.max(hardState.commit, base.index, applied ?? 0)
    const found = state === null ? damage : (replay(wal, state) ?? damage)
    const log = {
      ...{ term: hardState.term, lastTerm, lastIndex, baseIndex: base.index, baseTerm: base.term, committed },
      ...{ applied, appliedRevision, configuration, termRuns },
      revision: found === null ? (state?.revision ?? null) : null,
      unproven: unprovenIn(wal, committed),
    }
    // A restored state does not contain the ID of the cluster that was founded with it.
    const ofState = identity.life === undefined ? (state?.identity?.clusterId ?? null) : null
    const clusterId = clusterIdIn(placeOf(clusterFileName), identity) ?? ofState
    const candidate = { directory, identity, clusterId, damage: found, suspect, log }
    return { candidate, state: found === null ? state : null }
  } finally {
    wal.close()
  }

  function damagedCandidate(damage: string): RecoveryCandidate {
    const clusterId = clusterIdIn(placeOf(clusterFileName), identity)
    return { directory, identity, clusterId, damage, suspect: null, log: null }
  }
}

/**
 * Returns the cluster ID in the record of the directory; without an intact record, the one that the
 * member received when it joined.
 */
function clusterIdIn(directory: string, { joined }: MemberIdentity): string | null {
  try {
    const record = new FileClusterRecord(directory).read()
    // The directory was restored and not started since.
    if (record?.clusterId === '') return null
    return record?.clusterId ?? joined?.clusterId ?? null
  } catch (cause) {
    if (cause instanceof StartError) return joined?.clusterId ?? null
    throw cause
  }
}

/** @param place the directory that holds the claim */
function identityOf(directory: string, place: string): MemberIdentity {
  try {
    const identity = readIdentity(place)
    if (identity !== null) return identity
  } catch (cause) {
    if (cause instanceof StartError) throw new BackupError('refused', cause.message, { cause })
    throw cause
  }
  throw new BackupError('refused', `${directory} is no member's data directory: give those that survived`)
}

/**
 * Loads the state that a start would begin with.
 *
 * @returns a null state when it cannot be loaded, with the reason
 */
async function stateOf(
  directory: string,
  { base, lastIndex }: RecoveredLog,
): Promise<{
  readonly state: MachineState | null
  readonly damage: string | null
  readonly suspect: string | null
}> {
  const databases = new LevelKeyValueDatabases(join(directory, databaseFolder))
  let damage: string | null = null
  let best: MachineState | null = null
  let suspect: string | null = null
  const marks = await databases.quarantineMarks()
  for (const name of await databases.list()) {
    const index = indexOfDatabase(name)
    if (index === null || index > base.index) continue
    if (marks.has(name)) {
      damage ??= `database ${name} was quarantined: ${marks.get(name) ?? ''}`
      continue
    }
    try {
      const { state, disagreement } = await loaded(databases, name)
      if (state.appliedIndex > lastIndex) {
        damage ??= `database ${name} is at index ${state.appliedIndex}, the log ends at ${lastIndex}`
      } else if (state.appliedIndex >= base.index && (best?.appliedIndex ?? -1) < state.appliedIndex) {
        best = state
        suspect = disagreement?.reason ?? null
      }
    } catch (cause) {
      if (!(cause instanceof DatabaseError)) throw cause
      damage ??= `database ${name}: ${cause.message}`
    }
  }
  if (best !== null) return { state: best, damage: null, suspect }
  // A complete log rebuilds the state from scratch.
  if (base.index === noIndex) return { state: emptyState(), damage: null, suspect: null }
  return {
    state: null,
    damage: damage ?? `there is no database, and the log begins after ${base.index}`,
    suspect: null,
  }
}

async function loaded(
  databases: KeyValueDatabases,
  name: string,
): Promise<{ readonly state: MachineState; readonly disagreement: DisagreementRecord | null }> {
  const store = await databases.open(name)
  try {
    const state = await loadState(store, defaultStoreLimits, featureLevelMax)
    return { state, disagreement: await readDisagreement(store) }
  } finally {
    await store.close()
  }
}

/** Replays the log into `state`. @returns null, or the reason for a failure */
function replay(wal: Wal, state: MachineState): string | null {
  const machine = new Machine(state, featureLevelMax)
  try {
    for (const entries of slices(wal, state.appliedIndex)) {
      machine.apply(entries, noSession)
      machine.takeChanges()
    }
    return null
  } catch (cause) {
    const isOfTheLog = cause instanceof LogError || cause instanceof MalformedCommandError
    if (isOfTheLog || cause instanceof DatabaseError) return cause.message
    throw cause
  }
}

/** No session: no proposals wait for outcomes. */
const noSession = 0

function* slices(wal: Wal, after: number): Generator<readonly Entry[], void> {
  const last = wal.lastIndex
  for (let from = after + 1; from <= last;) {
    const entries = wal.read(logIndex(from), last, backupLimits.readBytesMax)
    yield entries
    from += entries.length
  }
}

function unprovenIn(wal: Wal, committed: number): readonly UnprovenWrite[] {
  const unproven: UnprovenWrite[] = []
  try {
    for (const entries of slices(wal, committed)) {
      for (const entry of entries) {
        if (entry.kind !== 'command') continue
        const { payload } = decodeEnvelope(entry.data)
        // Malformed commands have no effect.
        if (!isCommand(payload)) continue
        const command = decodeCommand(payload)
        if (command.kind !== 'write') continue
        const isNamed = unproven.length < backupLimits.writesNamedMax
        const keys = isNamed ? command.operations.map(({ kind, key }) => `${kind} ${key}`) : []
        unproven.push({ index: entry.index, keys })
      }
    }
  } catch (cause) {
    // Reported as damage of the log.
    if (!(cause instanceof LogError)) throw cause
  }
  return unproven
}
