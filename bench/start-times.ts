import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { get } from 'node:https'
import { resolve } from 'node:path'
import { makeDirectoriesSync } from '../base/make-directories.ts'
import { cpuMsOf, residentMiBOf } from './tool/process-usage.ts'
import { freePortRange } from '../fixtures/port-range.ts'
import { takeDownOther } from './other-cluster.ts'
import { ownPrograms, runCommand } from './programs.ts'
import type { Programs } from './programs.ts'

const waitMsMax = 60_000

/**
 * Starts each kind of cluster once.
 *
 * @param directory for their data, removed at the end. Not under /tmp, which may be a RAM disk
 * @param programs of another commit; unset: of this one
 * @returns what was measured, by its description and unit
 */
export async function startOnce(
  directory: string,
  programs: Programs = ownPrograms,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>()
  makeDirectoriesSync(directory)
  try {
    const data = resolve(directory, 'data')
    const start = (what: string, flags: readonly string[]): Promise<void> =>
      started(found, what, [programs.server, ...flags])
    await start('in memory', ['--in-memory'])
    await start('one durable member, its first start', ['--data-dir', data])
    await start('one durable member, started again', ['--data-dir', data])
    await startThree(found, resolve(directory, 'cluster'), programs)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
  return found
}

async function startThree(found: Map<string, number>, cluster: string, programs: Programs): Promise<void> {
  const first = await freePortRange(6)
  const ports = ['--client-port', `${first}`, '--peer-port', `${first + 3}`]
  const begun = performance.now()
  try {
    await runCommand(programs, ['cluster', 'up', '--dir', cluster, ...ports])
    found.set('three new members, by orchctl cluster up, ms', performance.now() - begun)
  } finally {
    await takeDownOther(cluster, programs)
  }
}

/**
 * Starts a server and stops it again. Notes the time from creating the process to readiness, and
 * its CPU time and memory then.
 */
async function started(found: Map<string, number>, what: string, words: readonly string[]): Promise<void> {
  const port = await freePortRange(1)
  const begun = performance.now()
  const child = spawn(process.execPath, [...words, '--secure-port', `${port}`], {
    stdio: 'ignore',
  })
  try {
    while (!(await isReady(port))) {
      if (hasEnded(child) || performance.now() - begun > waitMsMax)
        throw new Error(`${what}: the server did not become ready`)
      await new Promise((wake) => setTimeout(wake, 5))
    }
    found.set(`${what}, ms`, performance.now() - begun)
    // CPU time and memory are known only where the kernel reports them.
    const { pid } = child
    if (pid === undefined) return
    const [cpuMs, residentMiB] = [cpuMsOf(pid), residentMiBOf(pid)]
    if (cpuMs !== null) found.set(`${what}, ms of CPU`, cpuMs)
    if (residentMiB !== null) found.set(`${what}, MiB`, residentMiB)
  } finally {
    await ended(child)
  }
}

/** A process that a signal ended has no exit code. */
function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

async function ended(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  await exited
}

function isReady(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const url = `https://127.0.0.1:${port}/readyz`
    const requested = get(url, { agent: false, rejectUnauthorized: false }, (response) => {
      response.resume()
      answer(response.statusCode === 200)
    })
    requested.on('error', () => answer(false))
  })
}
