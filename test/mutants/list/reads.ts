import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** Everything between a read and the state it may see. */
export const readMutants: readonly Mutant[] = [
  {
    id: 'read-barrier-skipped',
    file: 'src/store/store.ts',
    edits: [{ find: 'await this.#options.consensus.barrier(this.#quorumDeadline(deadlineMs))', replace: '' }],
    breaks: 'a linearizable read sends no ReadIndex round',
    standsFor: 'stale reads, consul#54',
    invariant: 'I16',
    killedBy: tests('unit/src/store/store'),
    seeds: 20,
  },
  {
    id: 'list-without-barrier',
    file: 'src/registry/reading/read-state.ts',
    edits: [
      {
        find: "    case 'most-recent':\n",
        replace:
          "    case 'most-recent':\n      if (wanted !== null) return read.prove('linearizable', take())\n",
      },
    ],
    breaks: 'a linearizable list or get is served from local memory without a barrier',
    standsFor: 'spec 4.8; stale reads, consul#54',
    invariant: 'I16',
    killedBy: tests('unit/src/registry/writing/races'),
    seeds: 20,
  },
  {
    id: 'refused-on-stale-memory',
    file: 'src/registry/writing/retry-on-conflict.ts',
    edits: [{ find: 'await fromStore(dependencies.store.barrier(request.context.deadlineMs))', replace: '' }],
    breaks: '404, 409 and similar errors are based on a stale state',
    standsFor: 'refusals are evaluated on a current state',
    invariant: 'I16',
    killedBy: tests('unit/src/registry/reading/stale-memory'),
    seeds: 20,
  },
  {
    id: 'stale-evaluation-stands',
    file: 'src/registry/shared/read-set.ts',
    edits: [
      {
        find: 'if ((view.get(read.key)?.revision ?? null) !== read.revision) return false',
        replace: '',
      },
    ],
    breaks: 'a refusal is returned although the state it was based on changed before the barrier',
    standsFor: 'refusals are evaluated on a current state',
    invariant: 'I16',
    killedBy: tests('unit/src/registry/reading/stale-memory'),
  },
  {
    id: 'read-before-own-commit',
    file: 'raft/core/read-index.ts',
    edits: [
      {
        find: "!latest.withHeartbeat && state.role === 'leader' && committedInTerm(state)",
        replace: "!latest.withHeartbeat && state.role === 'leader'",
      },
    ],
    breaks: 'a new leader answers reads before an entry of its term is committed',
    standsFor: 'consul#2644; Raft thesis §6.4 step 1',
    invariant: 'I9',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'read-with-heartbeat-before-own-commit',
    file: 'raft/core/read-index.ts',
    edits: [
      {
        find: 'if (state.reads.rounds.at(-1)?.index === null && committedInTerm(state)) setIndexes',
        replace: 'if (state.reads.rounds.at(-1)?.index === null) setIndexes',
      },
    ],
    breaks: 'a read that goes with a heartbeat is answered before an entry of the term is committed',
    standsFor: 'consul#2644; Raft thesis §6.4 step 1',
    invariant: 'I9',
    killedBy: tests('unit/raft/core/thesis-reads'),
  },
  {
    id: 'read-with-heartbeat-joins-a-sent-round',
    file: 'raft/core/read-index.ts',
    edits: [
      {
        find: 'latest?.index === null && (waits || latest.withHeartbeat)',
        replace: 'latest !== undefined && (waits || latest.withHeartbeat)',
      },
    ],
    breaks: 'a read joins a round that was sent with a heartbeat before the read began',
    standsFor: 'Raft thesis §6.4 step 2',
    invariant: 'I16',
    killedBy: tests('unit/raft/core/thesis-reads'),
  },
  {
    id: 'read-without-quorum',
    file: 'raft/core/read-index.ts',
    edits: [
      { find: 'if (context > confirmed || index === null) break', replace: 'if (index === null) break' },
    ],
    breaks: 'a leader confirms reads without confirming its leadership',
    standsFor: 'etcd#20418: stale reads of a process that was paused',
    invariant: 'I16',
    killedBy: tests('scenario/scenario'),
    seeds: 40,
  },
  {
    id: 'read-context-reused',
    file: 'raft/core/read-index.ts',
    edits: [{ find: 'reads.nextContext++ as', replace: '(reads.rounds.length + 1) as' }],
    breaks: 'a late response to one round of reads confirms a later round',
    standsFor: 'etcd-io/raft#397',
    invariant: 'I16',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'read-index-of-applied',
    file: 'raft/core/read-index.ts',
    edits: [{ find: 'round.index = state.commit', replace: 'round.index = state.applied' }],
    breaks: 'a read uses the applied index of the leader instead of its commit index',
    standsFor: 'Raft thesis §6.4 step 2',
    invariant: 'I16',
    killedBy: tests('scenario/scenario'),
    seeds: 20,
  },
  {
    id: 'read-joins-a-sent-round',
    file: 'raft/node/read-barrier.ts',
    edits: [
      {
        find: 'this.#open.push(waiter)',
        replace: ';([...this.#sent.values()].at(-1)?.waiters ?? this.#open).push(waiter)',
      },
    ],
    breaks: 'a read joins a round that was sent before the read began',
    standsFor: 'a read joins only rounds that are not sent yet',
    invariant: 'I16',
    killedBy: tests('unit/raft/node/read-barrier'),
  },
  {
    id: 'read-before-apply',
    file: 'raft/node/read-barrier.ts',
    edits: [{ find: 'if (index <= this.#applied) this.#pass', replace: 'if (index >= 0) this.#pass' }],
    breaks: 'a confirmed read does not wait until memory has reached its index',
    standsFor: 'Raft thesis §6.4 step 4',
    invariant: 'I16',
    killedBy: tests('unit/raft/node/read-barrier'),
    seeds: 20,
  },
  {
    id: 'read-round-of-a-former-life',
    file: 'raft/driver/read-relay.ts',
    edits: [
      {
        find: 'this.#nextRound = random.below(2 ** 32) * 2 ** 20 + random.below(2 ** 16) * 2 ** 4',
        replace: 'this.#nextRound = 1',
      },
    ],
    breaks: 'a restarted member accepts the response to a request of its previous process',
    standsFor: 'etcd-io/raft#397, across a restart',
    invariant: 'I16',
    killedBy: tests('unit/raft/driver/relays'),
  },
  {
    id: 'exact-read-of-later-objects',
    file: 'src/store/machine/history-iterator.ts',
    edits: [
      {
        find: 'if (current.revision <= this.#at) return current',
        replace: 'if (this.#at >= 0) return current',
      },
    ],
    breaks: 'a list at a revision holds objects of later ones',
    standsFor: 'spec 4.8, Exact',
    invariant: 'I18',
    killedBy: tests('model/store'),
  },
  {
    id: 'any-deletion-ends-what-was-there',
    file: 'src/store/machine/history-iterator.ts',
    edits: [
      {
        find: 'const deletion = deleted === null ? null : firstAbove(deleted.revisions, this.#at)',
        replace: 'const deletion = deleted === null ? null : (deleted.revisions.at(-1) ?? null)',
      },
    ],
    breaks: 'a list at a revision misses objects that were deleted and created again since',
    standsFor: 'spec 4.8, Exact',
    invariant: 'I18',
    killedBy: tests('unit/src/store/machine/history-iterator'),
  },
  {
    id: 'not-older-than-not-waited-for',
    file: 'src/registry/reading/read-state.ts',
    edits: [{ find: 'if (store.view().revision >= wanted) return', replace: 'if (wanted >= 0) return' }],
    breaks: 'a read that must not be older than a revision is served before memory reached it',
    standsFor: 'spec 4.8, NotOlderThan',
    invariant: 'I18',
    killedBy: tests('unit/src/registry/verbs/list'),
  },
  {
    id: 'page-of-another-revision',
    file: 'src/registry/reading/slices.ts',
    edits: [{ find: 'return view.revision === revision', replace: 'return view.revision >= revision' }],
    breaks: 'the next page of a list shows a newer state than the first',
    standsFor: 'spec 4.8, consistent pages',
    invariant: 'I19',
    killedBy: tests('unit/src/registry/verbs/list'),
    seeds: 20,
  },
  {
    id: 'compacted-revision-read',
    file: 'src/store/historical-view.ts',
    edits: [
      { find: 'if (this.revision < trimmed) throw compactedError(this.revision, trimmed)', replace: '' },
    ],
    breaks: 'a compacted revision is read',
    standsFor: 'etcd#18667: reading a compacted revision',
    invariant: 'I18',
    killedBy: tests('unit/src/store/compaction'),
  },
]
