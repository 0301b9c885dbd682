/*
 * Goal: from feature level 2 on the size of objects is limited. A full storage refuses writes that
 * grow it until there is space again, and accepts those that make room, up to a ceiling.
 * Method: a machine with a small quota, filled, emptied and trimmed by commands.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import type { Command, EncodedObject, Operation, Outcome } from '../../../../../src/store/command.ts'
import type { Key } from '../../../../../src/store/key.ts'
import { Machine } from '../../../../../src/store/machine/machine.ts'
import { memberKey } from '../../../../../src/store/machine/member-objects.ts'
import { emptyState } from '../../../../../src/store/machine/state.ts'
import { ceilingOf, putKind, storageBytesDefault } from '../../../../../src/store/machine/storage-rules.ts'
import { recordOf } from '../../../../../src/store/machine/object-version.ts'
import { revision } from '../../../../../src/store/revision.ts'
import { bootstrapOf, smallSettings } from '../../../../../fixtures/store-commands.ts'
import {
  configMapKey,
  encoded,
  LogWriter,
  outcomeOf,
  ownSession,
  put,
  remove,
  write,
} from '../../../../../fixtures/store-kit.ts'

const key = configMapKey('a')
const quota = 10_000
const settings = {
  ...smallSettings,
  historyEventsMin: 1000,
  objectBytesMax: 3000,
  storageBytesMax: quota,
}

function start(featureLevel = 2): { machine: Machine; run: (command: Command) => Outcome | 'void' } {
  const machine = new Machine(emptyState())
  const log = new LogWriter()
  const run = (command: Command): Outcome | 'void' =>
    outcomeOf(machine.apply([log.command(command)], ownSession))
  run(bootstrapOf('c', { featureLevel, settings }))
  return { machine, run }
}

function sized(bytes: number, options: Partial<EncodedObject> = {}): EncodedObject {
  const empty = encoded('', { uid: 'u' }).bytes.byteLength
  return encoded('x'.repeat(bytes - empty), { uid: 'u', ...options })
}

function putSized(at: Key, bytes: number, options: Partial<EncodedObject> = {}): Operation {
  return { kind: 'put', key: at, conditions: [], object: sized(bytes, options) }
}

/** Creates objects of 1000 bytes until one is refused. @returns their number */
function fill(run: (command: Command) => Outcome | 'void'): number {
  for (let made = 0; ; made++) {
    const outcome = run(write(putSized(configMapKey(`fill-${made}`), 1000)))
    assert.ok(outcome !== 'void' && made < 100)
    if (outcome.kind !== 'done') return made
  }
}

function recordBytesOf(machine: Machine): number {
  const gone = new Set(machine.takeChanges().gone)
  assert.equal(gone.size, 0, 'nothing was trimmed')
  return machine.state.usage.bytes
}

void test('usage is the bytes of all readable records', () => {
  const { machine, run } = start()
  machine.takeChanges()
  run(write(put(key, 'one')))
  run(write(put(key, 'two'), put(configMapKey('b'), 'three')))
  run(write(remove(key)))
  const { made } = machine.takeChanges()
  const sum = made.reduce((bytes, version) => bytes + recordOf(version).byteLength, 0)
  assert.equal(machine.state.usage.bytes, sum)
  assert.deepEqual(machine.state.usage.largest(5), [{ resource: 'configmaps', bytes: sum, objects: 1 }])
})

void test('trimmed records no longer count, and a resource without records is removed', () => {
  const { machine, run } = start()
  run({ kind: 'change-settings', settings: { ...settings, historyEventsMin: 0 } })
  run(write(put(key, 'one')))
  run(write(remove(key)))
  run({ kind: 'trim', upTo: machine.state.revision })
  assert.equal(machine.state.usage.bytes, 0)
  assert.deepEqual(machine.state.usage.largest(5), [])
})

void test('an object above the limit is refused by name, one at the limit is not', () => {
  const { machine, run } = start()
  assert.deepEqual(run(write(put(configMapKey('b'), 'v'), putSized(key, 3001))), {
    kind: 'too-large',
    operation: 1,
    bytes: 3001,
    bytesMax: 3000,
  })
  assert.equal(machine.state.revision, 0)
  assert.equal(machine.state.storageAlarm, false)
  assert.deepEqual(run(write(putSized(key, 3000))), { kind: 'done', revisions: [1] })
})

