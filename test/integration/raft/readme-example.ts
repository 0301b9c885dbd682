import { RealClock } from '../../../src/host/clock.ts'
import { RealRandom } from '../../../src/host/random.ts'
import * as raft from '../../../raft/index.ts'

/** A replicated list of lines. It is kept in memory, so a member that restarts replays the log. */
class Lines implements raft.StateMachine<number> {
  readonly lines: string[] = []
  appliedMemory = raft.noIndex
  appliedDisk = raft.noSnapshot
  readonly capacity = 1
  readonly wanted = null
  readonly isQuarantined = false
  readonly #outcomes = new Map<string, number>()

  /** Applies committed entries in order. A repeated proposal returns the outcome of the first. */
  apply(entries: readonly raft.Entry[], session: number): raft.SettledProposal<number>[] {
    const settled: raft.SettledProposal<number>[] = []
    for (const entry of entries) {
      this.appliedMemory = entry.index
      if (entry.kind !== 'command') continue
      const envelope = raft.decodeEnvelope(entry.data)
      const id = `${envelope.session}.${envelope.sequence}`
      if (!this.#outcomes.has(id) && envelope.expectedTerm === entry.term) {
        this.lines.push(new TextDecoder().decode(envelope.payload))
        this.#outcomes.set(id, this.lines.length)
      }
      if (envelope.session !== session) continue
      const outcome = this.#outcomes.get(id)
      const done = { sequence: envelope.sequence, index: entry.index }
      if (outcome === undefined) settled.push({ ...done, result: { kind: 'void' } })
      else settled.push({ ...done, result: { kind: 'applied', outcome } })
    }
    return settled
  }

  logPersisted(): void {}
  onCapacity(): void {}
  quarantineState(reason: string): void {
    throw new Error(reason)
  }
  produceSnapshot(): Promise<never> {
    return Promise.reject(new Error('this example keeps its whole log'))
  }
  stageSnapshot(): Promise<never> {
    return this.produceSnapshot()
  }
  installSnapshot(): Promise<never> {
    return this.produceSnapshot()
  }
}

/** Runs three members in this process, writes on one and reads on another. */
export async function example(): Promise<readonly string[]> {
  const clock = new RealClock()
  const random = new RealRandom()
  const network = new raft.MemoryNetwork()
  const members = [1, 2, 3].map(memberInfo)
  const cluster = members.map((self) => {
    const machine = new Lines()
    const node = raft.inlineNode<number>({
      node: {
        id: self.id,
        members,
        timing: raft.defaultTiming,
        limits: raft.defaultLimits,
      },
      clock,
      random,
      transport: new raft.MemoryTransport({
        network,
        cluster: 'example',
        self,
        clock,
        queueMessagesMax: 4096,
      }),
      log: new raft.MemoryLog(),
      onFatal: (cause) => {
        throw new Error(cause)
      },
    })
    return { node, machine }
  })
  await Promise.all(cluster.map(({ node, machine }) => node.start(machine)))

  const [first, second] = cluster
  if (first === undefined || second === undefined) throw new Error('a member is missing')
  const deadlineMs = clock.monotonicMs() + 60_000

  // Any member accepts proposals: a follower forwards them to the leader.
  const result = await first.node.propose(new TextEncoder().encode('hello'), deadlineMs)
  if (result.kind !== 'applied') throw new Error(`not applied: ${result.kind}`)

  // A linearizable read on another member: its memory now has everything that was acknowledged.
  await second.node.barrier(deadlineMs)
  const read = [...second.machine.lines]

  for (const { node } of cluster) await node.stop(clock.monotonicMs() + 1000)
  return read
}

function memberInfo(id: number): raft.MemberInfo {
  return {
    id: raft.nodeId(id),
    name: `m${id}`,
    role: 'voter',
    wantedRole: 'voter',
    peerAddress: `memory:${id}`,
    clientAddress: `client:${id}`,
    version: '1.0.0',
    featureLevel: 1,
    replaces: null,
    addedMs: 0,
  }
}
