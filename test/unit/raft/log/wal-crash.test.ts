/*
 * Goal: everything acknowledged as durable is present after any crash, and an interrupted write is
 * present completely or not at all.
 * Method: random operations on a simulated disk that loses unsynced writes, with a crash at a
 * random step of most operations and at each step of half the recoveries; a log in memory is the
 * reference.
 *
 * A failure prints its seed; `SEED=<n> node --test dist/test/unit/raft/log/wal-crash.test.js`
 * repeats it alone.
 */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { LogError } from '../../../../raft/log/errors.ts'
import { MemoryLog } from '../../../../raft/log/memory-log.ts'
import type { Wal } from '../../../../raft/log/wal.ts'
import { SimulatedCrash, SimulatedDisk } from '../../../simulation/disk.ts'
import { drawOperation, modelState, openTinyWal, perform, stateOf } from './random-log.ts'
import type { LogOperation } from './random-log.ts'

function forSeeds(count: number, body: (seed: number) => void): void {
  const only = process.env['SEED']
  const seeds = only === undefined ? Array.from({ length: count }, (_, at) => at + 1) : [Number(only)]
  for (const seed of seeds) {
    try {
      body(seed)
    } catch (cause) {
      throw new Error(`SEED=${seed} repeats this`, { cause })
    }
  }
}

void test('without interruptions the log on disk and the log in memory agree after every restart', () => {
  forSeeds(60, (seed) => {
    const random = new SeededRandom(seed)
    const disk = new SimulatedDisk(random.fork())
    const model = new MemoryLog()
    let wal = openTinyWal(disk)
    for (let step = 0; step < 40; step++) {
      const operation = drawOperation(random, model)
      perform(wal, operation)
      perform(model, operation)
      if (random.chance(0.3)) wal.prepare()
      if (random.chance(0.3)) {
        wal.close()
        if (random.chance(0.5)) disk.crash()
        wal = openTinyWal(disk)
        assert.equal(wal.recovered.repaired, null)
        assert.deepEqual(stateOf(wal), modelState(model))
      }
    }
    assert.ok(disk.list().length <= 40)
  })
})

/** Runs until the disk crashes the process. @returns the result, or null after a crash */
function untilCrash<T>(action: () => T): T | null {
  try {
    return action()
  } catch (cause) {
    if (cause instanceof SimulatedCrash) return null
    throw cause
  }
}

/** Opens again after a crash; half the time after crashing at every step of the recovery itself. */
function recoverThroughCrashes(disk: SimulatedDisk, random: SeededRandom): Wal {
  for (let step = random.chance(0.5) ? 0 : 1000; ; step++) {
    if (random.chance(0.5)) disk.crash()
    else disk.kill()
    disk.crashAfter(step)
    const wal = untilCrash(() => openTinyWal(disk))
    if (wal !== null) {
      disk.heal()
      return wal
    }
  }
}

void test('after a crash at any step of any operation everything acknowledged is present, and no write is partial', () => {
  let crashes = 0
  let repairs = 0
  forSeeds(60, (seed) => {
    const random = new SeededRandom(seed)
    const disk = new SimulatedDisk(random.fork())
    let model = new MemoryLog()
    const done: LogOperation[] = []
    let wal = openTinyWal(disk)
    for (let count = 0; count < 25; count++) {
      const operation = drawOperation(random, model)
      const before = modelState(model)
      disk.crashAfter(random.below(12))
      let promised = false
      const ended =
        untilCrash(() => {
          perform(wal, operation)
          promised = true
          if (random.chance(0.5)) wal.prepare()
          return wal
        }) === null
      perform(model, operation)
      disk.heal()
      if (!ended) {
        done.push(operation)
        continue
      }
      crashes++
      wal = recoverThroughCrashes(disk, random)
      if (wal.recovered.repaired !== null) repairs++
      const found = stateOf(wal)
      if (promised || isDeepStrictEqual(found, modelState(model))) {
        assert.deepEqual(found, modelState(model))
        done.push(operation)
      } else assert.deepEqual(found, before)
      model = new MemoryLog()
      for (const one of done) perform(model, one)
    }
  })
  assert.ok(process.env['SEED'] !== undefined || (crashes > 300 && repairs > 20), `${crashes}, ${repairs}`)
})

void test('the first segment may be interrupted too', () => {
  forSeeds(40, (seed) => {
    const random = new SeededRandom(seed)
    const disk = new SimulatedDisk(random.fork())
    disk.crashAfter(random.below(5))
    untilCrash(() => openTinyWal(disk))
    disk.crash()
    const wal = openTinyWal(disk)
    assert.deepEqual(stateOf(wal), modelState(new MemoryLog()))
  })
})

void test('after a failed sync or write the log is dead, and after a restart it has everything acknowledged', () => {
  forSeeds(60, (seed) => {
    const random = new SeededRandom(seed)
    const disk = new SimulatedDisk(random.fork())
    const model = new MemoryLog()
    const wal = openTinyWal(disk)
    for (let count = 0; count < 10; count++) {
      const operation = drawOperation(random, model)
      perform(wal, operation)
      perform(model, operation)
    }
    const before = modelState(model)
    const operation = drawOperation(random, model)
    const action = random.pick(['write', 'sync'] as const)
    const code = random.pick(['disk-full', 'io'] as const)
    disk.fail(action, code)
    const failsWith = (expected: string): void => {
      assert.throws(
        () => perform(wal, operation),
        (cause) => cause instanceof LogError && cause.code === expected && !cause.message.includes('\n'),
      )
    }
    failsWith(code)
    disk.heal()
    failsWith('dead')
    failsWith('dead')
    wal.close()
    if (random.chance(0.5)) disk.crash()
    const again = openTinyWal(disk)
    perform(model, operation)
    const found = stateOf(again)
    if (!isDeepStrictEqual(found, modelState(model))) assert.deepEqual(found, before)
  })
})

void test('a failed write that was found complete is made durable before it is used', () => {
  const disk = new SimulatedDisk(new SeededRandom(5))
  const random = new SeededRandom(6)
  const model = new MemoryLog()
  const wal = openTinyWal(disk)
  const operation = drawOperation(random, model)
  disk.fail('sync', 'io')
  assert.throws(() => perform(wal, operation), LogError)
  perform(model, operation)
  disk.kill()
  assert.deepEqual(stateOf(openTinyWal(disk)), modelState(model))
  disk.crash()
  assert.deepEqual(stateOf(openTinyWal(disk)), modelState(model))
})
