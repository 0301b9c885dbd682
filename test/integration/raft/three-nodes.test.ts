/*
 * Goal: members made by the library's two constructors keep a replicated list, transfer
 * leadership, and lose nothing.
 * Method: three of them in this process; inline ones over memory, threaded ones over gRPC and real
 * files.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  defaultLimits,
  defaultTiming,
  defaultTransportLimits,
  inlineNode,
  MemoryClusterRecord,
  MemoryLog,
  MemoryNetwork,
  MemoryTransport,
  nodeId,
  threadedNode,
  MemoryPeerBook,
} from '../../../raft/index.ts'
import type { Measured, MemberInfo, NodeId, RaftNode } from '../../../raft/index.ts'
import { RealClock } from '../../../src/host/clock.ts'
import { RealRandom } from '../../../src/host/random.ts'
import { ListMachine } from '../../support/fakes/list-machine.ts'
import { freePorts } from '../../../fixtures/port-range.ts'
import { memberInfo, peerCredentials, testAuthority } from '../../../fixtures/peer-credentials.ts'

const clock = new RealClock()
const random = new RealRandom()
const hostUrl = new URL('../../../src/host/thread-host.js', import.meta.url).href

type Part = { readonly id: NodeId; node: RaftNode<number>; machine: ListMachine }

function soon(ms: number): number {
  return clock.monotonicMs() + ms
}

async function propose(part: Part, text: string): Promise<number> {
  const result = await part.node.propose(new TextEncoder().encode(text), soon(30_000))
  assert.equal(result.kind, 'applied')
  return result.kind === 'applied' ? result.outcome : 0
}

async function until(what: string, holds: () => boolean): Promise<void> {
  const limit = soon(60_000)
  while (!holds()) {
    assert.ok(clock.monotonicMs() < limit, `in time: ${what}`)
    await new Promise((resolve) => clock.after(5, () => resolve(undefined)))
  }
}

function leaderOf(parts: readonly Part[]): Part | undefined {
  return parts.find(({ node }) => node.status.role === 'leader')
}

/** Everything a cluster of three has to do, whatever it is made of. */
async function exercise(parts: readonly Part[]): Promise<void> {
  const [first, second, third] = parts
  assert.ok(first && second && third)
  await Promise.all(parts.map((part, at) => propose(part, `first ${at}`)))
  const all = await Promise.all(
    Array.from({ length: 300 }, (_, at) => propose(parts[at % 3] as Part, `line ${at}`)),
  )
  assert.equal(new Set(all).size, 300, 'each took effect once')
  for (const part of parts) {
    await part.node.barrier(soon(10_000))
    assert.equal(part.machine.lines.length, 303, 'a barrier sees every acknowledged line')
  }
  await until('a member leads', () => leaderOf(parts) !== undefined)
  const leader = leaderOf(parts)
  const target = parts.find((part) => part !== leader)
  assert.ok(leader && target)
  await leader.node.transferLeadership(target.id, soon(30_000))
  await propose(leader, 'after the transfer')
  await target.node.barrier(soon(10_000))
  assert.equal(target.machine.lines.length, 304)
  await until('all are equal', () => parts.every(({ machine }) => machine.lines.length === 304))
  assert.deepEqual(first.machine.lines, second.machine.lines)
  assert.deepEqual(first.machine.lines, third.machine.lines)
}

/** Reports between api threads arrive, on the links that consensus uses. */
async function exchangeReports(parts: readonly Part[]): Promise<void> {
  const received = parts.map(({ node }) => {
    const from = new Map<NodeId, string>()
    node.onReport((report) => from.set(report.from, Buffer.from(report.bytes).toString()))
    return from
  })
  await until('each member has reports of both others', () => {
    for (const { id, node } of parts) node.report('all', Buffer.from(`of ${id}`))
    return received.every((from) => from.size === parts.length - 1)
  })
  for (const from of received) for (const [id, text] of from) assert.equal(text, `of ${id}`)
}

async function stopAll(parts: readonly Part[]): Promise<void> {
  await Promise.all(parts.map(({ node }) => node.stop(soon(200))))
}

function mustNotFail(cause: string): void {
  throw new Error(`a member gave up: ${cause}`)
}

