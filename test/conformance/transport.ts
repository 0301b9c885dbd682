/*
 * What every Transport does, whatever carries it. A caller gives a harness; see `transport.test.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../raft/base/random.ts'
import { logIndex, nodeId, term } from '../../raft/core/types.ts'
import type { MemberInfo, NodeId } from '../../raft/core/types.ts'
import type { PeerMessage, SnapshotHeader, SnapshotSink, Transport } from '../../raft/ports.ts'
import { TransportFailure } from '../../raft/transport/errors.ts'
import type { TransportFailureCode } from '../../raft/transport/errors.ts'
import { plain, sampleConfig, sampleKinds, sampleMessage } from '../unit/raft/transport/sample-messages.ts'

export type MemberOptions = {
  readonly name: string
  readonly id: number
  readonly cluster?: string
  /** Take the place of this member, which was closed. */
  readonly after?: MemberInfo
}

export interface TransportHarness {
  /** A transport, started with that receiver, and where it can be reached. */
  start(
    options: MemberOptions,
    receiver: TestReceiver,
  ): Promise<{ readonly transport: Transport; readonly info: MemberInfo }>
  close(): Promise<void>
}

/** Remembers what it is told. */
export class TestReceiver {
  readonly messages: PeerMessage[] = []
  readonly unreachables: NodeId[] = []
  readonly snapshots: TestSink[] = []
  openSnapshot: (header: SnapshotHeader) => Promise<TestSink> = async (header) => new TestSink(header)

  receive(message: PeerMessage): void {
    this.messages.push(message)
  }

  unreachable(peer: NodeId): void {
    this.unreachables.push(peer)
  }

  async receiveSnapshot(header: SnapshotHeader): Promise<SnapshotSink> {
    const sink = await this.openSnapshot(header)
    this.snapshots.push(sink)
    return sink
  }
}

export class TestSink implements SnapshotSink {
  readonly header: SnapshotHeader
  readonly chunks: Uint8Array[] = []
  finished = 0
  readonly aborted: unknown[] = []
  onChunk: () => Promise<void> = async () => undefined

  constructor(header: SnapshotHeader) {
    this.header = header
  }

  async chunk(bytes: Uint8Array): Promise<void> {
    this.chunks.push(Uint8Array.from(bytes))
    await this.onChunk()
  }

  async finish(): Promise<void> {
    this.finished++
  }

  abort(cause: unknown): void {
    this.aborted.push(cause)
  }
}

export type TestMember = {
  readonly transport: Transport
  readonly info: MemberInfo
  readonly receiver: TestReceiver
}

export async function startMember(harness: TransportHarness, options: MemberOptions): Promise<TestMember> {
  const receiver = new TestReceiver()
  return { receiver, ...(await harness.start(options, receiver)) }
}

