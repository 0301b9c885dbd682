import type { SeededRandom } from '../../base/random.ts'
import type { Message, ReadContext } from '../../raft/core/message.ts'
import type { NewMember } from '../../raft/core/member-change.ts'
import { logIndex, nodeId, term } from '../../raft/core/types.ts'
import type { Configuration, NodeId, Term } from '../../raft/core/types.ts'
import { encodeEnvelope } from '../../raft/protocol/envelope.ts'
import type { PeerMessage, SnapshotHeader } from '../../raft/ports.ts'

/*
 * Messages of a Byzantine member with valid keys, of most kinds, that are impossible or meaningless
 * for any receiver; only a raised term is possible, and rare. Possible lies (a second vote, an
 * acknowledgement of an unwritten entry) are left out: Raft does not tolerate those.
 */

const far = logIndex(2 ** 51)
/** An id that no member has. */
const unknownMember = nodeId(2 ** 50)

type Ends = { readonly from: NodeId; readonly to: NodeId; readonly term: Term }

/** @param ends addresses, with the sender's real term */
export function impossibleMessage(random: SeededRandom, ends: Ends): PeerMessage {
  const make = random.pick(makers)
  return make(random, ends)
}

/** Returns the header of a snapshot that no leader can have. */
export function impossibleState(random: SeededRandom, { from, to, term: known }: Ends): SnapshotHeader {
  const snapshot = random.pick([
    { index: logIndex(Number.MAX_SAFE_INTEGER), term: known, configuration: noVoters },
    { index: logIndex(0), term: term(0), configuration: noVoters },
    { index: logIndex(1_000_000), term: term(known + 1), configuration: noVoters },
  ])
  return { from, to, term: known, purpose: random.pick(['catch-up', 'repair'] as const), snapshot }
}

const core = (message: Message): PeerMessage => ({ kind: 'core', message })

/** Returns the addresses with a term that no election can have reached. */
const absurdTerm = (ends: Ends): Ends => ({ ...ends, term: term(2 ** 45) })

/**
 * Returns the addresses with a possible term that may be far ahead of all others: members accept
 * it, and elections continue from there.
 */
const raisedTerm = (random: SeededRandom, ends: Ends): Ends => ({
  ...ends,
  term: term(ends.term + random.below(2 ** 30)),
})

const makers: readonly ((random: SeededRandom, ends: Ends) => PeerMessage)[] = [
  (_, ends) => core({ kind: 'append-accepted', ...ends, index: far }),
  (_, ends) => core({ kind: 'append-refused', ...ends, index: far, hintIndex: far, hintTerm: ends.term }),
  (_, ends) => core({ kind: 'heartbeat', ...ends, commit: far, context: null }),
  (_, ends) => core({ kind: 'heartbeat-response', ...ends, context: (2 ** 50) as ReadContext }),
  (_, ends) => core({ kind: 'heartbeat', ...absurdTerm(ends), commit: logIndex(0), context: null }),
  (_, ends) => core({ kind: 'timeout-now', ...absurdTerm(ends) }),
  (_, ends) => core({ kind: 'vote-response', ...absurdTerm(ends), granted: false }),
  (_, ends) => core({ kind: 'pre-vote-response', ...absurdTerm(ends), granted: false }),
  (_, ends) => {
    const log = { lastIndex: logIndex(1), lastTerm: ends.term }
    return core({ kind: 'vote-request', ...absurdTerm(ends), ...log, transfer: true })
  },
  (_, ends) => {
    const log = { lastIndex: logIndex(Number.MAX_SAFE_INTEGER), lastTerm: ends.term }
    return core({ kind: 'pre-vote-request', ...ends, term: term(ends.term + 1), ...log })
  },
  (random, ends) => {
    // The only possible one of these messages. It is rare, because each one deposes the leader.
    if (!random.chance(0.05)) return core({ kind: 'append-accepted', ...ends, index: far })
    return core({ kind: 'heartbeat-response', ...raisedTerm(random, ends), context: null })
  },
  (random, ends) => core(impossibleAppend(random, ends)),
  (random, ends) => ({
    kind: 'forward',
    ...ends,
    proposals: [random.bytes(50), invalidCommand(random, ends.term)],
  }),
  (random, ends) => {
    const proposals = [{ session: random.below(2 ** 31), sequence: random.below(100) }]
    return { kind: 'forward-refused', ...ends, reason: 'unreadable', proposals }
  },
  (random, ends) => ({ kind: 'read-response', ...ends, round: random.below(2 ** 31), index: far }),
  (random, { from, to }) => ({ kind: 'report', from, to, bytes: random.bytes(random.below(300)) }),
  (_, { from, to }) => ({ kind: 'state-wanted', from, to, atLeast: far }),
  (_, { from, to }) => ({ kind: 'transfer-wanted', from, to, round: 1, target: unknownMember }),
  (random, { from, to }) => {
    const member = { ...newMember, name: 'Not A Name', featureLevel: 2 ** 50 }
    const change = { kind: 'add', member, basedOn: far } as const
    return { kind: 'change-wanted', from, to, round: random.below(2 ** 31), change }
  },
  (random, { from, to }) => {
    const answer = { kind: 'done', index: far, configuration: noVoters } as const
    return { kind: 'change-answer', from, to, round: random.below(2 ** 31), answer }
  },
]

/** Returns a command with a valid envelope and a payload that no state machine can decode. */
function invalidCommand(random: SeededRandom, expectedTerm: Term): Uint8Array {
  const payload = Uint8Array.from([0xff, ...random.bytes(random.below(200))])
  const session = 1 + random.below(2 ** 31)
  return encodeEnvelope({ session, sequence: 1, acknowledgedBelow: 1, expectedTerm, payload })
}

function impossibleAppend(random: SeededRandom, ends: Ends): Message {
  const at = logIndex(random.below(200))
  const place = { index: logIndex(at + 1), term: ends.term }
  const append = { kind: 'append-request', ...ends, previousIndex: at, commit: far } as const
  const later = { ...place, term: term(ends.term + 1), kind: 'empty' } as const
  const gap = { ...place, index: logIndex(at + 7), kind: 'empty' } as const
  const nobodyVotes = { ...place, kind: 'configuration', configuration: noVoters } as const
  return { ...append, previousTerm: ends.term, entries: [random.pick([later, gap, nobodyVotes])] }
}

const newMember: NewMember = {
  ...{ id: unknownMember, name: 'x', wantedRole: 'voter', peerAddress: 'x:1', clientAddress: 'x:2' },
  ...{ version: '', featureLevel: 3, replaces: null, addedMs: Number.MAX_SAFE_INTEGER },
}

/** Unknown learners and no voter. */
const noVoters: Configuration = {
  ...{ voters: [], votersOutgoing: null, learners: [nodeId(9), nodeId(8)], learnersNext: [] },
  ...{ autoLeave: true, members: [] },
}
