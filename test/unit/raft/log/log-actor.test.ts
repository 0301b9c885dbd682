/*
 * Goal: the log actor answers every message, groups writes that arrived together, and reports a
 * failure once.
 * Method: an actor on a log in memory (or on a failing simulated disk) with direct channels.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '../../../../base/clock.ts'
import { SeededRandom } from '../../../../base/random.ts'
import { logIndex } from '../../../../raft/core/types.ts'
import { LogActor } from '../../../../raft/log/log-actor.ts'
import type {
  ApiToLog,
  LogFailed,
  LogToApi,
  LogToRaft,
  RaftToLog,
} from '../../../../raft/log/log-protocol.ts'
import { MemoryLog } from '../../../../raft/log/memory-log.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import { directChannel } from '../../../../raft/threads/direct-channel.ts'
import type { Channel, LogStore, LogWrite } from '../../../../raft/ports.ts'
import { command, commands, contents, hard, meta, write } from '../../../conformance/log-store.ts'
import { SimulatedDisk } from '../../../simulation/disk.ts'

const stillClock: Clock = {
  monotonicMs: () => 5,
  wallMs: () => 0,
  after: () => ({ cancel: () => undefined }),
  every: () => ({ cancel: () => undefined }),
  soon: queueMicrotask,
}

const size = { segments: 1, bytes: 4096 }

class Bench {
  readonly raft: Channel<RaftToLog, LogToRaft>
  readonly api: Channel<ApiToLog, LogToApi>
  readonly toRaft: LogToRaft[] = []
  readonly toApi: LogToApi[] = []
  readonly failures: LogFailed[] = []
  prepared = 0

  constructor(store: LogStore) {
    const [raft, logRaft] = directChannel<RaftToLog, LogToRaft>()
    const [api, logApi] = directChannel<ApiToLog, LogToApi>()
    this.raft = raft
    this.api = api
    raft.onMessages((messages) => this.toRaft.push(...messages))
    api.onMessages((messages) => this.toApi.push(...messages))
    new LogActor({
      store,
      raft: logRaft,
      api: logApi,
      clock: stillClock,
      refuse: () => null,
      prepare: () => this.prepared++,
      measure: () => size,
      onFailed: (failed) => this.failures.push(failed),
    }).start()
  }

  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
  }
}

class CountingLog extends MemoryLog {
  readonly groups: number[] = []

  override append(writes: readonly LogWrite[]): void {
    this.groups.push(writes.length)
    super.append(writes)
  }
}

const asMessage = (ticket: number, one: LogWrite): RaftToLog => ({ kind: 'write', ticket, ...one })

void test('the first message contains the recovered log', async () => {
  const bench = new Bench(new MemoryLog())
  await bench.settle()
  assert.deepEqual(bench.toRaft, [{ kind: 'opened', recovered: new MemoryLog().recovered }])
})

void test('writes of one turn are one group, acknowledged by the last ticket', async () => {
  const store = new CountingLog()
  const bench = new Bench(store)
  bench.raft.post(asMessage(1, write(commands(1, 3, 1))))
  bench.raft.post(asMessage(2, write([], hard(1, 1, 2))))
  bench.raft.post(asMessage(3, write(commands(4, 5, 1))))
  await bench.settle()
  bench.raft.post(asMessage(4, write(commands(6, 6, 1))))
  await bench.settle()
  assert.deepEqual(store.groups, [3, 1])
  assert.deepEqual(bench.toRaft.slice(1), [
    { kind: 'persisted', ticket: 3, syncMs: 0, writes: 3, size },
    { kind: 'persisted', ticket: 4, syncMs: 0, writes: 1, size },
  ])
  assert.equal(bench.prepared, 3)
})

void test('messages are handled in order', async () => {
  const store = new CountingLog()
  const bench = new Bench(store)
  bench.raft.post(asMessage(1, write(commands(1, 5, 1))))
  bench.raft.post({ kind: 'fetch', id: 7, from: logIndex(4), bytesMax: 1000 })
  bench.raft.post({ kind: 'compact', base: meta(4, 1, 1) })
  bench.raft.post(asMessage(2, write(commands(6, 6, 1))))
  bench.raft.post({ kind: 'fetch', id: 8, from: logIndex(4), bytesMax: 1000 })
  bench.raft.post({ kind: 'fetch', id: 9, from: logIndex(7), bytesMax: 1000 })
  await bench.settle()
  assert.deepEqual(store.groups, [1, 1])
  assert.deepEqual(bench.toRaft.slice(1), [
    { kind: 'persisted', ticket: 1, syncMs: 0, writes: 1, size },
    { kind: 'fetched', id: 7, entries: commands(4, 5, 1) },
    { kind: 'compacted', index: 4 },
    { kind: 'persisted', ticket: 2, syncMs: 0, writes: 1, size },
    { kind: 'fetch-refused', id: 8, reason: 'compacted' },
    { kind: 'fetch-refused', id: 9, reason: 'missing' },
  ])
})

void test('after a trim no file has the bytes of a compacted entry, and a restart finds the rest', async () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const bench = new Bench(Wal.open({ disk, random: new SeededRandom(2) }))
  const found = (text: string): readonly string[] =>
    disk.list().filter((name) => Buffer.from(disk.contents(name)).includes(text))
  bench.raft.post(asMessage(1, write([command(1, 1, 'first secret'), command(2, 1, 'second secret')])))
  bench.raft.post(asMessage(2, write([command(3, 1, 'a later one')], hard(1, 1, 2))))
  bench.raft.post({ kind: 'compact', base: meta(2, 1, 1) })
  await bench.settle()
  assert.equal(found('first secret').length, 1, 'a compaction alone leaves the bytes in the file')
  bench.raft.post({ kind: 'trim', request: 7, through: logIndex(2) })
  bench.raft.post(asMessage(3, write([command(4, 1, 'the last one')])))
  await bench.settle()
  assert.deepEqual(bench.toRaft.at(-2), { kind: 'trimmed', request: 7, isDone: true })
  for (const text of ['first secret', 'second secret']) assert.deepEqual(found(text), [])
  assert.equal(found('a later one').length, 1)
  bench.raft.post({ kind: 'stop' })
  await bench.settle()
  const again = Wal.open({ disk, random: new SeededRandom(2) })
  assert.deepEqual(contents(again), [command(3, 1, 'a later one'), command(4, 1, 'the last one')])
  assert.deepEqual([again.recovered.base.index, again.recovered.hardState], [2, hard(1, 1, 2)])
})

void test('a log that always has too much to rewrite is trimmed once it is compacted beyond what it had', async () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const bench = new Bench(Wal.open({ disk, random: new SeededRandom(2) }))
  const found = (text: string): number =>
    disk.list().filter((name) => Buffer.from(disk.contents(name)).includes(text)).length
  const trim = async (through: number): Promise<unknown> => {
    bench.raft.post({ kind: 'trim', request: through, through: logIndex(through) })
    await bench.settle()
    return bench.toRaft.at(-1)
  }
  let last = 0
  // Six entries, together more than is rewritten.
  const load = async (first: string): Promise<void> => {
    const texts = [first, ...Array.from({ length: 5 }, () => 'x'.repeat(2 * 1024 * 1024))]
    bench.raft.post(asMessage(last, write(texts.map((text) => command(++last, 1, text)))))
    await bench.settle()
  }
  await load('first secret')
  assert.deepEqual(await trim(1), { kind: 'trimmed', request: 1, isDone: false })
  await load('nothing')
  bench.raft.post({ kind: 'compact', base: meta(2, 1, 1) })
  assert.deepEqual(await trim(1), { kind: 'trimmed', request: 1, isDone: false })
  bench.raft.post({ kind: 'compact', base: meta(6, 1, 1) })
  assert.deepEqual(await trim(1), { kind: 'trimmed', request: 1, isDone: true })
  assert.equal(found('first secret'), 0)

  await load('second secret')
  bench.raft.post({ kind: 'compact', base: meta(13, 1, 1) })
  assert.deepEqual(await trim(13), { kind: 'trimmed', request: 13, isDone: false }, 'written after the first')
  assert.equal(found('second secret'), 1)
  await load('nothing')
  bench.raft.post({ kind: 'compact', base: meta(18, 1, 1) })
  assert.deepEqual(await trim(13), { kind: 'trimmed', request: 13, isDone: true })
  assert.equal(found('second secret'), 0)
  bench.raft.post({ kind: 'stop' })
  await bench.settle()
  const again = Wal.open({ disk, random: new SeededRandom(2) })
  assert.deepEqual([again.recovered.base.index, again.recovered.lastIndex], [18, 24])
})

void test('readers get the requested entries, at most the bytes that they allow, or a reason', async () => {
  const bench = new Bench(new MemoryLog())
  bench.raft.post(asMessage(1, write(commands(1, 9, 1))))
  await bench.settle()
  bench.api.post({ kind: 'read', id: 1, from: logIndex(2), to: logIndex(4), bytesMax: 1000 })
  bench.api.post({ kind: 'read', id: 2, from: logIndex(2), to: logIndex(9), bytesMax: 1 })
  bench.api.post({ kind: 'read', id: 3, from: logIndex(10), to: logIndex(12), bytesMax: 1 })
  await bench.settle()
  assert.deepEqual(bench.toApi, [
    { kind: 'read-done', id: 1, entries: commands(2, 4, 1) },
    { kind: 'read-done', id: 2, entries: commands(2, 2, 1) },
    { kind: 'read-refused', id: 3, reason: 'missing' },
  ])
})

void test('a failure is sent to both other threads once, and nothing is answered after it', async () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const bench = new Bench(Wal.open({ disk, random: new SeededRandom(2) }))
  await bench.settle()
  disk.fail('sync', 'disk-full')
  bench.raft.post(asMessage(1, write(commands(1, 3, 1))))
  bench.raft.post({ kind: 'fetch', id: 1, from: logIndex(1), bytesMax: 1 })
  await bench.settle()
  bench.raft.post(asMessage(2, write(commands(1, 3, 1))))
  bench.api.post({ kind: 'read', id: 1, from: logIndex(1), to: logIndex(1), bytesMax: 1 })
  await bench.settle()
  assert.equal(bench.failures.length, 1)
  const [failed] = bench.failures
  assert.equal(failed?.code, 'disk-full')
  assert.deepEqual(bench.toRaft.slice(1), [failed])
  assert.deepEqual(bench.toApi, [failed])
})

void test('stop closes the log, and stopped is the last message', async () => {
  const bench = new Bench(new MemoryLog())
  bench.raft.post(asMessage(1, write(commands(1, 3, 1))))
  bench.raft.post({ kind: 'stop' })
  bench.raft.post(asMessage(2, write(commands(4, 4, 1))))
  await bench.settle()
  assert.deepEqual(
    bench.toRaft.map(({ kind }) => kind),
    ['opened', 'persisted', 'stopped'],
  )
})