/** Polls; fails after 20 seconds with what was waited for. */
export async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (let waited = 0; waited < 4000; waited++) {
    if (isTrue()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  assert.fail(`waited in vain until ${what}`)
}

const probe = (from: TestMember, to: TestMember, round: number): PeerMessage => ({
  ...{ kind: 'read-request', from: from.info.id, to: to.info.id, term: term(1), round },
})

/** Sends until the first message arrives, then forgets them all. */
export async function connect(from: TestMember, to: TestMember): Promise<void> {
  const arrived = (): boolean =>
    to.receiver.messages.some((message) => addressOf(message).from === from.info.id)
  await until(`${to.info.name} hears ${from.info.name}`, () => {
    if (arrived()) return true
    from.transport.send(probe(from, to, 0))
    return false
  })
  // What is still under way arrives before a last probe does.
  from.transport.send(probe(from, to, 1))
  await until('the last probe arrives', () =>
    to.receiver.messages.some((message) => message.kind === 'read-request' && message.round === 1),
  )
  to.receiver.messages.length = 0
  from.receiver.unreachables.length = 0
}

export function addressOf(message: PeerMessage): { readonly from: NodeId; readonly to: NodeId } {
  return message.kind === 'core' ? message.message : message
}

export function headerOf(from: TestMember, to: TestMember): SnapshotHeader {
  const configuration = sampleConfig(new SeededRandom(1))
  const snapshot = { index: logIndex(77), term: term(3), configuration }
  return { from: from.info.id, to: to.info.id, term: term(4), snapshot }
}

/** `count` pieces of `bytes` each, then the end. */
export function pieces(count: number, bytes: number): () => Promise<Uint8Array | null> {
  let sent = 0
  return async () => (sent++ < count ? new Uint8Array(bytes).fill(sent) : null)
}

export function failsWith(...codes: readonly TransportFailureCode[]): (cause: unknown) => boolean {
  return (cause) => {
    assert.ok(cause instanceof TransportFailure, String(cause))
    assert.ok(codes.includes(cause.code), `${cause.code} (${cause.message}) is none of ${codes.join(', ')}`)
    return true
  }
}

export function transportConformance(label: string, openHarness: () => TransportHarness): void {
  const scenario = (sentence: string, body: (harness: TransportHarness) => Promise<void>): void => {
    void test(`${label}: ${sentence}`, async () => {
      const harness = openHarness()
      try {
        await body(harness)
      } finally {
        await harness.close()
      }
    })
  }

  /** Members that know each other. */
  const group = async (harness: TransportHarness, ...names: readonly string[]): Promise<TestMember[]> => {
    const members: TestMember[] = []
    for (const [at, name] of names.entries()) members.push(await startMember(harness, { name, id: at + 1 }))
    for (const { transport } of members) transport.setPeers(members.map(({ info }) => info))
    return members
  }
  const pair = async (harness: TransportHarness): Promise<[TestMember, TestMember]> => {
    const [a, b] = await group(harness, 'n1', 'n2')
    assert.ok(a && b)
    return [a, b]
  }

  messagesConformance(scenario, pair, group)
  admissionConformance(scenario, pair)
  snapshotConformance(scenario, pair)
}

type Scenario = (sentence: string, body: (harness: TransportHarness) => Promise<void>) => void
type Pair = (harness: TransportHarness) => Promise<[TestMember, TestMember]>
type Group = (harness: TransportHarness, ...names: readonly string[]) => Promise<TestMember[]>

function messagesConformance(scenario: Scenario, pair: Pair, group: Group): void {
  scenario('messages arrive in the order they were sent, over many turns', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    for (let round = 1; round <= 1000; round++) {
      a.transport.send(probe(a, b, round))
      if (round % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await until('all have arrived', () => b.receiver.messages.length >= 1000)
    const rounds = b.receiver.messages.map((message) =>
      message.kind === 'read-request' ? message.round : -1,
    )
    assert.deepEqual(
      rounds,
      Array.from({ length: 1000 }, (_, at) => at + 1),
    )
    assert.deepEqual(a.receiver.unreachables, [])
  })

  scenario('every kind of message arrives as it was sent', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    const random = new SeededRandom(11)
    const ends = { from: a.info.id, to: b.info.id }
    const sent = sampleKinds.map((kind) => sampleMessage(kind, random, ends))
    for (const message of sent) a.transport.send(message)
    await until('all have arrived', () => b.receiver.messages.length >= sent.length)
    assert.deepEqual(plain(b.receiver.messages), plain(sent))
  })

  scenario('an entry of three mebibytes arrives whole', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    const data = new SeededRandom(2).bytes(3 * 1024 * 1024)
    a.transport.send({
      kind: 'core',
      message: {
        ...{ kind: 'append-request', from: a.info.id, to: b.info.id, term: term(2), commit: logIndex(0) },
        ...{ previousIndex: logIndex(0), previousTerm: term(0) },
        entries: [{ index: logIndex(1), term: term(2), kind: 'command', data }],
      },
    })
    await until('it has arrived', () => b.receiver.messages.length === 1)
    const [message] = b.receiver.messages
    assert.ok(message?.kind === 'core' && message.message.kind === 'append-request')
    const [entry] = message.message.entries
    assert.ok(entry?.kind === 'command')
    assert.equal(Buffer.compare(entry.data, data), 0)
  })

  scenario('nothing is received and nobody called unreachable from within a send', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    a.transport.send(probe(a, b, 5))
    assert.equal(b.receiver.messages.length, 0)
    await b.transport.close()
    await until('its absence is told', () => {
      const before = a.receiver.unreachables.length
      a.transport.send(probe(a, b, 6))
      assert.equal(a.receiver.unreachables.length, before)
      return before > 0
    })
    assert.ok(a.receiver.unreachables.every((peer) => peer === b.info.id))
  })

  scenario('a peer that is down is told as unreachable and holds nobody else up', async (harness) => {
    const [a, b, c] = await group(harness, 'n1', 'n2', 'n3')
    assert.ok(a && b && c)
    await connect(a, b)
    await connect(a, c)
    await c.transport.close()
    await until('its absence is told', () => {
      a.transport.send(probe(a, c, 7))
      return a.receiver.unreachables.includes(c.info.id)
    })
    for (let round = 1; round <= 200; round++) {
      a.transport.send(probe(a, c, round))
      a.transport.send(probe(a, b, round))
    }
    await until('the other has all', () => b.receiver.messages.length === 200)
    assert.ok(!a.receiver.unreachables.includes(b.info.id))
  })

  scenario('a peer that comes back is heard and reached again without being told', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    await connect(b, a)
    await b.transport.close()
    const again = await startMember(harness, { name: 'n2', id: 2, after: b.info })
    again.transport.setPeers([a.info, again.info])
    await connect(a, again)
    await connect(again, a)
  })

  scenario('nothing is received after closing', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    for (let round = 1; round <= 100; round++) a.transport.send(probe(a, b, round))
    await b.transport.close()
    const received = b.receiver.messages.length
    for (let round = 1; round <= 100; round++) a.transport.send(probe(a, b, round))
    await until('the loss is noticed', () => {
      a.transport.send(probe(a, b, 0))
      return a.receiver.unreachables.length > 0
    })
    assert.equal(b.receiver.messages.length, received)
    await b.transport.close()
  })
}

