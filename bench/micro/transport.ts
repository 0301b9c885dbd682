/*
 * Measures the cost of a message between members: a leader in this process sends appends of one 1
 * KiB entry to a follower in another process over loopback with mutual TLS, and counts the
 * responses.
 *
 *   node dist/bench/micro/transport.js [seconds per row] [messages in flight, such as 1,16,64]
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpus } from 'node:os'
import { createHistogram } from 'node:perf_hooks'
import { SeededRandom } from '../../base/random.ts'
import { logIndex, nodeId, term } from '../../raft/core/types.ts'
import type { MemberInfo } from '../../raft/core/types.ts'
import type { PeerMessage, TransportReceiver } from '../../raft/ports.ts'
import { GrpcTransport } from '../../raft/transport/grpc-transport.ts'
import { defaultTransportLimits } from '../../raft/transport/options.ts'
import type { PeerCredentials } from '../../raft/transport/peer-identity.ts'
import { RealClock } from '../../src/host/clock.ts'
import { RealRandom } from '../../src/host/random.ts'
import { memberInfo, peerCredentials, testAuthority } from '../../fixtures/peer-credentials.ts'

const leaderId = nodeId(1)
const followerId = nodeId(2)
const entryDataBytes = 1024

type ToFollower =
  | { readonly kind: 'start'; readonly credentials: PeerCredentials; readonly leader: MemberInfo }
  | { readonly kind: 'cpu' }

type FromFollower =
  { readonly kind: 'listening'; readonly port: number } | { readonly kind: 'cpu'; readonly cpuMs: number }

function open(id: typeof leaderId, name: string, credentials: PeerCredentials): GrpcTransport {
  return new GrpcTransport({
    ...{ cluster: 'bench', self: { id, name }, listenAddress: '127.0.0.1:0', credentials },
    ...{ limits: defaultTransportLimits, clock: new RealClock(), random: new RealRandom() },
    onEvent: () => undefined,
  })
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const noSnapshots = async (): Promise<never> => Promise.reject(new Error('no snapshots here'))

const foundedPeer: Pick<TransportReceiver, 'identity' | 'verify'> = {
  identity: () => ({ logId: 'a1', clusterId: 'c1', phase: 'founded' }),
  verify: async () => 'ok',
}

/** Runs the follower: accepts every append. */
function follow(): void {
  const post = (message: FromFollower): void => void process.send?.(message)
  const start = async (credentials: PeerCredentials, leader: MemberInfo): Promise<void> => {
    const transport = open(followerId, 'n2', credentials)
    await transport.start({
      ...foundedPeer,
      unreachable: () => undefined,
      ended: () => undefined,
      removedByPeer: () => undefined,
      receiveSnapshot: noSnapshots,
      receive(peerMessage) {
        if (peerMessage.kind !== 'core' || peerMessage.message.kind !== 'append-request') return
        const { previousIndex, term: leaderTerm } = peerMessage.message
        const address = { from: followerId, to: leaderId, term: leaderTerm }
        const index = logIndex(previousIndex + 1)
        transport.send({ kind: 'core', message: { ...address, kind: 'append-accepted', index } })
      },
    })
    transport.setPeers([leader])
    post({ kind: 'listening', port: transport.port })
  }
  process.on('message', (message: ToFollower) => {
    if (message.kind === 'cpu') post({ kind: 'cpu', cpuMs: cpuMs() })
    else void start(message.credentials, message.leader)
  })
  process.on('disconnect', () => process.exit(0))
}

class Leader implements TransportReceiver {
  readonly identity = foundedPeer.identity
  readonly verify = foundedPeer.verify
  readonly #data = new SeededRandom(1).bytes(entryDataBytes)
  readonly #sentAt = new Map<number, bigint>()
  readonly receiveSnapshot = noSnapshots
  transport: GrpcTransport | null = null
  histogram = createHistogram()
  answered = 0
  running = false
  #next = 1

  removedByPeer(): void {}

  unreachable(): void {
    // The link is not up yet; `lead` sends again.
  }

  ended(): void {}

