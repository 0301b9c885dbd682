/*
 * Goal: the hook applies the faults of its file until they end, and disk faults only in the thread
 * of the log.
 * Method: real processes that load it and print their clock and the time of a sync.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { HookFaults } from '../../../../tools/chaos/hook-file.ts'

/** Starts a thread with the role that it is given. */
const main = `
import { Worker } from 'node:worker_threads'
const [role, path] = process.argv.slice(2)
new Worker(new URL('thread.mjs', import.meta.url), { workerData: { role, path } })
`

/** Prints the wall clock, and the duration of one sync in ms. */
const thread = `
import { fdatasyncSync, openSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
const file = openSync(workerData.path, 'w')
const begunMs = performance.now()
fdatasyncSync(file)
console.log(JSON.stringify({ wallMs: Date.now(), syncMs: performance.now() - begunMs }))
`

function measured(
  t: TestContext,
  role: string,
  faults: Partial<HookFaults>,
): { readonly aheadMs: number; readonly syncMs: number } {
  const directory = mkdtempSync(join(tmpdir(), 'hook-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'chaos.json')
  writeFileSync(file, JSON.stringify(faults))
  const url = new URL('../../../../tools/chaos/hook.js', import.meta.url)
  url.searchParams.set('file', file)
  writeFileSync(join(directory, 'thread.mjs'), thread)
  writeFileSync(join(directory, 'main.mjs'), main)
  const words = ['--import', url.href, join(directory, 'main.mjs'), role, join(directory, 'data')]
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' })
  assert.notEqual(stdout, '', stderr)
  const { wallMs, syncMs } = JSON.parse(stdout) as { wallMs: number; syncMs: number }
  return { aheadMs: wallMs - Date.now(), syncMs }
}

const hourMs = 3_600_000
const faults: HookFaults = {
  disk: { delayMs: 3000, untilMs: Date.now() + hourMs },
  clock: { skewMs: 24 * hourMs, untilMs: Date.now() + hourMs },
}

void test('in the thread of the log each sync is delayed and the wall clock is skewed', (t) => {
  const { aheadMs, syncMs } = measured(t, 'log', faults)
  // A wait may end up to 1 ms early.
  assert.ok(syncMs >= 2999, `${syncMs} ms`)
  assert.ok(aheadMs > 23 * hourMs)
})

void test('in other threads only the clock is skewed', (t) => {
  // The sync itself may be slow on a busy machine; the delay would be added in the log thread only.
  assert.ok(
    measured(t, 'raft', { ...faults, disk: { delayMs: 2 ** 30, untilMs: Date.now() + hourMs } }).aheadMs >
      23 * hourMs,
  )
})

void test('a fault that has ended, or is not in the file, has no effect', (t) => {
  for (const none of [
    {},
    { disk: { delayMs: 2 ** 30, untilMs: 5 }, clock: { skewMs: 24 * hourMs, untilMs: 5 } },
  ] as const) {
    assert.ok(measured(t, 'log', none).aheadMs < hourMs)
  }
})
