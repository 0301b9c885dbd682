import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** raft/core: elections, replication, membership. */
export const consensusMutants: readonly Mutant[] = [
  {
    id: 'commit-by-counting',
    file: 'raft/core/replication.ts',
    edits: [{ find: ' || state.log.termAt(index) !== state.term) return false', replace: ') return false' }],
    breaks: 'an entry of an old term is committed by counting its copies',
    standsFor: 'Raft paper figure 8',
    invariant: 'I3',
    killedBy: tests('unit/raft/core/paper'),
  },
  {
    id: 'append-without-previous-check',
    file: 'raft/core/follower.ts',
    edits: [
      {
        find: 'state.log.termAt(message.previousIndex) !== message.previousTerm',
        replace: 'state.log.termAt(message.previousIndex) === null',
      },
    ],
    breaks: 'a follower appends behind an entry of another term',
    standsFor: 'Raft paper §5.3, log matching',
    invariant: 'I2',
    killedBy: tests('unit/raft/core/paper'),
    seeds: 60,
  },
  {
    id: 'old-append-truncates',
    file: 'raft/core/follower.ts',
    edits: [{ find: 'if (present === entry.term) continue', replace: '' }],
    breaks: 'an old append takes away what a later one brought and was acknowledged',
    standsFor: 'Raft paper §5.3, truncation only on conflict',
    invariant: 'I5',
    killedBy: tests('unit/raft/core/paper'),
  },
  {
    id: 'commit-beyond-append',
    file: 'raft/core/follower.ts',
    edits: [
      { find: 'Math.min(message.commit, last)', replace: 'Math.min(message.commit, state.log.lastIndex)' },
    ],
    breaks: 'a follower commits entries of its own that the append does not vouch for',
    standsFor: 'Raft paper figure 2, the index of the last new entry',
    invariant: 'I4',
    killedBy: tests('unit/raft/core/paper'),
  },
  {
    id: 'heartbeat-commits-too-far',
    file: 'raft/core/read-index.ts',
    edits: [{ find: 'Math.min(progress.match, state.commit)', replace: 'state.commit' }],
    breaks: 'a heartbeat tells a commit index beyond what the follower is known to have',
    standsFor: 'Raft paper figure 2; a stale suffix would be committed',
    invariant: 'I4',
    killedBy: tests('unit/raft/core/votes'),
    seeds: 20,
  },
  {
    id: 'vote-not-persisted',
    file: 'raft/core/duty.ts',
    edits: [
      { find: '{ term, vote, commit: state.commit }', replace: '{ term, vote: null, commit: state.commit }' },
    ],
    breaks: 'the term is written to the log and the vote is not',
    standsFor: 'Raft paper figure 2, persistent state',
    invariant: 'I6',
    killedBy: tests('unit/raft/core/votes'),
  },
  {
    id: 'vote-twice-in-a-term',
    file: 'raft/core/transitions.ts',
    edits: [{ find: 'if (!sameTerm) own.vote = null', replace: 'own.vote = null' }],
    breaks: 'whoever steps down forgets whom it voted for in that term',
    standsFor: 'Raft paper §5.2, one vote in a term',
    invariant: 'I1',
    killedBy: tests('unit/raft/core/votes'),
  },
  {
    id: 'vote-for-a-shorter-log',
    file: 'raft/core/log.ts',
    edits: [
      {
        find: 'return lastTerm > this.#lastTerm || (lastTerm === this.#lastTerm && lastIndex >= this.#lastIndex)',
        replace: 'return lastTerm >= 0 && lastIndex >= 0',
      },
    ],
    breaks: 'a candidate whose log lacks entries is elected',
    standsFor: 'Raft paper §5.4.1, election restriction',
    invariant: 'I3',
    killedBy: tests('unit/raft/core/paper'),
    seeds: 40,
  },
  {
    id: 'vote-for-the-longer-log',
    file: 'raft/core/log.ts',
    edits: [
      { find: 'return lastTerm > this.#lastTerm || (lastTerm === this.#lastTerm && ', replace: 'return (' },
    ],
    breaks: 'of two logs the longer one counts as newer, whatever the terms',
    standsFor: 'Raft paper §5.4.1, first the term, then the length',
    invariant: 'I3',
    killedBy: tests('unit/raft/core/paper'),
  },
  {
    id: 'answers-before-sync',
    file: 'raft/core/state.ts',
    edits: [
      { find: 'state.outbox.oncePersisted.push(message)', replace: 'state.outbox.atOnce.push(message)' },
    ],
    breaks: 'votes and acknowledgements leave before they are on disk',
    standsFor: 'the order of duty: durable first, then told',
    invariant: 'I5',
    killedBy: tests('scenario/scenario'),
    also: [tests('unit/raft/core/crash')],
    seeds: 20,
  },
  {
    id: 'vote-answered-before-sync',
    file: 'raft/core/election.ts',
    edits: [
      {
        find: 'sendOncePersisted(state, { ...answer, granted: true })',
        replace: 'sendAtOnce(state, { ...answer, granted: true })',
      },
    ],
    breaks: 'a vote is given before it is on disk',
    standsFor: 'Raft paper figure 2, durable before the answer',
    invariant: 'I6',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'candidate-asks-before-sync',
    file: 'raft/core/election.ts',
    edits: [
      {
        find: "sendOncePersisted(state, {\n      kind: 'vote-request',",
        replace: "sendAtOnce(state, {\n      kind: 'vote-request',",
      },
    ],
    breaks: 'a candidate asks for votes with a term and a log that are not on its disk',
    standsFor: 'a bug this project had: two leaders of a term behind a crash',
    invariant: 'I6',
    killedBy: tests('unit/raft/core/crash'),
  },
  {
    id: 'own-disk-counted-early',
    file: 'raft/core/replication.ts',
    edits: [
      { find: 'id === state.id ? state.log.persisted :', replace: 'id === state.id ? state.log.lastIndex :' },
    ],
    breaks: 'the leader counts its own disk before the entry is on it',
    standsFor: 'etcd#14370: one member loses a write in a crash',
    invariant: 'I15',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'late-write-vouches-for-another',
    file: 'raft/core/log.ts',
    edits: [{ find: 'for (const write of this.#writes) if (write.to > last) write.to = last', replace: '' }],
    breaks: 'the late end of a write vouches for entries that took the place of its own',
    standsFor: 'the ABA race of asynchronous writes, etcd-io/raft',
    invariant: 'I5',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'joint-commit-by-the-new',
    file: 'raft/core/quorum.ts',
    edits: [
      {
        find: 'return Math.min(incoming, majorityValue(electorate.votersOutgoing, reached))',
        replace: 'return incoming',
      },
    ],
    breaks: 'in a joint configuration the new majority alone commits',
    standsFor: 'Raft thesis §4.3',
    invariant: 'I7',
    killedBy: tests('unit/raft/core/quorum'),
  },
  {
    id: 'joint-commit-by-the-old',
    file: 'raft/core/quorum.ts',
    edits: [
      {
        find: 'return Math.min(incoming, majorityValue(electorate.votersOutgoing, reached))',
        replace: 'return majorityValue(electorate.votersOutgoing, reached)',
      },
    ],
    breaks: 'in a joint configuration the old majority alone commits',
    standsFor: 'Raft thesis §4.3',
    invariant: 'I7',
    killedBy: tests('unit/raft/core/quorum'),
  },
  {
    id: 'joint-election-by-the-new',
    file: 'raft/core/quorum.ts',
    edits: [
      {
        find: "return incoming === 'won' && outgoing === 'won' ? 'won' : 'pending'",
        replace: 'return incoming',
      },
    ],
    breaks: 'in a joint configuration the new majority alone elects',
    standsFor: 'Raft thesis §4.3',
    invariant: 'I7',
    killedBy: tests('unit/raft/core/quorum'),
  },
  {
    id: 'learner-counted',
    file: 'raft/core/replication.ts',
    edits: [
      {
        find: 'quorumValue(configuration(state), (id) =>',
        replace:
          'quorumValue({ ...configuration(state), voters: [...configuration(state).voters, ...configuration(state).learners] }, (id) =>',
      },
    ],
    breaks: 'the disks of learners count for a commit',
    standsFor: 'etcd#21694: a learner taken for a voter',
    invariant: 'I5',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'configuration-at-apply',
    file: 'raft/core/state.ts',
    edits: [
      {
        find: 'return state.log.configuration\n',
        replace:
          'let seen = state.log.configuration\n' +
          '  state.log.someUndecided(state.applied, (one) => { seen = one; return false })\n' +
          '  return seen\n',
      },
    ],
    breaks: 'a configuration counts from its application and not from its append',
    standsFor: 'etcd#7625; decision 21',
    invariant: 'I7',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'configuration-not-reverted',
    file: 'raft/core/log.ts',
    edits: [
      {
        find: 'while ((this.#configurations.at(-1)?.index ?? -1) >= index) this.#configurations.pop()',
        replace: '',
      },
    ],
    breaks: 'a configuration stays in force although its entry was overwritten',
    standsFor: 'Raft thesis §4.1; decision 21',
    invariant: 'I7',
    killedBy: tests('unit/raft/core/log'),
  },
  {
    id: 'change-before-own-commit',
    file: 'raft/core/conf-change.ts',
    edits: [
      {
        find: "if (!committedInTerm(state)) return { kind: 'refused', reason: 'term-unsettled' }",
        replace: '',
      },
    ],
    breaks: 'a new leader changes the membership before an entry of its term is committed',
    standsFor: 'the flaw of single-server changes, Ongaro 2015',
    invariant: 'I7',
    killedBy: tests('unit/raft/core/thesis'),
  },
  {
    id: 'removed-leader-stays',
    file: 'raft/core/leader.ts',
    edits: [
      {
        find: 'if (isVoter(state, state.id) || state.log.configurationIndex > state.commit) return',
        replace: 'if (state.commit >= 0) return',
      },
    ],
    breaks: 'a leader that was removed goes on leading',
    standsFor: 'etcd-io/raft#83; Raft thesis §4.2.2',
    invariant: 'I8',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'joint-never-left',
    file: 'raft/core/leader.ts',
    edits: [{ find: '  maybeLeaveJoint(state)\n', replace: '' }],
    breaks: 'a joint configuration is never left',
    standsFor: 'Raft thesis §4.3; decision 21',
    invariant: 'L4',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'quorum-unchecked',
    file: 'raft/core/leader.ts',
    edits: [{ find: 'if (!checkQuorum(state)) return', replace: '' }],
    breaks: 'a leader that nobody hears goes on leading',
    standsFor: 'Raft thesis §6.2, check quorum',
    invariant: 'L1',
    killedBy: tests('scenario/scenario'),
    also: [tests('unit/raft/core/thesis')],
  },
  {
    id: 'pre-vote-within-lease',
    file: 'raft/core/step.ts',
    edits: [{ find: 'return !standsByLeader(state)', replace: 'return true' }],
    breaks: 'a pre-vote is granted while the leader is heard',
    standsFor: 'Raft thesis §9.6, a member that comes back does not disturb',
    invariant: 'L2',
    killedBy: tests('unit/raft/core/thesis'),
  },
  {
    id: 'vote-within-lease',
    file: 'raft/core/step.ts',
    edits: [{ find: 'if (standsByLeader(state) && !message.transfer) return false', replace: '' }],
    breaks: 'a vote request with a later term deposes a leader that is heard',
    standsFor: 'Raft thesis §4.2.3, disruptive servers',
    invariant: 'L2',
    killedBy: tests('unit/raft/core/thesis'),
  },
  {
    id: 'transfer-without-catch-up',
    file: 'raft/core/leader.ts',
    edits: [
      {
        find: 'state.transfer?.to === progress.id && progress.match === state.log.lastIndex',
        replace: 'state.transfer?.to === progress.id',
      },
    ],
    breaks: 'leadership is handed to a member that lacks entries',
    standsFor: 'Raft thesis §3.10',
    invariant: 'L2',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'stands-while-restoring',
    file: 'raft/core/election.ts',
    edits: [{ find: ' || state.log.restoring) return false', replace: ') return false' }],
    breaks: 'a member stands for election while a snapshot is about to replace its log',
    standsFor: 'decision 7: the log record is the commit point',
    invariant: 'I3',
    killedBy: tests('unit/raft/core/votes'),
  },
  {
    id: 'removed-voter-counts',
    file: 'raft/core/conf-change.ts',
    edits: [
      {
        find: '    voters: joint.voters,\n    votersOutgoing: null,',
        replace:
          '    voters: [...new Set([...joint.voters, ...joint.votersOutgoing])].sort((a, b) => a - b),\n    votersOutgoing: null,',
      },
      {
        find: 'new Set<NodeId>([...joint.voters, ...learners])',
        replace: 'new Set<NodeId>([...joint.voters, ...joint.votersOutgoing, ...learners])',
      },
    ],
    breaks: 'who was removed jointly still counts when the joint configuration is left',
    standsFor: 'Raft thesis §4.3',
    invariant: 'I8',
    killedBy: tests('unit/raft/core/member-change'),
  },
  {
    id: 'replaced-voter-stays',
    file: 'raft/core/member-change.ts',
    edits: [{ find: 'other.id !== id && other.id !== member.replaces', replace: 'other.id !== id' }],
    breaks: 'a new voter comes, and the dead one whose place it takes still counts',
    standsFor: 'atomic replacement; one more failure than planned stops the cluster',
    invariant: 'L2',
    killedBy: tests('unit/raft/core/member-change'),
  },
  {
    id: 'removal-below-live-quorum',
    file: 'raft/core/member-change.ts',
    edits: [{ find: '(id) => inTouch.has(id))) return plan', replace: '() => true)) return plan' }],
    breaks: 'a removal is made that leaves voters of whom no majority is there',
    standsFor: 'Raft thesis §4.4: an operator who removes the wrong member',
    invariant: 'L2',
    killedBy: tests('unit/raft/core/member-change'),
  },
]
