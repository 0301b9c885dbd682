import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { hookFile } from '../../tools/chaos/hook-file.ts'
import { replaceFile } from '../pki/files.ts'
import { CliError } from './errors.ts'
import { serverProgram } from './local-cluster.ts'
import type { MemberPlace } from './local-cluster.ts'

/**
 * State of a member's process. `stale`: the pid file names a process that has ended, or another
 * program.
 */
export type ProcessState =
  | { readonly kind: 'running'; readonly pid: number }
  | { readonly kind: 'stale' }
  | { readonly kind: 'stopped' }

/**
 * Pids are reused: a process belongs to a member only if it runs the server with its configuration
 * file.
 */
export function processState(member: MemberPlace): ProcessState {
  if (!existsSync(member.pidPath)) return { kind: 'stopped' }
  const pid = Number(readFileSync(member.pidPath, 'utf8').trim())
  return Number.isInteger(pid) && pid > 1 && isMember(member, pid)
    ? { kind: 'running', pid }
    : { kind: 'stale' }
}

/** The hook that members load before the server, if faults are supported. */
const hook = new URL('../../tools/chaos/hook.js', import.meta.url)

/** A started process. */
export type Started = {
  readonly pid: number
  /** Exit code, if it ends while this program runs; null: ended by a signal. */
  readonly ended: Promise<number | null>
}

/** Starts the member in the background; its output goes to its log. */
export function startProcess(member: MemberPlace): Started {
  const log = openSync(member.logPath, 'a', 0o600)
  try {
    const words = [...hookOf(member), serverProgram, '--config', member.configPath]
    const child = spawn(process.execPath, words, {
      detached: true,
      cwd: member.directory,
      stdio: ['ignore', log, log],
    })
    if (child.pid === undefined) throw new CliError('failed', `member ${member.name} could not be started`)
    const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
    child.unref()
    replaceFile(member.pidPath, `${child.pid}\n`, 'public')
    return { pid: child.pid, ended }
  } finally {
    closeSync(log)
  }
}

function hookOf(member: MemberPlace): readonly string[] {
  const path = join(member.directory, hookFile)
  if (!existsSync(path)) return []
  const url = new URL(hook)
  url.searchParams.set('file', path)
  return ['--import', url.href]
}

export type Signal = 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'

/** Signals only a process that still belongs to the member. */
export function signalProcess(member: MemberPlace, pid: number, signal: Signal): void {
  if (!isMember(member, pid)) return
  try {
    process.kill(pid, signal)
  } catch (cause) {
    // The process ended in between.
    if (isMember(member, pid)) throw cause
  }
}

export function forgetProcess(member: MemberPlace): void {
  rmSync(member.pidPath, { force: true })
}

/** Returns the length of a member's log in bytes. */
export function logLength(member: MemberPlace): number {
  return existsSync(member.logPath) ? statSync(member.logPath).size : 0
}

/** Returns the last lines of a member's log after that offset, at most `count`. */
export function logTail(member: MemberPlace, fromByte: number, count: number): readonly string[] {
  if (!existsSync(member.logPath)) return []
  const text = readFileSync(member.logPath).subarray(fromByte).toString('utf8')
  return text.trimEnd().split('\n').slice(-count)
}

function isMember(member: MemberPlace, pid: number): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    // The command line of a zombie process is empty.
    return words.includes(serverProgram) && words.includes(member.configPath)
  } catch {
    return false
  }
}
