/*
 * Goal: readers that hold versions and their bytes never see other bytes, whatever happens to the
 * memory of the state.
 * Method: random writes, deletions and trims with a history of few events in memory, so that slabs
 * are emptied all the time; the state is twice replaced by a snapshot, and once loaded again from
 * its database. A second state machine that never packs a version is the reference.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { noSnapshot } from '../../../../raft/index.ts'
import type { EncodedObject } from '../../../../src/store/command.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import { digestOf } from '../../../../src/store/machine/digest.ts'
import { hashText } from '../../../../src/store/machine/hash.ts'
import { Machine } from '../../../../src/store/machine/machine.ts'
import type { Version } from '../../../../src/store/machine/object-version.ts'
import { emptyState } from '../../../../src/store/machine/state.ts'
import { revision } from '../../../../src/store/revision.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { smallSettings } from '../../../../fixtures/store-commands.ts'
import { configMapKey, encoded, LogWriter, ownSession, write } from '../../../../fixtures/store-kit.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { chunksOf, openMachine, tinyLimits } from '../../../support/fixtures/store-machines.ts'

const MiB = 1024 * 1024
const limits = {
  ...tinyLimits,
  historyMemoryEventsMax: 200,
  historyMemoryBytesMax: MiB,
  backlogBytesMax: 64 * MiB,
  batchBytesMax: 64 * 1024,
  snapshotFrameBytesMax: 256 * 1024,
}

/** Returns an object that may share texts with others, of a random length. */
function objectOf(random: SeededRandom): EncodedObject {
  const plain = encoded(`${random.below(1e9)}`)
  const kind = random.below(200)
  const length = kind === 0 ? 0.9 * MiB : kind < 10 ? random.below(60_000) : random.below(1500)
  const fields = `{"f:data":{"f:${'x'.repeat(70 + random.below(3))}":{}}}`
  const entry = `{"manager":"m${random.below(5)}","time":"2026-01-02T03:04:05Z","fieldsV1":${fields}}`
  const owners = random.chance(0.5) ? `,"owners":{"managedFields":[${entry},${entry}]}` : ''
  const more = Buffer.from(`${owners},"more":"${String.fromCharCode(97 + random.below(26)).repeat(length)}"}`)
  return { ...plain, bytes: Buffer.concat([plain.bytes.subarray(0, -1), more]) }
}

/** A version and its bytes as a reader holds them, and a copy of the bytes at that time. */
class Held {
  readonly #version: Version
  readonly #record: Buffer
  readonly #bytes: Uint8Array
  readonly #copy: Uint8Array
  readonly #header: number

