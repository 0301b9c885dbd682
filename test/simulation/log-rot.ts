import { present } from '../../base/assert.ts'
import { SeededRandom } from '../../base/random.ts'
import { logIndex } from '../../raft/core/types.ts'
import type { Entry, HardState, LogIndex } from '../../raft/core/types.ts'
import { LogError } from '../../raft/log/errors.ts'
import { groupMagic, isZero, sectorBytes } from '../../raft/log/layout.ts'
import { Wal } from '../../raft/log/wal.ts'
import type { SimulatedDisk } from './disk.ts'

/** Kinds of silent damage to the files of a log. */
export type LogRot = 'bit-flip' | 'misdirected-write' | 'lost-file'
export const logRots: readonly LogRot[] = ['bit-flip', 'misdirected-write', 'lost-file']

/**
 * The outcome of the damage: `refused`, the log does not open; `repairable`, the log can be
 * restored from the database of the member and from its peers; `repaired`, opening repaired the log
 * without the loss of an entry; `harmless`, the log opened without a repair.
 */
export type RotOutcome = 'refused' | 'repairable' | 'repaired' | 'harmless'

/**
 * Damages the log of a stopped member and opens a copy of it: if the copy opens, it must have all
 * former entries after its base. The log is opened once before the damage, so that all of its
 * entries count as acknowledged.
 *
 * @returns null when there was nothing to damage
 * @throws an error that names the silent loss
 */
export function damageLog(disk: SimulatedDisk, kind: LogRot, random: SeededRandom): RotOutcome | null {
  disk.crash()
  const before = contentsOf(disk)
  if (before === null || before instanceof LogError || before === 'repairable') return null
  const fault = damage(disk, kind, random)
  if (fault === null) return null
  const after = contentsOf(disk.copy(new SeededRandom(1)))
  if (after instanceof LogError) return 'refused'
  if (after === null || after === 'repairable') return 'repairable'
  if (textOf(after, after.base) !== textOf(before, after.base)) {
    throw new Error(
      `damaged log: ${fault}, and the log opens with contents other than those that were acknowledged`,
    )
  }
  if (after.repaired) return 'repaired'
  if (after.base !== before.base)
    throw new Error(`damaged log: ${fault}, and the log has another first entry`)
  return 'harmless'
}

/**
 * Flips a bit in the written part of a running member's log.
 *
 * @returns a description; null when nothing was damaged
 */
export function damageRunningLog(disk: SimulatedDisk, random: SeededRandom): string | null {
  const names = disk.list().filter((name) => name.endsWith('.log') && disk.settled(name))
  if (names.length === 0) return null
  const name = random.pick(names.toSorted())
  const used = disk.contents(name).findLastIndex((byte) => byte !== 0) + 1
  const [at, bit] = [random.below(used), random.below(8)]
  disk.corrupt(name, (bytes) => {
    bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
  })
  return `bit ${bit} of byte ${at} of ${used} in ${name} was flipped`
}

type Contents = {
  readonly hardState: HardState
  readonly base: LogIndex
  readonly lastIndex: LogIndex
  readonly entries: readonly Entry[]
  readonly repaired: boolean
}

function textOf({ hardState, lastIndex, entries }: Contents, above: LogIndex): string {
  return JSON.stringify([hardState, lastIndex, entries.filter(({ index }) => index > above)])
}

/**
 * Returns what a member would read from its log at a start, which may repair it; null: no files.
 */
function contentsOf(disk: SimulatedDisk): Contents | LogError | 'repairable' | null {
  if (disk.list().length === 0) return null
  try {
    const wal = Wal.openOrSalvage({ disk, random: new SeededRandom(1), aheadBytes: 0 })
    if (!(wal instanceof Wal)) return 'repairable'
    const { hardState, base, lastIndex, repaired } = wal.recovered
    const entries = lastIndex > base.index ? wal.read(next(base.index), lastIndex, Infinity) : []
    wal.close()
    return {
      hardState,
      base: base.index,
      lastIndex,
      entries,
      repaired: repaired?.startsWith('repaired:') === true,
    }
  } catch (cause) {
    if (cause instanceof LogError) return cause
    throw cause
  } finally {
    disk.crash()
  }
}

/** @returns a description; null when nothing was damaged */
function damage(disk: SimulatedDisk, kind: LogRot, random: SeededRandom): string | null {
  const names = disk
    .list()
    .filter((name) => name.endsWith('.log'))
    .toSorted()
  const name = present(random.pick(names), 'a log has a file')
  switch (kind) {
    case 'bit-flip':
      return flipBit(disk, name, random)
    case 'misdirected-write':
      return misdirect(disk, name, random)
    case 'lost-file': {
      // The loss of the only file cannot be noticed. The loss of the newest of several files goes
      // unnoticed only while it contains nothing but its head.
      if (names.length === 1) return null
      disk.drop(name)
      return `${name} of ${names.length} files is lost`
    }
  }
}

function flipBit(disk: SimulatedDisk, name: string, random: SeededRandom): string {
  const size = disk.contents(name).length
  const at = random.below(size)
  const bit = random.below(8)
  disk.corrupt(name, (bytes) => {
    bytes[at] = (bytes[at] ?? 0) ^ (1 << bit)
  })
  return `bit ${bit} of byte ${at} of ${size} in ${name} was flipped`
}

/**
 * One write is stored at the place of another. Never in the place of the newest one: a disk that
 * loses its very last write cannot be distinguished from a power failure.
 */
function misdirect(disk: SimulatedDisk, name: string, random: SeededRandom): string | null {
  const bytes = disk.contents(name)
  const newest = lastGroup(bytes)
  const sectors = Math.floor(newest / sectorBytes)
  const written = Array.from({ length: sectors }, (_, at) => at * sectorBytes).filter(
    (at) => !isZero(bytes, at, at + sectorBytes),
  )
  if (written.length < 2) return null
  const from = random.pick(written)
  const to = random.pick(written)
  const length = Math.min(1 + random.below(4), (newest - Math.max(from, to)) / sectorBytes) * sectorBytes
  const moved = bytes.slice(from, from + length)
  if (from === to || length === 0) return null
  disk.corrupt(name, (target) => target.set(moved, to))
  return `the ${length} bytes at ${from} of ${name} were also written at ${to}`
}

/** Returns the start of the newest group of a file, or of its preamble without groups. */
function lastGroup(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let last = 0
  for (let at = 0; at + sectorBytes <= bytes.length; at += sectorBytes) {
    if (view.getUint32(at, true) === groupMagic) last = at
  }
  return last
}

function next(index: LogIndex): LogIndex {
  return logIndex(index + 1)
}
