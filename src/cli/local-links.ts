import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ControlClient } from '../../tools/chaos/links/control.ts'
import { controlFile, linksFile } from '../../tools/chaos/links/links.ts'
import { ChaosError } from '../../tools/chaos/errors.ts'
import { replaceFile } from '../pki/files.ts'
import { CliError } from './errors.ts'
import { sleep } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** The proxies are a process of this program: `orchctl chaos links`. */
const program = fileURLToPath(new URL('./main.js', import.meta.url))

const startMsMax = 10_000
const stopMsMax = 5_000
const pollMs = 20

/** Returns whether the peers of this cluster connect through proxies. */
export function hasLinks(directory: string): boolean {
  return existsSync(join(directory, linksFile))
}

export function controlPath(directory: string): string {
  return join(directory, controlFile)
}

/** Starts the proxies as a background process, unless they run. @throws CliError `failed` */
export async function startLinks(terminal: Terminal, directory: string): Promise<void> {
  if (!hasLinks(directory) || pidOfLinks(directory) !== null) return
  const logPath = join(directory, 'links.log')
  const log = openSync(logPath, 'a', 0o600)
  try {
    const child = spawn(process.execPath, [program, 'chaos', 'links', '--dir', directory], {
      detached: true,
      cwd: directory,
      stdio: ['ignore', log, log],
    })
    if (child.pid === undefined)
      throw new CliError('failed', 'the proxies between peers could not be started')
    child.unref()
    replaceFile(pidPath(directory), `${child.pid}\n`, 'public')
    terminal.note(`proxies between peers started (pid ${child.pid})`)
  } finally {
    closeSync(log)
  }
  const endMs = terminal.clock.monotonicMs() + startMsMax
  while (!(await answers(terminal, directory))) {
    const isLate = terminal.clock.monotonicMs() > endMs
    if (isLate || pidOfLinks(directory) === null) {
      const words = readFileSync(logPath, 'utf8').trimEnd().split('\n').at(-1) ?? ''
      throw new CliError('failed', `the proxies between peers do not answer: ${words} (see ${logPath})`)
    }
    await sleep(terminal.clock, pollMs)
  }
}

/** Stops the proxies if they run. */
export async function stopLinks(terminal: Terminal, directory: string): Promise<void> {
  const pid = pidOfLinks(directory)
  if (pid !== null) {
    process.kill(pid, 'SIGTERM')
    const endMs = terminal.clock.monotonicMs() + stopMsMax
    while (pidOfLinks(directory) === pid) {
      if (terminal.clock.monotonicMs() > endMs) process.kill(pid, 'SIGKILL')
      await sleep(terminal.clock, pollMs)
    }
    terminal.note('proxies between peers stopped')
  }
  rmSync(pidPath(directory), { force: true })
}

async function answers(terminal: Terminal, directory: string): Promise<boolean> {
  try {
    const client = await ControlClient.open(controlPath(directory), terminal.clock)
    client.close()
    return true
  } catch (cause) {
    if (cause instanceof ChaosError) return false
    throw cause
  }
}

function pidPath(directory: string): string {
  return join(directory, 'links.pid')
}

/** @returns null when none run for this directory */
function pidOfLinks(directory: string): number | null {
  try {
    const pid = Number(readFileSync(pidPath(directory), 'utf8').trim())
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return words.includes(program) && words.includes('links') && words.includes(directory) ? pid : null
  } catch {
    return null
  }
}
