/*
 * Goal: a member reports how fast its disk is and what that means for its cluster, and when the
 * disk is nearly full.
 * Method: the real disk once; prepared speeds and free space for the messages; a manual clock.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { concernAbout, DiskSpaceWatch, MemberDisk, probeDisk } from '../../../../src/health/disk-check.ts'
import { limits } from '../../../../src/config/limits.ts'
import { speedOf } from '../../../../src/host/disk.ts'
import type { DiskSpace } from '../../../../src/host/disk.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { systemClock } from '../../../../fixtures/system.ts'

type Line = { readonly level: 'info' | 'warn'; readonly fields: object; readonly text: string }

function recorder() {
  const lines: Line[] = []
  const at = (level: Line['level']) => (fields: unknown, text?: string) => {
    assert.ok(typeof fields === 'object' && fields !== null && text !== undefined)
    lines.push({ level, fields, text })
  }
  return { lines, log: { info: at('info'), warn: at('warn') } }
}

void test('a real disk is measured with a limited number of writes, logged with numbers, and left unchanged', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-disk-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const { lines, log } = recorder()
  const speed = probeDisk(directory, { clock: systemClock, log, electionMs: 60_000 })
  assert.ok(speed !== null && speed.syncs >= 1 && speed.syncs <= limits.diskProbeWrites)
  assert.ok(speed.p50Ms <= speed.p99Ms && speed.p99Ms <= speed.maxMs && speed.bytesPerSecond > 0)
  assert.equal(lines[0]?.level, 'info')
  assert.deepEqual(Object.keys(lines[0].fields), [
    'directory',
    'syncs',
    'p50Ms',
    'p99Ms',
    'maxMs',
    'bytesPerSecond',
  ])
  assert.deepEqual(readdirSync(directory), [])
})

void test('a directory that does not exist is logged and stops nothing', () => {
  const { lines, log } = recorder()
  assert.equal(probeDisk('/nowhere/at/all', { clock: systemClock, log, electionMs: 300 }), null)
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['warn'],
  )
})

void test('quantiles are of the writes that were made', () => {
  const speed = speedOf([4, 1, 3, 2], 4096)
  assert.deepEqual(speed, { syncs: 4, p50Ms: 2, p99Ms: 4, maxMs: 4, bytesPerSecond: 1_638_400 })
})

void test('a disk is slow relative to the election timeout; an implausibly fast one is reported, too', () => {
  const speed = (ms: number) => speedOf([ms, ms, ms], 4096)
  assert.equal(concernAbout(speed(29), 300), null)
  assert.match(concernAbout(speed(31), 300) ?? '', /31\.0 ms or more, the bound is 30\.0 ms/)
  assert.equal(concernAbout(speed(31), 1000), null, 'a longer election timeout allows it')
  assert.equal(concernAbout(speed(0.05), 300), null)
  assert.match(concernAbout(speed(0.002), 300) ?? '', /0\.002 ms: this is memory/)
})

void test('low disk space is logged at once, then periodically, and once when it is over', async () => {
  const { lines, log } = recorder()
  const clock = new ManualClock()
  let space: DiskSpace = { freeBytes: limits.diskFreeBytesMin, sizeBytes: 2 ** 40 }
  const watch = new DiskSpaceWatch('/data', { clock, log }, async () => space)
  watch.start()
  await clock.advance(60_000)
  assert.deepEqual(lines, [], 'enough space is not logged')
  space = { ...space, freeBytes: limits.diskFreeBytesMin - 1 }
  await clock.advance(limits.diskSpaceLogMs + limits.diskSpaceLookMs)
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['warn', 'warn'],
  )
  space = { ...space, freeBytes: limits.diskFreeBytesMin }
  await clock.advance(60_000)
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['warn', 'warn', 'info'],
  )
  watch.close()
  assert.equal(clock.pending, 0)
})

void test('a disk that does not respond gets no second request', async () => {
  const { log } = recorder()
  const clock = new ManualClock()
  let requested = 0
  const watch = new DiskSpaceWatch('/data', { clock, log }, () => {
    requested++
    return new Promise(() => undefined)
  })
  watch.start()
  await clock.advance(10 * limits.diskSpaceLookMs)
  assert.equal(requested, 1)
  watch.close()
})

void test('metrics hold what was measured', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-disk-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const { log } = recorder()
  const disk = new MemberDisk(directory, { clock: systemClock, log, electionMs: 300 })
  t.after(() => disk.close())
  const metrics = new Registry()
  disk.register(metrics)
  let text = await metrics.metrics()
  for (let wait = 0; wait < 500 && text.includes('orch_disk_free_bytes Nan'); wait++) {
    await sleep(10)
    text = await metrics.metrics()
  }
  assert.match(text, /orch_disk_probe_sync_seconds\{quantile="0\.99"\} \d/)
  assert.match(text, /orch_disk_free_bytes [1-9]/)
})
