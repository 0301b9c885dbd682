import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { asideSuffix, readFileIfThere, removeFile, replaceFile } from '../pki/files.ts'
import { BackupError } from './errors.ts'
import {
  claimFileName,
  unfinishedFileName,
  logFolder,
  databaseFolder,
  foundingFileName,
  clusterFileName,
  peerBookFileName,
  leasePromiseFileName,
} from '../data-dir/layout.ts'

/** Files of a member in its data directory, except keys and files of the operator. */
export const memberFiles = [
  logFolder,
  databaseFolder,
  foundingFileName,
  peerBookFileName,
  clusterFileName,
  leasePromiseFileName,
  claimFileName,
] as const

export type MemberFile = (typeof memberFiles)[number]

/** Marks a directory as incomplete: no server starts on it. */
export type UnfinishedCommand =
  | { readonly command: 'restore' }
  /**
   * `moving`: the original files are being moved into `aside`. `making`: all have been moved, and
   * new ones are being created.
   */
  | { readonly command: 'recover'; readonly step: 'moving' | 'making'; readonly aside: string }

/**
 * Returns a function that returns the directory that holds an original file: the data directory
 * itself, or the one to which an interrupted recovery moved the file.
 *
 * @throws BackupError `refused` when the mark is damaged
 */
export function placesOf(directory: string): (name: MemberFile) => string {
  const unfinished = readMark(directory)
  if (unfinished?.command !== 'recover') return () => directory
  const { step } = unfinished
  const aside = join(directory, unfinished.aside)
  return (name) => (step === 'making' || existsSync(join(aside, name)) ? aside : directory)
}

/** Durable on return. */
export function writeMark(directory: string, unfinished: UnfinishedCommand): void {
  replaceFile(join(directory, unfinishedFileName), `${JSON.stringify(unfinished)}\n`, 'public')
}

export function removeMark(directory: string): void {
  removeFile(join(directory, unfinishedFileName))
}

/** @returns null without a mark @throws BackupError `refused` when the mark is damaged */
export function readMark(directory: string): UnfinishedCommand | null {
  const path = join(directory, unfinishedFileName)
  const text = readFileIfThere(path)
  if (text === null) return null
  const found = unfinishedIn(text)
  if (found !== null) return found
  // If a recovery was interrupted, the original files may be nowhere else.
  throw new BackupError(
    'refused',
    `${path} is damaged: give another directory, and keep this directory, which may have the only data of a member`,
  )
}

function unfinishedIn(text: string): UnfinishedCommand | null {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || !('command' in value)) return null
    if (value.command === 'restore') return { command: 'restore' }
    if (value.command !== 'recover' || !('step' in value) || !('aside' in value)) return null
    const { step, aside } = value
    if ((step !== 'moving' && step !== 'making') || typeof aside !== 'string' || aside.includes('/'))
      return null
    return { command: 'recover', step, aside }
  } catch {
    return null
  }
}

/** Files of other programs and of the lock, and a mark that was being written. */
const ignoredFiles = new Set([
  'lost+found',
  'pid',
  'lock.sock',
  'lock.host',
  unfinishedFileName,
  `${unfinishedFileName}${asideSuffix}`,
])

/**
 * Removes the remains of an interrupted restore, and rejects any other content.
 *
 * @throws BackupError `refused`
 */
export function emptyForRestore(directory: string): void {
  const unfinished = readMark(directory)
  if (unfinished?.command === 'restore') {
    for (const name of memberFiles) rmSync(join(directory, name), { recursive: true, force: true })
    return
  }
  const [there] = readdirSync(directory).filter((name) => !ignoredFiles.has(name))
  if (there === undefined && unfinished === null) return
  throw new BackupError(
    'refused',
    `${directory} is not empty (${there ?? unfinishedFileName}): give another directory, or move away what is there`,
  )
}