void test('three inline members replicate, read and transfer leadership', async () => {
  const network = new MemoryNetwork()
  const members = [1, 2, 3].map((id) => memberInfo({ id: nodeId(id), name: `m${id}` }, 'memory:1'))
  const parts = await Promise.all(members.map((member) => startInline(network, members, member)))
  try {
    await exercise(parts)
    await exchangeReports(parts)
  } finally {
    await stopAll(parts)
  }
})

void test('a member that missed compacted entries catches up by snapshot', async () => {
  const network = new MemoryNetwork()
  const members = [1, 2, 3].map((id) => memberInfo({ id: nodeId(id), name: `m${id}` }, 'memory:1'))
  const limits = { ...defaultLimits, retentionEntries: 10 }
  const parts = await Promise.all(members.map((member) => startInline(network, members, member, limits)))
  try {
    const [first, , last] = parts
    assert.ok(first && last)
    await propose(first, 'before')
    for (const { id } of members.slice(0, 2)) {
      network.block(id, last.id)
      network.block(last.id, id)
    }
    await until('a leader among the rest', () => leaderOf(parts.slice(0, 2)) !== undefined)
    let count = 1
    const proposed: Promise<number>[] = []
    await until('the log was compacted', () => {
      proposed.push(propose(first, `line ${count++}`))
      return first.node.status.firstIndex > 100
    })
    await Promise.all(proposed)
    await propose(first, 'the last one')
    const expected = [...first.machine.lines]
    network.heal()
    await last.node.barrier(soon(60_000))
    assert.deepEqual(last.machine.lines, expected)
    await propose(last, 'by itself')
  } finally {
    await stopAll(parts)
  }
})

void test('three members on threads of their own replicate, restart and go on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'raft-threads-'))
  // Members are stopped for a moment, in which no other process may get their ports.
  const members = (await freePorts(3)).map((port, at) =>
    memberInfo({ id: nodeId(at + 1), name: `m${at + 1}` }, `127.0.0.1:${port}`),
  )
  const credentials = members.map(({ name }) => peerCredentials(testAuthority, name))
  const measured: Measured[] = []
  const records = members.map(() => new MemoryClusterRecord())
  const start = async (at: number): Promise<Part> => {
    const self = members[at] as MemberInfo
    const node = threadedNode<number>({
      node: { id: self.id, members, timing: defaultTiming, limits: defaultLimits },
      peerBook: new MemoryPeerBook(),
      clusterRecord: records[at] as MemoryClusterRecord,
      logDirectory: join(directory, self.name),
      transport: {
        cluster: 'test',
        self,
        listenAddress: self.peerAddress,
        credentials: credentials[at] as (typeof credentials)[number],
        limits: { ...defaultTransportLimits, backoffMsMin: 10, backoffMsMax: 100 },
      },
      hostUrl,
      clock,
      random,
      onFatal: mustNotFail,
      onPeerEvent: () => undefined,
      onMeasured: (news) => measured.push(news),
    })
    const machine = new ListMachine()
    await node.start(machine)
    return { id: self.id, node, machine }
  }
  let parts = await Promise.all([0, 1, 2].map(start))
  try {
    await exercise(parts)
    await exchangeReports(parts)
    await checkMeasured(measured)
    await stopAll(parts)
    parts = await Promise.all([0, 1, 2].map(start))
    // The list has no disk of its own: all of it comes back from the logs.
    await propose(parts[0] as Part, 'after the restart')
    for (const part of parts) {
      await part.node.barrier(soon(10_000))
      assert.equal(part.machine.lines.length, 305)
    }
  } finally {
    await stopAll(parts)
    rmSync(directory, { recursive: true })
  }
})

