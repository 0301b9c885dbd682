/*
 * Goal: the event log finds, trims and drops events correctly.
 * Method: a few thousand events of several resources, compared with a plain array.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import type { Key } from '../../../../../src/store/key.ts'
import { addHash, newHash, sameHash } from '../../../../../src/store/machine/hash.ts'
import { History } from '../../../../../src/store/machine/event-history.ts'
import { scopeOf } from '../../../../../src/store/machine/scope.ts'
import {
  deletedVersion,
  hashOf,
  putVersion,
  recordOf,
} from '../../../../../src/store/machine/object-version.ts'
import type { StoreEvent } from '../../../../../src/store/object-store.ts'
import type { Version } from '../../../../../src/store/machine/object-version.ts'
import { RecordSlabs } from '../../../../../src/store/machine/record-slabs.ts'
import { noRevision, revision } from '../../../../../src/store/revision.ts'
import type { Revision } from '../../../../../src/store/revision.ts'
import {
  allConfigMaps,
  configMapKey,
  configMapsOf,
  encoded,
  namespaceKey,
} from '../../../../../fixtures/store-kit.ts'

const slabs = new RecordSlabs()

/** Appends random events and returns them in order. */
function fill(history: History, random: SeededRandom, count: number): Version[] {
  const current = new Map<Key, Version>()
  const made: Version[] = []
  for (let step = 0; step < count; step++) {
    const key = random.chance(0.1)
      ? namespaceKey(`n${random.below(5)}`)
      : configMapKey(`c${random.below(30)}`, `n${random.below(4)}`)
    const old = current.get(key) ?? null
    const place = {
      key,
      revision: revision(history.last + 1),
      previous: old?.revision ?? noRevision,
      lastOfCommand: random.chance(0.7),
    }
    const deletes = old !== null && random.chance(0.3)
    const version = deletes ? deletedVersion(place, old) : putVersion(place, encoded(`v${step}`))
    if (deletes) current.delete(key)
    else current.set(key, version)
    history.append(version, old)
    version.pack(slabs)
    made.push(version)
  }
  return made
}

/** Checks that exactly the versions that the state does not refer to were released. */
function checkReleased(made: readonly Version[], leftUpTo: Revision): void {
  for (const version of made) {
    const isReleased =
      (version.kind === 'deleted' && version.revision <= leftUpTo) ||
      made.some(({ previous, revision: at }) => previous === version.revision && at <= leftUpTo)
    if (isReleased) assert.throws(() => version.release(slabs), /released once/, `${version.revision}`)
    else version.release(slabs)
  }
}

void test('seek finds every event of a scope and no other', () => {
  const history = new History(revision(500), slabs)
  const made = fill(history, new SeededRandom(1), 3000)
  for (const prefix of [allConfigMaps, configMapsOf('n2'), '/namespaces/', '/pods/', '']) {
    const found: number[] = []
    let at = revision(500)
    while (at < history.last) {
      const next = history.seek(scopeOf(prefix), at, history.last)
      if (next === null) break
      found.push(next)
      at = next
    }
    assert.deepEqual(
      found,
      made.filter(({ key }) => key.startsWith(prefix)).map((version) => version.revision),
    )
  }
})

void test('a record describes its event', () => {
  const history = new History(noRevision, slabs)
  const made = fill(history, new SeededRandom(2), 100)
  for (const version of made) {
    const { key, kind, previous, lastOfCommand } = history.note(version.revision)
    const event = history.event(version.revision)
    assert.deepEqual(
      { key, kind, previous, lastOfCommand },
      {
        key: version.key,
        kind: version.kind,
        previous: version.previous,
        lastOfCommand: version.lastOfCommand,
      },
    )
    assert.equal(event?.object, version)
    assert.equal(history.event(version.revision), event, 'each reader gets the same event')
    assert.equal(event?.previous?.revision ?? noRevision, version.previous)
    assert.equal(history.endsCommand(version.revision), version.lastOfCommand)
  }
})

