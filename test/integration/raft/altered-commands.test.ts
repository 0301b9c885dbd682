/*
 * Goal: a flipped bit in the memory, on the wire or in the log of a member, undetected by their own
 * checks, is never applied by any member and never blocks the cluster.
 * Method: three members whose parts hand each other copies; one bit of a command is changed in one
 * copy, at each hop.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, MemoryClusterRecord, MemoryLog, MemoryNetwork, nodeId } from '../../../raft/index.ts'
import type { Entry, MemberInfo, RaftNode, TransportEvent } from '../../../raft/index.ts'
import { RealClock } from '../../../src/host/clock.ts'
import { RealRandom } from '../../../src/host/random.ts'
import { copyingNode } from '../../support/fakes/copying-node.ts'
import type { Hop } from '../../support/fakes/copying-node.ts'
import { until } from '../../support/tools/until.ts'
import { ListMachine } from '../../support/fakes/list-machine.ts'
import { memberInfo } from '../../../fixtures/peer-credentials.ts'

const clock = new RealClock()
const random = new RealRandom()

class Member {
  readonly info: MemberInfo
  readonly log: MemoryLog
  readonly clusterRecord: MemoryClusterRecord
  readonly machine = new ListMachine()
  readonly node: RaftNode<number>
  readonly fatal: string[] = []
  readonly events: TransportEvent[] = []
  /** The entries in the memory of the raft thread. */
  readonly kept: Entry[] = []
  tamper: (hop: Hop) => void = () => undefined

  constructor(
    info: MemberInfo,
    members: readonly MemberInfo[],
    network: MemoryNetwork,
    log = new MemoryLog(),
    clusterRecord = new MemoryClusterRecord(),
  ) {
    this.info = info
    this.log = log
    this.clusterRecord = clusterRecord
    this.node = copyingNode<number>({
      ...{ self: info, members, network, clock, random, log, clusterRecord },
      onHop: (hop) => this.tamper(hop),
      onKept: (entries) => this.kept.push(...entries),
      onFatal: (cause) => this.fatal.push(cause),
      onPeerEvent: (event) => this.events.push(event),
    })
  }

  get lines(): readonly string[] {
    return this.machine.lines
  }
}

class Trio {
  readonly network = new MemoryNetwork()
  readonly members: Member[]

  private constructor() {
    const infos = [1, 2, 3].map((id) => memberInfo({ id: nodeId(id), name: `m${id}` }, 'memory:1'))
    this.members = infos.map((info) => new Member(info, infos, this.network))
  }

  static async start(): Promise<Trio> {
    const trio = new Trio()
    await Promise.all(trio.members.map(({ node, machine }) => node.start(machine)))
    await propose(trio.members[0] ?? assert.fail(), 'before')
    await trio.allHave(['before'])
    return trio
  }

  get leader(): Member {
    return this.members.find(({ node }) => node.status.role === 'leader') ?? assert.fail('a member leads')
  }

  get follower(): Member {
    return this.members.find((member) => member !== this.leader) ?? assert.fail('a member follows')
  }

  async allHave(lines: readonly string[], who: readonly Member[] = this.members): Promise<void> {
    await until(`all have ${lines.join(', ')}`, () =>
      who.every(({ machine }) => machine.lines.length >= lines.length),
    )
    for (const { machine } of who) assert.deepEqual(machine.lines, lines)
  }

  /**
   * Checks that `affected` ended, and that the others serve and have the commands as proposed.
   */
  async checkOthersContinue(affected: Member): Promise<void> {
    await until('the affected member ends', () => affected.fatal.length > 0)
    assert.equal(affected.fatal.length, 1)
    assert.match(affected.fatal[0] ?? '', /was altered in the memory of this member/)
    await affected.node.stop(clock.monotonicMs() + 100)
    const others = this.members.filter((member) => member !== affected)
    for (const member of others) await propose(member, `by ${member.info.name}`)
    const [one, other] = others
    await until('the others are equal', () => one?.lines.length === other?.lines.length)
    assert.deepEqual(one?.lines, other?.lines)
    for (const line of one?.lines ?? []) assert.match(line, /^(before|after|by m\d)$/)
    for (const { fatal, machine } of others) assert.deepEqual([fatal, machine.quarantined], [[], null])
  }

  /** Restarts the member on its log. */
  async restart(old: Member): Promise<Member> {
    await old.node.stop(clock.monotonicMs() + 100)
    const infos = this.members.map(({ info }) => info)
    const member = new Member(old.info, infos, this.network, new MemoryLog(old.log), old.clusterRecord)
    this.members[this.members.indexOf(old)] = member
    await member.node.start(member.machine)
    return member
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map(({ node }) => node.stop(clock.monotonicMs() + 100)))
  }
}

async function propose(member: Member, text: string): Promise<void> {
  const result = await member.node.propose(new TextEncoder().encode(text), clock.monotonicMs() + 20_000)
  assert.equal(result.kind, 'applied')
}

