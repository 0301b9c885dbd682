/*
 * Goal: whatever membership changes are requested, while links break and processes end, nothing
 * acknowledged is lost, a term has one leader, every member has everything in the end, and only
 * removed members consider themselves removed.
 * Method: whole nodes over memory with a manual clock, from seeds: requests of every kind to any
 * member, blocked links in one or both directions, crashes and absences, transfers and writes; then
 * all faults are healed for a while. MEMBERS_SEED repeats one run, MEMBERS_SEEDS sets their number.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import {
  ConsensusError,
  defaultLimits,
  inlineNode,
  MembershipError,
  MemoryClusterRecord,
  MemoryLog,
  MemoryNetwork,
  MemoryTransport,
  nodeId,
} from '../../../../raft/index.ts'
import type {
  Configuration,
  Joining,
  LogIndex,
  MemberChange,
  MembersChanged,
  MemberInfo,
  NodeOptions,
  RaftNode,
} from '../../../../raft/index.ts'
import { memberInfo } from '../../../scenario/member-infos.ts'
import { ListMachine } from '../../../support/fakes/list-machine.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

type Process = {
  readonly info: MemberInfo
  readonly joining: Joining | null
  readonly log: MemoryLog
  readonly clusterRecord: MemoryClusterRecord
  readonly transport: MemoryTransport
  readonly node: RaftNode<number>
  readonly machine: ListMachine
}

/** Processes in one run, including ended ones. */
const processesMax = 12

class RandomMembers {
  readonly #random: SeededRandom
  readonly #clock = new ManualClock()
  readonly #network = new MemoryNetwork()
  readonly #founders = [1, 2, 3].map((id) => memberInfo(id, 'voter'))
  readonly #processes = new Map<number, Process>()
  readonly #down: Process[] = []
  readonly #acknowledged: string[] = []
  readonly #leaders = new Map<number, number>()
  /** Members that reported their removal. */
  readonly #removed = new Set<number>()
  /** The committed configurations by index. */
  readonly #decided = new Map<number, Configuration>()
  readonly trace: string[] = []
  #nextId = 4
  #lines = 0
  #failure: Error | null = null
  changes = 0

  constructor(seed: number) {
    this.#random = new SeededRandom(seed)
  }

  async run(steps: number): Promise<void> {
    for (const info of this.#founders) void this.#start(info, null, new MemoryLog())
    await this.#advance(10)
    for (let step = 0; step < steps; step++) {
      this.#step()
      await this.#advance(this.#random.below(250))
    }
    await this.#heal()
    await this.#check()
  }

  #step(): void {
    const random = this.#random
    const process = this.#anyProcess()
    if (process === null || random.chance(0.08)) return void this.#startAgain()
    if (random.chance(0.25)) return this.#requestChange(process)
    if (random.chance(0.4)) return this.#propose(process)
    if (random.chance(0.15)) return void this.#end(process, random.chance(0.6))
    if (random.chance(0.1)) return this.#transfer(process)
    if (random.chance(0.3)) return this.#cut()
    if (random.chance(0.4)) this.#note('heals', () => this.#network.heal())
  }

