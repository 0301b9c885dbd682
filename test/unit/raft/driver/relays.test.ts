/*
 * Goal: proposals and reads of one turn reach the leader together, and whatever is turned away is
 * said to be.
 * Method: the core, the network and the api thread are the test's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import type { ReadContext } from '../../../../raft/core/message.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { NodeId, Term } from '../../../../raft/core/types.ts'
import { encodeEnvelope } from '../../../../raft/protocol/envelope.ts'
import { ProposalRelay } from '../../../../raft/driver/proposal-relay.ts'
import { ReadRelay } from '../../../../raft/driver/read-relay.ts'
import type { PeerMessage } from '../../../../raft/ports.ts'

const [self, other, third] = [nodeId(1), nodeId(2), nodeId(3)]

function world(leader: NodeId | null) {
  const sent: PeerMessage[] = []
  const log: string[] = []
  const needs = {
    self,
    term: term(4),
    leader,
    room: 100,
    context: 0,
    send: (message: PeerMessage) => void sent.push(message),
    propose: (datas: readonly Uint8Array[], expected: Term) => {
      if (datas.length > needs.room) return { kind: 'dropped', reason: 'too-many-uncommitted' } as const
      log.push(`propose ${datas.length} in ${expected}`)
      return { kind: 'accepted', first: logIndex(1) } as const
    },
    dropped: (of: Term, proposals: readonly { sequence: number }[], reason: string) =>
      void log.push(`dropped ${proposals.map(({ sequence }) => sequence).join(' ')} of ${of}: ${reason}`),
    readIndex: () => {
      log.push('read index')
      return { kind: 'accepted', context: needs.context as ReadContext } as const
    },
    /** A payload that begins with 0xff is none. */
    isCommand: (payload: Uint8Array) => payload[0] !== 0xff,
    refusePeer: (peer: NodeId, violation: string) => void log.push(`refuses ${peer}: ${violation}`),
    answer: (round: number, index: number | null) => void log.push(`round ${round}: ${index}`),
  }
  const proposals = new ProposalRelay(needs, { forwardBytesMax: 100, waitingBytesMax: 200 })
  const reads = new ReadRelay(needs, { waitingMax: 2 }, new SeededRandom(1))
  return { needs, sent, log, proposals, reads }
}

function envelope(sequence: number, bytes = 0): Uint8Array {
  return encodeEnvelope({
    ...{ session: 9, sequence, acknowledgedBelow: 1, expectedTerm: term(4) },
    payload: new Uint8Array(bytes),
  })
}

const forward = (proposals: readonly Uint8Array[], at = 4): PeerMessage & { kind: 'forward' } => ({
  ...{ kind: 'forward', from: other, to: self, term: term(at), proposals },
})

void test('a leader proposes its own and forwarded commands of a turn in one go', () => {
  const { proposals, log, sent } = world(self)
  proposals.local(term(4), [envelope(1)])
  proposals.forwarded(forward([envelope(2), envelope(3)]))
  proposals.local(term(4), [envelope(4)])
  assert.deepEqual(log, [])
  proposals.flush()
  assert.deepEqual(log, ['propose 4 in 4'])
  assert.deepEqual(sent, [])
})

void test('what is of another term is turned away on both paths', () => {
  const { proposals, log, sent } = world(self)
  proposals.local(term(3), [envelope(1)])
  proposals.forwarded(forward([envelope(2)], 5))
  proposals.flush()
  assert.deepEqual(log, ['dropped 1 of 3: term-changed'])
  assert.equal(sent[0]?.kind, 'forward-refused')
})

void test('a follower forwards in messages of bounded size, and never what was forwarded to it', () => {
  const { proposals, log, sent } = world(third)
  proposals.local(term(4), [envelope(1, 30), envelope(2, 30), envelope(3, 10)])
  proposals.forwarded(forward([envelope(5)]))
  proposals.flush()
  assert.deepEqual(
    sent.map((message) => [message.kind, 'proposals' in message ? message.proposals.length : 0]),
    [
      ['forward', 1],
      ['forward', 1],
      ['forward', 1],
      ['forward-refused', 1],
    ].sort((a, b) => String(a[0]).localeCompare(String(b[0]))),
  )
  assert.deepEqual(log, [])
})

void test('without a leader, or above the bound, proposals are turned away', () => {
  const { proposals, log, sent } = world(null)
  proposals.local(term(4), [envelope(1)])
  proposals.forwarded(forward([envelope(2, 100)]))
  proposals.forwarded(forward([envelope(3, 100)]))
  assert.equal(sent.length, 1, 'the second did not fit')
  proposals.flush()
  assert.deepEqual(log, ['dropped 1 of 4: no-leader'])
})

void test('when all do not fit, each batch is tried alone', () => {
  const { proposals, log, needs } = world(self)
  needs.room = 2
  proposals.local(term(4), [envelope(1), envelope(2)])
  proposals.local(term(4), [envelope(3), envelope(4), envelope(5)])
  proposals.flush()
  assert.deepEqual(log, ['propose 2 in 4', 'dropped 3 4 5 of 4: too-many-uncommitted'])
})

void test('bytes from a peer that are no envelope are not proposed, and refuse the peer', () => {
  const { proposals, log } = world(self)
  const violation = proposals.forwarded(forward([new Uint8Array(3), envelope(1)]))
  assert.equal(violation, 'it forwards a command that was altered')
  assert.equal(proposals.forwarded(forward([])), null)
  proposals.flush()
  assert.deepEqual(log, ['propose 1 in 4'])
})

