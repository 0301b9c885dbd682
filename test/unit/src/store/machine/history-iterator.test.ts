/*
 * Goal: any revision of the window can be iterated in key order, in arbitrarily short steps, and
 * a step ends after a bounded number of keys and events.
 * Method: random writes to few keys, so that most are deleted and created again, compared with a
 * map kept for every revision.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import type { Key } from '../../../../../src/store/key.ts'
import { Machine } from '../../../../../src/store/machine/machine.ts'
import { HistoryIterator, versionAt } from '../../../../../src/store/machine/history-iterator.ts'
import type { VersionRef } from '../../../../../src/store/machine/history-iterator.ts'
import { emptyState } from '../../../../../src/store/machine/state.ts'
import type { MachineState } from '../../../../../src/store/machine/state.ts'
import { revision } from '../../../../../src/store/revision.ts'
import {
  allConfigMaps,
  configMapKey,
  configMapsOf,
  LogWriter,
  ownSession,
  put,
  remove,
  write,
} from '../../../../../fixtures/store-kit.ts'

type RevisionByKey = ReadonlyMap<Key, number>

function randomHistory(seed: number, writes: number): { state: MachineState; expectedAt: RevisionByKey[] } {
  const random = new SeededRandom(seed)
  const machine = new Machine(emptyState())
  const log = new LogWriter()
  const expectedAt: RevisionByKey[] = [new Map()]
  const keys = Array.from({ length: 30 }, (_, at) => configMapKey(`c${at % 10}`, `n${at % 3}`))
  for (let step = 0; step < writes; step++) {
    const key = random.pick(keys)
    const there = machine.state.objects.get(key) !== null
    const operation = there && random.chance(0.6) ? remove(key) : put(key, `v${step}`)
    machine.apply([log.command(write(operation))], ownSession)
    const { revision: at, objects } = machine.state
    expectedAt[at] = new Map(
      objects.list(allConfigMaps, null, null).objects.map((one) => [one.key, one.revision]),
    )
  }
  return { state: machine.state, expectedAt }
}

function revisionOf(place: VersionRef): number {
  return typeof place === 'number' ? place : place.revision
}

function walked(
  state: MachineState,
  at: number,
  options: { stepsMax: number; after?: Key | null },
): number[] {
  const found: number[] = []
  let after = options.after ?? null
  for (let stretches = 0; stretches < 2000; stretches++) {
    const walk = new HistoryIterator(state, allConfigMaps, after, revision(at))
    found.push(...walk.take(3, options.stepsMax).map(revisionOf))
    if (walk.ended) return found
    assert.notEqual(walk.last, after, 'every step advances')
    after = walk.last
  }
  return assert.fail('the iteration does not end')
}

function revisionsIn(expected: RevisionByKey | undefined, after: Key | null = null): number[] {
  const sorted = [...(expected ?? [])].sort(([a], [b]) => (a < b ? -1 : 1))
  return sorted.filter(([key]) => after === null || key > after).map(([, at]) => at)
}

void test('spec 4.8.3: iterating over any revision of the window returns its state', () => {
  for (let seed = 1; seed <= 5; seed++) {
    const { state, expectedAt } = randomHistory(seed, 400)
    for (let at = 0; at <= state.revision; at++) {
      for (const stepsMax of [1, 7, 1000]) {
        assert.deepEqual(
          walked(state, at, { stepsMax }),
          revisionsIn(expectedAt[at]),
          `seed ${seed}, revision ${at}`,
        )
      }
      const after = configMapKey('c4', 'n1')
      assert.deepEqual(walked(state, at, { stepsMax: 5, after }), revisionsIn(expectedAt[at], after))
    }
  }
})

void test('one object of any revision is found', () => {
  const { state, expectedAt } = randomHistory(11, 300)
  for (let at = 0; at <= state.revision; at += 7) {
    for (let name = 0; name < 10; name++) {
      const key = configMapKey(`c${name}`, `n${name % 3}`)
      const place = versionAt(state, key, revision(at))
      assert.equal(place === null ? undefined : revisionOf(place), expectedAt[at]?.get(key))
    }
  }
})

void test('deleted objects are known while their deletions are in the window, and forgotten once all are trimmed', () => {
  const { state, expectedAt } = randomHistory(12, 300)
  const known = (): number => [...state.history.deletedKeys(configMapsOf('n1'), null)].length
  assert.ok(known() > 5)
  for (let at = 20; at < state.revision; at += 20) {
    state.history.trim(
      revision(at),
      () => undefined,
      () => undefined,
    )
    assert.deepEqual(walked(state, at, { stepsMax: 9 }), revisionsIn(expectedAt[at]))
  }
  state.history.trim(
    revision(state.revision),
    () => undefined,
    () => undefined,
  )
  assert.equal(known(), 0)
})

void test('a step ends after a bounded number of keys and events', () => {
  const machine = new Machine(emptyState())
  const log = new LogWriter()
  for (let at = 0; at < 1000; at++) {
    machine.apply([log.command(write(put(configMapKey(`c${at % 2}`), `v${at}`)))], ownSession)
  }
  const walk = new HistoryIterator(machine.state, allConfigMaps, null, revision(2))
  assert.deepEqual(walk.take(10, 100).map(revisionOf), [1])
  assert.equal(walk.ended, false)
  assert.deepEqual(walk.take(10, 5000).map(revisionOf), [2])
  assert.equal(walk.ended, true)
})
