/*
 * Goal: history is trimmed when it is old enough, never earlier, and by the leader only.
 * Method: manual time over a store in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeCommand } from '../../../../src/store/command-codec.ts'
import { defaultStoreLimits } from '../../../../src/store/store-limits.ts'
import { HistoryTrimmer } from '../../../../src/store/trimming.ts'
import { LocalConsensus } from '../../../../fixtures/local-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import type { MemoryStore } from '../../../../fixtures/memory-store.ts'
import { configMapKey, put, write } from '../../../../fixtures/store-kit.ts'

const limits = { ...defaultStoreLimits, trimEventsMax: 10, sessionIdleMs: 300_000 }
const settings = { historyWindowMs: 60_000, historyEventsMin: 5, objectBytesMax: 1000, storageBytesMax: null }

class Follower extends LocalConsensus {
  override get status(): LocalConsensus['status'] {
    return { ...super.status, role: 'follower' }
  }
}

async function open(
  role: 'leader' | 'follower' = 'leader',
): Promise<
  MemoryStore & { clock: ManualClock; writes: (count: number) => Promise<void>; end: () => Promise<void> }
> {
  const clock = new ManualClock()
  const opened = await openMemoryStore({ clock })
  const { machine, consensus, store } = opened
  const trimmer = new HistoryTrimmer({
    machine,
    clock,
    limits,
    consensus: role === 'leader' ? consensus : new Follower({ machine, clock }),
    onFailure: (cause) => {
      throw cause
    },
  })
  await store.write({ kind: 'change-settings', settings }, 0)
  trimmer.start()
  const writes = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left--) await store.write(write(put(configMapKey('a'), 'v')), 0)
  }
  const end = async (): Promise<void> => {
    trimmer.stop()
    await opened.close()
    assert.equal(clock.pending, 0)
  }
  return { ...opened, clock, writes, end }
}

void test('what was applied a window ago is trimmed down to the minimum number of events, also if that takes several commands', async () => {
  const { machine, clock, writes, end } = await open()
  await writes(100)
  await clock.advance(60_000)
  assert.equal(machine.state.history.trimmed, 0)
  await clock.advance(3_000)
  assert.equal(machine.state.history.trimmed, 95)
  await end()
})

void test('events younger than the window are kept', async () => {
  const { machine, clock, writes, end } = await open()
  await writes(50)
  await clock.advance(30_000)
  await writes(50)
  await clock.advance(33_000)
  assert.equal(machine.state.history.trimmed, 50)
  await clock.advance(30_000)
  assert.equal(machine.state.history.trimmed, 95)
  await end()
})

void test('a wall clock that jumps or goes back does not change ages', async () => {
  const { machine, clock, writes, end } = await open()
  await writes(50)
  await clock.advance(30_000)
  clock.jumpWall(86_400_000)
  await clock.advance(10_000)
  assert.equal(machine.state.history.trimmed, 0)
  clock.jumpWall(-172_800_000)
  await clock.advance(23_000)
  assert.equal(machine.state.history.trimmed, 45)
  await end()
})

void test('while the storage is full the minimum number of events is not kept, and space is freed by itself', async () => {
  const { machine, store, clock, writes, end } = await open()
  await store.write({ kind: 'raise-feature-level', level: 2 }, 0)
  await writes(4)
  const full = { ...settings, storageBytesMax: machine.state.usage.bytes }
  await store.write({ kind: 'change-settings', settings: full }, 0)
  await writes(1)
  assert.equal(machine.state.storageAlarm, true)
  await clock.advance(61_000)
  assert.equal(machine.state.storageAlarm, false)
  assert.equal(machine.state.history.trimmed, 4, 'fewer than the minimum of 5 events are left')
  await writes(1)
  assert.equal(machine.state.revision, 5)
  await end()
})

void test('the minimum number of events is not kept while an object of the maximum size would not fit', async () => {
  const { machine, store, clock, writes, end } = await open()
  await store.write({ kind: 'raise-feature-level', level: 2 }, 0)
  await writes(4)
  const { bytes } = machine.state.usage
  const tight = { ...settings, objectBytesMax: 4 * bytes, storageBytesMax: 5 * bytes - 1 }
  await store.write({ kind: 'change-settings', settings: tight }, 0)
  assert.equal(machine.state.storageAlarm, false)
  await clock.advance(61_000)
  assert.equal(machine.state.history.trimmed, 4, 'fewer than the minimum of 5 events are left')
  await end()
})

void test('a follower trims nothing and proposes nothing', async () => {
  const { machine, consensus, clock, writes, end } = await open('follower')
  await writes(50)
  const before = consensus.status.lastIndex
  await clock.advance(200_000)
  assert.equal(machine.state.history.trimmed, 0)
  assert.equal(consensus.status.lastIndex, before)
  await end()
})

void test('an idle cluster proposes nothing once everything is trimmed', async () => {
  const { consensus, clock, writes, end } = await open()
  await writes(20)
  await clock.advance(120_000)
  const before = consensus.status.lastIndex
  await clock.advance(600_000)
  assert.equal(consensus.status.lastIndex, before)
  await end()
})

void test('a session that is idle for long is removed', async () => {
  const { machine, clock, writes, end } = await open()
  const other = new LocalConsensus({ machine, clock, session: 99 })
  await other.propose(encodeCommand(write(put(configMapKey('b'), 'v'))))
  await clock.advance(280_000)
  await writes(1)
  assert.equal(machine.state.sessions.size, 2)
  await clock.advance(25_000)
  assert.equal(machine.state.sessions.size, 1)
  await end()
})

void test('a short history window does not shorten the time that an idle session is kept', async () => {
  const { machine, store, clock, writes, end } = await open()
  await store.write({ kind: 'change-settings', settings: { ...settings, historyWindowMs: 1_000 } }, 0)
  const other = new LocalConsensus({ machine, clock, session: 99 })
  await other.propose(encodeCommand(write(put(configMapKey('b'), 'v'))))
  await writes(10)
  await clock.advance(60_000)
  assert.ok(machine.state.history.trimmed > 0)
  // A retry may still arrive, and must find the outcome of the first attempt.
  assert.equal(machine.state.sessions.size, 2)
  await end()
})
