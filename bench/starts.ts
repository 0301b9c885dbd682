/*
 * Measures the time until a server is ready: in memory, one durable member at its first and second
 * start, and three new members by `orchctl cluster up`, including their keys. For single members it
 * also measures the CPU time until then, which varies less on a busy machine, and the resident
 * memory when ready.
 *
 *   node dist/bundle/bench/starts.js [--rounds 5]
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { get } from 'node:https'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { makeDirectoriesSync } from '../base/make-directories.ts'
import { cpuMsOf, residentMiBOf } from './tool/process-usage.ts'
import { freePortRange } from '../fixtures/port-range.ts'
import { takeDown } from './own-cluster.ts'

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } })
const serverProgram = fileURLToPath(new URL('../src/main.js', import.meta.url))
const commandProgram = fileURLToPath(new URL('../src/cli/main.js', import.meta.url))
/** On a disk like that of a user; /tmp may be a RAM disk. */
const directory = resolve('.build/bench/starts')
const waitMsMax = 60_000

const found = new Map<string, number[]>()
makeDirectoriesSync(directory)
try {
  for (let round = 0; round < Number(options.rounds); round++) await oneRound(`${directory}/${round}`)
} finally {
  await takeDown(`${directory}/cluster`)
  rmSync(directory, { recursive: true, force: true })
}
for (const [what, values] of found) {
  const sorted = values.toSorted((a, b) => a - b).map((one) => one.toFixed(0))
  console.log(`${what}: ${sorted[Math.floor((sorted.length - 1) / 2)]} (${sorted[0]}-${sorted.at(-1)})`)
}

async function oneRound(data: string): Promise<void> {
  await started('in memory', ['--in-memory'])
  await started('one durable member, its first start', ['--data-dir', data])
  await started('one durable member, started again', ['--data-dir', data])
  const cluster = `${directory}/cluster`
  const first = await freePortRange(6)
  const ports = ['--client-port', `${first}`, '--peer-port', `${first + 3}`]
  const begun = performance.now()
  const up = spawn(process.execPath, [commandProgram, 'cluster', 'up', '--dir', cluster, ...ports], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const [code] = (await once(up, 'exit')) as [number | null]
  if (code !== 0) throw new Error('the cluster did not start')
  note('three new members, by orchctl cluster up, ms', performance.now() - begun)
  await takeDown(cluster)
}

/**
 * Starts a server and stops it again. Notes the time from creating the process to readiness, and
 * its CPU time and memory then.
 */
async function started(what: string, flags: readonly string[]): Promise<void> {
  const port = await freePortRange(1)
  const begun = performance.now()
  const child = spawn(process.execPath, [serverProgram, ...flags, '--secure-port', `${port}`], {
    stdio: 'ignore',
  })
  try {
    while (!(await isReady(port))) {
      if (hasEnded(child) || performance.now() - begun > waitMsMax)
        throw new Error(`${what}: the server did not become ready`)
      await new Promise((wake) => setTimeout(wake, 5))
    }
    note(`${what}, ms`, performance.now() - begun)
    // CPU time and memory are known only where the kernel reports them.
    const { pid } = child
    if (pid === undefined) return
    const [cpuMs, residentMiB] = [cpuMsOf(pid), residentMiBOf(pid)]
    if (cpuMs !== null) note(`${what}, ms of CPU`, cpuMs)
    if (residentMiB !== null) note(`${what}, MiB`, residentMiB)
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

function note(what: string, value: number): void {
  found.set(what, [...(found.get(what) ?? []), value])
  console.error(`${what}: ${value.toFixed(0)}`)
}
