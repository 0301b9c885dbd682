import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** Reads without a quorum round: leases and bounds. */
export const leaseMutants: readonly Mutant[] = [
  {
    id: 'promise-shortened-by-a-restart',
    file: 'raft/core/lease.ts',
    edits: [{ find: 'lease.promisedTicks, lease.formerPromiseTicks)', replace: 'lease.promisedTicks)' }],
    breaks:
      'a voter that was started with a shorter election timeout elects another leader while the first reads by its promise',
    standsFor: 'Raft thesis §6.4.1, promises outlive processes',
    invariant: 'I16',
    killedBy: tests('unit/raft/core/lease', 'with a shorter election timeout'),
  },
  {
    id: 'lease-kept-on-transfer',
    file: 'raft/core/lease.ts',
    edits: [{ find: ' || lease.endedByTransfer || state.transfer !== null', replace: '' }],
    breaks: 'a leader reads by its lease during a leadership transfer',
    standsFor: 'Raft thesis §6.4.1, transfers end leases',
    invariant: 'I10',
    killedBy: tests('unit/raft/core/lease', 'a transfer ends the lease'),
  },
  {
    id: 'lease-resumed-after-transfer',
    file: 'raft/core/lease.ts',
    edits: [{ find: ' || lease.endedByTransfer', replace: '' }],
    breaks:
      'a leader with a failed transfer reads by a lease again, although the transfer message may still arrive',
    standsFor: 'Raft thesis §3.10 and §6.4.1',
    invariant: 'I10',
    killedBy: tests('unit/raft/core/lease', 'a transfer ends the lease'),
  },
  {
    id: 'no-wait-after-start',
    file: 'raft/core/state.ts',
    edits: [
      {
        find: 'silentTicks: promisedNothing ? config.electionTicks : 0',
        replace: 'silentTicks: config.electionTicks',
      },
      {
        find: 'promisedTicks: promisedNothing ? config.electionTicks : 0',
        replace: 'promisedTicks: config.electionTicks',
      },
    ],
    breaks: 'a restarted voter votes at once, regardless of its earlier promises',
    standsFor: 'Raft thesis §6.4.1, promises are not on disk',
    invariant: 'I10',
    killedBy: tests('unit/raft/core/lease', 'for an election timeout after its start'),
  },
  {
    id: 'promise-forgotten-when-the-leader-ended',
    file: 'raft/core/lease.ts',
    edits: [{ find: '  if (ticksUntilPromiseEnds(state) > 0) return true\n', replace: '' }],
    breaks:
      'a voter that lost its connections to a leader votes at once, although the leader reads by its promise',
    standsFor: 'Raft thesis §6.4.1; a broken connection proves no end',
    invariant: 'I10',
    killedBy: tests('unit/raft/core/ended-leader', 'keeps its lease promise'),
  },
  {
    id: 'lease-from-the-answer',
    file: 'raft/core/lease.ts',
    edits: [{ find: 'endOf(sentMs, promisedMs))', replace: 'endOf(sentMs + 20, promisedMs))' }],
    breaks: 'a lease begins later than the send time of the heartbeat',
    standsFor: 'Raft thesis §6.4.1, when a lease begins',
    invariant: 'I10',
    killedBy: tests('unit/raft/core/lease', 'a lease begins when'),
  },
  {
    id: 'promise-forgotten-in-a-later-term',
    file: 'raft/core/lease.ts',
    edits: [
      {
        find: 'isBoundByLease(state: State): boolean {\n',
        replace: 'isBoundByLease(state: State): boolean {\n  if (state.leader === null) return false\n',
      },
    ],
    breaks: 'a voter that learned of a later term votes at once, although its leader relies on its promise',
    standsFor: 'Raft thesis §6.4.1; a vote depends on the known leader',
    invariant: 'I10',
    killedBy: tests('unit/raft/core/lease', 'even after it learned of a later term'),
  },
  {
    id: 'promise-of-a-term-not-on-disk',
    file: 'raft/core/lease.ts',
    edits: [{ find: 'state.outbox.durable.term === state.term', replace: 'sentMs >= 0' }],
    breaks: 'a voter promises in a term that is not durable, and after a crash its log looks new',
    standsFor: 'Raft paper figure 2, durable before the response',
    invariant: 'I10',
    killedBy: tests('unit/raft/core/lease', 'a promise is made only in a durable term'),
  },
  {
    id: 'bound-from-the-answer',
    file: 'raft/node/read-barrier.ts',
    edits: [
      {
        find: 'freshness: { asOfMs, confirmedMs }',
        replace: 'freshness: { asOfMs: confirmedMs, confirmedMs }',
      },
    ],
    breaks: 'the freshness of memory is counted from the response to a round instead of its start',
    standsFor: 'bounded reads without clocks',
    invariant: 'I21',
    killedBy: tests('unit/raft/node/read-barrier'),
  },
  {
    id: 'commit-index-behind-its-term',
    file: 'raft/protocol/shared-lease.ts',
    edits: [
      {
        find: '    this.#store(at.commit, commit)\n    this.#store(at.term, term)\n',
        replace: '    this.#store(at.term, term)\n    this.#store(at.commit, commit)\n',
      },
    ],
    breaks: 'a reader may see a new term with the commit index of an old one',
    standsFor: 'memory that two threads share',
    invariant: 'I10',
    killedBy: tests('unit/raft/protocol/shared-lease'),
  },
  {
    id: 'lease-not-read-again',
    file: 'src/registry/reading/read-state.ts',
    edits: [{ find: 'if (lease.holds()) return read', replace: 'return read' }],
    breaks: 'a lease is checked before the value is read, and not after',
    standsFor: 'etcd#20418: a process that stalls between check and read',
    invariant: 'I10',
    killedBy: tests('unit/src/registry/calls/consistency'),
  },
  {
    id: 'bound-not-looked-at-again',
    file: 'src/registry/reading/read-state.ts',
    edits: [{ find: 'if (age <= boundMs) {', replace: 'if (age < Infinity) {' }],
    breaks: 'a read returns a state that is older than the requested bound',
    standsFor: 'bounded reads without clocks',
    invariant: 'I21',
    killedBy: tests('unit/src/registry/calls/consistency'),
  },
]
