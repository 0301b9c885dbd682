import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** Membership: one change at a time, and a removed member learns of its removal. */
export const memberMutants: readonly Mutant[] = [
  {
    id: 'addition-made-late',
    file: 'raft/core/member-change.ts',
    edits: [
      {
        find: 'if (configurationIndex > basedOn) {',
        replace: 'if (configurationIndex < basedOn - 2 ** 52) {',
      },
    ],
    breaks: 'a repeated request to add a member adds it again after it was removed, with the same ID',
    standsFor: 'an earlier bug here: a reused ID could belong to two logs',
    invariant: 'I8',
    killedBy: tests('unit/raft/core/member-change'),
    also: [tests('unit/src/membership/join-service')],
    seeds: 60,
  },
  {
    id: 'redrawn-id-confirmed',
    file: 'src/membership/join-service.ts',
    edits: [
      {
        find: 'if (joining?.nonce !== nonce || joining.memberId !== memberId) return false',
        replace: 'if (joining?.nonce !== nonce) return false',
      },
    ],
    breaks: 'a process gets an ID although a later one was drawn for it',
    standsFor: 'one token leads to one id',
    invariant: 'I8',
    killedBy: tests('unit/src/membership/join-service'),
  },
  {
    id: 'restored-without-founding',
    file: 'raft/protocol/founding.ts',
    edits: [
      {
        find: "this.#record = record === null || record.clusterId === '' ? null : record",
        replace:
          "this.#record = record?.clusterId === '' ? { ...record, clusterId: 'c', founded: true } : record",
      },
    ],
    breaks: 'a restored cluster begins without a founding: a member that is restored again takes part',
    standsFor: 'the founding by all initial members, also from a snapshot',
    invariant: 'I1',
    killedBy: tests('unit/raft/protocol/founding'),
  },
  {
    id: 'two-voters-in-one-step',
    file: 'raft/core/conf-change.ts',
    edits: [
      {
        find: 'if (added.length + removed.length <= 1) return target',
        replace: 'if (added.length + removed.length <= 2) return target',
      },
    ],
    breaks: 'a voter takes the place of another without a joint configuration between them',
    standsFor: 'Raft thesis §4.1: majorities of both have to overlap',
    invariant: 'I7',
    killedBy: tests('unit/raft/core/member-change'),
  },
  {
    id: 'joint-left-undecided',
    file: 'raft/core/conf-change.ts',
    edits: [
      {
        find: "if (state.log.configurationIndex > state.commit || state.role !== 'leader') return",
        replace: "if (state.role !== 'leader') return",
      },
    ],
    breaks: 'a leader leaves a joint configuration before it is committed',
    standsFor: 'Raft thesis §4.3',
    invariant: 'I7',
    killedBy: tests('scenario/scenario'),
  },
  {
    id: 'removal-unheard',
    file: 'raft/driver/self-membership.ts',
    edits: [{ find: 'if (this.#removed) return\n', replace: 'if (!this.#removed) return\n' }],
    breaks: 'a removed member does not notice its removal, and continues to run',
    standsFor: 'a removed process exits with code 3',
    invariant: 'I8',
    killedBy: tests('unit/raft/driver/self-membership'),
  },
  {
    id: 'strangers-let-in',
    file: 'raft/driver/self-membership.ts',
    edits: [
      {
        find: 'if (peers !== null) transport.setPeers(peers, decided.index)',
        replace: 'if (peers !== null && this.#refreshedIndex === 0) transport.setPeers(peers, decided.index)',
      },
    ],
    breaks: 'peer links are never updated: new members get none, and removed members keep theirs',
    standsFor: 'a peer that is not a member is rejected',
    invariant: 'L4',
    killedBy: tests('unit/raft/driver/self-membership'),
  },
  {
    id: 'leaving-cut-off-early',
    file: 'raft/driver/self-membership.ts',
    edits: [
      {
        find: 'return union(union(listed, inForce.members), decided.members)',
        replace: 'return union(union(listed, inForce.members), decided.members.slice(0, 0))',
      },
    ],
    breaks: 'a member is disconnected before its removal is committed, and the removal may be undone',
    standsFor: 'Raft thesis §4.1: what is appended may be overwritten',
    invariant: 'L2',
    killedBy: tests('unit/raft/driver/self-membership'),
  },
  {
    id: 'impossible-member-appended',
    file: 'raft/driver/membership-coordinator.ts',
    edits: [{ find: 'if (fault !== null) {', replace: "if (fault === '') {" }],
    breaks:
      'a request to add an invalid member ends the leader, or appends an entry that followers cannot decode',
    standsFor: 'input is refused before it is appended',
    invariant: 'L1',
    killedBy: tests('unit/raft/driver/membership-coordinator'),
  },
  {
    id: 'change-answered-by-the-deposed',
    file: 'raft/driver/membership-coordinator.ts',
    edits: [{ find: "if (pending.proof === 'given')", replace: 'if (pending.round >= 0)' }],
    breaks: 'a deposed leader reports a change as done that is reverted',
    standsFor: 'Raft thesis §6.4, responses of a stale leader',
    invariant: 'L4',
    killedBy: tests('unit/raft/driver/membership-coordinator'),
  },
  {
    id: 'waiting-with-the-deposed',
    file: 'raft/driver/membership-coordinator.ts',
    edits: [
      {
        find: "for (const pending of this.#requests.splice(0)) this.#answer(pending, { kind: 'later' })",
        replace: '',
      },
    ],
    breaks: 'a deposed leader keeps requested changes, and executes them when it leads again',
    standsFor: 'a change that another leader has executed is made again',
    invariant: 'L4',
    killedBy: tests('unit/raft/driver/membership-coordinator'),
  },
]
