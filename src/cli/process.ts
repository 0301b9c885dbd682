import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { hookFile } from '../../tools/chaos/hook-file.ts'
import { replaceFile } from '../pki/files.ts'
import { CliFailure } from './errors.ts'
import { serverProgram } from './local-cluster.ts'
import type { MemberPlace } from './local-cluster.ts'

/** What is true of a member's process. `stale`: its pid file names a process that is gone or somebody else's. */
export type ProcessState =
  | { readonly kind: 'running'; readonly pid: number }
  | { readonly kind: 'stale' }
  | { readonly kind: 'stopped' }

/** Numbers are used again: a process is a member's only when it runs the server with that member's file. */
export function processState(member: MemberPlace): ProcessState {
  if (!existsSync(member.pidPath)) return { kind: 'stopped' }
  const pid = Number(readFileSync(member.pidPath, 'utf8').trim())
  return Number.isInteger(pid) && pid > 1 && isMember(member, pid)
    ? { kind: 'running', pid }
    : { kind: 'stale' }
}

/** Of members that are there to be harmed: what they load before the server. */
const hook = new URL('../../tools/chaos/hook.js', import.meta.url)

/** A process that we started. */
export type Started = {
  readonly pid: number
  /** Its exit code, should it end while we are here; null: a signal ended it. */
  readonly ended: Promise<number | null>
}

/** Starts the member so that it outlives us; its words go to its log. */
export function startProcess(member: MemberPlace): Started {
  const log = openSync(member.logPath, 'a', 0o600)
  try {
    const words = [...hookOf(member), serverProgram, '--config', member.configPath]
    const child = spawn(process.execPath, words, {
      detached: true,
      cwd: member.directory,
      stdio: ['ignore', log, log],
    })
    if (child.pid === undefined) throw new CliFailure('failed', `member ${member.name} could not be started`)
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

/** Only to a process that is still this member's. */
export function signalProcess(member: MemberPlace, pid: number, signal: Signal): void {
  if (!isMember(member, pid)) return
  try {
    process.kill(pid, signal)
  } catch (cause) {
    // It ended between the look and the signal.
    if (isMember(member, pid)) throw cause
  }
}

export function forgetProcess(member: MemberPlace): void {
  rmSync(member.pidPath, { force: true })
}

/** How long a member's log is now, in bytes. */
export function logLength(member: MemberPlace): number {
  return existsSync(member.logPath) ? statSync(member.logPath).size : 0
}

/** The newest lines of a member's log from that byte on, at most `count`. */
export function logTail(member: MemberPlace, fromByte: number, count: number): readonly string[] {
  if (!existsSync(member.logPath)) return []
  const text = readFileSync(member.logPath).subarray(fromByte).toString('utf8')
  return text.trimEnd().split('\n').slice(-count)
}

function isMember(member: MemberPlace, pid: number): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    // A process that ended and was not yet collected has no words left.
    return words.includes(serverProgram) && words.includes(member.configPath)
  } catch {
    return false
  }
}
