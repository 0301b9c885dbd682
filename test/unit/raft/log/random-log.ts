import { SeededRandom } from '../../../../base/random.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { Entry, HardState, SnapshotMeta } from '../../../../raft/core/types.ts'
import { MemoryLog } from '../../../../raft/log/memory-log.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import type { LogStore, LogWrite } from '../../../../raft/ports.ts'
import { configurationOf, contents } from '../../../conformance/log-store.ts'
import type { SimulatedDisk } from '../../../simulation/disk.ts'

export type LogOperation =
  | { readonly kind: 'append'; readonly writes: readonly LogWrite[] }
  | { readonly kind: 'cut'; readonly base: SnapshotMeta }

/** Returns everything that a log has to keep. */
export function stateOf(store: LogStore): unknown {
  // The size of records differs between the stores.
  return { ...store.recovered, logId: '', bytes: 0, repaired: null, entries: contents(store) }
}

/** Returns what a log in memory would recover after a restart. */
export function modelState(model: MemoryLog): unknown {
  return stateOf(new MemoryLog(model))
}

export function perform(store: LogStore, operation: LogOperation): void {
  if (operation.kind === 'append') store.append(operation.writes)
  else store.compact(operation.base)
}

/** Opens a log with small segments of a few groups, so that every test crosses their borders. */
export function openTinyWal(disk: SimulatedDisk): Wal {
  return Wal.open({ disk, random: new SeededRandom(99), segmentBytes: 6 * 1024, aheadBytes: 3 * 1024 })
}

/** Draws an operation that a member might perform on a log like `model`. */
export function drawOperation(random: SeededRandom, model: MemoryLog): LogOperation {
  const { base, lastIndex, lastTerm, termRuns } = new MemoryLog(model).recovered
  if (lastIndex > base.index && random.chance(0.2)) {
    const index = base.index + 1 + random.below(lastIndex - base.index)
    const run = termRuns.findLast(({ first }) => first <= index)
    const at = run === undefined ? lastTerm : run.term
    return { kind: 'cut', base: metaAt(random, index, at) }
  }
  const writes: LogWrite[] = []
  let [low, last, highTerm]: [number, number, number] = [base.index, lastIndex, lastTerm]
  for (let count = 1 + random.below(3); count > 0; count--) {
    let snapshot: SnapshotMeta | null = null
    if (random.chance(0.05)) {
      const index = low + 1 + random.below(20)
      snapshot = metaAt(random, index, highTerm + 1)
      ;[low, last, highTerm] = [index, index, highTerm + 1]
    }
    const entries: Entry[] = []
    const replaces = random.chance(0.2)
    const first = replaces ? low + 1 + random.below(last - low + 1) : last + 1
    if (replaces) highTerm++
    for (let index = first; index < first + random.below(6); index++) {
      entries.push(drawEntry(random, index, highTerm))
    }
    const lastEntry = entries.at(-1)
    if (lastEntry !== undefined) last = lastEntry.index
    writes.push({ snapshot, entries, hardState: random.chance(0.4) ? drawHardState(random, highTerm) : null })
  }
  return { kind: 'append', writes }
}

function drawEntry(random: SeededRandom, index: number, at: number): Entry {
  const place = { index: logIndex(index), term: term(at) }
  if (random.chance(0.1)) return { ...place, kind: 'empty' }
  if (random.chance(0.1)) return { ...place, kind: 'configuration', configuration: drawConfiguration(random) }
  // An interrupted write contains long runs of zeros, so the data must contain them too.
  const data = random.bytes(random.below(1500))
  if (random.chance(0.4)) data.fill(0, random.below(data.length + 1))
  return { ...place, kind: 'command', data }
}

function drawHardState(random: SeededRandom, at: number): HardState {
  return {
    term: term(at + random.below(3)),
    vote: random.chance(0.5) ? null : nodeId(1 + random.below(5)),
    commit: logIndex(0),
  }
}

function metaAt(random: SeededRandom, index: number, at: number): SnapshotMeta {
  return { index: logIndex(index), term: term(at), configuration: drawConfiguration(random) }
}

function drawConfiguration(random: SeededRandom): SnapshotMeta['configuration'] {
  return configurationOf(
    ...Array.from({ length: 1 + random.below(3) }, (_, at) => at + 1 + random.below(2) * 10),
  )
}