  receive(peerMessage: PeerMessage): void {
    if (peerMessage.kind !== 'core' || peerMessage.message.kind !== 'append-accepted') return
    const sentAt = this.#sentAt.get(peerMessage.message.index)
    if (sentAt === undefined) return
    this.#sentAt.delete(peerMessage.message.index)
    this.histogram.record(process.hrtime.bigint() - sentAt)
    this.answered++
    if (this.running) this.send()
  }

  send(): void {
    const index = this.#next++
    this.#sentAt.set(index, process.hrtime.bigint())
    const address = { from: leaderId, to: followerId, term: term(3) }
    const previous = {
      previousIndex: logIndex(index - 1),
      previousTerm: term(3),
      commit: logIndex(index - 1),
    }
    const entries = [{ index: logIndex(index), term: term(3), kind: 'command' as const, data: this.#data }]
    this.transport?.send({
      kind: 'core',
      message: { ...address, kind: 'append-request', ...previous, entries },
    })
  }
}

async function ask(follower: ChildProcess, message: ToFollower): Promise<FromFollower> {
  follower.send(message)
  const [answer] = (await once(follower, 'message')) as [FromFollower]
  return answer
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function followerCpuMs(follower: ChildProcess): Promise<number> {
  const answer = await ask(follower, { kind: 'cpu' })
  return answer.kind === 'cpu' ? answer.cpuMs : 0
}

async function row(leader: Leader, follower: ChildProcess, inFlight: number, seconds: number): Promise<void> {
  leader.running = true
  for (let sent = 0; sent < inFlight; sent++) leader.send()
  await pause(1000)
  const before = {
    own: cpuMs(),
    follower: await followerCpuMs(follower),
    frames: leader.transport?.counters.framesSent,
  }
  leader.histogram = createHistogram()
  leader.answered = 0
  const began = process.hrtime.bigint()
  await pause(seconds * 1000)
  const tookSeconds = Number(process.hrtime.bigint() - began) / 1e9
  const { answered, histogram } = leader
  const own = cpuMs() - before.own
  const other = (await followerCpuMs(follower)) - before.follower
  const frames = (leader.transport?.counters.framesSent ?? 0) - (before.frames ?? 0)
  leader.running = false
  await pause(100)
  const us = (ns: number): string => (ns / 1000).toFixed(0).padStart(7)
  const perMessage = (ms: number): string => ((ms * 1000) / answered).toFixed(1).padStart(7)
  console.log(
    String(inFlight).padStart(9),
    (answered / tookSeconds).toFixed(0).padStart(10),
    us(histogram.percentile(50)),
    us(histogram.percentile(99)),
    perMessage(own),
    perMessage(other),
    (answered / frames).toFixed(1).padStart(9),
  )
}

async function lead(seconds: number, rows: readonly number[]): Promise<void> {
  const follower = fork(process.argv[1] ?? '', ['follow'])
  const leader = new Leader()
  const transport = open(leaderId, 'n1', peerCredentials(testAuthority, 'n1'))
  leader.transport = transport
  await transport.start(leader)
  const self = memberInfo({ id: leaderId, name: 'n1' }, `127.0.0.1:${transport.port}`)
  const start = { kind: 'start', credentials: peerCredentials(testAuthority, 'n2'), leader: self } as const
  const answer = await ask(follower, start)
  if (answer.kind !== 'listening') throw new Error('the follower does not listen')
  const peer = memberInfo({ id: followerId, name: 'n2' }, `127.0.0.1:${answer.port}`)
  transport.setPeers([peer])
  while (leader.answered === 0) {
    leader.send()
    await pause(20)
  }
  console.log(
    `transport, ${entryDataBytes} B appends, ${cpus()[0]?.model ?? 'unknown cpu'}, node ${process.version}`,
  )
  console.log('in flight   answers/s  p50 us  p99 us  leader follower CPU-us/answer, messages/frame')
  for (const inFlight of rows) await row(leader, follower, inFlight, seconds)
  await transport.close()
  follower.disconnect()
}

if (process.argv[2] === 'follow') follow()
else await lead(Number(process.argv[2] ?? 5), (process.argv[3] ?? '1,16,64').split(',').map(Number))