void test('a leader asks its core once for all reads of a turn, and answers everyone', () => {
  const { reads, log, sent } = world(self)
  reads.local(11)
  reads.requested({ kind: 'read-request', from: other, to: self, term: term(4), round: 70 })
  reads.flush()
  assert.deepEqual(log, ['read index'])
  reads.confirmed(0 as ReadContext, logIndex(8))
  assert.deepEqual(log, ['read index', 'round 11: 8'])
  assert.deepEqual(sent, [{ kind: 'read-response', from: self, to: other, term: 4, round: 70, index: 8 }])
  reads.confirmed(0 as ReadContext, logIndex(9))
  assert.equal(sent.length, 1, 'once')
})

void test('an answer names the term in which the leader asked, whenever it was asked itself', () => {
  const { reads, sent } = world(self)
  reads.requested({ kind: 'read-request', from: other, to: self, term: term(3), round: 70 })
  reads.flush()
  reads.confirmed(0 as ReadContext, logIndex(8))
  assert.deepEqual(sent, [{ kind: 'read-response', from: self, to: other, term: 4, round: 70, index: 8 }])
})

void test('a follower asks the leader once for all rounds, and gives up when the leader changes', () => {
  const { reads, log, sent } = world(other)
  reads.local(1)
  reads.local(2)
  reads.flush()
  assert.equal(sent.length, 1)
  const [request] = sent
  assert.equal(request?.kind, 'read-request')
  const round = request?.kind === 'read-request' ? request.round : 0
  reads.responded({ kind: 'read-response', from: other, to: self, term: term(4), round, index: logIndex(5) })
  assert.deepEqual(log, ['round 1: 5', 'round 2: 5'])
  reads.local(3)
  reads.flush()
  reads.leaderChanged()
  assert.deepEqual(log.slice(2), ['round 3: null'])
})

void test('rounds of two lives of one process have different numbers', () => {
  const numbers = [1, 2].map((seed) => {
    const { needs, sent } = world(other)
    const reads = new ReadRelay(needs, { waitingMax: 2 }, new SeededRandom(seed))
    reads.local(1)
    reads.flush()
    const [request] = sent
    return request?.kind === 'read-request' ? request.round : 0
  })
  assert.ok(Math.abs((numbers[0] as number) - (numbers[1] as number)) > 1000)
  assert.ok(numbers.every((number) => Number.isSafeInteger(number)))
})

void test('requests above the bound, and those to somebody who does not lead, are not confirmed', () => {
  const { reads, sent } = world(other)
  for (const round of [1, 2, 3]) {
    reads.requested({ kind: 'read-request', from: third, to: self, term: term(4), round })
  }
  assert.deepEqual(
    sent.map((message) => 'index' in message && message.index),
    [null],
  )
  reads.flush()
  assert.equal(sent.length, 3)
})

void test('an answer to a read from a member that was not asked is a violation, and confirms nothing', () => {
  const { reads, log, sent } = world(other)
  reads.local(1)
  reads.flush()
  const round = sent[0]?.kind === 'read-request' ? sent[0].round : 0
  const answer = { kind: 'read-response', to: self, term: term(4), round, index: logIndex(5) } as const
  assert.match(
    String(reads.responded({ ...answer, from: third })),
    /answers a read that was sent to member 2/,
  )
  assert.deepEqual(log, [])
  assert.equal(reads.responded({ ...answer, from: other }), null)
  assert.equal(reads.responded({ ...answer, from: third }), null, 'late: nobody waits for it')
  assert.deepEqual(log, ['round 1: 5'])
})

void test('only the leader that proposals were forwarded to can say that they are without effect', () => {
  const { proposals, log } = world(other)
  proposals.local(term(4), [envelope(1)])
  proposals.flush()
  const refusal = {
    kind: 'forward-refused',
    reason: 'not-now',
    to: self,
    term: term(4),
    proposals: [{ session: 9, sequence: 1 }],
  } as const
  assert.match(String(proposals.refused({ ...refusal, from: third })), /were forwarded to member 2/)
  assert.equal(
    proposals.refused({ ...refusal, from: third, term: term(3) }),
    null,
    'nothing was forwarded in that term',
  )
  assert.deepEqual(log, [])
  assert.equal(proposals.refused({ ...refusal, from: other }), null)
  assert.deepEqual(log, ['dropped 1 of 4: not-leader'])
})

void test('a leader proposes no forwarded command that it cannot decode, and says so to its proposer', () => {
  const { proposals, log, sent } = world(self)
  const poison = encodeEnvelope({
    ...{ session: 9, sequence: 2, acknowledgedBelow: 1, expectedTerm: term(4) },
    payload: Uint8Array.of(0xff),
  })
  proposals.forwarded(forward([envelope(1), poison, envelope(3)]))
  proposals.flush()
  assert.deepEqual(log, [`refuses ${other}: it forwards a command that cannot be decoded`, 'propose 2 in 4'])
  const named = [{ session: 9, sequence: 2 }]
  const ends = { from: self, to: other, term: term(4) }
  assert.deepEqual(sent, [{ kind: 'forward-refused', ...ends, reason: 'unreadable', proposals: named }])
})

void test('a follower is told by its leader that a command cannot be decoded', () => {
  const { proposals, log } = world(other)
  proposals.local(term(4), [envelope(1)])
  proposals.flush()
  const ends = { from: other, to: self, term: term(4) }
  proposals.refused({
    ...{ kind: 'forward-refused', ...ends, reason: 'unreadable' },
    proposals: [{ session: 9, sequence: 1 }],
  })
  assert.deepEqual(log, ['dropped 1 of 4: unreadable'])
})
