/* Shared by the suites of transports: members that record what they receive, and waiting. */
import assert from 'node:assert/strict'
import { SeededRandom } from '../../base/random.ts'
import { logIndex, term } from '../../raft/core/types.ts'
import type { LogIndex, MemberInfo, NodeId } from '../../raft/core/types.ts'
import type {
  PeerIdentity,
  PeerMessage,
  PeerVerdict,
  SnapshotHeader,
  SnapshotSink,
  Transport,
} from '../../raft/ports.ts'
import { TransportError } from '../../raft/transport/errors.ts'
import type { TransportErrorCode } from '../../raft/transport/errors.ts'
import { sampleConfig } from '../unit/raft/transport/sample-messages.ts'

export type MemberOptions = {
  readonly name: string
  readonly id: number
  readonly cluster?: string
  /** The closed member whose place it takes. */
  readonly after?: MemberInfo
}

export interface TransportHarness {
  /** Starts a transport with that receiver. Returns it and its address. */
  start(
    options: MemberOptions,
    receiver: TestReceiver,
  ): Promise<{ readonly transport: Transport; readonly info: MemberInfo }>
  close(): Promise<void>
}

/** Records everything that the transport reports. */
export class TestReceiver {
  readonly messages: PeerMessage[] = []
  readonly unreachables: NodeId[] = []
  readonly endedReports: { readonly peer: NodeId; readonly hasEnded: boolean }[] = []
  readonly removedBy: { readonly peer: NodeId; readonly configurationIndex: LogIndex }[] = []
  readonly snapshots: TestSink[] = []
  openSnapshot: (header: SnapshotHeader) => Promise<TestSink> = async (header) => new TestSink(header)

  logId = 'a1'
  clusterId = 'c1'
  /** Log IDs of the peers; the first one that a peer presents is recorded. */
  readonly known = new Map<NodeId, string>()

  identity(): PeerIdentity {
    return { logId: this.logId, clusterId: this.clusterId, phase: 'founded' }
  }

  async verify(peer: NodeId, { logId, clusterId }: PeerIdentity): Promise<PeerVerdict> {
    if (clusterId !== this.clusterId) return 'other-cluster'
    const known = this.known.get(peer) ?? logId
    this.known.set(peer, known)
    return known === logId ? 'ok' : 'lost-log'
  }

  receive(message: PeerMessage): void {
    this.messages.push(message)
  }

  unreachable(peer: NodeId): void {
    this.unreachables.push(peer)
  }

  ended(peer: NodeId, hasEnded: boolean): void {
    this.endedReports.push({ peer, hasEnded })
  }

  removedByPeer(peer: NodeId, configurationIndex: LogIndex): void {
    this.removedBy.push({ peer, configurationIndex })
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

/** Polls; fails after a minute with what was waited for. */
export async function until(what: string, isTrue: () => boolean): Promise<void> {
  const endMs = performance.now() + 60_000
  while (!isTrue()) {
    assert.ok(performance.now() < endMs, `waited in vain until ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export const probe = (from: TestMember, to: TestMember, round: number): PeerMessage => ({
  ...{ kind: 'read-request', from: from.info.id, to: to.info.id, term: term(1), round, withHeartbeat: false },
})

/** Sends until the first message arrives, then forgets them all. */
export async function connect(from: TestMember, to: TestMember): Promise<void> {
  const arrived = (): boolean =>
    to.receiver.messages.some((message) => addressOf(message).from === from.info.id)
  await until(`${to.info.name} receives from ${from.info.name}`, () => {
    if (arrived()) return true
    from.transport.send(probe(from, to, 0))
    return false
  })
  // Messages in flight arrive before a last probe.
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
  return { from: from.info.id, to: to.info.id, term: term(4), purpose: 'repair', snapshot }
}

/** Returns a source of `count` pieces of `bytes` bytes each. */
export function pieces(count: number, bytes: number): () => Promise<Uint8Array | null> {
  let sent = 0
  return async () => (sent++ < count ? new Uint8Array(bytes).fill(sent) : null)
}

export function failsWith(...codes: readonly TransportErrorCode[]): (cause: unknown) => boolean {
  return (cause) => {
    assert.ok(cause instanceof TransportError, String(cause))
    assert.ok(
      codes.includes(cause.code),
      `${cause.code} (${cause.message}) is not one of ${codes.join(', ')}`,
    )
    return true
  }
}

export type Scenario = (sentence: string, body: (harness: TransportHarness) => Promise<void>) => void
export type Pair = (harness: TransportHarness) => Promise<[TestMember, TestMember]>
export type Group = (harness: TransportHarness, ...names: readonly string[]) => Promise<TestMember[]>
