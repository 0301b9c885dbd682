/*
 * Goal: the memory of bodies is estimated before they are parsed, bounded for all and for each
 * user, and released.
 * Method: shapes for which V8 needs most bytes; charges of several users.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../../../src/config/limits.ts'
import {
  BodyMemory,
  Upload,
  bodyMemoryBytes,
  jsonMemoryBytesMax,
} from '../../../../../src/server/load/body-memory.ts'

const MiB = 1024 * 1024

/** Text, and the heap bytes that its parsed form takes, as measured with Node 20. */
const shapes: readonly (readonly [name: string, text: string, heapBytes: number])[] = [
  ['empty objects', listOf(3000, () => '{}'), 3000 * 64],
  ['objects of distinct names', listOf(3000, (at) => `{"k${at}":1}`), 3000 * 184],
  ['lists in lists', listOf(300, () => '[[[[[[[[[[]]]]]]]]]]'), 300 * 544],
  ['distinct strings', listOf(3000, (at) => `"s${at}"`), 3000 * 23],
]

function listOf(count: number, item: (at: number) => string): string {
  return `[${Array.from({ length: count }, (_, at) => item(at)).join(',')}]`
}

for (const [name, text, heapBytes] of shapes) {
  void test(`${name}: the charge covers the memory that V8 uses`, () => {
    const charged = bodyMemoryBytes(Buffer.from(text), 'application/json')
    assert.ok(charged >= heapBytes, `${charged} of ${heapBytes}`)
    assert.ok(charged <= 8 * heapBytes, `${charged} of ${heapBytes}`)
    assert.ok(bodyMemoryBytes(Buffer.from(text), 'application/yaml') >= charged)
    assert.ok(jsonMemoryBytesMax(Buffer.from(text)) >= charged)
  })
}

void test('the content of strings counts as text, escaped quotes included', () => {
  const text = JSON.stringify({ 'a"{': '[[[{{{,,,\\"[[['.repeat(100) })
  assert.equal(bodyMemoryBytes(Buffer.from(text), ''), text.length * 4 + 256)
})

void test('a block of YAML is charged by its lines', () => {
  const lines = '- {}\n'.repeat(1000)
  assert.ok(bodyMemoryBytes(Buffer.from(lines), 'application/yaml') >= 1000 * 64)
})

void test('large bodies leave a quarter to small ones, and one user leaves a share to others', () => {
  const memory = new BodyMemory(80 * MiB)
  const charge = (user: string, bytes: number): ReturnType<BodyMemory['chargeFor']> | null => {
    const one = memory.chargeFor(user)
    return one.growTo(bytes) ? one : null
  }
  const first = charge('a', 20 * MiB)
  assert.ok(first !== null)
  assert.equal(charge('a', 11 * MiB), null, 'more than half of what large bodies may take')
  assert.ok(charge('b', 30 * MiB) !== null)
  assert.ok(charge('c', 10 * MiB) !== null)
  assert.equal(charge('d', 2 * MiB), null, 'large bodies take three quarters already')
  for (let count = 0; count < 20; count++) assert.ok(charge('d', MiB) !== null)
  assert.equal(charge('e', 1), null)
  assert.equal(memory.bytes, 80 * MiB)
  first.release()
  first.release()
  assert.equal(memory.bytes, 60 * MiB)
})

void test('a body larger than the share of one user is charged with that share, and fits when there is no other body', () => {
  const memory = new BodyMemory(80 * MiB)
  const huge = memory.chargeFor('a')
  assert.ok(huge.growTo(3 * MiB))
  assert.ok(huge.growTo(900 * MiB))
  assert.equal(huge.bytes, 30 * MiB)
  assert.ok(!memory.chargeFor('a').growTo(2 * MiB))
  huge.release()
  assert.equal(memory.bytes, 0)
})

void test('an upload may be slow during the grace period, and needs the minimum rate afterwards', () => {
  let ended = 0
  const charge = new BodyMemory(MiB).chargeFor('a')
  const upload = new Upload({ beganMs: 1000, graceMs: 500, charge, onEnd: () => void ended++ })
  assert.ok(!upload.isTooSlow(1500))
  assert.ok(upload.isTooSlow(1501), 'nothing has come')
  upload.received(limits.uploadBytesPerSecondMin)
  assert.ok(!upload.isTooSlow(2400))
  assert.ok(upload.isTooSlow(2501))
  upload.end()
  upload.release()
  assert.equal(ended, 1)
})
