/*
 * Goal: memory holds the texts of managed fields once for all objects that have them, readers get
 * every byte as it was written, and memory of released records is used again.
 * Method: records of objects, random bytes with the same marks in wrong places, and random
 * additions and releases.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { RecordSlabs } from '../../../../../src/store/machine/record-slabs.ts'
import type { Slab } from '../../../../../src/store/machine/record-slabs.ts'
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

/** A record in slabs, and what it was before. */
class Packed {
  readonly before: Buffer
  /** Slabs that it was in, the last one now. */
  readonly slabs: Slab[] = []
  at = 0

  constructor(record: Buffer) {
    this.before = Buffer.from(record)
  }

  movedTo(slab: Slab, at: number): void {
    this.slabs.push(slab)
    this.at = at
  }

  get slab(): Slab {
    return this.slabs.at(-1) ?? assert.fail('it is in no slab')
  }

  get byteLength(): number {
    return this.slab.byteLengthOf(this.at)
  }

  /** Bytes in the slab, without those that describe the record. */
  get ownBytes(): number {
    return this.slab.entryBytesAt(this.at) - (this.slab.startOf(this.at) - this.at)
  }

  check(): void {
    const { slab, at, before } = this
    assert.equal(this.byteLength, before.byteLength)
    for (const from of [0, 3, 6]) {
      assert.ok(before.subarray(from).equals(slab.slice(at, from)), `from ${from}`)
      assert.ok(before.subarray(from).equals(Buffer.concat(slab.parts(at, from))), `in parts from ${from}`)
    }
  }
}

const slabs = new RecordSlabs()

/** Packs a record, and checks that every part of it is as before. */
function packed(record: Buffer, from = 0): Packed {
  const made = new Packed(record)
  slabs.add(made, record, from)
  record.fill(0)
  made.check()
  return made
}

void test('objects of one shape share their texts, whatever their times and values', () => {
  const fields = `"f:k":{},"f:${'x'.repeat(100)}":{}`
  const make = (name: string, time: string): Packed =>
    packed(object(name, [entry('kubectl', time, fields), entry('other', time, fields)]))
  const alone = make('a', first)
  const [second, third] = [make('b', later), make('c', first)]
  assert.equal(alone.ownBytes, alone.byteLength, 'what was seen once is not shared')
  for (const made of [second, third]) assert.ok(made.ownBytes < 350, `${made.ownBytes} of ${made.byteLength}`)
})

void test('a record without managed fields, or with few, stays one view of its memory', () => {
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

void test('only texts of a bounded length are shared, and few that were seen once are remembered', () => {
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

void test('records keep their bytes and readers their views while others are released', () => {
  const random = new SeededRandom(11)
  const own = new RecordSlabs()
  const fields = `"f:${'z'.repeat(90)}":{}`
  const live: Packed[] = []
  const views: { readonly view: Uint8Array; readonly bytes: Buffer }[] = []
  let moved = 0
  for (let step = 0; step < 20_000; step++) {
    const owners = random.chance(0.5) ? [entry(`m${random.below(40)}`, first, fields)] : []
    const record = object(`${step}${'x'.repeat(random.below(900))}`, owners)
    const made = new Packed(record)
    own.add(made, record, 0)
    live.push(made)
    if (step < 800) continue
    const at = random.below(live.length)
    const [left = made] = live.splice(at, 1)
    moved += left.slabs.length - 1
    const view = left.slab.slice(left.at, 0)
    left.slab.release(left.at)
    if (random.chance(0.02)) views.push({ view, bytes: left.before })
  }
  for (const one of live) one.check()
  for (const { view, bytes } of views) assert.ok(bytes.equals(view), 'a view of a released record')
  assert.ok(moved > 1000, `${moved} records were moved`)
  const used = new Set(live.map(({ slab }) => slab))
  const bytes = live.reduce((sum, { ownBytes }) => sum + ownBytes, 0)
  const memory = [...used].reduce((sum, slab) => sum + slab.bytes.byteLength, 0)
  assert.ok(memory < 2.1 * bytes + 256 * 1024, `${memory} bytes of slabs for ${bytes} of records`)
})

void test('a slab counts what it holds, and a record is released once', () => {
  const own = new RecordSlabs()
  const make = (bytes: number): Packed => {
    const record = Buffer.alloc(bytes, 'x')
    const made = new Packed(record)
    own.add(made, record, 0)
    return made
  }
  const [small, other] = [make(100), make(200)]
  assert.equal(small.slab, other.slab)
  const before = small.slab.usedBytes
  small.slab.release(small.at)
  assert.equal(before - small.slab.usedBytes, 112)
  assert.throws(() => small.slab.release(small.at), /a record is released once/)
  const large = make(1024 * 1024)
  assert.notEqual(large.slab, other.slab)
  assert.ok(large.slab.bytes.byteLength < 1024 * 1024 + 100, 'a large record has a slab of its own size')
  large.check()
  large.slab.release(large.at)
  assert.equal(make(100).slab, other.slab)
  other.check()
})
