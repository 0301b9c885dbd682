/*
 * Loaded into every thread of a server that `orchctl cluster up --chaos` starts, by `--import hook.js?file=FILE`, never by
 * the server itself: does to its log's disk and to its wall clock what the file says. LevelDB's own files and the clocks of
 * libraries (TLS) are not reached from here.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { workerData } from 'node:worker_threads'
import { RealClock } from '../../src/host/clock.ts'
import { noHarm, readHarm } from './harm-file.ts'
import type { MemberHarm } from './harm-file.ts'

/** The file is looked at again after this long. */
const lookMs = 50

const file = new URL(import.meta.url).searchParams.get('file') ?? ''
const clock = new RealClock()
const trueNow = Date.now
let known: MemberHarm = noHarm
let lookedMs = Number.NEGATIVE_INFINITY

function harm(): MemberHarm {
  const nowMs = clock.monotonicMs()
  if (nowMs - lookedMs >= lookMs) {
    lookedMs = nowMs
    known = readHarm(file, trueNow())
  }
  return known
}

function skewClock(): void {
  Date.now = () => trueNow() + (harm().clock?.skewMs ?? 0)
}

function harmDisk(): void {
  const cell = new Int32Array(new SharedArrayBuffer(4))
  const sync = fs.fdatasyncSync
  fs.fdatasyncSync = (descriptor) => {
    sync(descriptor)
    const { disk } = harm()
    if (disk !== null) Atomics.wait(cell, 0, 0, disk.delayMs)
  }
  syncBuiltinESMExports()
}

function isLogThread(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'role' in data && data.role === 'log'
}

if (file !== '') {
  skewClock()
  if (isLogThread(workerData)) harmDisk()
}
