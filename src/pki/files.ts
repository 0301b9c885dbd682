import { closeSync, existsSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { renameSync, rmSync, writeSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { PkiFailure } from './errors.ts'

/** Who may read a file: keys and what embeds them are their owner's alone. */
export type Secrecy = 'secret' | 'public'

/** Larger than any PEM file or kubeconfig of ours. */
const fileBytesMax = 4 * 1024 * 1024

/** Owner only, for directories that hold keys, and durable. Nothing happens when it is there. */
export function makeDirectory(path: string): void {
  const directory = resolve(path)
  const made = mkdirSync(directory, { recursive: true, mode: 0o700 })
  if (made === undefined) return
  for (let at = directory; at.length >= made.length; at = dirname(at)) syncDirectory(dirname(at))
}

/**
 * The whole file or none of it, durable, and never over another one.
 *
 * @throws PkiFailure `exists`
 */
export function writeNewFile(path: string, text: string, secrecy: Secrecy): void {
  const aside = writeAside(path, text, secrecy)
  try {
    // A hard link, unlike a rename, refuses to replace what is there.
    linkSync(aside, path)
  } catch (cause) {
    if (existsSync(path)) throw new PkiFailure('exists', `${path} is there already`, { cause })
    throw cause
  } finally {
    rmSync(aside, { force: true })
  }
  syncDirectory(dirname(path))
}

/** The whole new text or the whole old one, durable. For files that only repeat what others say. */
export function replaceFile(path: string, text: string, secrecy: Secrecy): void {
  renameSync(writeAside(path, text, secrecy), path)
  syncDirectory(dirname(path))
}

/** @returns null when there is no such file @throws PkiFailure `malformed` when it is absurdly large */
export function readFileIfThere(path: string): string | null {
  if (!existsSync(path)) return null
  const text = readFileSync(path, 'utf8')
  if (text.length > fileBytesMax) throw new PkiFailure('malformed', `${path} is too large`)
  return text
}

function writeAside(path: string, text: string, secrecy: Secrecy): string {
  const aside = `${path}.new`
  // Left behind by a process that died here; nobody else ever uses this name.
  rmSync(aside, { force: true })
  const file = openSync(aside, 'wx', secrecy === 'secret' ? 0o600 : 0o644)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return aside
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}