  #requestChange({ node, info }: Process): void {
    const change = this.#drawChange(node.status.commit)
    const requested = node.changeMembers(change, this.#clock.monotonicMs() + 4_000)
    requested.then(
      ({ configuration, index }) => {
        this.changes++
        // A removed member knows no configuration as late as its removal.
        const isItself = change.kind === 'remove' && change.id === info.id
        if (!isItself) this.#noteDecided({ configuration, index })
        this.#note(`m${info.id}: ${JSON.stringify(change)} is done at ${index}`)
        const isNew = change.kind === 'add' && !this.#processes.has(change.member.id)
        if (!isNew || this.#down.some((down) => down.info.id === change.member.id)) return
        const { clusterId } = node
        assert.ok(clusterId !== null)
        const joining = { clusterId, members: configuration.members, configurationIndex: index }
        void this.#start({ ...change.member, role: 'learner' }, joining, new MemoryLog())
      },
      (cause: unknown) => {
        const expected = cause instanceof MembershipError || cause instanceof ConsensusError
        if (!expected) this.#fail(cause)
        else this.#note(`m${info.id}: ${JSON.stringify(change)} is refused: ${cause.code}`)
      },
    )
  }

  /** @param commit the commit index of the requested member */
  #drawChange(commit: LogIndex): MemberChange {
    const random = this.#random
    const target = nodeId(1 + random.below(this.#nextId - 1))
    const kind = random.below(10)
    if (kind < 4 && this.#nextId <= processesMax) return this.#drawAddition(commit)
    if (kind < 6) return { kind: 'remove', id: target }
    if (kind < 8) return { kind: 'set-role', id: target, role: random.pick(['voter', 'learner']) }
    if (kind < 9)
      return { kind: 'move', id: target, peerAddress: null, clientAddress: `c${random.below(3)}:1` }
    return { kind: 'promote', id: target }
  }

  #drawAddition(basedOn: LogIndex): MemberChange {
    const id = this.#nextId++
    const { name, peerAddress, clientAddress, version, featureLevel } = memberInfo(id, 'learner')
    const replaces = this.#random.chance(0.5) ? null : nodeId(1 + this.#random.below(id - 1))
    const facts = { peerAddress, clientAddress, version, featureLevel, replaces, addedMs: 1 }
    return { kind: 'add', member: { id: nodeId(id), name, wantedRole: 'voter', ...facts }, basedOn }
  }

  #propose({ node }: Process): void {
    const line = `line ${this.#lines++}`
    node.propose(new TextEncoder().encode(line), this.#clock.monotonicMs() + 2_000).then(
      (result) => result.kind === 'applied' && this.#acknowledged.push(line),
      (cause: unknown) => this.#fail(cause),
    )
  }

  #transfer({ node }: Process): void {
    const to = this.#anyProcess()
    if (to === null) return
    node.transferLeadership(to.info.id, this.#clock.monotonicMs() + 1_000).catch(() => undefined)
  }

  #cut(): void {
    const [from, to] = [this.#anyProcess(), this.#anyProcess()]
    if (from === null || to === null || from === to) return
    this.#note(`blocks m${from.info.id} to m${to.info.id}`)
    this.#network.block(from.info.id, to.info.id)
    if (this.#random.chance(0.7)) this.#network.block(to.info.id, from.info.id)
  }

  /** Ends a process abruptly. @param soon whether it restarts at once */
  async #end(process: Process, soon: boolean): Promise<void> {
    const { info, transport, node } = process
    this.#note(`m${info.id} ends`)
    this.#processes.delete(info.id)
    await transport.close()
    await node.stop(this.#clock.monotonicMs())
    this.#down.push(process)
    if (soon) await this.#startAgain(process)
  }

  async #startAgain(process: Process | undefined = this.#down[0]): Promise<void> {
    if (process === undefined) return
    this.#down.splice(this.#down.indexOf(process), 1)
    await this.#start(process.info, process.joining, new MemoryLog(process.log), process.clusterRecord)
  }

  async #start(
    info: MemberInfo,
    joining: Joining | null,
    log: MemoryLog,
    clusterRecord = new MemoryClusterRecord(),
  ): Promise<void> {
    const { id } = info
    this.#note(`m${id} starts`)
    const [clock, network] = [this.#clock, this.#network]
    const transport = new MemoryTransport({
      network,
      cluster: 'c',
      self: info,
      clock,
      queueMessagesMax: 4096,
    })
    const common = { id, timing: { heartbeatMs: 100, electionMs: 600, tickMs: 50 }, limits: defaultLimits }
    const options: NodeOptions =
      joining === null ? { ...common, members: this.#founders } : { ...common, members: [], joining }
    const node = inlineNode<number>({
      ...{ node: options, clock, random: this.#random.fork(), transport, log, clusterRecord },
      onFatal: (cause) => this.#fail(new Error(`m${id} failed: ${cause}`)),
      onRemoved: (cause) => this.#note(`m${id}: ${cause}`, () => this.#removed.add(id)),
    })
    node.onStatus(({ role, term }) => {
      if (role !== 'leader') return
      const leader = this.#leaders.get(term) ?? id
      this.#leaders.set(term, leader)
      if (leader !== id) this.#fail(new Error(`m${leader} and m${id} lead in term ${term}`))
    })
    const machine = new ListMachine()
    this.#processes.set(id, { info, joining, log, clusterRecord, transport, node, machine })
    await node.start(machine).catch((cause: unknown) => {
      if (this.#processes.get(id)?.node === node) this.#fail(cause)
    })
  }

  /** Checks that no removed member returns under its id, however late the addition is repeated. */
  #noteDecided({ index, configuration }: MembersChanged): void {
    if (this.#decided.has(index)) return
    this.#decided.set(index, configuration)
    const ascending = [...this.#decided].toSorted(([a], [b]) => a - b)
    const [present, gone] = [new Set<number>(), new Set<number>()]
    for (const [at, { members }] of ascending) {
      const now = new Set<number>(members.map(({ id }) => id))
      for (const id of present) if (!now.has(id)) gone.add(id)
      for (const id of now) {
        if (gone.has(id)) this.#fail(new Error(`m${id} is a member again at ${at}`))
        present.add(id)
      }
    }
  }

  async #heal(): Promise<void> {
    this.#note('all faults are healed', () => this.#network.heal())
    for (let round = 0; round < 12; round++) {
      void this.#startAgain()
      // A learner sends nothing by itself, so no peer would refuse it.
      for (const { node } of this.#processes.values()) node.report('all', new Uint8Array(1))
      await this.#advance(1_000)
    }
  }

  async #check(): Promise<void> {
    const processes = [...this.#processes.values()]
    const leaders = processes.filter(({ node }) => node.status.role === 'leader')
    assert.equal(leaders.length, 1, 'one leads')
    const { configuration } = leaders[0]?.node.status ?? assert.fail()
    assert.equal(configuration.votersOutgoing, null, 'the joint configuration was left')
    const isMember = ({ info }: Process): boolean => configuration.members.some(({ id }) => id === info.id)
    const lines = leaders[0]?.machine.lines ?? []
    for (const line of this.#acknowledged) assert.ok(lines.includes(line), `${line} exists`)
    for (const process of processes) {
      const name = `m${process.info.id}`
      const knows = this.#removed.has(process.info.id)
      if (isMember(process)) assert.ok(!knows, `${name} does not consider itself removed`)
      // If all its peers are removed too, no member is left to report its removal.
      else if (this.#peersOf(process).some(isMember)) assert.ok(knows, `${name} knows that it was removed`)
      if (isMember(process)) assert.deepEqual(process.machine.lines, lines, `${name} has all lines`)
    }
    for (const process of processes) void this.#end(process, false)
    await this.#advance(5_000)
  }

  /** The peers that it knows. */
  #peersOf({ node, joining }: Process): readonly Process[] {
    const { members } = node.status.configuration
    const known = members.length > 0 ? members : (joining?.members ?? [])
    return [...this.#processes.values()].filter(({ info }) => known.some(({ id }) => id === info.id))
  }

  async #advance(ms: number): Promise<void> {
    await this.#clock.advance(ms)
    if (this.#failure !== null) throw this.#failure
  }

  #anyProcess(): Process | null {
    const processes = [...this.#processes.values()]
    return processes.length === 0 ? null : this.#random.pick(processes)
  }

  #fail(cause: unknown): void {
    this.#failure ??= cause instanceof Error ? cause : new Error(String(cause))
  }

  #note(line: string, act: () => void = () => undefined): void {
    this.trace.push(`${this.#clock.monotonicMs()} ${line}`)
    act()
  }
}

const only = process.env['MEMBERS_SEED']
const seeds = only === undefined ? Number(process.env['MEMBERS_SEEDS'] ?? 4) : 1

void test('random membership changes under random faults lose nothing and end in a cluster of equal members with one leader', async () => {
  let changes = 0
  for (let seed = Number(only ?? 1); seed < Number(only ?? 1) + seeds; seed++) {
    const run = new RandomMembers(seed)
    try {
      await run.run(200)
    } catch (cause) {
      const again = `repeat with: MEMBERS_SEED=${seed} node --test dist/test/unit/raft/driver/membership-random.test.js`
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new Error(`${why}\n${run.trace.slice(-60).join('\n')}\n${again}`, { cause })
    }
    changes += run.changes
  }
  assert.ok(changes > 3 * seeds, `${changes} changes were made`)
})
