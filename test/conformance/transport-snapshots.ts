/* The tests of snapshots that every Transport passes. */
import assert from 'node:assert/strict'
import { nodeId } from '../../raft/core/types.ts'
import { failsWith, headerOf, pieces, TestSink, until } from './transport-members.ts'
import type { Pair, Scenario } from './transport-members.ts'

export function snapshotConformance(scenario: Scenario, pair: Pair): void {
  scenario('a snapshot arrives whole and in order, and is finished once', async (harness) => {
    const [a, b] = await pair(harness)
    const header = headerOf(a, b)
    await a.transport.sendSnapshot(b.info.id, header, pieces(5, 700_000))
    const [sink] = b.receiver.snapshots
    assert.ok(sink)
    assert.deepEqual(sink.header, header)
    const want = Buffer.concat(Array.from({ length: 5 }, (_, at) => Buffer.alloc(700_000, at + 1)))
    assert.equal(Buffer.compare(Buffer.concat(sink.chunks), want), 0)
    assert.equal(sink.finished, 1)
    assert.deepEqual(sink.aborted, [])
  })

  scenario('an empty snapshot is delivered', async (harness) => {
    const [a, b] = await pair(harness)
    await a.transport.sendSnapshot(b.info.id, headerOf(a, b), pieces(0, 0))
    assert.equal(b.receiver.snapshots[0]?.finished, 1)
  })

  scenario('a snapshot whose source fails is aborted, never finished', async (harness) => {
    const [a, b] = await pair(harness)
    const source = pieces(3, 1000)
    const failing = async (): Promise<Uint8Array | null> => {
      const piece = await source()
      if (piece === null) throw new Error('disk gone')
      return piece
    }
    await assert.rejects(a.transport.sendSnapshot(b.info.id, headerOf(a, b), failing), (cause) => {
      failsWith('aborted')(cause)
      return cause instanceof Error && cause.cause instanceof Error && cause.cause.message === 'disk gone'
    })
    await until('the receiver gave up', () => (b.receiver.snapshots[0]?.aborted.length ?? 1) === 1)
    assert.equal(b.receiver.snapshots[0]?.finished ?? 0, 0)
  })

  scenario('a receiver may refuse a snapshot, or abort it halfway', async (harness) => {
    const [a, b] = await pair(harness)
    b.receiver.openSnapshot = async () => Promise.reject(new Error('no space'))
    await assert.rejects(
      a.transport.sendSnapshot(b.info.id, headerOf(a, b), pieces(1, 1)),
      failsWith('aborted'),
    )
    b.receiver.openSnapshot = async (header) => {
      const sink = new TestSink(header)
      sink.onChunk = async () => (sink.chunks.length < 3 ? undefined : Promise.reject(new Error('disk full')))
      return sink
    }
    const many = a.transport.sendSnapshot(b.info.id, headerOf(a, b), pieces(50, 100_000))
    await assert.rejects(many, failsWith('aborted'))
    const [sink] = b.receiver.snapshots
    assert.equal(sink?.aborted.length, 1)
    assert.equal(sink?.finished, 0)
    b.receiver.openSnapshot = async (header) => new TestSink(header)
    await a.transport.sendSnapshot(b.info.id, headerOf(a, b), pieces(1, 1))
    assert.equal(b.receiver.snapshots[1]?.finished, 1)
  })

  scenario(
    'a slow receiver slows its sender down, and only one snapshot goes to it at a time',
    async (harness) => {
      const [a, b] = await pair(harness)
      let release = (): void => undefined
      b.receiver.openSnapshot = async (header) => {
        const sink = new TestSink(header)
        sink.onChunk = () => new Promise((resolve) => (release = resolve))
        return sink
      }
      let requested = 0
      const source = pieces(200, 250_000)
      const sent = a.transport.sendSnapshot(b.info.id, headerOf(a, b), () => {
        requested++
        return source()
      })
      await until('the first chunk is held', () => b.receiver.snapshots[0]?.chunks.length === 1)
      await assert.rejects(
        a.transport.sendSnapshot(b.info.id, headerOf(a, b), pieces(1, 1)),
        failsWith('busy'),
      )
      let before = -1
      while (before !== requested) {
        before = requested
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      assert.ok(requested < 100, `${requested} pieces of 200 were taken by a receiver that took one`)
      const [sink] = b.receiver.snapshots
      assert.ok(sink)
      sink.onChunk = async () => undefined
      release()
      await sent
      assert.equal(
        sink.chunks.reduce((sum, chunk) => sum + chunk.byteLength, 0),
        200 * 250_000,
      )
    },
  )

  scenario('a snapshot to a member that is not running fails', async (harness) => {
    const [a, b] = await pair(harness)
    await b.transport.close()
    const sent = a.transport.sendSnapshot(b.info.id, headerOf(a, b), pieces(1, 1))
    await assert.rejects(sent, failsWith('unreachable'))
    const toUnknown = a.transport.sendSnapshot(nodeId(99), headerOf(a, b), pieces(1, 1))
    await assert.rejects(toUnknown, failsWith('unreachable'))
  })

  scenario('sending a snapshot stops when the sender closes', async (harness) => {
    const [a, b] = await pair(harness)
    const endless = async (): Promise<Uint8Array> => {
      await new Promise((resolve) => setTimeout(resolve, 1))
      return new Uint8Array(10)
    }
    const sent = a.transport.sendSnapshot(b.info.id, headerOf(a, b), endless)
    const failed = assert.rejects(sent, failsWith('closed', 'unreachable', 'aborted'))
    await until('it is under way', () => (b.receiver.snapshots[0]?.chunks.length ?? 0) > 3)
    await a.transport.close()
    await failed
    await until('the receiver gave up', () => b.receiver.snapshots[0]?.aborted.length === 1)
    assert.equal(b.receiver.snapshots[0]?.finished, 0)
  })
}
