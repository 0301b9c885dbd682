import { tests } from '../mutant.ts'
import type { Mutant } from '../mutant.ts'

/** What peers send is input: no word of one reaches an assertion, or is believed where another was asked. */
export const trustMutants: readonly Mutant[] = [
  {
    id: 'acknowledgement-beyond-the-log',
    file: 'raft/core/violation.ts',
    edits: [{ find: 'return index <= log.lastIndex', replace: 'return index >= 0' }],
    breaks: 'a peer ends the leader by accepting an entry that is not there',
    standsFor: 'input of peers reaches an assertion',
    invariant: 'I3',
    killedBy: tests('unit/raft/core/violation'),
  },
  {
    id: 'second-leader-of-a-term-is-heard',
    file: 'raft/core/violation.ts',
    edits: [
      {
        find: 'if (term > state.term || state.leader === null || state.leader === from) return null',
        replace: 'if (state.term >= 0) return null',
      },
    ],
    breaks: 'whoever claims to lead the term of a leader ends it',
    standsFor: 'Raft paper figure 3, election safety',
    invariant: 'I1',
    killedBy: tests('unit/raft/core/violation'),
  },
  {
    id: 'committed-entries-may-be-contradicted',
    file: 'raft/core/violation.ts',
    edits: [
      { find: 'if (known === null || known === term) return null', replace: 'if (index >= 0) return null' },
    ],
    breaks: 'a leader of another history is followed',
    standsFor: 'Raft paper figure 3, leader completeness',
    invariant: 'I3',
    killedBy: tests('unit/raft/core/violation'),
  },
  {
    id: 'terms-may-skip-to-the-end',
    file: 'raft/core/violation.ts',
    edits: [
      { find: 'term <= Math.max(state.term, state.termMax)', replace: 'term <= Number.MAX_SAFE_INTEGER' },
    ],
    breaks: 'one message uses up all terms, and nobody can be elected any more',
    standsFor: 'input of peers is bounded',
    invariant: 'I1',
    killedBy: tests('unit/raft/core/violation'),
  },
  {
    id: 'terms-may-skip-a-little',
    file: 'raft/core/violation.ts',
    edits: [{ find: 'Math.max(state.term, state.termMax)', replace: 'state.term + 2 ** 26' }],
    breaks: 'a member that was away while a peer raised the terms can never come back',
    standsFor: 'a peer keeps nobody out for ever',
    invariant: 'I1',
    killedBy: tests('unit/raft/core/violation'),
  },
  {
    id: 'reads-confirmed-by-anybody',
    file: 'raft/node/read-relay.ts',
    edits: [{ find: 'if (asked.leader !== message.from) return', replace: 'if (asked.leader === 0) return' }],
    breaks: 'a member that was not asked confirms a read',
    standsFor: 'Raft thesis §6.4, the leader alone knows',
    invariant: 'I16',
    killedBy: tests('unit/raft/node/relays'),
  },
  {
    id: 'poison-is-proposed',
    file: 'raft/node/proposal-relay.ts',
    edits: [{ find: 'if (batch.from === null) return batch', replace: 'if (batch.term >= 0) return batch' }],
    breaks: 'a member has a command committed that nobody can apply',
    standsFor: 'input of peers is looked at before it is committed',
    invariant: 'I4',
    killedBy: tests('unit/raft/node/relays'),
  },
  {
    id: 'poison-ends-every-member',
    file: 'src/store/machine/machine.ts',
    edits: [{ find: 'if (skips && cause instanceof CommandMalformed) return null', replace: '' }],
    breaks: 'one entry that nobody can decode ends every member, at each start',
    standsFor: 'etcd corruption of 2022, a committed entry that applies differently',
    invariant: 'I4',
    killedBy: tests('unit/src/store/machine/feature-level'),
  },
  {
    id: 'silent-connections-stay',
    file: 'raft/transport/peer-port.ts',
    edits: [
      {
        find: 'clock.after(handshakeMs, () => socket.destroy())',
        replace: 'clock.after(handshakeMs, () => undefined)',
      },
    ],
    breaks: 'connections that say nothing keep members out for two minutes',
    standsFor: 'places are held by those with a certificate',
    invariant: 'L1',
    killedBy: tests('unit/raft/transport/peer-port'),
  },
  {
    id: 'refusals-of-anybody',
    file: 'raft/node/proposal-relay.ts',
    edits: [{ find: 'if (leader !== message.from) return', replace: 'if (leader === 0) return' }],
    breaks: 'a member says of a write that may be committed that it is without effect',
    standsFor: 'a fate is only told by who knows it',
    invariant: 'I17',
    killedBy: tests('unit/raft/node/relays'),
  },
]
