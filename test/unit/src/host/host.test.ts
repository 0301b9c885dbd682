/*
 * Goal: the implementations for the real machine fulfil their interfaces.
 * Method: the real clock, entropy and folders.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RealClock } from '../../../../src/host/clock.ts'
import { DirectoryTaken, lockDirectory } from '../../../../src/host/directory-lock.ts'
import { RealRandom } from '../../../../src/host/random.ts'

void test('a cancelled timer does not fire, the others do', async () => {
  const clock = new RealClock()
  const fired: string[] = []
  clock.after(5, () => fired.push('late'))
  clock.after(1, () => fired.push('never')).cancel()
  const period = clock.every(1, () => fired.push('every'))
  clock.soon(() => fired.push('soon'))
  assert.equal(fired.length, 0, 'nothing fires before the caller returns')
  const endMs = clock.monotonicMs() + 60_000
  while (!['soon', 'late', 'every'].every((what) => fired.includes(what))) {
    assert.ok(clock.monotonicMs() < endMs, fired.join())
    await sleep(1)
  }
  period.cancel()
  assert.ok(!fired.includes('never'))
  const count = fired.length
  await sleep(5)
  assert.equal(fired.length, count)
})

void test('monotonic time does not go back', () => {
  const clock = new RealClock()
  let last = clock.monotonicMs()
  for (let n = 0; n < 1000; n++) {
    const now = clock.monotonicMs()
    assert.ok(now >= last)
    last = now
  }
  assert.ok(clock.wallMs() > 1_600_000_000_000)
})

void test('entropy is within its bound, does not repeat, and is the caller’s own', () => {
  const random = new RealRandom()
  const seen = new Set<string>()
  for (let n = 0; n < 2000; n++) {
    assert.ok(random.below(7) < 7)
    seen.add(Buffer.from(random.bytes(16)).toString('hex'))
  }
  assert.equal(seen.size, 2000)
  assert.equal(random.bytes(5000).length, 5000)
  const one = random.bytes(8)
  const copy = Uint8Array.from(one)
  random.bytes(8).fill(0)
  assert.deepEqual(one, copy)
})

void test('a directory has one user: in this process, in another, and none after the holder is gone', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-lock-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const module = new URL('../../../../src/host/directory-lock.js', import.meta.url).href
  const tries = `import(${JSON.stringify(module)}).then((m) => m.lockDirectory(${JSON.stringify(directory)}, process.pid)).then(() => process.kill(process.pid, 'SIGKILL'), (e) => { console.log(e.message); process.exit(3) })`
  const other = (): { status: number | null; signal: string | null; stdout: string } =>
    spawnSync(process.execPath, ['-e', tries], { encoding: 'utf8' })

  const lock = await lockDirectory(directory, process.pid)
  await assert.rejects(lockDirectory(directory, process.pid), DirectoryTaken)
  const refused = other()
  assert.equal(refused.status, 3)
  assert.match(refused.stdout, new RegExp(`process ${process.pid}`))
  lock.release()
  await sleep(10)
  assert.equal(other().signal, 'SIGKILL', 'it had the lock when it was killed')
  const again = await lockDirectory(directory, process.pid)
  again.release()
})