void test('an object above a lowered limit may shrink and be marked as deleted, but not grow', () => {
  const { run } = start()
  run(write(putSized(key, 3000)))
  run({ kind: 'change-settings', settings: { ...settings, objectBytesMax: 1000 } })
  const kind = (outcome: Outcome | 'void'): string => (outcome === 'void' ? outcome : outcome.kind)
  assert.equal(kind(run(write(putSized(key, 3000)))), 'too-large')
  assert.equal(kind(run(write(putSized(key, 2900)))), 'done')
  assert.equal(kind(run(write(putSized(key, 2950, { terminating: true })))), 'done')
})

void test('the write that would exceed the quota is refused to the byte, and raises the alarm', () => {
  const { machine, run } = start()
  const full = fill(run)
  const one = recordBytesOf(machine) / full
  assert.ok(machine.state.usage.bytes <= quota && machine.state.usage.bytes + one > quota)
  assert.equal(machine.state.storageAlarm, true)
  const { usage } = machine.state
  assert.deepEqual(run(write(put(key, ''))), {
    kind: 'over-quota',
    usedBytes: usage.bytes,
    bytesMax: quota,
  })

  const exact = start()
  exact.run(write(putSized(configMapKey('a'), 3000)))
  const used = exact.machine.state.usage.bytes
  const next = write(putSized(configMapKey('b'), 2000))
  const needed = used + (used - 1000)
  for (const [quota, outcome] of [
    [needed - 1, 'over-quota'],
    [needed, 'done'],
  ] as const) {
    exact.run({ kind: 'change-settings', settings: { ...settings, storageBytesMax: quota } })
    const got = exact.run(next)
    assert.equal(got === 'void' ? got : got.kind, outcome)
    exact.run({ kind: 'change-settings', settings: { ...settings, storageBytesMax: 100_000 } })
  }
})

void test('while the storage is full, writes that make room succeed', () => {
  const { machine, run } = start()
  run(write(putSized(key, 1000)))
  fill(run)
  assert.equal(machine.state.storageAlarm, true)
  const kind = (...operations: Operation[]): string => {
    const outcome = run(write(...operations))
    return outcome === 'void' ? outcome : outcome.kind
  }
  assert.equal(kind(putSized(key, 1000)), 'over-quota', 'an update of the same size')
  assert.equal(kind(putSized(key, 999)), 'done', 'a smaller one')
  assert.equal(kind(putSized(key, 1100, { terminating: true })), 'done', 'marked as being deleted')
  assert.equal(kind(putSized(key, 1100, { terminating: true })), 'done', 'its status')
  assert.equal(kind(putSized(key, 9000, { terminating: true })), 'too-large', 'not beyond the size limit')
  assert.equal(kind(putSized(key, 500, { terminating: true, uid: 'v' })), 'over-quota', 'another object')
  assert.equal(kind(remove(key)), 'done')
  assert.equal(kind(remove(configMapKey('fill-0')), put(key, 'v')), 'over-quota', 'all or nothing')
})

void test('member status is recorded in a full storage too, up to the ceiling', () => {
  const { machine, run } = start()
  const member = memberKey('orch.io', 'n1')
  run(write(putSized(member, 500)))
  fill(run)
  assert.ok(machine.state.storageAlarm)
  assert.equal(kindOf(run(write(putSized(configMapKey('new'), 100)))), 'over-quota')
  assert.equal(kindOf(run(write(putSized(member, 600)))), 'done')
  assert.equal(kindOf(run(write(putSized(member, 600 + 1025)))), 'over-quota', 'not much larger')
  assert.equal(kindOf(run(write(putSized(memberKey('orch.io', 'n2'), 100)))), 'over-quota', 'not a new one')
  assert.equal(kindOf(run(write(putSized(member, 600, { uid: 'other' })))), 'over-quota', 'nor another')
  let reported = 0
  const reportedMax = 1000
  while (reported < reportedMax && kindOf(run(write(putSized(member, 600 + (reported % 2))))) === 'done')
    reported++
  assert.ok(reported > 3 && reported < reportedMax && machine.state.usage.bytes <= ceilingOf(quota))
})

function kindOf(outcome: Outcome | 'void'): string {
  return outcome === 'void' ? outcome : outcome.kind
}

