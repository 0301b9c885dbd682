/*
 * Goal: a data directory on a file system that several hosts mount belongs to one host at a time.
 * Method: the real lock over a real directory, for hosts that differ in name and boot id, with a
 * manual clock.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { DirectoryTaken } from '../../../../src/host/directory-lock.ts'
import type { DirectoryLock } from '../../../../src/host/directory-lock.ts'
import { beatMs, beatsAwaited, lockAgainstOtherHosts } from '../../../../src/host/host-lock.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

type Taken = { readonly lock: Promise<DirectoryLock>; readonly given: string[]; readonly lost: string[] }

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'orch-host-lock-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

function take(directory: string, clock: ManualClock, name: string, bootId = `boot-${name}`): Taken {
  const [given, lost]: [string[], string[]] = [[], []]
  const lock = lockAgainstOtherHosts(directory, {
    ...{ clock, owner: `${name}-${Math.trunc(clock.monotonicMs())}`, host: { name, bootId } },
    isShared: () => true,
    onTakenOver: (line) => given.push(line),
    onLost: ({ message }) => lost.push(message),
  })
  lock.catch(() => undefined)
  return { lock, given, lost }
}

/**
 * Lets heartbeats pass, each with enough time for the real files, until `isOver`. There is one
 * clock for each host: while a host works on its files it has no timer.
 *
 * @returns how many
 */
async function beatUntil(clocks: () => readonly ManualClock[], isOver: () => boolean): Promise<number> {
  for (let beats = 0; ; beats++) {
    while (!isOver() && clocks().some(({ pending }) => pending === 0)) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (isOver()) return beats
    assert.ok(beats < 100, 'it ends')
    for (const clock of clocks()) await clock.advance(beatMs)
  }
}

/** @param holders clocks of the hosts that hold a lock */
async function ended(
  holders: readonly ManualClock[],
  ...starters: readonly (readonly [ManualClock, Taken])[]
): Promise<number> {
  const waiting = new Set(starters.map(([clock]) => clock))
  for (const [clock, { lock }] of starters) {
    const isOver = (): unknown => waiting.delete(clock)
    lock.then(isOver, isOver)
  }
  return beatUntil(
    () => [...holders, ...waiting],
    () => waiting.size === 0,
  )
}

void test('another host is rejected with the name of the holder as soon as the count changes', async (t) => {
  const directory = folder(t)
  const [one, other] = [new ManualClock(), new ManualClock()]
  const holder = take(directory, one, 'a')
  await holder.lock
  const starter = take(directory, other, 'b')
  const beats = await ended([one], [other, starter])
  await assert.rejects(starter.lock, DirectoryTaken)
  await assert.rejects(starter.lock, /in use by a process on host a: stop it, or give another directory/)
  assert.ok(beats < beatsAwaited, `${beats} beats`)
  assert.deepEqual([holder.lost, starter.given], [[], []])
  ;(await holder.lock).release()
  assert.ok(!existsSync(join(directory, 'lock.host')))
})

void test('a paused holder is replaced after a wait; when it goes on, it has to end', async (t) => {
  const directory = folder(t)
  const [one, other] = [new ManualClock(), new ManualClock()]
  const holder = take(directory, one, 'a')
  await holder.lock
  const starter = take(directory, other, 'b')
  const beats = await ended([], [other, starter])
  const lock = await starter.lock
  assert.ok(beats > beatsAwaited, `${beats} beats`)
  assert.match(
    starter.given.join(),
    /was held by a process on host a that does not renew its lock: taking it over/,
  )
  await beatUntil(
    () => [one],
    () => holder.lost.length > 0,
  )
  assert.match(holder.lost.join(), /in use by a process on host b/)
  ;(await holder.lock).release()
  assert.ok(existsSync(join(directory, 'lock.host')), 'the other host holds it')
  lock.release()
})

void test('of two hosts that wait for one that was killed, one gets the directory', async (t) => {
  const directory = folder(t)
  const [one, other] = [new ManualClock(), new ManualClock()]
  await take(directory, new ManualClock(), 'a').lock
  const starters = [take(directory, one, 'b'), take(directory, other, 'c')] as const
  await ended([], [one, starters[0]], [other, starters[1]])
  const ends = await Promise.allSettled(starters.map(({ lock }) => lock))
  assert.deepEqual(ends.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  for (const end of ends) if (end.status === 'fulfilled') end.value.release()
})

void test('there is no wait on the same boot, nor where the directory was released', async (t) => {
  const directory = folder(t)
  await take(directory, new ManualClock(), 'a').lock
  const again = take(directory, new ManualClock(), 'a-1', 'boot-a')
  ;(await again.lock).release()
  const other = take(directory, new ManualClock(), 'b')
  ;(await other.lock).release()
  assert.deepEqual([again.given, other.given], [[], []])
})

void test('a directory on a local disk gets no lock among hosts', async (t) => {
  const directory = folder(t)
  const clock = new ManualClock()
  const options = { clock, owner: 'x', onTakenOver: assert.fail, onLost: assert.fail }
  const lock = await lockAgainstOtherHosts(directory, { ...options, isShared: () => false })
  assert.ok(!existsSync(join(directory, 'lock.host')))
  assert.equal(clock.pending, 0)
  lock.release()
})
