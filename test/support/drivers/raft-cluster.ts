/*
 * Members of the consensus library in this process, which tests start, add and stop: on one thread
 * and connected in memory, or on threads of their own with gRPC and files.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  defaultLimits,
  defaultTiming,
  defaultTransportLimits,
  inlineNode,
  MembershipError,
  MemoryClusterRecord,
  MemoryLog,
  MemoryNetwork,
  MemoryPeerBook,
  MemoryTransport,
  nodeId,
  threadedNode,
} from '../../../raft/index.ts'
import type {
  Joining,
  MemberChange,
  MemberInfo,
  MembersChanged,
  NodeLimits,
  NodeOptions,
  RaftNode,
} from '../../../raft/index.ts'
import { RealClock } from '../../../src/host/clock.ts'
import { RealRandom } from '../../../src/host/random.ts'
import { until as untilWithPatience } from '../tools/until.ts'
import { memberInfo, peerCredentials, testAuthority } from '../../../fixtures/peer-credentials.ts'
import { ListMachine } from '../fakes/list-machine.ts'
import { freePorts } from '../../../fixtures/port-range.ts'

export const clock = new RealClock()
const random = new RealRandom()
const hostUrl = new URL('../../../src/host/thread-host.js', import.meta.url).href

export type FleetMember = {
  readonly info: MemberInfo
  readonly node: RaftNode<number>
  readonly machine: ListMachine
  /** The reason of its removal. */
  readonly removed: string[]
  /** The reports of its log. */
  readonly logNotices: string[]
}

export function soon(ms: number): number {
  return clock.monotonicMs() + ms
}

/** Waits like `until` of `tools/until.ts`, but checks every 5 ms. */
export function until(what: string, holds: () => boolean): Promise<void> {
  return untilWithPatience(what, holds, () => '', 5)
}

/** The running members by number. */
export class RaftFleet {
  readonly members = new Map<number, FleetMember>()
  readonly network = new MemoryNetwork()
  /** The in-memory log of each member, from its last start. */
  readonly logs = new Map<number, MemoryLog>()
  readonly #kind: 'inline' | 'threads'
  readonly #limits: NodeLimits
  readonly #directory: string
  readonly #books = new Map<number, MemoryPeerBook>()
  readonly #records = new Map<number, MemoryClusterRecord>()
  #founders: readonly MemberInfo[] = []

  constructor(kind: 'inline' | 'threads', limits: NodeLimits = defaultLimits) {
    this.#kind = kind
    this.#limits = limits
    this.#directory = mkdtempSync(join(tmpdir(), 'raft-fleet-'))
  }

  async found(...numbers: readonly number[]): Promise<void> {
    this.#founders = await Promise.all(numbers.map((number) => this.infoOf(number)))
    await Promise.all(this.#founders.map((info) => this.start(info)))
  }

  /** Returns a new member at a free address. */
  async infoOf(number: number): Promise<MemberInfo> {
    const address = this.#kind === 'inline' ? `memory:${number}` : await freeAddress()
    return memberInfo({ id: nodeId(number), name: `m${number}` }, address)
  }

  /** @param joining unset: a founder */
  async start(info: MemberInfo, joining?: Joining): Promise<FleetMember> {
    const members = joining === undefined ? this.#founders : []
    const node: NodeOptions = {
      ...{ id: info.id, members, timing: defaultTiming, limits: this.#limits },
      ...(joining === undefined ? {} : { joining }),
    }
    const removed: string[] = []
    const logNotices: string[] = []
    const raft = this.#open(info, node, {
      onRemoved: (cause) => removed.push(cause),
      onLogNotice: (line) => logNotices.push(line),
    })
    const machine = new ListMachine()
    await raft.start(machine)
    const member = { info, node: raft, machine, removed, logNotices }
    this.members.set(info.id, member)
    return member
  }