void test('the minimum number of events is not kept during an alarm, which ends below nine tenths of the quota', () => {
  const { machine, run } = start()
  const full = fill(run)
  // The minimum of 1000 events would retain all of this permanently.
  run(write(remove(configMapKey('fill-0'))))
  assert.equal(machine.state.storageAlarm, true)
  run({ kind: 'trim', upTo: machine.state.revision })
  assert.equal(machine.state.storageAlarm, false, 'one of nine went')
  assert.equal(machine.state.history.trimmed, full + 1)
  assert.equal(machine.state.usage.bytes < quota * 0.9, true)
  assert.deepEqual(run(write(put(key, 'v'))), { kind: 'done', revisions: [full + 2] })
  run({ kind: 'change-settings', settings: { ...settings, storageBytesMax: 2 * quota } })
  assert.deepEqual(
    run({ kind: 'trim', upTo: machine.state.revision }),
    { kind: 'nothing' },
    'the minimum number of events',
  )
})

void test('a large write that does not fit is refused alone: small ones succeed before and after it', () => {
  const { machine, run } = start()
  const large = write(putSized(configMapKey('b'), 2999), putSized(configMapKey('c'), 2999))
  for (const at of ['a', 'd', 'e']) run(write(putSized(configMapKey(at), 2000)))
  const usedBytes = machine.state.usage.bytes
  assert.ok(usedBytes < quota * 0.9)
  assert.deepEqual(run(large), { kind: 'over-quota', usedBytes, bytesMax: quota })
  assert.equal(machine.state.storageAlarm, false)
  assert.equal(kindOf(run(write(putSized(configMapKey('f'), 500)))), 'done')
  // No history is left whose removal could end an alarm.
  run({ kind: 'trim', upTo: machine.state.revision })
  assert.equal(kindOf(run(large)), 'over-quota')
  assert.equal(kindOf(run(write(putSized(configMapKey('g'), 500)))), 'done')
})

void test('the minimum number of events does not retain space that the largest object needs', () => {
  const { machine, run } = start()
  run(write(putSized(key, 3000)))
  run(write(putSized(key, 3000)))
  assert.equal(kindOf(run({ kind: 'trim', upTo: machine.state.revision })), 'nothing', 'one fits')
  run(write(putSized(key, 2000)))
  assert.equal(kindOf(run(write(putSized(configMapKey('b'), 3000)))), 'over-quota')
  assert.equal(machine.state.storageAlarm, false)
  assert.equal(kindOf(run({ kind: 'trim', upTo: machine.state.revision })), 'done')
  assert.equal(kindOf(run(write(putSized(configMapKey('b'), 3000)))), 'done')
})

void test('the alarm holds between nine tenths and the quota', () => {
  const { machine, run } = start()
  fill(run)
  const { bytes } = machine.state.usage
  const settingsOf = (storageBytesMax: number): Command => ({
    kind: 'change-settings',
    settings: { ...settings, storageBytesMax },
  })
  run(settingsOf(Math.floor((bytes * 10) / 9)))
  assert.equal(machine.state.storageAlarm, true)
  run(settingsOf(Math.floor((bytes * 10) / 9) + 1))
  assert.equal(machine.state.storageAlarm, false)
})

void test('a condition that does not hold is reported before a lack of space', () => {
  const { run } = start()
  fill(run)
  const outcome = run(write(put(configMapKey('fill-0'), 'x'.repeat(900), { kind: 'absent' })))
  assert.deepEqual(outcome, { kind: 'refused', operation: 0, condition: { kind: 'absent' }, current: 1 })
})

void test('feature level 1 has neither limit, and the raise to level 2 sets the default quota', () => {
  const { machine, run } = start(1)
  assert.equal(machine.state.settings.storageBytesMax, null)
  for (let made = 0; made < 30; made++) run(write(putSized(configMapKey(`m-${made}`), 5000)))
  run({ kind: 'change-settings', settings: { ...settings, storageBytesMax: 1 } })
  assert.equal(machine.state.settings.storageBytesMax, null)
  assert.equal(machine.state.usage.largest(1)[0]?.objects, 30)
  assert.deepEqual(run({ kind: 'raise-feature-level', level: 2 }), { kind: 'done', revisions: [] })
  assert.equal(machine.state.settings.storageBytesMax, storageBytesDefault)
  // A proposer at level 1 does not set the quota.
  run({ kind: 'change-settings', settings: { ...settings, storageBytesMax: null } })
  assert.equal(machine.state.settings.storageBytesMax, storageBytesDefault)
})

void test('outdated expected settings change nothing, and feature level 1 ignores them', () => {
  for (const [level, kind] of [
    [1, 'done'],
    [2, 'nothing'],
  ] as const) {
    const { machine, run } = start(level)
    const read = machine.state.settings
    const change = (historyEventsMin: number): Outcome | 'void' =>
      run({ kind: 'change-settings', settings: { ...read, historyEventsMin }, expected: read })
    assert.deepEqual(change(1), { kind: 'done', revisions: [] })
    const second = change(2)
    assert.equal(second === 'void' ? second : second.kind, kind)
    assert.equal(machine.state.settings.historyEventsMin, level === 1 ? 2 : 1)
  }
})

