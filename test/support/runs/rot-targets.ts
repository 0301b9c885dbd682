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

/* Where a stopped member's data directory can rot, and how. */

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

/** One thing done to one file. */
export type Rot = {
  readonly kind: FileKind
  /** Relative to the data directory. */
  readonly path: string
  readonly deed:
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

/** Every file that may rot. Empty ones cannot. */
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
 * Changes of one byte, spread over the kinds, over the files of each, over heads, middles and
 * tails.
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
      drawn.push({ kind, path: file.path, deed: { kind: 'change', at, mask } })
    }
  }
  return drawn.slice(0, count)
}

/** Files gone, cut short, and exchanged with another of their kind. */
export function drawLosses(directory: string, count: number, random: SeededRandom): readonly Rot[] {
  const byKind = [...groupByKind(findFiles(directory))]
  const drawn: Rot[] = []
  for (let round = 0; drawn.length < count; round++) {
    for (const [kind, files] of byKind) {
      const file = random.pick(files)
      const others = files.filter(({ path }) => path !== file.path)
      const deeds: Rot['deed'][] = [
        { kind: 'delete' },
        { kind: 'cut', length: random.below(file.bytes) },
        { kind: 'cut', length: 0 },
      ]
      if (others.length > 0) deeds.push({ kind: 'swap', with: random.pick(others).path })
      const deed = deeds[round % deeds.length]
      if (deed !== undefined) drawn.push({ kind, path: file.path, deed })
    }
  }
  return drawn.slice(0, count)
}

export function inflict(directory: string, { path, deed }: Rot): void {
  const file = join(directory, path)
  switch (deed.kind) {
    case 'delete':
      return rmSync(file)
    case 'cut':
      return truncateSync(file, deed.length)
    case 'swap': {
      const other = join(directory, deed.with)
      renameSync(file, `${file}.aside`)
      renameSync(other, file)
      return renameSync(`${file}.aside`, other)
    }
    case 'change': {
      const descriptor = openSync(file, 'r+')
      const byte = Buffer.alloc(1)
      readSync(descriptor, byte, 0, 1, deed.at)
      byte[0] = (byte[0] ?? 0) ^ deed.mask
      writeSync(descriptor, byte, 0, 1, deed.at)
      return closeSync(descriptor)
    }
  }
}

export function describeRot({ kind, path, deed }: Rot): string {
  switch (deed.kind) {
    case 'delete':
      return `${kind} ${path} deleted`
    case 'cut':
      return `${kind} ${path} cut to ${deed.length} bytes`
    case 'swap':
      return `${kind} ${path} exchanged with ${deed.with}`
    case 'change':
      return `${kind} ${path} byte ${deed.at} changed by ${deed.mask}`
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
 * In the head, anywhere, or close before the end of what was written: zeros written ahead are
 * mostly skipped.
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