  /** Adds a member and starts it with the response, as a joining process does. */
  async join(
    number: number,
    part: { readonly by: number; readonly replaces?: number },
  ): Promise<FleetMember> {
    const info = await this.infoOf(number)
    return this.start(info, this.joining(await this.#added(part, info)))
  }

  /** Retries when another change, such as a promotion, committed after the barrier. */
  async #added(
    part: { readonly by: number; readonly replaces?: number },
    info: MemberInfo,
  ): ReturnType<RaftNode<number>['changeMembers']> {
    for (const limit = soon(60_000); ;) {
      try {
        return await this.changed(part.by, await this.addition(part, info))
      } catch (cause) {
        const isPassed = cause instanceof MembershipError && cause.code === 'id-taken'
        if (!isPassed || clock.monotonicMs() > limit) throw cause
      }
    }
  }

  /** @param part.by the member whose read barrier is used */
  async addition(
    part: { readonly by: number; readonly replaces?: number },
    info: MemberInfo,
  ): Promise<MemberChange> {
    const { id, name, peerAddress, clientAddress, version, featureLevel } = info
    const facts = { peerAddress, clientAddress, version, featureLevel, addedMs: 1 }
    const replaces = part.replaces === undefined ? null : nodeId(part.replaces)
    const basedOn = await this.member(part.by).node.barrier(soon(60_000))
    return { kind: 'add', member: { id, name, wantedRole: 'voter', ...facts, replaces }, basedOn }
  }

  /** The response to a joining member. */
  joining({ configuration, index }: MembersChanged): Joining {
    const [known] = [...this.members.values()].flatMap(({ node }) => node.clusterId ?? [])
    assert.ok(known !== undefined, 'some member knows its cluster')
    return { clusterId: known, members: configuration.members, configurationIndex: index }
  }

  change(by: number, change: MemberChange): ReturnType<RaftNode<number>['changeMembers']> {
    return this.member(by).node.changeMembers(change, soon(60_000))
  }

  /**
   * Retries while running members count as silent, as after a pause of the whole machine.
   */
  async changed(by: number, change: MemberChange): ReturnType<RaftNode<number>['changeMembers']> {
    for (const limit = soon(60_000); ;) {
      try {
        return await this.change(by, change)
      } catch (cause) {
        const isSilence = cause instanceof MembershipError && cause.code === 'below-live-quorum'
        if (!isSilence || clock.monotonicMs() > limit) throw cause
      }
      await new Promise((resolve) => clock.after(20, () => resolve(undefined)))
    }
  }

  member(number: number): FleetMember {
    return this.members.get(number) ?? assert.fail(`member ${number} runs`)
  }

  async leader(): Promise<FleetMember> {
    const found = (): FleetMember | undefined =>
      [...this.members.values()].find(
        ({ node }) => node.status.role === 'leader' && node.status.removed === null,
      )
    await until('there is a leader', () => found() !== undefined)
    return found() ?? this.leader()
  }

  async stop(number: number): Promise<void> {
    const { node } = this.member(number)
    this.members.delete(number)
    await node.stop(soon(200))
  }

  async close(): Promise<void> {
    await Promise.all([...this.members.keys()].map((number) => this.stop(number)))
    rmSync(this.#directory, { recursive: true })
  }

  /** The log directory of a member with threads. */
  logDirectory({ name }: MemberInfo): string {
    return join(this.#directory, name)
  }

  #open(
    info: MemberInfo,
    node: NodeOptions,
    {
      onRemoved,
      onLogNotice,
    }: { readonly onRemoved: (cause: string) => void; readonly onLogNotice: (line: string) => void },
  ): RaftNode<number> {
    const onFatal = (cause: string): void => assert.fail(`member ${info.name} gave up: ${cause}`)
    if (this.#kind === 'inline') {
      const log = new MemoryLog()
      this.logs.set(info.id, log)
      const transport = new MemoryTransport({
        ...{ network: this.network, cluster: 'test', self: info, clock, queueMessagesMax: 4096 },
      })
      return inlineNode<number>({ node, clock, random, transport, log, onFatal, onRemoved })
    }
    const peerBook = this.#books.get(info.id) ?? new MemoryPeerBook()
    this.#books.set(info.id, peerBook)
    const clusterRecord = this.#records.get(info.id) ?? new MemoryClusterRecord()
    this.#records.set(info.id, clusterRecord)
    return threadedNode<number>({
      ...{ node, clock, random, hostUrl, peerBook, clusterRecord, onFatal, onRemoved, onLogNotice },
      logDirectory: this.logDirectory(info),
      transport: {
        cluster: 'test',
        self: { id: info.id, name: info.name },
        listenAddress: info.peerAddress,
        credentials: peerCredentials(testAuthority, info.name),
        limits: { ...defaultTransportLimits, backoffMsMin: 10, backoffMsMax: 200 },
      },
      onPeerEvent: () => undefined,
      onMeasured: () => undefined,
    })
  }
}

async function freeAddress(): Promise<string> {
  const [port] = await freePorts(1)
  return `127.0.0.1:${port}`
}