void test('a put makes room if it shrinks an object, or grows one being deleted by at most 4,096 bytes; the begin of a deletion is a kind of its own', () => {
  const old = { uid: 'u', revision: revision(1234), byteLength: 1004, terminating: false }
  const of = (bytes: number, options: Partial<EncodedObject> = {}): string =>
    putKind(old, sized(bytes, options))
  const going = (bytes: number): string =>
    putKind({ ...old, terminating: true }, sized(bytes, { terminating: true }))
  assert.deepEqual([of(999), of(1000), of(1001)], ['makes-room', 'grows', 'grows'])
  assert.deepEqual(
    [of(1000, { terminating: true }), of(5096, { terminating: true })],
    Array(2).fill('begins-deletion'),
  )
  assert.equal(of(5097, { terminating: true }), 'grows')
  assert.deepEqual([going(500), going(1000), going(5096)], Array(3).fill('makes-room'))
  assert.equal(going(5097), 'grows')
  assert.equal(putKind({ ...old, terminating: true }, sized(1000)), 'grows', 'a deletion is not undone')
  assert.equal(of(500, { uid: 'v' }), 'grows')
  assert.equal(putKind(null, sized(500)), 'grows')
})

/**
 * Shrinks one object by a byte at a time until a put is refused. @returns its last size and the
 * refusal
 */
function shrink(run: (command: Command) => Outcome | 'void', from: number): [number, Outcome] {
  for (let bytes = from; ; bytes--) {
    const outcome = run(write(putSized(key, bytes)))
    assert.ok(outcome !== 'void' && bytes > from - 100, 'the history of one object has no end')
    if (outcome.kind !== 'done') return [bytes + 1, outcome]
  }
}

void test('writes that make room are refused at the ceiling, deletions are not', () => {
  const { machine, run } = start()
  const finalized = configMapKey('held')
  run(write(putSized(finalized, 900)))
  run(write(putSized(key, 1000)))
  fill(run)
  const [bytes, refusal] = shrink(run, 999)
  const usedBytes = machine.state.usage.bytes
  const ceiling = ceilingOf(quota)
  assert.equal(ceiling, 15_000)
  assert.deepEqual(refusal, { kind: 'over-quota', usedBytes, bytesMax: ceiling })
  assert.ok(usedBytes <= ceiling && usedBytes + bytes + 100 > ceiling)
  const kind = (...operations: Operation[]): string => {
    const outcome = run(write(...operations))
    return outcome === 'void' ? outcome : outcome.kind
  }
  assert.equal(kind(putSized(finalized, 1000, { terminating: true })), 'done', 'the mark of the deletion')
  assert.equal(
    kind(putSized(finalized, 1000, { terminating: true })),
    'over-quota',
    'a second write of the same size',
  )
  assert.equal(kind(putSized(finalized, 990, { terminating: true })), 'over-quota')
  assert.equal(kind(remove(finalized)), 'done')
  assert.equal(kind(remove(key)), 'done')
  run({ kind: 'trim', upTo: machine.state.revision })
  assert.equal(kind(putSized(configMapKey('fill-0'), 999)), 'done')
})

void test('whatever is put, in any order, usage ends at the ceiling plus one deletion mark per object', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new SeededRandom(seed)
    const { machine, run } = start()
    const keys = Array.from({ length: 6 }, (_, at) => configMapKey(`k${at}`))
    for (let left = 1000; left > 0; left--) {
      const bytes = 100 + random.below(random.chance(0.5) ? 900 : 4000)
      const old = machine.state.objects.get(random.pick(keys))
      const options = { terminating: random.chance(0.5), uid: random.chance(0.95) ? 'u' : 'v' }
      // Near the size of another object: slightly smaller, equal, a byte or 4,000 bytes larger.
      const near = (old?.bytes.byteLength ?? bytes) + random.pick([-10, -1, 0, 1, 4000])
      const operation = putSized(random.pick(keys), random.chance(0.5) ? bytes : Math.max(100, near), options)
      run(write(operation))
    }
    const { bytes } = machine.state.usage
    assert.ok(bytes > quota, `seed ${seed}: ${bytes}`)
    const largest = settings.objectBytesMax + 4096 + 200
    assert.ok(bytes <= ceilingOf(quota) + keys.length * largest, `seed ${seed}: ${bytes}`)
  }
})

