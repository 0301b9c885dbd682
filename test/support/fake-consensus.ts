import type { Clock } from '../../raft/base/clock.ts'
import { emptyConfiguration, logIndex, nodeId, term } from '../../raft/index.ts'
import type { ConsensusStatus, MemberInfo, NodeId } from '../../raft/index.ts'

/** The status of a healthy leader of three, to be changed by the test. */
export class FakeConsensus {
  status: ConsensusStatus
  readonly transfers: NodeId[] = []
  readonly #listeners = new Set<(status: ConsensusStatus) => void>()

  constructor(clock: Clock) {
    const members = ['n1', 'n2', 'n3'].map((name, at) => memberInfo(at + 1, name))
    const configuration = {
      ...emptyConfiguration,
      ...{ voters: members.map(({ id }) => id), members },
    }
    this.status = {
      id: nodeId(1),
      role: 'leader',
      term: term(3),
      leader: nodeId(1),
      vote: nodeId(1),
      commit: logIndex(10),
      lastIndex: logIndex(10),
      firstIndex: logIndex(1),
      persistedIndex: logIndex(10),
      transferTarget: null,
      followers: [
        { id: nodeId(2), state: 'replicate', match: logIndex(7), next: logIndex(8), recentlyActive: true },
        { id: nodeId(3), state: 'replicate', match: logIndex(10), next: logIndex(11), recentlyActive: true },
      ],
      configuration,
      decided: configuration,
      appliedMemory: logIndex(10),
      appliedDisk: logIndex(9),
      quorumContactMs: clock.monotonicMs(),
      removed: null,
    }
  }

  change(part: Partial<ConsensusStatus>): void {
    this.status = { ...this.status, ...part }
    for (const listener of this.#listeners) listener(this.status)
  }

  onStatus(listener: (status: ConsensusStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async transferLeadership(to: NodeId): Promise<void> {
    this.transfers.push(to)
    this.change({ leader: to, role: 'follower' })
  }
}

export function memberInfo(id: number, name: string): MemberInfo {
  return {
    id: nodeId(id),
    name,
    role: 'voter',
    wantedRole: 'voter',
    peerAddress: `127.0.0.1:${7442 + id}`,
    clientAddress: `127.0.0.1:${6442 + id}`,
    version: '0.0.0',
    featureLevel: 1,
    replaces: null,
    addedMs: 0,
  }
}
