/*
 * Goal: a quarantined state is never trusted again, whenever the process ends during the
 * quarantine.
 * Method: databases that record what another process would find before and after each step; a start
 * from each of these.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, noSnapshot } from '../../../../raft/index.ts'
import type { KeyValueDatabases } from '../../../../src/store/disk/key-value-store.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import {
  applyUpTo,
  chunksOf,
  digestsOf,
  openMachine,
  randomLog,
} from '../../../support/fixtures/store-machines.ts'

const log = randomLog(53, 300)
const digests = digestsOf(log)
const cut = { ...noSnapshot, index: logIndex(50) }

type Moment = { readonly step: string; readonly databases: MemoryKeyValueDatabases }

/** Records the databases around every step that changes what a later process finds. */
function recorded(memory: MemoryKeyValueDatabases, moments: Moment[]): KeyValueDatabases {
  const around = async <T>(step: string, act: () => Promise<T>): Promise<T> => {
    moments.push({ step: `before ${step}`, databases: memory.clone() })
    const result = await act()
    moments.push({ step: `after ${step}`, databases: memory.clone() })
    return result
  }
  return {
    list: () => memory.list(),
    destroy: (name) => memory.destroy(name),
    markQuarantined: (name, reason) => around('the mark', () => memory.markQuarantined(name, reason)),
    quarantineMarks: () => memory.quarantineMarks(),
    // A database on disk is renamed first, and then its mark is removed.
    quarantine: (name) =>
      around('moving the database', async () => {
        const left = memory.clone()
        await left.destroy(name)
        moments.push({ step: 'between renaming and the removal of the mark', databases: left })
        await memory.quarantine(name)
      }),
    discardQuarantined: () => memory.discardQuarantined(),
    open: async (name) => {
      const store = await memory.open(name)
      return {
        getMany: (keys) => store.getMany(keys),
        snapshot: () => store.snapshot(),
        compact: () => store.compact(),
        write: (changes) => around('a batch', () => store.write(changes)),
        close: () => around('closing', () => store.close()),
      }
    },
  }
}

void test('from the mark on, every start quarantines the state', async () => {
  const moments: Moment[] = []
  const clock = new ManualClock()
  const machine = await openMachine({ databases: recorded(new MemoryKeyValueDatabases(), moments), clock })
  applyUpTo(machine, log, 200)
  await machine.flushed()
  moments.length = 0
  machine.enterQuarantine('a reason to remember')
  await clock.settle()
  const steps = moments.map(({ step }) => step)
  assert.deepEqual(steps, [
    ...['before the mark', 'after the mark', 'before closing', 'after closing', 'before moving the database'],
    ...['between renaming and the removal of the mark', 'after moving the database'],
  ])
  for (const { step, databases } of moments.slice(1)) {
    const next = await openMachine({ databases: databases.clone(), clock, logBase: cut })
    const expected =
      step === 'after moving the database' ? /there is no database/ : /db-0 .*a reason to remember/
    assert.match(next.quarantine?.reason ?? '', expected, step)
    await next.close()
    const again = await openMachine({ databases: databases.clone(), clock })
    assert.deepEqual([again.quarantine, again.appliedMemory], [null, 0], `${step}: the log restores it`)
    await again.close()
    if (step === 'after moving the database') assert.deepEqual(await databases.quarantineMarks(), new Map())
  }
  await machine.close()
})

void test('a mark applies to its database only: the next one of that name is trusted', async () => {
  const [databases, clock] = [new MemoryKeyValueDatabases(), new ManualClock()]
  await databases.markQuarantined('db-200', 'test')
  const machine = await openMachine({ databases, clock, logBase: cut })
  assert.match(machine.quarantine?.reason ?? '', /db-200 was quarantined/)
  const snapshot = await copyTo(machine, await donor(200))
  await machine.close()
  const next = await openMachine({ databases, clock, logBase: snapshot })
  assert.deepEqual([next.quarantine, next.digest], [null, digests[200]])
  await next.close()
})

void test('a state is quarantined even if the disk refuses the mark', async () => {
  const [memory, clock] = [new MemoryKeyValueDatabases(), new ManualClock()]
  const databases: KeyValueDatabases = {
    ...recorded(memory, []),
    markQuarantined: () => Promise.reject(new Error('the disk is full')),
  }
  const machine = await openMachine({ databases, clock })
  applyUpTo(machine, log, 100)
  await machine.flushed()
  machine.enterQuarantine('test')
  await clock.settle()
  assert.deepEqual(await memory.list(), [])
  await machine.close()
})

async function donor(index: number): Promise<StoreMachine> {
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: new ManualClock() })
  applyUpTo(machine, log, index)
  return machine
}

async function copyTo(receiver: StoreMachine, from: StoreMachine) {
  const source = await from.produceSnapshot(from.appliedMemory)
  const chunks = await chunksOf(source)
  const sink = await receiver.stageSnapshot(source.snapshot)
  for (const chunk of chunks) await sink.chunk(chunk)
  await sink.finish()
  await receiver.installSnapshot(source.snapshot)
  return source.snapshot
}
