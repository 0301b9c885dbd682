/*
 * Goal: events are deleted once no write has renewed them for their time to live, never earlier,
 * whichever member leads; many of them are deleted in small steps, with time for other work in
 * between.
 * Method: the shipped controller on the shipped store in memory, a manual clock, and members that
 * record times from their start on. Random events from a seed, against a model of one line.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import {
  ObjectExpiry,
  defaultObjectExpiryLimits,
  sweepPeriodMs,
} from '../../../../src/controllers/object-expiry.ts'
import type { Command, Operation } from '../../../../src/store/command.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import { keyOf, prefixOf } from '../../../../src/store/key.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { Fixture } from '../registry/fixture.ts'

const seed = Number(process.env['SEED'] ?? 3)
const ttlMs = 100_000
/**
 * The maximum delay of a deletion: one interval of samples, one of sweeps, and one of a sweep in
 * progress, each plus one step of this clock.
 */
const lateMsMax = 8 * (ttlMs / 100)

class Members {
  readonly api: Fixture
  readonly failures: unknown[] = []
  readonly members: ObjectExpiry[] = []

  constructor(api: Fixture) {
    this.api = api
  }

  static async start(t: TestContext): Promise<Members> {
    const api = await Fixture.open()
    t.after(() => api.close())
    return new Members(api)
  }

  join(store: Pick<ObjectStore, 'view' | 'write'> = this.api.store): ObjectExpiry {
    const onFailure = (cause: unknown): void => void this.failures.push(cause)
    const member = new ObjectExpiry({
      ...{ store, clock: this.api.clock, prefix: events, onFailure },
      ...{ ttlMs: () => ttlMs, periodMs: sweepPeriodMs(ttlMs) },
    })
    member.start()
    this.members.push(member)
    return member
  }

  /** Advances the clock and waits for the work that becomes due. */
  async pass(ms: number, stepMs = 1000): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.api.clock.advance(Math.min(stepMs, left))
      for (let at = 0; at < 8; at++) await turn()
    }
  }

  async write(name: string): Promise<void> {
    const body = { metadata: { name }, involvedObject: { namespace: 'default' }, message: `${this.now}` }
    await this.api.update({ kind: 'Event', name, body })
  }

  get now(): number {
    return this.api.clock.monotonicMs()
  }

  get names(): readonly string[] {
    const { objects } = this.api.store.view().list(events, { after: null, limit: null })
    return objects.map(({ key }) => key.slice(key.lastIndexOf('/') + 1))
  }
}

const events = prefixOf({ group: '', plural: 'events', namespace: null })

void test('an event expires after its retention time; one that is written again stays', async (t) => {
  const all = await Members.start(t)
  const member = all.join()
  member.lead()
  await all.write('a')
  await all.write('b')
  await all.api.configMap('other')
  await all.pass(ttlMs / 2)
  await all.write('b')
  await all.pass(ttlMs / 2 - 1000)
  assert.deepEqual(all.names, ['a', 'b'])
  await all.pass(lateMsMax + 1000)
  assert.deepEqual(all.names, ['b'])
  await all.pass(ttlMs / 2)
  assert.deepEqual([all.names, member.expired, all.failures], [[], 2, []])
  assert.equal((await all.api.list({})).items.length, 1, 'nothing else goes')
})

void test('a new leader continues; a restarted process keeps events longer, never shorter', async (t) => {
  const all = await Members.start(t)
  const [first, second] = [all.join(), all.join()]
  first.lead()
  await all.write('a')
  await all.pass(ttlMs / 2)
  first.follow()
  second.lead()
  await all.pass(ttlMs / 2 + lateMsMax)
  assert.deepEqual([all.names, first.expired, second.expired], [[], 0, 1])

  await all.write('b')
  await all.pass(ttlMs / 2)
  second.close()
  const third = all.join()
  third.lead()
  await all.pass(ttlMs - 1000)
  assert.deepEqual(all.names, ['b'])
  await all.pass(1000 + lateMsMax)
  assert.deepEqual(all.names, [])
})

void test('an event that is written while it is being deleted stays, and the others of its batch are deleted', async (t) => {
  const all = await Members.start(t)
  const { store } = all.api
  let late = ''
  const member = all.join({
    view: () => store.view(),
    write: async (command, deadlineMs) => {
      if (late !== '') await all.write(late)
      late = ''
      return store.write(command, deadlineMs)
    },
  })
  member.lead()
  for (const name of ['a', 'b', 'c']) await all.write(name)
  late = 'b'
  for (let at = 0; at < ttlMs + lateMsMax && late !== ''; at += 1000) await all.pass(1000)
  // The rest of the batch is deleted soon, not only in the next sweep.
  await all.pass(200, 25)
  assert.deepEqual([all.names, member.expired], [['b'], 2])
})

void test('a member that no longer leads does not retry the batch in progress', async (t) => {
  const all = await Members.start(t)
  const { store } = all.api
  let late = ''
  let writes = 0
  const member = all.join({
    view: () => store.view(),
    write: async (command, deadlineMs) => {
      writes++
      if (late !== '') await all.write(late)
      if (late !== '') member.follow()
      late = ''
      return store.write(command, deadlineMs)
    },
  })
  member.lead()
  for (const name of ['a', 'b']) await all.write(name)
  late = 'b'
  await all.pass(ttlMs + lateMsMax)
  assert.deepEqual([late, writes, all.names, member.expired], ['', 1, ['a', 'b'], 0])
})

