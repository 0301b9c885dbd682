import type { Clock } from '../../raft/base/clock.ts'
import { SeededRandom } from '../../raft/base/random.ts'
import { logIndex, noSnapshot, term } from '../../raft/index.ts'
import type { SnapshotMeta, SnapshotSource } from '../../raft/index.ts'
import type { QuarantinedDatabaseNews } from '../../src/store/disk/quarantined-database.ts'
import type { KeyValueHome, KeyValuePair } from '../../src/store/disk/key-value-store.ts'
import { defaultStoreLimits } from '../../src/store/limits.ts'
import type { StoreLimits } from '../../src/store/limits.ts'
import { digestOf } from '../../src/store/machine/digest.ts'
import { hashText } from '../../src/store/machine/hash.ts'
import { Machine } from '../../src/store/machine/machine.ts'
import { emptyState } from '../../src/store/machine/state.ts'
import { featureLevelMax } from '../../src/version.ts'
import { StoreMachine } from '../../src/store/store-machine.ts'
import { randomCommand, smallSettings } from '../../fixtures/store-commands.ts'
import { LogWriter, ownSession } from '../../fixtures/store-kit.ts'

/** Small enough that everything spills, splits and comes back. */
export const tinyLimits: StoreLimits = {
  ...defaultStoreLimits,
  historyMemoryBytesMax: 20_000,
  historyMemoryEventsMax: 15,
  backlogBytesMax: 20_000,
  batchBytesMax: 3_000,
  diskReadVersionsMax: 5,
  scanStepsMax: 10,
  snapshotFrameBytesMax: 1_000,
}

export type OpenOptions = {
  readonly home: KeyValueHome
  readonly clock: Clock
  readonly limits?: StoreLimits
  readonly logBase?: SnapshotMeta
  readonly logLast?: number
  readonly featureLevelMax?: number
  readonly mayGive?: () => boolean
  readonly onFailure?: (cause: unknown) => void
  readonly onAside?: (news: QuarantinedDatabaseNews) => void
}

export function openMachine(options: OpenOptions): Promise<StoreMachine> {
  return StoreMachine.open({
    home: options.home,
    clock: options.clock,
    limits: options.limits ?? tinyLimits,
    logBase: options.logBase ?? noSnapshot,
    logLast: logIndex(options.logLast ?? Number.MAX_SAFE_INTEGER),
    featureLevelMax: options.featureLevelMax ?? featureLevelMax,
    ...(options.mayGive === undefined ? {} : { mayGive: options.mayGive }),
    ...(options.onAside === undefined ? {} : { onAside: options.onAside }),
    onFailure:
      options.onFailure ??
      ((cause) => {
        throw cause
      }),
  })
}

/**
 * A log of random commands, trims and new terms among them.
 *
 * @param featureLevel from 2 on with limits on size that are met now and then
 */
export function randomLog(seed: number, length: number, featureLevel: number = featureLevelMax): LogWriter {
  const random = new SeededRandom(seed)
  const log = new LogWriter()
  const sizes = { objectBytesMax: 145, storageBytesMax: 10_000 }
  if (featureLevel > 1) log.command({ kind: 'raise-feature-level', level: featureLevel })
  const settings = featureLevel > 1 ? { ...smallSettings, ...sizes } : smallSettings
  log.command({ kind: 'change-settings', settings })
  while (log.last < length) {
    if (random.chance(0.02)) log.term = term(log.term + 1)
    if (random.chance(0.02)) log.empty()
    else log.command(randomCommand(random, log.last), { session: ownSession + random.below(3) })
  }
  return log
}

/** The digest after each index, of a machine that was never restarted. Index 0 is the empty state's. */
export function digestsOf(log: LogWriter): readonly string[] {
  const machine = new Machine(emptyState())
  const digests = [hashText(digestOf(machine.state))]
  for (const entry of log.entries) {
    machine.apply([entry], ownSession)
    digests.push(hashText(digestOf(machine.state)))
  }
  return digests
}

/** Applies `log` from where the machine is, up to `to`, all of it on the log's own disk. */
export function applyUpTo(machine: StoreMachine, log: LogWriter, to: number): void {
  for (const entry of log.after(machine.appliedMemory)) {
    if (entry.index > to) break
    machine.apply([entry], ownSession)
  }
  machine.logPersisted(logIndex(to))
}

/** All pairs of a closed database. */
export async function pairsOf(home: KeyValueHome, name: string): Promise<readonly KeyValuePair[]> {
  const store = await home.open(name)
  const snapshot = store.snapshot()
  const range = snapshot.range(Uint8Array.of(0), Uint8Array.of(255))
  const all: KeyValuePair[] = []
  for (let pairs = await range.next(); pairs.length > 0; pairs = await range.next()) all.push(...pairs)
  await range.close()
  await snapshot.close()
  await store.close()
  return all
}

export async function chunksOf(source: SnapshotSource): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = []
  for (let chunk = await source.next(); chunk !== null; chunk = await source.next()) chunks.push(chunk)
  await source.close()
  return chunks
}
