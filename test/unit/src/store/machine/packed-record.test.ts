/*
 * Goal: memory holds the texts of managed fields once for all objects that have them, and readers
 * get every byte as it was written.
 * Method: records of objects, and random bytes with the same marks in wrong places.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { PackedRecord } from '../../../../../src/store/machine/packed-record.ts'
import { SharedTexts } from '../../../../../src/store/machine/shared-texts.ts'

function entry(manager: string, time: string, fields: string): string {
  return (
    `{"manager":"${manager}","operation":"Update","apiVersion":"v1","time":"${time}",` +
    `"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:data":{${fields}}}}`
  )
}

const first = '2026-01-02T03:04:05Z'
const later = '2027-11-12T13:14:15Z'

function object(name: string, entries: readonly string[]): Buffer {
  return Buffer.from(
    `header{"kind":"ConfigMap","metadata":{"name":"${name}","resourceVersion":"9","labels":{"a":"größe"},` +
      `"managedFields":[${entries.join(',')}]},"data":{"k":"${name}","l":"}]}","m":"ü"}}`,
  )
}

/** Packs a record, and checks that every part of it is as before. */
function packed(record: Buffer, from = 0): PackedRecord {
  const before = Buffer.from(record)
  const made = new PackedRecord(record, from)
  assert.equal(made.byteLength, before.byteLength)
  for (const at of [0, 3, 6]) {
    assert.ok(before.subarray(at).equals(made.slice(at)), `from ${at}`)
    assert.ok(before.subarray(at).equals(Buffer.concat(made.parts(at))), `in parts from ${at}`)
  }
  return made
}

void test('objects of one shape share their texts, whatever their times and values', () => {
  const fields = `"f:k":{},"f:${'x'.repeat(100)}":{}`
  const make = (name: string, time: string): PackedRecord =>
    packed(object(name, [entry('kubectl', time, fields), entry('other', time, fields)]))
  const alone = make('a', first)
  const [second, third] = [make('b', later), make('c', first)]
  assert.equal(alone.ownBytes, alone.byteLength, 'what was seen once is not shared')
  for (const made of [second, third]) assert.ok(made.ownBytes < 350, `${made.ownBytes} of ${made.byteLength}`)
})

void test('a record whose managed fields are absent, empty or malformed shares no texts', () => {
  for (const text of [
    '',
    '{}',
    '{"managedFields":[',
    '{"managedFields":[]}',
    '"managedFields":[{}]}',
    'x'.repeat(5000),
  ]) {
    for (let times = 0; times < 3; times++) {
      const made = packed(Buffer.from(`header${text}`))
      assert.equal(made.ownBytes, made.byteLength)
    }
  }
})

void test('any bytes come back, wherever the marks of managed fields are in them', () => {
  const random = new SeededRandom(5)
  const marks = ['"managedFields":[', '}]}', '"time":"', first, 'ü', '\\"', 'x'.repeat(120), 'y'.repeat(300)]
  const records = Array.from({ length: 300 }, () => {
    const parts = Array.from({ length: random.below(30) }, () => marks[random.below(marks.length)])
    return `header${parts.join('')}`
  })
  let shared = 0
  for (let times = 0; times < 3; times++) {
    for (const text of records) {
      const made = packed(Buffer.from(text), random.below(7))
      if (made.ownBytes < made.byteLength) shared++
    }
  }
  assert.ok(shared > 100, `${shared} records share texts`)
})

void test('only texts of a bounded length are shared, and the memory for texts seen once is bounded', () => {
  const texts = new SharedTexts({ bytesMin: 10, bytesMax: 20, rememberedBytesMax: 60 })
  const found = (text: string): boolean => texts.find(text) !== null
  for (const text of ['short', 'x'.repeat(21)]) assert.deepEqual([found(text), found(text)], [false, false])
  const text = 'a text of 16 bü'
  assert.deepEqual([found(text), found(text), found(text)], [false, true, true])
  assert.equal(texts.find(text), texts.find(text))
  const once = 'another of 15 b'
  assert.equal(found(once), false)
  for (let at = 0; at < 6; at++) found(`many others ${at}`)
  assert.equal(found(once), false, 'it is forgotten')
  assert.equal(texts.size, 1)
})