void test('failed deletions are retried in the next sweep', async (t) => {
  const all = await Members.start(t)
  const { store } = all.api
  let isCut = true
  const member = all.join({
    view: () => store.view(),
    write: (command, deadlineMs) => {
      if (!isCut) return store.write(command, deadlineMs)
      return Promise.reject(new StoreError('timed-out', 'no quorum'))
    },
  })
  member.lead()
  await all.write('a')
  await all.pass(ttlMs + lateMsMax)
  assert.deepEqual(all.names, ['a'])
  assert.ok(all.failures.length > 0)
  isCut = false
  await all.pass(lateMsMax)
  assert.deepEqual(all.names, [])
})

void test('events that were left because others of their batch were rewritten repeatedly are deleted in the next sweep', async (t) => {
  const all = await Members.start(t)
  const { store } = all.api
  const late: string[] = []
  const member = all.join({
    view: () => store.view(),
    write: async (command, deadlineMs) => {
      const name = late.shift()
      if (name !== undefined) await all.write(name)
      return store.write(command, deadlineMs)
    },
  })
  member.lead()
  for (const name of ['a', 'b', 'c', 'd']) await all.write(name)
  late.push('b', 'c', 'd')
  await all.pass(ttlMs)
  // The events are rewritten as often as one sweep tries to delete their batch.
  for (let at = 0; at < lateMsMax && late.length > 0; at += 1000) await all.pass(1000)
  assert.deepEqual([late, all.names, member.expired], [[], ['a', 'b', 'c', 'd'], 0])
  await all.pass(lateMsMax)
  assert.deepEqual([all.names, member.expired], [['b', 'c', 'd'], 1])
})

void test('many events are deleted by small commands, one at a time, with pauses for other work', async (t) => {
  const all = await Members.start(t)
  const { store, clock } = all.api
  const sizes: number[] = []
  const times: number[] = []
  let underWay = 0
  const member = all.join({
    view: () => store.view(),
    write: async (command, deadlineMs) => {
      assert.equal(underWay, 0)
      underWay++
      assert.ok(command.kind === 'write')
      sizes.push(command.operations.length)
      times.push(clock.monotonicMs())
      const outcome = await store.write(command, deadlineMs)
      underWay--
      return outcome
    },
  })
  member.lead()
  const count = 2030
  await store.write(flood(count), clock.monotonicMs() + 1000)
  await all.pass(ttlMs + lateMsMax)
  await all.pass(3000, 1)
  assert.deepEqual([all.names, member.expired], [[], count])
  const { batchObjectsMax, batchGapMs } = defaultObjectExpiryLimits
  assert.ok(sizes.every((size) => size <= batchObjectsMax))
  assert.ok(sizes.length <= Math.ceil(count / batchObjectsMax) + 1)
  for (let at = 1; at < times.length; at++) {
    const gap = (times[at] ?? 0) - (times[at - 1] ?? 0)
    assert.ok(gap >= batchGapMs, `${gap} ms between commands`)
  }
  // Nothing was written since, so nothing is examined.
  const before = store.view().revision
  let looks = 0
  member.close()
  const other = all.join({
    view: () => {
      looks++
      return store.view()
    },
    write: (command, deadlineMs) => store.write(command, deadlineMs),
  })
  other.lead()
  await all.pass(ttlMs + 10_000)
  const once = looks
  await all.pass(10_000)
  assert.ok(looks - once <= 11, 'one look at the revision each, no walks')
  assert.equal(store.view().revision, before)
})

function flood(count: number): Command {
  const operations = Array.from({ length: count }, (_, at): Operation => {
    const name = `f${String(at).padStart(6, '0')}`
    const bytes = Buffer.from(`{"kind":"Event","apiVersion":"v1","metadata":{"resourceVersion":""}}`)
    const object = {
      ...{ bytes, revisionOffset: bytes.indexOf('""') + 1, itemOffset: bytes.indexOf('"metadata"') },
      ...{ uid: name, terminating: false, labels: null },
    }
    const key = keyOf({ group: '', plural: 'events', namespace: 'default', name })
    return { kind: 'put', key, conditions: [], object }
  })
  return { kind: 'write', operations }
}

void test(`random events under members that start, lead and stop, seed ${seed}`, async (t) => {
  const again = `SEED=${seed} node --test dist/test/unit/src/controllers/object-expiry.test.js`
  const all = await Members.start(t)
  const random = new SeededRandom(seed)
  let leader = all.join()
  leader.lead()
  /** The start of the process that leads. */
  let startedMs = all.now
  const written = new Map<string, number>()
  let went = 0
  for (let step = 0; step < 600; step++) {
    if (random.below(3) === 0) {
      const name = `e${random.below(12)}`
      await all.write(name)
      written.set(name, all.now)
    }
    if (random.below(40) === 0) {
      // Leadership moves, to a process that has been running all the time or to one that has just
      // started.
      leader.follow()
      const isNew = random.below(2) === 0
      leader = isNew ? all.join() : (all.members[0] ?? leader)
      startedMs = isNew ? all.now : 0
      leader.lead()
    }
    await all.pass(1000 + random.below(4000))
    const there = new Set(all.names)
    for (const [name, atMs] of written) {
      const ageMs = all.now - atMs
      if (!there.has(name)) {
        assert.ok(ageMs >= ttlMs, `${name} went after ${ageMs} ms: ${again}`)
        written.delete(name)
        went++
      } else {
        const knownMs = all.now - Math.max(atMs, startedMs)
        assert.ok(knownMs <= ttlMs + lateMsMax, `${name} is there after ${ageMs} ms: ${again}`)
      }
    }
  }
  assert.ok(went > 20, `${went} went`)
  assert.deepEqual(all.failures, [])
})