  constructor(version: Version) {
    this.#version = version
    this.#record = Buffer.from(version.record)
    this.#bytes = version.bytes
    this.#copy = new Uint8Array(version.byteLength)
    version.copyTo(this.#copy, 0, 0)
    this.#header = version.headerBytes
  }

  check(): void {
    const version = this.#version
    assert.ok(this.#record.equals(version.record), `the record of ${version.revision}`)
    const whole = this.#record.subarray(this.#header)
    assert.ok(whole.equals(this.#bytes), `the bytes of ${version.revision}`)
    assert.ok(whole.equals(version.bytes), `the bytes of ${version.revision}, read again`)
    assert.ok(whole.equals(this.#copy), `the copied bytes of ${version.revision}`)
    assert.equal(Number(this.#record.readDoubleLE(34)), version.revision)
  }
}

void test('versions and bytes that readers hold stay the same, and so does the state', async () => {
  const random = new SeededRandom(17)
  const clock = new ManualClock()
  const databases = new MemoryKeyValueDatabases()
  const sender = await openMachine({ databases: new MemoryKeyValueDatabases(), clock, limits })
  let machine = await openMachine({ databases, clock, limits })
  let logBase = noSnapshot
  const reference = new Machine(emptyState())
  const log = new LogWriter()
  const applyAll = async (): Promise<void> => {
    for (const applied of [machine, sender]) {
      applied.apply(log.after(applied.appliedMemory), ownSession)
      applied.logPersisted(log.last)
    }
    reference.apply(log.after(reference.state.appliedIndex), ownSession)
    await clock.advance(200)
  }
  /** Replaces the state by that of the other member. */
  const install = async (): Promise<void> => {
    machine.repair('the test wants another state')
    const source = await sender.produceSnapshot(log.last)
    const sink = await machine.stageSnapshot(source.snapshot)
    for (const chunk of await chunksOf(source)) await sink.chunk(chunk)
    await sink.finish()
    await machine.installSnapshot(source.snapshot)
    logBase = source.snapshot
  }
  log.command({ kind: 'change-settings', settings: { ...smallSettings, objectBytesMax: MiB } })
  let held: Held[] = []
  for (let step = 1; step <= 3000; step++) {
    const key = configMapKey(`c${random.below(250)}`)
    const isThere = reference.state.objects.get(key) !== null
    const operation =
      isThere && random.chance(0.3)
        ? ({ kind: 'delete', key, conditions: [] } as const)
        : ({ kind: 'put', key, conditions: [], object: objectOf(random) } as const)
    log.command(write(operation))
    if (step % 40 === 0) {
      const upTo = revision(Math.max(0, reference.state.revision - random.below(400)))
      log.command({ kind: 'trim', upTo })
    }
    await applyAll()
    const { state } = machine
    const live = state.objects.get(key)
    if (live !== null && random.chance(0.2)) held.push(new Held(live))
    const inMemory = state.history.last - state.history.inMemory
    if (inMemory > 0) {
      const event = state.history.event(revision(state.history.last - random.below(inMemory)))
      assert.ok(event !== null)
      if (random.chance(0.2)) held.push(new Held(event.object as Version))
      if (event.previous !== null && random.chance(0.2)) held.push(new Held(event.previous as Version))
    }
    if (step % 300 === 0) {
      for (const one of held) one.check()
      held = held.filter(() => random.chance(0.4))
      checkSame(machine, reference)
    }
    if (step === 900 || step === 1800) await install()
    if (step === 2400) {
      await machine.close()
      machine = await openMachine({ databases, clock, limits, logBase })
      assert.equal(machine.appliedMemory, log.last)
    }
  }
  for (const one of held) one.check()
  await Promise.all([machine.close(), sender.close()])
})

void test('events that one batch brings to disk leave memory over several turns', async () => {
  const clock = new ManualClock()
  const large = { ...limits, historyMemoryBytesMax: 64 * MiB, batchBytesMax: 64 * MiB }
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock, limits: large })
  const log = new LogWriter()
  const turns: number[] = []
  const soon = clock.soon.bind(clock)
  clock.soon = (action) => {
    soon(() => {
      const before = machine.state.history.inMemory
      action()
      const dropped = machine.state.history.inMemory - before
      if (dropped > 0) turns.push(dropped)
    })
  }
  for (let step = 0; step < 10_000; step++) {
    log.command(write({ kind: 'put', key: configMapKey('c'), conditions: [], object: encoded(`${step}`) }))
  }
  machine.apply(log.after(machine.appliedMemory), ownSession)
  machine.logPersisted(log.last)
  await machine.flushed()
  await clock.settle()
  const { history } = machine.state
  assert.equal(history.last - history.inMemory, limits.historyMemoryEventsMax)
  assert.ok(turns.length >= 2 && Math.max(...turns) <= 4096, turns.join(' '))
  await machine.close()
})

/** Compares all objects, and the events that both have in memory. */
function checkSame(machine: StoreMachine, reference: Machine): void {
  const { objects, history } = machine.state
  assert.equal(machine.digest, hashText(digestOf(reference.state)))
  const [shown, expected] = [objects, reference.state.objects].map(
    (table) => table.list('', null, null).objects,
  )
  assert.equal(shown?.length, expected?.length)
  for (const [at, object] of (expected ?? []).entries()) {
    assert.ok(Buffer.from(object.bytes).equals(shown?.[at]?.bytes ?? Buffer.alloc(0)), object.key)
  }
  for (let at = history.inMemory + 1; at <= history.last; at++) {
    const [event, other] = [history.event(revision(at)), reference.state.history.event(revision(at))]
    assert.ok(event !== null && other !== null)
    assert.ok(Buffer.from(event.object.bytes).equals(other.object.bytes), `event ${at}`)
    assert.equal(event.kind, other.kind)
    assert.equal(event.previous?.revision, other.previous?.revision)
  }
}
