import type { Random } from '../../base/random.ts'
import { logIndex, noSnapshot, term, Wal } from '../../raft/index.ts'
import { initialConfiguration } from '../../raft/index.ts'
import type { LogDisk, MemberInfo } from '../../raft/index.ts'
import type { MemoryClusterRecord } from '../../raft/protocol/founding.ts'
import type { MemoryPeerBook } from '../../raft/protocol/peer-log-ids.ts'

/** A later term and index than most runs reach. */
const [lastTerm, lastIndex] = [term(9), 400]

/**
 * Replaces the data of a member by that of an earlier founding under the same names, in which much
 * was committed.
 */
export function writeEarlierCluster(
  members: readonly MemberInfo[],
  disk: LogDisk,
  into: {
    readonly clusterRecord: MemoryClusterRecord
    readonly peerBook: MemoryPeerBook
    readonly random: Random
  },
): void {
  const wal = Wal.open({ disk, random: into.random, aheadBytes: 4_096 })
  const base = { ...noSnapshot, configuration: initialConfiguration(members) }
  const entries = Array.from({ length: lastIndex }, (_, at) => {
    return { kind: 'empty', index: logIndex(at + 1), term: lastTerm } as const
  })
  const hardState = { term: lastTerm, vote: null, commit: logIndex(lastIndex) }
  wal.append([{ snapshot: base, entries, hardState }])
  wal.close()
  into.clusterRecord.write({ clusterId: 'an earlier founding', founded: true, founders: [] })
  const all = new Set(members.map(({ id }) => id))
  for (const { id } of members) into.peerBook.record({ peer: id, logId: `old ${id}` }, all)
}
