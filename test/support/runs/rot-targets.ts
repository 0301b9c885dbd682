import {
  closeSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { truncateSync, writeSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import type { SeededRandom } from '../../../base/random.ts'

/* The files of a stopped member's data directory that tests corrupt, and how. */

export const fileKinds = [
  'log segment',
  'log end',
  'database table',
  'database log',
  'database manifest',
  'database CURRENT',
  'database text log',
  'member.json',
  'peers.json',
  'cluster.json',
  'lease promise',
] as const

export type FileKind = (typeof fileKinds)[number]

/** One corruption of one file. */
export type Rot = {
  readonly kind: FileKind
  /** Relative to the data directory. */
  readonly path: string
  readonly change:
    | { readonly kind: 'change'; readonly at: number; readonly mask: number }
    | { readonly kind: 'delete' }
    | { readonly kind: 'cut'; readonly length: number }
    | { readonly kind: 'swap'; readonly with: string }
}

/** @returns null for files that each start recreates: locks, the process id */
function kindOf(path: string): FileKind | null {
  const name = basename(path)
  if (name === 'member.json' || name === 'peers.json' || name === 'cluster.json') return name
  if (name === 'lease-promise') return 'lease promise'
  if (path.startsWith('log/'))
    return name === 'end' ? 'log end' : name.endsWith('.log') ? 'log segment' : null
  if (!path.startsWith('db/')) return null
  if (name.endsWith('.ldb')) return 'database table'
  if (name.endsWith('.log')) return 'database log'
  if (name.startsWith('MANIFEST')) return 'database manifest'
  if (name === 'CURRENT') return 'database CURRENT'
  return name === 'LOG' ? 'database text log' : null
}

export type Found = { readonly kind: FileKind; readonly path: string; readonly bytes: number }

/** Returns all files that can be corrupted. Empty ones cannot. */
export function findFiles(directory: string): readonly Found[] {
  const found: Found[] = []
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = relative(directory, join(entry.parentPath, entry.name))
    const kind = entry.isFile() ? kindOf(path) : null
    if (kind === null) continue
    const { size } = statSync(join(directory, path))
    if (size > 0) found.push({ kind, path, bytes: size })
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/**
 * Draws changes of one byte, spread evenly over the kinds, the files of each kind, and the
 * beginnings, middles and ends of files.
 */
export function drawChanges(directory: string, count: number, random: SeededRandom): readonly Rot[] {
  const byKind = groupByKind(findFiles(directory))
  const drawn: Rot[] = []
  for (let round = 0; drawn.length < count; round++) {
    for (const [kind, files] of byKind) {
      const file = files[round % files.length]
      // Small files are soon exhausted: they get one change for three of the others.
      if (file === undefined || (file.bytes < 1024 && round % 3 !== 0)) continue
      const at = place(join(directory, file.path), file.bytes, round, random)
      const mask = random.chance(0.5) ? 1 << random.below(8) : 1 + random.below(255)
      drawn.push({ kind, path: file.path, change: { kind: 'change', at, mask } })
    }
  }
  return drawn.slice(0, count)
}

/** Draws files to be deleted, truncated, or exchanged with another of their kind. */
export function drawLosses(directory: string, count: number, random: SeededRandom): readonly Rot[] {
  const byKind = [...groupByKind(findFiles(directory))]
  const drawn: Rot[] = []
  for (let round = 0; drawn.length < count; round++) {
    for (const [kind, files] of byKind) {
      const file = random.pick(files)
      const others = files.filter(({ path }) => path !== file.path)
      const changes: Rot['change'][] = [
        { kind: 'delete' },
        { kind: 'cut', length: random.below(file.bytes) },
        { kind: 'cut', length: 0 },
      ]
      if (others.length > 0) changes.push({ kind: 'swap', with: random.pick(others).path })
      const change = changes[round % changes.length]
      if (change !== undefined) drawn.push({ kind, path: file.path, change })
    }
  }
  return drawn.slice(0, count)
}

export function inflict(directory: string, { path, change }: Rot): void {
  const file = join(directory, path)
  switch (change.kind) {
    case 'delete':
      return rmSync(file)
    case 'cut':
      return truncateSync(file, change.length)
    case 'swap': {
      const other = join(directory, change.with)
      renameSync(file, `${file}.aside`)
      renameSync(other, file)
      return renameSync(`${file}.aside`, other)
    }
    case 'change': {
      const descriptor = openSync(file, 'r+')
      const byte = Buffer.alloc(1)
      readSync(descriptor, byte, 0, 1, change.at)
      byte[0] = (byte[0] ?? 0) ^ change.mask
      writeSync(descriptor, byte, 0, 1, change.at)
      return closeSync(descriptor)
    }
  }
}

export function describeRot({ kind, path, change }: Rot): string {
  switch (change.kind) {
    case 'delete':
      return `${kind} ${path} deleted`
    case 'cut':
      return `${kind} ${path} cut to ${change.length} bytes`
    case 'swap':
      return `${kind} ${path} exchanged with ${change.with}`
    case 'change':
      return `${kind} ${path} byte ${change.at} changed by ${change.mask}`
  }
}

function groupByKind(files: readonly Found[]): ReadonlyMap<FileKind, readonly Found[]> {
  const groups = new Map<FileKind, Found[]>()
  for (const kind of fileKinds) {
    const own = files.filter((file) => file.kind === kind)
    if (own.length > 0) groups.set(kind, own)
  }
  return groups
}

/**
 * Draws an offset: near the beginning, near the end of the written bytes, anywhere within them, or
 * anywhere in the file. So the zeros that are written ahead are rarely chosen.
 */
function place(path: string, bytes: number, round: number, random: SeededRandom): number {
  const used = readFileSync(path).findLastIndex((byte) => byte !== 0) + 1
  const near = Math.min(600, used)
  switch (round % 4) {
    case 0:
      return random.below(near)
    case 1:
      return used - 1 - random.below(near)
    case 2:
      return random.below(used)
    default:
      return random.below(bytes)
  }
}