/** Flips the last bit, which belongs to the payload of the command. */
function flip(bytes: Uint8Array): void {
  const at = bytes.byteLength - 1
  bytes[at] = (bytes[at] ?? 0) ^ 1
}

/** Flips a bit of the first command. @returns whether there was a command */
function flipFirst(entries: readonly Entry[]): boolean {
  const command = entries.find((entry) => entry.kind === 'command')
  if (command?.kind === 'command') flip(command.data)
  return command !== undefined
}

function once(change: (hop: Hop) => boolean): (hop: Hop) => void {
  let done = false
  return (hop) => {
    if (!done) done = change(hop)
  }
}

async function with3(run: (trio: Trio) => Promise<void>): Promise<void> {
  const trio = await Trio.start()
  try {
    await run(trio)
  } finally {
    await trio.stop()
  }
}

void test('an entry with a bit flipped on the wire is detected, reported and sent again', () =>
  with3(async (trio) => {
    const { follower } = trio
    follower.tamper = once(({ message }) => {
      if (message.kind !== 'core' || message.message.kind !== 'append-request') return false
      return flipFirst(message.message.entries)
    })
    await propose(trio.leader, 'after')
    await trio.allHave(['before', 'after'])
    for (const { fatal } of trio.members) assert.deepEqual(fatal, [])
    assert.deepEqual(follower.events.filter(({ kind }) => kind === 'altered').length, 1)
  }))

void test('a bit flipped in a forwarded proposal is detected and the proposal retried', () =>
  with3(async (trio) => {
    trio.leader.tamper = once(({ message }) => {
      if (message.kind !== 'forward' || message.proposals[0] === undefined) return false
      flip(message.proposals[0])
      return true
    })
    await propose(trio.follower, 'after')
    await trio.allHave(['before', 'after'])
  }))

void test('a bit flipped in a proposal in the memory of the leader or the forwarder ends that member', async () => {
  for (const who of ['leader', 'follower'] as const) {
    await with3(async (trio) => {
      const ill = trio[who]
      ill.tamper = once(({ message }) => {
        if (message.kind !== 'propose' || message.proposals[0] === undefined) return false
        flip(message.proposals[0])
        return true
      })
      void ill.node.propose(new TextEncoder().encode('after'), clock.monotonicMs() + 5000)
      await trio.checkOthersContinue(ill)
    })
  }
})

void test('a bit flipped in the entry cache of a leader ends the leader and no other member', () =>
  with3(async (trio) => {
    const { leader, follower } = trio
    const cut = trio.members.filter((member) => member !== follower)
    for (const { info } of cut) trio.network.block(info.id, follower.info.id)
    await propose(leader, 'after')
    assert.ok(flipFirst(leader.kept.slice(-1)))
    trio.network.heal()
    await trio.checkOthersContinue(leader)
  }))

void test('a bit flipped on the way to the log ends the member before anything is written', () =>
  with3(async (trio) => {
    for (const who of ['follower'] as const) {
      const ill = trio[who]
      ill.tamper = once(({ message }) => message.kind === 'write' && flipFirst(message.entries))
      await propose(trio.leader, 'after')
      await trio.checkOthersContinue(ill)
      const again = await trio.restart(ill)
      await trio.allHave(trio.leader.lines, [again])
    }
  }))

void test('a bit flipped in an entry before it is applied ends the member, and the next start reads the entry from the log', () =>
  with3(async (trio) => {
    const ill = trio.follower
    ill.tamper = once(({ message }) => message.kind === 'committed' && flipFirst(message.entries))
    await propose(trio.leader, 'after')
    await trio.checkOthersContinue(ill)
    assert.deepEqual(ill.lines, ['before'])
    const again = await trio.restart(ill)
    await trio.allHave(trio.leader.lines, [again])
    assert.deepEqual([again.fatal, again.machine.quarantined], [[], null])
  }))

void test('a bit flipped in a log with valid checksums makes the member fetch the state of a peer at the next start', () =>
  with3(async (trio) => {
    await propose(trio.leader, 'after')
    await trio.allHave(['before', 'after'])
    const ill = trio.follower
    await ill.node.stop(clock.monotonicMs() + 100)
    assert.ok(flipFirst(ill.log.read(...whole(ill.log)).toReversed()))
    const again = await trio.restart(ill)
    await until('it noticed', () => again.machine.quarantined !== null)
    assert.match(again.machine.quarantined ?? '', /in this member's own log$/)
    await propose(trio.leader, 'by m1')
    await trio.allHave(['before', 'after', 'by m1'])
    assert.deepEqual(again.fatal, [])
    await propose(again, 'by m2')
    await trio.allHave(['before', 'after', 'by m1', 'by m2'])
  }))

function whole(log: MemoryLog): Parameters<MemoryLog['read']> {
  const { base, lastIndex } = new MemoryLog(log).recovered
  return [logIndex(base.index + 1), lastIndex, Number.MAX_SAFE_INTEGER]
}