void test('an object that is being deleted exceeds the size limit by at most 4,096 bytes, or keeps its size', () => {
  const { machine, run } = start()
  run({
    kind: 'change-settings',
    settings: { ...settings, objectBytesMax: 1000, storageBytesMax: 1_000_000 },
  })
  run(write(putSized(key, 1000)))
  const kind = (bytes: number): unknown => {
    const outcome = run(write(putSized(key, bytes, { terminating: true })))
    return outcome !== 'void' && outcome.kind === 'too-large' ? outcome.bytesMax : outcome
  }
  assert.deepEqual(kind(4000), { kind: 'done', revisions: [2] })
  assert.deepEqual(kind(5096), { kind: 'done', revisions: [3] })
  assert.equal(kind(5097), 5096, 'all in all')
  assert.equal(kind(9000), 5096, 'at once')
  run({ kind: 'change-settings', settings: { ...settings, objectBytesMax: 500, storageBytesMax: 1_000_000 } })
  assert.deepEqual(kind(5096), { kind: 'done', revisions: [4] }, 'as large as it was')
  assert.equal(machine.state.revision, 4)
})

void test('usage beyond the quota is an alarm, whatever caused it', () => {
  const { machine, run } = start()
  run(write(putSized(key, 3000)))
  run(write(putSized(configMapKey('b'), 3000)))
  assert.equal(machine.state.storageAlarm, false)
  run(write(remove(key)))
  assert.equal(machine.state.storageAlarm, false, 'below the quota of 10,000')
  run(write(putSized(configMapKey('b'), 2999)))
  assert.equal(machine.state.storageAlarm, true)
  run({ kind: 'change-settings', settings: { ...settings, storageBytesMax: 100_000 } })
  assert.equal(machine.state.storageAlarm, false)
  run({ kind: 'change-settings', settings: { ...settings, storageBytesMax: 5000 } })
  assert.equal(machine.state.storageAlarm, true, 'a smaller quota')
  // The minimum of 1000 events is ignored at once, not only after a refusal.
  run({ kind: 'trim', upTo: machine.state.revision })
  assert.equal(machine.state.storageAlarm, false)
})

void test('the largest usage is reported by resource and by namespace, history included', () => {
  const { machine, run } = start()
  const { usage } = machine.state
  run({ kind: 'change-settings', settings: { ...settings, storageBytesMax: 1_000_000 } })
  for (let at = 0; at < 12; at++) run(write(putSized(configMapKey('a', `n${at}`), 100 + at)))
  run(write(putSized(configMapKey('a', 'n3'), 100)))
  run(write(remove(configMapKey('a', 'n3'))))
  const places = usage.largestPlaces()
  assert.equal(places.length, 10)
  assert.deepEqual(
    places.slice(0, 3).map(({ resource, namespace, objects }) => [resource, namespace, objects]),
    [
      ['configmaps', 'n3', 0],
      ['configmaps', 'n11', 1],
      ['configmaps', 'n10', 1],
    ],
  )
  assert.deepEqual(usage.largest(5), [{ resource: 'configmaps', bytes: usage.bytes, objects: 11 }])
  run({ kind: 'change-settings', settings: { ...settings, historyEventsMin: 0 } })
  run({ kind: 'trim', upTo: machine.state.revision })
  assert.equal(usage.largestPlaces()[0]?.namespace, 'n11', 'computed again')
  assert.ok(usage.largestPlaces().every(({ namespace }) => namespace !== 'n3'))
})

void test('a refused write that arrives twice is refused twice, though there is space by then', () => {
  const machine = new Machine(emptyState())
  const log = new LogWriter()
  const run = (command: Command, options?: Parameters<LogWriter['command']>[1]): Outcome | 'void' =>
    outcomeOf(machine.apply([log.command(command, options)], ownSession))
  run(bootstrapOf('c', { featureLevel: 2, settings }))
  fill(run)
  const late = write(putSized(key, 1000))
  const once = run(late, { sequence: 1000 })
  assert.equal(once === 'void' ? once : once.kind, 'over-quota')
  run(
    { kind: 'change-settings', settings: { ...settings, storageBytesMax: 100_000 } },
    { sequence: 1001, acknowledgedBelow: 1000 },
  )
  assert.deepEqual(run(late, { sequence: 1000, acknowledgedBelow: 1000 }), once)
  const again = run(late, { sequence: 1002, acknowledgedBelow: 1000 })
  assert.equal(again === 'void' ? again : again.kind, 'done')
})
