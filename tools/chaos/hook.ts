/*
 * Loaded by `--import hook.js?file=FILE` into every thread of servers that `orchctl cluster up
 * --chaos` starts; the code of the server never imports it. Delays syncs of the log and changes the
 * wall clock as configured in the file. The files of LevelDB and the clock of TLS are not affected.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { workerData } from 'node:worker_threads'
import { RealClock } from '../../src/host/clock.ts'
import { noHookFaults, readHookFaults } from './hook-file.ts'
import type { HookFaults } from './hook-file.ts'

/** Minimum interval between two reads of the file. */
const pollMs = 50

const file = new URL(import.meta.url).searchParams.get('file') ?? ''
const clock = new RealClock()
const trueNow = Date.now
let known: HookFaults = noHookFaults
let readMs = Number.NEGATIVE_INFINITY

function faults(): HookFaults {
  const nowMs = clock.monotonicMs()
  if (nowMs - readMs >= pollMs) {
    readMs = nowMs
    known = readHookFaults(file, trueNow())
  }
  return known
}

function skewClock(): void {
  Date.now = () => trueNow() + (faults().clock?.skewMs ?? 0)
}

function slowDisk(): void {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const sync = fs.fdatasyncSync
  fs.fdatasyncSync = (descriptor) => {
    sync(descriptor)
    const { disk } = faults()
    if (disk !== null) Atomics.wait(cell, 0, 0, disk.delayMs)
  }
  syncBuiltinESMExports()
}

function isLogThread(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'role' in data && data.role === 'log'
}

if (file !== '') {
  skewClock()
  if (isLogThread(workerData)) slowDisk()
}
