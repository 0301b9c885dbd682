import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** raft/log: what is durable, and what a start believes. */
export const logMutants: readonly Mutant[] = [
  {
    id: 'log-sync-skipped',
    file: 'raft/log/wal.ts',
    edits: [
      {
        find: 'segment.file.write(offset, bytes)\n    segment.file.sync()',
        replace: 'segment.file.write(offset, bytes)',
      },
    ],
    breaks: 'a group of the log is called durable without a sync',
    standsFor: 'NATS 2.12.1: synced minutes after the acknowledgement',
    invariant: 'I15',
    killedBy: tests('unit/raft/log/wal-crash'),
    seeds: 20,
  },
  {
    id: 'log-goes-on-after-failure',
    file: 'raft/log/wal.ts',
    edits: [{ find: 'this.#dead = true', replace: 'this.#dead = false' }],
    breaks: 'the log writes on after a sync that failed',
    standsFor: 'the fsync flaw of 2018: a second sync succeeds and the bytes are lost',
    invariant: 'I15',
    killedBy: tests('unit/raft/log/wal-failure'),
  },
  {
    id: 'log-tail-not-made-durable',
    file: 'raft/log/recover.ts',
    edits: [{ find: '      this.#makeDurable()\n', replace: '' }],
    breaks: 'what a start could read is believed to be on disk',
    standsFor: 'a write whose sync was interrupted, and a second crash',
    invariant: 'I15',
    killedBy: tests('unit/raft/log/wal-crash'),
  },
  {
    id: 'segment-name-not-durable',
    file: 'raft/log/segment.ts',
    edits: [{ find: '  disk.syncDirectory()\n', replace: '' }],
    breaks: 'a new segment may lose its name in a crash, with all that was written to it',
    standsFor: 'files without a durable directory entry',
    invariant: 'I15',
    killedBy: tests('unit/raft/log/wal-crash'),
  },
  {
    id: 'records-unchecked',
    file: 'raft/log/group-decoder.ts',
    edits: [{ find: 'if (view.getUint32(offset, true) !== chain) return null', replace: '' }],
    breaks: 'the checksum of a record is not compared',
    standsFor: 'decision 8; bit rot in the log',
    invariant: 'I14',
    killedBy: tests('unit/raft/log/wal-damage'),
  },
  {
    id: 'chain-unchecked',
    file: 'raft/log/scan.ts',
    edits: [{ find: 'if (!follows)', replace: 'if (!ours)' }],
    breaks: 'a group in the wrong place is taken for the next one',
    standsFor: 'decision 5; misdirected and missing writes',
    invariant: 'I14',
    killedBy: tests('unit/raft/log/wal-damage'),
  },
  {
    id: 'damage-taken-for-a-torn-tail',
    file: 'raft/log/scan.ts',
    edits: [{ find: 'if (!sectorsMissing && !endMissing)', replace: 'if (at < 0)' }],
    breaks: 'a damaged record is taken for an interrupted write and cut off',
    standsFor: 'decision 8; acknowledged entries are lost',
    invariant: 'I14',
    killedBy: tests('unit/raft/log/wal-killed'),
  },
  {
    id: 'torn-in-the-middle',
    file: 'raft/log/scan.ts',
    edits: [{ find: 'if (this.#window.lastNonZero(at + bytes.length) !== null)', replace: 'if (at < 0)' }],
    breaks: 'an interrupted write is cut off although more was written after it',
    standsFor: 'decision 8; acknowledged entries are lost',
    invariant: 'I14',
    killedBy: tests('unit/raft/log/wal-killed'),
  },
  {
    id: 'foreign-segment-believed',
    file: 'raft/log/recover.ts',
    edits: [
      {
        find: 'if (this.#logId !== null && !sameBytes(this.#logId, logId))',
        replace: 'if (logId.length === 0)',
      },
    ],
    breaks: 'a segment of another log is read as part of this one',
    standsFor: 'restored and mixed data directories',
    invariant: 'I14',
    killedBy: tests('unit/raft/log/wal-damage'),
  },
  {
    id: 'lost-log-welcome',
    file: 'raft/node/peer-log-ids.ts',
    edits: [
      {
        find: "return this.#known.get(peer) === logId ? 'ok' : 'lost-log'",
        replace: "return 'ok'",
      },
    ],
    breaks: 'a member with a wiped disk votes again under its name',
    standsFor: 'decision 8; a bug this project had',
    invariant: 'I6',
    killedBy: tests('unit/raft/node/peer-log-ids'),
  },
  {
    id: 'cluster-id-not-compared',
    file: 'raft/node/peer-log-ids.ts',
    edits: [{ find: "if (clusterId !== cluster.clusterId) return 'other-cluster'", replace: '' }],
    breaks:
      'members of clusters that were founded apart take each other for peers that lost their logs, and end',
    standsFor: 'an old member that came back ended a working majority',
    invariant: 'I6',
    killedBy: tests('unit/raft/node/peer-log-ids'),
  },
  {
    id: 'founded-by-a-quorum',
    file: 'raft/node/founding.ts',
    edits: [
      {
        find: 'return this.#isConfirmed || this.#others.every(agrees)',
        replace: 'return this.#isConfirmed || 2 * this.#others.filter(agrees).length >= this.#others.length',
      },
    ],
    breaks: 'a cluster is founded before all founders agreed to it, and again by those who had not',
    standsFor: 'a second founding: acknowledged writes were lost',
    invariant: 'I5',
    killedBy: tests('unit/raft/node/founding'),
  },
  {
    id: 'agreement-not-final',
    file: 'raft/node/peer-log-ids.ts',
    edits: [
      {
        find: "if (cluster === null) return phase === 'founded' ? 'other-cluster' : 'ok'",
        replace: "if (cluster?.founded !== true) return 'ok'",
      },
    ],
    breaks: 'a member that agreed to the logs of all founders talks to one that has another since',
    standsFor: 'a second founding: acknowledged writes were lost',
    invariant: 'I5',
    killedBy: tests('unit/raft/node/peer-log-ids'),
  },
  {
    id: 'one-refusal-is-proof',
    file: 'raft/node/refusals.ts',
    edits: [
      {
        find: '2 * others.filter((id) => refusing.has(id)).length > others.length',
        replace: 'others.some((id) => refusing.has(id))',
      },
    ],
    breaks: 'one peer that is wrong ends any member',
    standsFor: 'an old member that came back ended a working majority',
    invariant: 'I8',
    killedBy: tests('unit/raft/node/self-membership'),
  },
]
