/*
 * Goal: whatever streams break and begin again, the state machine stages one snapshot at a time,
 * and each of its sinks and sources is ended once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deferred } from '../../../../base/deferred.ts'
import { emptyConfiguration, logIndex, term } from '../../../../raft/core/types.ts'
import type { SnapshotMeta } from '../../../../raft/core/types.ts'
import type { ApiToRaft } from '../../../../raft/protocol/thread-messages.ts'
import { SnapshotStreams } from '../../../../raft/node/snapshot-streams.ts'
import type { SnapshotSink } from '../../../../raft/ports.ts'
import { ListMachine } from '../../../support/fakes/list-machine.ts'

function at(index: number): SnapshotMeta {
  return { index: logIndex(index), term: term(1), configuration: emptyConfiguration }
}

/** Opens a sink when the test allows it, and records the calls. */
class SlowMachine extends ListMachine {
  readonly log: string[] = []
  readonly opening: Deferred<void>[] = []
  /** What `finish` waits for. */
  finishing: Promise<void> = Promise.resolve()

  override async stageSnapshot({ index }: SnapshotMeta): Promise<SnapshotSink> {
    this.log.push(`stage ${index}`)
    const opened = new Deferred<void>()
    this.opening.push(opened)
    await opened.promise
    return {
      chunk: async (bytes) => {
        if (bytes[0] === 0) throw new Error('bad chunk')
        this.log.push(`chunk of ${index}`)
      },
      finish: async () => {
        await this.finishing
        this.log.push(`finish ${index}`)
      },
      abort: () => void this.log.push(`abort ${index}`),
    }
  }
}

function bench(): { machine: SlowMachine; streams: SnapshotStreams; posted: ApiToRaft[] } {
  const machine = new SlowMachine()
  const posted: ApiToRaft[] = []
  return { machine, streams: new SnapshotStreams(machine, (message) => posted.push(message)), posted }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

void test('an aborted stage ends before the next one begins', async () => {
  const { machine, streams, posted } = bench()
  streams.take({ kind: 'sink-open', stream: 1, snapshot: at(36) })
  await settled()
  streams.take({ kind: 'sink-abort', stream: 1, cause: 'a newer stream replaced it' })
  streams.take({ kind: 'sink-open', stream: 2, snapshot: at(39) })
  await settled()
  assert.deepEqual(machine.log, ['stage 36'])
  machine.opening[0]?.resolve(undefined)
  await settled()
  assert.deepEqual(machine.log, ['stage 36', 'abort 36', 'stage 39'])
  machine.opening[1]?.resolve(undefined)
  streams.take({ kind: 'sink-chunk', stream: 2, bytes: new Uint8Array([1]) })
  streams.take({ kind: 'sink-finish', stream: 2 })
  await settled()
  assert.deepEqual(machine.log.slice(3), ['chunk of 39', 'finish 39'])
  assert.deepEqual(
    posted.map((message) => message.kind),
    ['sink-taken', 'sink-taken', 'sink-taken'],
  )
})

void test('a stream is acknowledged only once its snapshot is staged completely', async () => {
  const { machine, streams, posted } = bench()
  const finishing = new Deferred<void>()
  machine.finishing = finishing.promise
  streams.take({ kind: 'sink-open', stream: 1, snapshot: at(5) })
  await settled()
  machine.opening[0]?.resolve(undefined)
  streams.take({ kind: 'sink-finish', stream: 1 })
  await settled()
  assert.deepEqual([machine.log, posted.length], [['stage 5'], 1])
  finishing.resolve(undefined)
  await settled()
  assert.deepEqual([machine.log, posted.length], [['stage 5', 'finish 5'], 2])
})

void test('a failing chunk ends the stream once, and what follows is ignored', async () => {
  const { machine, streams, posted } = bench()
  streams.take({ kind: 'sink-open', stream: 1, snapshot: at(5) })
  await settled()
  machine.opening[0]?.resolve(undefined)
  streams.take({ kind: 'sink-chunk', stream: 1, bytes: new Uint8Array([0]) })
  streams.take({ kind: 'sink-chunk', stream: 1, bytes: new Uint8Array([1]) })
  streams.take({ kind: 'sink-finish', stream: 1 })
  await settled()
  assert.deepEqual(machine.log, ['stage 5', 'abort 5'])
  assert.deepEqual(
    posted.map((message) => message.kind),
    ['sink-taken', 'sink-failed'],
  )
})

void test('a close resolves when the sinks of all streams are aborted', async () => {
  const { machine, streams } = bench()
  streams.take({ kind: 'sink-open', stream: 1, snapshot: at(5) })
  await settled()
  let closed = false
  const close = streams.close().then(() => (closed = true))
  await settled()
  assert.equal(closed, false)
  machine.opening[0]?.resolve(undefined)
  await close
  assert.deepEqual(machine.log, ['stage 5', 'abort 5'])
})

void test('a close waits for a sink that finishes', async () => {
  const { machine, streams } = bench()
  const finishing = new Deferred<void>()
  machine.finishing = finishing.promise
  streams.take({ kind: 'sink-open', stream: 1, snapshot: at(5) })
  await settled()
  machine.opening[0]?.resolve(undefined)
  streams.take({ kind: 'sink-finish', stream: 1 })
  await settled()
  let closed = false
  const close = streams.close().then(() => (closed = true))
  await settled()
  assert.equal(closed, false)
  finishing.resolve(undefined)
  await close
  assert.deepEqual(machine.log, ['stage 5', 'finish 5'])
})

void test('a source answers each pull in order, and is closed once', async () => {
  const { machine, streams, posted } = bench()
  let closed = 0
  const produce = machine.produceSnapshot.bind(machine)
  machine.produceSnapshot = async () => {
    const source = await produce()
    const close = async (): Promise<void> => void closed++
    return { snapshot: source.snapshot, next: () => source.next(), close }
  }
  streams.take({ kind: 'source-open', stream: 4, atLeast: null })
  for (let pulls = 0; pulls < 3; pulls++) streams.take({ kind: 'source-pull', stream: 4 })
  await settled()
  const chunks = posted.flatMap((message) => (message.kind === 'source-chunk' ? [message.bytes] : []))
  assert.equal(posted[0]?.kind, 'source-opened')
  assert.equal(chunks.length, 3)
  assert.ok(chunks[0] !== null)
  assert.equal(chunks[2], null)
  streams.take({ kind: 'source-close', stream: 4 })
  await streams.close()
  await settled()
  assert.equal(closed, 1)
})

void test('a wanted snapshot is requested repeatedly, but not with every message of the raft thread', () => {
  const { machine, streams, posted } = bench()
  streams.wantState(0)
  assert.deepEqual(posted, [])
  machine.wanted = logIndex(7)
  for (let nowMs = 0; nowMs <= 1000; nowMs += 100) streams.wantState(nowMs)
  const request = { kind: 'state-wanted', atLeast: 7 }
  assert.deepEqual(posted, [request, request, request])
})