void test('a log that cannot be opened ends the member with a one-line error', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'raft-threads-'))
  const file = join(directory, 'file')
  writeFileSync(file, 'no directory')
  const causes: string[] = []
  const self = memberInfo({ id: nodeId(1), name: 'm1' }, '127.0.0.1:0')
  const node = threadedNode<number>({
    node: { id: self.id, members: [self], timing: defaultTiming, limits: defaultLimits },
    peerBook: new MemoryPeerBook(),
    clusterRecord: new MemoryClusterRecord(),
    logDirectory: join(file, 'log'),
    transport: {
      cluster: 'test',
      self,
      listenAddress: self.peerAddress,
      credentials: peerCredentials(testAuthority, 'm1'),
      limits: defaultTransportLimits,
    },
    hostUrl,
    clock,
    random,
    onFatal: (cause) => causes.push(cause),
    onPeerEvent: () => undefined,
    onMeasured: () => undefined,
  })
  try {
    await assert.rejects(node.start(new ListMachine()), { code: 'stopped' })
    await until('the cause is reported', () => causes.length > 0)
    assert.equal(causes.length, 1)
    assert.match(causes[0] ?? '', /^cannot make directory .*file\/log/)
    assert.deepEqual(await node.propose(new Uint8Array(1), soon(1_000)), {
      kind: 'not-applied',
      reason: 'stopped',
    })
  } finally {
    await node.stop(soon(100))
    rmSync(directory, { recursive: true })
  }
})

void test('a thread that ends by itself ends the member with a one-line error', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'raft-threads-'))
  const causes: string[] = []
  const self = memberInfo({ id: nodeId(1), name: 'm1' }, '127.0.0.1:0')
  const node = threadedNode<number>({
    node: { id: self.id, members: [self], timing: defaultTiming, limits: defaultLimits },
    peerBook: new MemoryPeerBook(),
    clusterRecord: new MemoryClusterRecord(),
    logDirectory: join(directory, 'log'),
    transport: null,
    hostUrl: new URL('../../support/fakes/exiting-thread-host.js', import.meta.url).href,
    clock,
    random,
    onFatal: (cause) => causes.push(cause),
    onPeerEvent: () => undefined,
    onMeasured: () => undefined,
  })
  try {
    await assert.rejects(node.start(new ListMachine()), { code: 'stopped' })
    assert.deepEqual(causes, ['a thread ended with code 3'])
  } finally {
    await node.stop(soon(100))
    rmSync(directory, { recursive: true })
  }
})

void test('a single member leads at once', async () => {
  const network = new MemoryNetwork()
  const self = memberInfo({ id: nodeId(1), name: 'm1' }, 'memory:1')
  const part = await startInline(network, [self], self)
  try {
    assert.equal(await propose(part, 'only'), 1)
    assert.equal(part.node.status.term, 1)
    await part.node.barrier(soon(5_000))
  } finally {
    await stopAll([part])
  }
  assert.deepEqual(await part.node.propose(new Uint8Array(1), soon(100)), {
    kind: 'not-applied',
    reason: 'stopped',
  })
  await assert.rejects(part.node.barrier(soon(100)), { code: 'stopped' })
})

/** The reports have the syncs of the log, and the last one a log and both connections. */
async function checkMeasured(measured: readonly Measured[]): Promise<void> {
  const syncs = (): number => measured.reduce((sum, { syncMs }) => sum + syncMs.length, 0)
  const last = (): Measured | undefined => measured.at(-1)
  const upAt = ({ transport }: Measured): number => transport?.links.filter(({ up }) => up).length ?? 0
  await until('numbers come, and both links of a member are up', () => {
    const reported = last()
    return syncs() > 3 && reported !== undefined && reported.log !== null && upAt(reported) === 2
  })
  const { log, transport, transfers } = last() ?? assert.fail('they came')
  assert.ok((log?.segments ?? 0) >= 1 && (log?.bytes ?? 0) > 0)
  assert.ok((transport?.counters.messagesSent ?? 0) > 0)
  assert.equal(transport?.links.length, 2)
  // A leader with a stalled disk steps down, in a test too.
  assert.deepEqual(Object.keys(transfers), ['transferred', 'declined', 'resigned'])
  assert.ok(Object.values(transfers).every((count) => Number.isSafeInteger(count) && count >= 0))
  for (const { syncMs, groupWrites } of measured) assert.equal(syncMs.length, groupWrites.length)
}

async function startInline(
  network: MemoryNetwork,
  members: readonly MemberInfo[],
  self: MemberInfo,
  limits = defaultLimits,
): Promise<Part> {
  const node = inlineNode<number>({
    node: { id: self.id, members, timing: defaultTiming, limits },
    clock,
    random,
    transport: new MemoryTransport({ network, cluster: 'test', self, clock, queueMessagesMax: 4096 }),
    log: new MemoryLog(),
    onFatal: mustNotFail,
  })
  const machine = new ListMachine()
  await node.start(machine)
  return { id: self.id, node, machine }
}
