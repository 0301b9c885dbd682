import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/**
 * Mistakes that show in one class of faults only: clocks, links, streams, copies, keys, load,
 * restores, recoveries.
 */
export const faultMutants: readonly Mutant[] = [
  {
    id: 'clocks-do-not-drift',
    file: 'raft/core/lease.ts',
    edits: [{ find: 'promisedMs * (1 - leaseDriftMax)', replace: 'promisedMs' }],
    breaks: 'a leader with a slow clock reads by its lease after another leader was elected',
    standsFor: 'Raft thesis §6.4.1: bounded drift of clocks',
    invariant: 'I10',
    killedBy: tests('unit/raft/core/lease', 'a lease begins when'),
  },
  {
    id: 'history-by-the-wall-clock',
    file: 'src/store/trimming.ts',
    edits: [{ find: 'const nowMs = clock.monotonicMs()', replace: 'const nowMs = clock.wallMs()' }],
    breaks: 'a jump of the wall clock trims all history at once, or none for a long time',
    standsFor: 'history ages by the monotonic clock of each member',
    invariant: 'I22',
    killedBy: tests('unit/src/store/trimming'),
  },
  {
    id: 'later-term-untold',
    file: 'raft/core/step.ts',
    edits: [
      {
        find: "return sendAtOnce(state, { kind: 'heartbeat-response', ...answer, context: null })",
        replace: 'return',
      },
    ],
    breaks: 'a member in a later term never follows its leader again',
    standsFor: 'Raft paper §5.1; links that were cut in one direction, with pre-vote',
    invariant: 'L3',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'lost-answer-not-asked-again',
    file: 'raft/core/leader.ts',
    edits: [
      {
        find: 'progress.appendDue = progress.match < state.log.lastIndex',
        replace: 'progress.appendDue = false',
      },
    ],
    breaks: 'a follower whose last acknowledgement was lost counts as lagging until the next write',
    standsFor: 'loss of single messages on a link that stays up',
    invariant: 'L2',
    killedBy: tests('unit/raft/core/replication'),
  },
  {
    id: 'torn-state-taken',
    file: 'raft/transport/inbound-snapshots.ts',
    edits: [
      {
        find: "if (frame?.kind !== 'trailer')\n        throw new TransportError('aborted', 'the stream ended before its trailer')\n      checkTrailer(frame, bytes, hash.digest())",
        replace: "if (frame?.kind === 'trailer') checkTrailer(frame, bytes, hash.digest())",
      },
    ],
    breaks: 'a truncated snapshot stream is accepted as a complete state',
    standsFor: 'a snapshot cut short by its connection',
    invariant: 'I14',
    killedBy: tests('unit/raft/transport/grpc-transport'),
  },
  {
    id: 'two-processes-as-one-member',
    file: 'raft/transport/inbound-links.ts',
    edits: [{ find: 'other !== 0 && hello.process !== 0 && other !== hello.process', replace: 'other < 0' }],
    breaks: 'a copy of a data directory runs next to its original, and both acknowledge as one member',
    standsFor: 'a clone of a data directory: two members with one id',
    invariant: 'I5',
    killedBy: tests('unit/raft/transport/grpc-transport'),
  },
  {
    id: 'renewed-keys-unused',
    file: 'raft/transport/grpc-transport.ts',
    edits: [{ find: 'const isNarrower = this.#tls.renew(credentials)', replace: 'const isNarrower = false' }],
    breaks: 'renewed keys are not used between members, whose links fail when the old ones expire',
    standsFor: 'etcd#11555: certificates that only a restart renews',
    invariant: 'L1',
    killedBy: tests('unit/raft/transport/grpc-transport'),
  },
  {
    id: 'queue-without-bytes',
    file: 'raft/transport/outbound-queue.ts',
    edits: [
      {
        find: 'if (this.#queue.size > 0 && this.#bytes + bytes > this.#limits.queueBytesMax) return false',
        replace: '',
      },
    ],
    breaks: 'the queue for a slow peer is limited in messages and not in bytes',
    standsFor: 'overload: one slow peer exhausts the memory of its leader',
    invariant: 'L2',
    killedBy: tests('unit/raft/transport/outbound-queue'),
  },
  {
    id: 'restore-goes-back',
    file: 'src/backup/incarnation.ts',
    edits: [
      {
        find: 'revision(byTime > last && byTime <= byTimeMax ? byTime : last + revisionStepMin)',
        replace: 'byTime > byTimeMax ? revision(byTime) : last',
      },
    ],
    breaks: 'a restored cluster reuses the revisions of the old one',
    standsFor: 'etcd#16028: revisions go back after a restore, and caches keep objects that no longer exist',
    invariant: 'I12',
    killedBy: tests('unit/src/backup/incarnation'),
  },
  {
    id: 'survivor-by-its-term-alone',
    file: 'src/backup/choose-candidate.ts',
    edits: [{ find: '(able.length > 0 ? able : whole)', replace: 'whole' }],
    breaks: 'recovery chooses a log that lacks entries which another survivor knows to be committed',
    standsFor: 'Raft paper §5.4.2; k3s#2227: recovery by hand',
    invariant: 'I15',
    killedBy: tests('unit/src/backup/choose-candidate'),
  },
]