function admissionConformance(scenario: Scenario, pair: Pair): void {
  /** `a` keeps talking; nothing of it may arrive at `b`. */
  const unheard = async (a: TestMember, b: TestMember): Promise<void> => {
    b.receiver.messages.length = 0
    a.receiver.unreachables.length = 0
    await until('several messages were turned away', () => {
      a.transport.send(probe(a, b, 3))
      return a.receiver.unreachables.length >= 3
    })
    assert.deepEqual(b.receiver.messages, [])
  }

  scenario('a caller that is no member is not heard', async (harness) => {
    const a = await startMember(harness, { name: 'n1', id: 1 })
    const b = await startMember(harness, { name: 'n2', id: 2 })
    a.transport.setPeers([a.info, b.info])
    b.transport.setPeers([b.info])
    await unheard(a, b)
    b.transport.setPeers([a.info, b.info])
    await connect(a, b)
  })

  scenario('a member that was removed is not heard any more', async (harness) => {
    const [a, b] = await pair(harness)
    await connect(a, b)
    b.transport.setPeers([b.info])
    await unheard(a, b)
  })

  scenario('a member of another cluster is not heard', async (harness) => {
    const a = await startMember(harness, { name: 'n1', id: 1, cluster: 'another' })
    const b = await startMember(harness, { name: 'n2', id: 2 })
    a.transport.setPeers([a.info, b.info])
    b.transport.setPeers([a.info, b.info])
    await unheard(a, b)
    await assert.rejects(
      a.transport.sendSnapshot(b.info.id, headerOf(a, b), pieces(1, 1)),
      failsWith('refused'),
    )
    assert.deepEqual(b.receiver.snapshots, [])
  })

  scenario('a member is heard under its own name only', async (harness) => {
    const a = await startMember(harness, { name: 'n1', id: 1 })
    const b = await startMember(harness, { name: 'n2', id: 2 })
    a.transport.setPeers([a.info, b.info])
    b.transport.setPeers([{ ...a.info, name: 'n3' }, b.info])
    await unheard(a, b)
  })
}

function snapshotConformance(scenario: Scenario, pair: Pair): void {
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

  scenario('an empty snapshot is a snapshot', async (harness) => {
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

  scenario('a receiver may refuse a snapshot, and may give it up in the middle', async (harness) => {
    const [a, b] = await pair(harness)
    b.receiver.openSnapshot = async () => Promise.reject(new Error('no room'))
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
      let asked = 0
      const source = pieces(200, 250_000)
      const sent = a.transport.sendSnapshot(b.info.id, headerOf(a, b), () => {
        asked++
        return source()
      })
      await until('the first chunk is held', () => b.receiver.snapshots[0]?.chunks.length === 1)
      await assert.rejects(
        a.transport.sendSnapshot(b.info.id, headerOf(a, b), pieces(1, 1)),
        failsWith('busy'),
      )
      let before = -1
      while (before !== asked) {
        before = asked
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      assert.ok(asked < 100, `${asked} pieces of 200 were taken by a receiver that took one`)
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

  scenario('a snapshot to a member that is not there fails', async (harness) => {
    const [a, b] = await pair(harness)
    await b.transport.close()
    const sent = a.transport.sendSnapshot(b.info.id, headerOf(a, b), pieces(1, 1))
    await assert.rejects(sent, failsWith('unreachable'))
    const nobody = a.transport.sendSnapshot(nodeId(99), headerOf(a, b), pieces(1, 1))
    await assert.rejects(nobody, failsWith('unreachable'))
  })

  scenario('a snapshot stops when its sender closes', async (harness) => {
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
