/*
 * Loaded into every thread of a shipped server by `--import`, never by the server itself: blocks
 * its api thread, or the disk of its log, while a file with the name of that part exists in
 * ORCH_STALL_DIRECTORY.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { isMainThread, workerData } from 'node:worker_threads'

export type StallPart = 'api' | 'log'

const directory = process.env['ORCH_STALL_DIRECTORY'] ?? ''
const lookMs = 5
const cell = new Int32Array(new SharedArrayBuffer(4))

function blockWhileFileExists(part: StallPart): void {
  while (fs.existsSync(join(directory, `stall-${part}`))) Atomics.wait(cell, 0, 0, lookMs)
}

function isLogThread(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'role' in data && data.role === 'log'
}

if (directory !== '') {
  if (isMainThread) setInterval(() => blockWhileFileExists('api'), lookMs).unref()
  else if (isLogThread(workerData)) {
    const sync = fs.fdatasyncSync
    fs.fdatasyncSync = (descriptor) => {
      blockWhileFileExists('log')
      sync(descriptor)
      // The write completes on the device, and its completion is withheld.
      blockWhileFileExists('log')
    }
    syncBuiltinESMExports()
  }
}
