/*
 * Goal: memory holds the texts of managed fields once for all objects that have them, readers get
 * every byte as it was written, and memory of released records is used again.
 * Method: records of objects, random bytes with the same marks in wrong places, and random
 * additions and releases.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { SeededRandom } from '../../../../../base/random.ts'
import { RecordSlabs } from '../../../../../src/store/machine/record-slabs.ts'
import { sharedTextsIn } from '../../../../../src/store/machine/shared-texts-of-record.ts'
import type { SharedText } from '../../../../../src/store/machine/shared-texts.ts'
import type { Slab } from '../../../../../src/store/machine/slab.ts'
import { SharedTexts } from '../../../../../src/store/machine/shared-texts.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

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
  /** The record that a release returns for readers. */
  #released: Buffer | null = null
  /** Slabs that it was in, the last one now. */
  readonly slabs: Slab[] = []
  at = 0
  /** How often a record was moved from one slab to another. */
  static moves = 0
  static movedBytes = 0

  constructor(record: Buffer) {
    this.before = Buffer.from(record)
  }

  movedTo(slab: Slab, at: number): void {
    this.at = at
    if (this.slabs.push(slab) === 1) return
    Packed.moves++
    Packed.movedBytes += this.before.byteLength
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

  release(own: RecordSlabs): void {
    this.#released = own.release(this.slab, this.at)
  }

  check(): void {
    const { slab, at, before } = this
    if (this.#released !== null) {
      assert.ok(before.equals(this.#released), 'released')
      return
    }
    assert.equal(this.byteLength, before.byteLength)
    for (const from of [0, 3, 6]) {
      assert.ok(before.subarray(from).equals(slab.slice(at, from)), `from ${from}`)
      const copy = Buffer.alloc(this.byteLength - from)
      assert.equal(slab.copyTo(copy, 0, { at, from }), copy.byteLength)
      assert.ok(before.subarray(from).equals(copy), `copied from ${from}`)
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

/** Returns the bytes of the slabs of the records. */
function memoryOf(records: Iterable<Packed>): number {
  const used = new Set([...records].map(({ slab }) => slab))
  return [...used].reduce((sum, { bytes }) => sum + bytes.byteLength, 0)
}

function bytesOf(records: Iterable<Packed>): number {
  return [...records].reduce((sum, { byteLength }) => sum + byteLength, 0)
}

void test('records keep their bytes and readers theirs while others are released', () => {
  const random = new SeededRandom(11)
  const own = new RecordSlabs()
  const fields = `"f:${'z'.repeat(90)}":{}`
  const live: Packed[] = []
  const views: { readonly view: Uint8Array; readonly bytes: Buffer }[] = []
  let moved = 0
  for (let step = 0; step < 10_000; step++) {
    const owners = random.chance(0.5) ? [entry(`m${random.below(40)}`, first, fields)] : []
    const length = random.chance(0.01) ? random.below(60_000) : random.below(900)
    const made = new Packed(object(`${step}${'x'.repeat(length)}`, owners))
    own.add(made, made.before, 0)
    live.push(made)
    if (step < 800) continue
    const at = random.below(live.length)
    const [left = made] = live.splice(at, 1)
    moved += left.slabs.length - 1
    if (random.chance(0.02)) {
      views.push({ view: left.slab.slice(left.at, 0), bytes: left.before })
      const view = left.slab.beginning(left.at, 0)
      views.push({ view, bytes: left.before.subarray(0, view.byteLength) })
    }
    left.release(own)
    if (random.chance(0.1)) left.check()
  }
  for (const one of live) one.check()
  for (const { view, bytes } of views) assert.ok(bytes.equals(view), 'a view of a released record')
  assert.ok(moved > 1000, `${moved} records were moved`)
  const [memory, bytes] = [memoryOf(live), bytesOf(live)]
  assert.ok(memory < 1.8 * bytes + 256 * 1024, `${memory} bytes of slabs for ${bytes} of records`)
})

void test('a reader keeps the bytes that it has, not a slab', () => {
  const own = new RecordSlabs()
  for (const [length, isView] of [
    [1000, false],
    [30_000, false],
    [50_000, true],
    [3 * 1024 * 1024, true],
  ] as const) {
    const made = new Packed(Buffer.alloc(length, 'x'))
    own.add(made, made.before, 0)
    const ofSlab = made.slab.bytes.buffer
    assert.equal(made.slab.slice(made.at, 3).buffer === ofSlab, isView, `${length} bytes`)
    made.check()
    assert.equal(own.release(made.slab, made.at).buffer === ofSlab, isView, `${length} bytes, released`)
  }
})

void test('a release copies few records, even if all slabs become sparse at the same time', () => {
  const own = new RecordSlabs()
  const bySlab = new Map<Slab, Packed[]>()
  for (let number = 0; number < 15_000; number++) {
    const made = new Packed(Buffer.alloc(1000, String(number)))
    own.add(made, made.before, 0)
    bySlab.set(made.slab, [...(bySlab.get(made.slab) ?? []), made])
  }
  const live = new Set([...bySlab.values()].flat())
  let copied = 0
  const release = (one: Packed | undefined): void => {
    if (one === undefined) return
    const before = Packed.moves
    one.release(own)
    live.delete(one)
    assert.ok(Packed.moves - before <= 3, `a release moved ${Packed.moves - before} records`)
    copied += Packed.moves - before
  }
  const halves = [...bySlab].filter(([slab]) => slab.freeBytes < 1000)
  for (const [slab, records] of halves) {
    while (slab.usedBytes - 1012 >= 0.6 * slab.bytes.byteLength) release(records.pop())
  }
  assert.equal(copied, 0, 'no slab is sparse')
  for (const [, records] of halves) release(records.pop())
  const sparse = halves.filter(([slab]) => slab.usedBytes > 0 && slab.usedBytes < 0.6 * slab.bytes.byteLength)
  assert.ok(sparse.length > 50, `${sparse.length} slabs are sparse`)
  for (let at = 0; live.size > 1000; at = (at + 1) % halves.length) {
    release(halves[at]?.[1].pop())
    if (at > 0) continue
    const [memory, bytes] = [memoryOf(live), bytesOf(live)]
    assert.ok(memory < 1.8 * bytes + 256 * 1024, `${memory} bytes of slabs for ${bytes} of records`)
  }
  assert.ok(copied < 30_000, `${copied} records were copied`)
  for (const one of live) one.check()
})

void test('a text leaves memory with the last record in use that has it', async () => {
  const own = new RecordSlabs()
  const list = `{"managedFields":[${entry('m', first, `"f:${'t'.repeat(3000)}":{}`)}]}`
  const add = (text: string): Packed => {
    const made = new Packed(Buffer.from(`header${text}`))
    own.add(made, made.before, 0)
    return made
  }
  const neighbour = add('y'.repeat(900))
  const [whole, shared, other] = [add(list), add(list), add(list)]
  assert.ok(shared.ownBytes < 300 && whole.ownBytes > 3000)
  const text = textOf(shared)
  for (const one of [whole, shared]) one.release(own)
  await collected()
  assert.notEqual(text.deref(), undefined, 'a record in use has it')
  other.release(own)
  for (const one of [neighbour, whole, shared, other]) one.check()
  await collected()
  assert.equal(text.deref(), undefined)
})

/** Returns the longest text that a record shares with others. */
function textOf({ before }: Packed): WeakRef<SharedText> {
  const texts = sharedTextsIn(before, 0).map(({ shared }) => shared)
  const [longest] = texts.toSorted((a, b) => b.bytes.byteLength - a.bytes.byteLength)
  return new WeakRef(longest ?? assert.fail('a text is shared'))
}

async function collected(): Promise<void> {
  for (let times = 0; times < 5; times++) {
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
  }
}

void test('a release of a small record copies about twice its bytes over time, even if others are large', () => {
  const own = new RecordSlabs()
  const add = (bytes: number): Packed => {
    const made = new Packed(Buffer.alloc(bytes, 'x'))
    own.add(made, made.before, 0)
    return made
  }
  // Each slab is full. Without three of the large records, 69 % of it is in use.
  const filled = Array.from({ length: 20 }, () => ({
    large: Array.from({ length: 8 }, () => add(25_000)),
    small: Array.from({ length: 500 }, () => add(100)),
  }))
  for (const { large } of filled) for (const one of large.splice(0, 3)) one.release(own)
  const begin = Packed.movedBytes
  let released = 0
  for (let at = 0; at < 400; at++) {
    for (const { small } of filled) {
      small[at]?.release(own)
      if (Packed.movedBytes > begin) released += 100 + 12 + 64
      const copied = Packed.movedBytes - begin
      assert.ok(copied <= 2 * released + 26_000, `${copied} bytes copied for ${released}`)
    }
  }
  assert.ok(Packed.movedBytes - begin > 500_000, 'large records were copied')
  for (const { large } of filled) for (const one of large) one.check()
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
  small.release(own)
  assert.equal(before - small.slab.usedBytes, 112)
  assert.throws(() => small.release(own), /a record is released once/)
  const large = make(1024 * 1024)
  assert.notEqual(large.slab, other.slab)
  assert.ok(large.slab.bytes.byteLength < 1024 * 1024 + 100, 'a large record has a slab of its own size')
  large.check()
  large.release(own)
  assert.equal(make(100).slab, other.slab)
  other.check()
})
