/*
 * Goal: a state that was condemned is never trusted again, in whatever moment the process ends while it goes aside; and
 * whom a state was copied from is known as long as the state is there and not proven.
 * Method: a home that keeps what another process would find before and after each of its steps; each of these is started
 * from. Copies from machine to machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, noSnapshot } from '../../../../raft/index.ts'
import { protocolNewest } from '../../../../raft/transport/protocol-version.ts'
import type { KeyValueHome } from '../../../../src/store/disk/key-value-store.ts'
import { MemoryKeyValueHome } from '../../../../src/store/disk/memory-key-value-store.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { applyUpTo, chunksOf, digestsOf, openMachine, randomLog } from '../../../support/store-machines.ts'

const log = randomLog(53, 300)
const digests = digestsOf(log)
const cut = { ...noSnapshot, index: logIndex(50) }

type Moment = { readonly step: string; readonly home: MemoryKeyValueHome }

/** A home that keeps a picture of itself around every step that changes what a later process finds. */
function pictured(memory: MemoryKeyValueHome, moments: Moment[]): KeyValueHome {
  const around = async <T>(step: string, act: () => Promise<T>): Promise<T> => {
    moments.push({ step: `before ${step}`, home: memory.clone() })
    const result = await act()
    moments.push({ step: `after ${step}`, home: memory.clone() })
    return result
  }
  return {
    list: () => memory.list(),
    destroy: (name) => memory.destroy(name),
    condemn: (name, reason) => around('the note', () => memory.condemn(name, reason)),
    condemned: () => memory.condemned(),
    // A real one renames first and removes the note then.
    setAside: (name) =>
      around('going aside', async () => {
        const left = memory.clone()
        await left.destroy(name)
        moments.push({ step: 'between renaming and the end of the note', home: left })
        await memory.setAside(name)
      }),
    discardAside: () => memory.discardAside(),
    open: async (name) => {
      const store = await memory.open(name)
      return {
        getMany: (keys) => store.getMany(keys),
        snapshot: () => store.snapshot(),
        write: (changes) => around('a batch', () => store.write(changes)),
        close: () => around('closing', () => store.close()),
      }
    },
  }
}

void test('from the note on, every start knows that the state was condemned', async () => {
  const moments: Moment[] = []
  const clock = new ManualClock()
  const machine = await openMachine({ home: pictured(new MemoryKeyValueHome(), moments), clock })
  applyUpTo(machine, log, 200)
  await machine.flushed()
  moments.length = 0
  machine.condemn('a reason to remember')
  await clock.settle()
  const steps = moments.map(({ step }) => step)
  assert.deepEqual(steps, [
    ...['before the note', 'after the note', 'before closing', 'after closing', 'before going aside'],
    ...['between renaming and the end of the note', 'after going aside'],
  ])
  for (const { step, home } of moments.slice(1)) {
    const next = await openMachine({ home: home.clone(), clock, logBase: cut })
    const expected = step === 'after going aside' ? /there is no database/ : /db-0 .*a reason to remember/
    assert.match(next.quarantine?.reason ?? '', expected, step)
    await next.close()
    const again = await openMachine({ home: home.clone(), clock })
    assert.deepEqual([again.quarantine, again.appliedMemory], [null, 0], `${step}: the log makes it anew`)
    await again.close()
    assert.deepEqual(
      await home.condemned(),
      step === 'after going aside' ? new Map() : await home.condemned(),
    )
  }
  await machine.close()
})

void test('a note stays with its database: the next one of that name is trusted', async () => {
  const [home, clock] = [new MemoryKeyValueHome(), new ManualClock()]
  await home.condemn('db-200', 'test')
  const machine = await openMachine({ home, clock, logBase: cut })
  assert.match(machine.quarantine?.reason ?? '', /db-200 was condemned/)
  const snapshot = await copyTo(machine, await donor(200))
  await machine.close()
  const next = await openMachine({ home, clock, logBase: snapshot })
  assert.deepEqual([next.quarantine, next.digest], [null, digests[200]])
  await next.close()
})

void test('a disk that takes no note still has the state set aside', async () => {
  const [memory, clock] = [new MemoryKeyValueHome(), new ManualClock()]
  const home: KeyValueHome = Object.assign(pictured(memory, []), {
    condemn: () => Promise.reject(new Error('no room')),
  })
  const machine = await openMachine({ home, clock })
  applyUpTo(machine, log, 100)
  await machine.flushed()
  machine.condemn('test')
  await clock.settle()
  assert.deepEqual(await memory.list(), [])
  await machine.close()
})

/** A member that made its state itself, and what of it others confirmed. */
async function donor(index: number, { id = 1, proven = 0 } = {}): Promise<StoreMachine> {
  const clock = new ManualClock()
  const machine = await openMachine({ home: new MemoryKeyValueHome(), clock, self: nodeId(id) })
  applyUpTo(machine, log, index)
  if (proven > 0) machine.proven(logIndex(proven))
  return machine
}

async function copyTo(receiver: StoreMachine, from: StoreMachine) {
  const source = await from.produceSnapshot(from.appliedMemory, protocolNewest)
  const chunks = await chunksOf(source)
  const sink = await receiver.stageSnapshot(source.snapshot)
  for (const chunk of chunks) await sink.chunk(chunk)
  await sink.finish()
  await receiver.installSnapshot(source.snapshot)
  return source.snapshot
}

void test('a copy knows whom it was copied from, across restarts, and whom that one had copied', async () => {
  const [home, clock] = [new MemoryKeyValueHome(), new ManualClock()]
  const open = (logBase = noSnapshot): Promise<StoreMachine> =>
    openMachine({ home, clock, logBase, self: nodeId(2) })
  const first = await open()
  const original = await donor(200, { proven: 150 })
  const snapshot = await copyTo(first, original)
  const descent = [{ by: 1, after: 150, upTo: 200 }]
  assert.deepEqual(first.descent, descent)
  await first.close()
  const again = await open(snapshot)
  assert.deepEqual(again.descent, descent)
  applyUpTo(again, log, 250)
  const third = await donor(0, { id: 3 })
  await copyTo(third, again)
  assert.deepEqual(third.descent, [...descent, { by: 2, after: 200, upTo: 250 }])
  again.proven(logIndex(240))
  assert.deepEqual(again.descent, [])
  const fourth = await donor(0, { id: 4 })
  await copyTo(fourth, again)
  assert.deepEqual(fourth.descent, [{ by: 2, after: 240, upTo: 250 }])
  await again.close()
  const proven = await open(snapshot)
  assert.deepEqual(proven.descent, [], 'what was proven is so after a restart')
  for (const machine of [original, third, fourth, proven]) await machine.close()
})

void test('what was proven as far as the copy goes leaves nothing to tell; a condemned state takes its descent along', async () => {
  const receiver = await donor(0, { id: 2 })
  await copyTo(receiver, await donor(200, { proven: 200 }))
  assert.deepEqual(receiver.descent, [])
  const other = await donor(0, { id: 3 })
  await copyTo(other, await donor(200))
  assert.equal(other.descent.length, 1)
  other.condemn('test')
  assert.deepEqual(other.descent, [])
  await copyTo(other, await donor(210, { proven: 210 }))
  assert.deepEqual(other.descent, [])
  for (const machine of [receiver, other]) await machine.close()
})