void test('readers of an event get the same one, unless thousands were read in between', () => {
  const history = new History(noRevision, slabs)
  const made = fill(history, new SeededRandom(6), 5000)
  const eventAt = (at: number): StoreEvent | null => history.event(revision(at))
  const [first, second] = [eventAt(1), eventAt(2)]
  for (let at = 3; at <= 4097; at++) eventAt(at)
  assert.equal(eventAt(2), second)
  assert.notEqual(eventAt(1), first)
  assert.deepEqual(eventAt(1), first)
  assert.equal(eventAt(1)?.object, made[0])
})

void test('a version is removed with its successor, a deletion with itself, and the sum is that of the removed versions', () => {
  const history = new History(noRevision, slabs)
  const made = fill(history, new SeededRandom(3), 2500)
  const upTo = revision(1700)
  const left: number[] = []
  let freed = 0
  const sum = history.trim(
    upTo,
    (version) => left.push(version),
    (_, bytes) => (freed += bytes),
  )
  const expected = made.filter(
    (version) =>
      (version.kind === 'deleted' && version.revision <= upTo) ||
      made.some((other) => other.previous === version.revision && other.revision <= upTo),
  )
  assert.deepEqual(
    left.sort((a, b) => a - b),
    expected.map((version) => version.revision),
  )
  const expectedSum = newHash()
  for (const version of expected) addHash(expectedSum, hashOf(version, newHash()))
  assert.ok(sameHash(sum, expectedSum))
  assert.equal(
    freed,
    expected.reduce((bytes, version) => bytes + recordOf(version).byteLength, 0),
  )
  assert.equal(history.trimmed, upTo)
  assert.equal(history.seek(scopeOf(''), upTo, history.last), upTo + 1)
  assert.throws(() => history.note(upTo), /the event is in the window/)
  checkReleased(made, upTo)
})

void test('dropping events from memory keeps their records, the bounds, and what is not on disk', () => {
  const history = new History(noRevision, slabs)
  const made = fill(history, new SeededRandom(4), 2000)
  history.shrink(revision(1500), { events: 100, bytes: Number.MAX_SAFE_INTEGER })
  assert.equal(history.inMemory, 1500)
  history.shrink(history.last, { events: 100, bytes: Number.MAX_SAFE_INTEGER })
  assert.equal(history.inMemory, 1900)
  const held = history.heldBytes
  history.shrink(history.last, { events: 100, bytes: held >>> 1 })
  assert.ok(history.heldBytes <= held >>> 1)
  for (const version of made) {
    const note = history.note(version.revision)
    assert.equal(history.event(version.revision) !== null, version.revision > history.inMemory)
    assert.equal(note.previous, version.previous)
  }
  checkReleased(made, history.inMemory)
})

void test('the held bytes are zero when everything is dropped or trimmed', () => {
  const random = new SeededRandom(5)
  const [letGo, forgotten] = [new History(noRevision, slabs), new History(noRevision, slabs)]
  fill(letGo, random, 1500)
  fill(forgotten, random, 1500)
  letGo.shrink(letGo.last, { events: 0, bytes: 0 })
  assert.equal(letGo.heldBytes, 0)
  letGo.trim(
    revision(1500),
    () => undefined,
    () => undefined,
  )
  assert.equal(letGo.heldBytes, 0)
  forgotten.trim(
    revision(1500),
    () => undefined,
    () => undefined,
  )
  assert.equal(forgotten.heldBytes, 0)
  assert.equal(fill(forgotten, random, 10).length, 10)
})

void test('one call drops at most 4,096 events from memory, and the next one continues', () => {
  const history = new History(noRevision, slabs)
  fill(history, new SeededRandom(8), 10_000)
  const bounds = { events: 500, bytes: Infinity }
  const steps: (readonly [boolean, number])[] = []
  for (let call = 0; call < 4; call++) steps.push([history.shrink(revision(9000), bounds), history.inMemory])
  assert.deepEqual(steps, [
    [false, 4096],
    [false, 8192],
    [true, 9000],
    [true, 9000],
  ])
  assert.deepEqual([history.shrink(history.last, bounds), history.inMemory], [true, 9500])
})
