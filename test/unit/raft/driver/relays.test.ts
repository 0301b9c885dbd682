/*
 * Goal: proposals and reads of one turn reach the leader together, and every refusal is reported.
 * Method: the test plays the core, the network and the api thread.
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
    /** A payload that begins with 0xff is not a command. */
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

void test('a leader proposes its own and forwarded commands of a turn together', () => {
  const { proposals, log, sent } = world(self)
  proposals.local(term(4), [envelope(1)])
  proposals.forwarded(forward([envelope(2), envelope(3)]))
  proposals.local(term(4), [envelope(4)])
  assert.deepEqual(log, [])
  proposals.flush()
  assert.deepEqual(log, ['propose 4 in 4'])
  assert.deepEqual(sent, [])
})

void test('proposals of another term are refused, own and forwarded ones', () => {
  const { proposals, log, sent } = world(self)
  proposals.local(term(3), [envelope(1)])
  proposals.forwarded(forward([envelope(2)], 5))
  proposals.flush()
  assert.deepEqual(log, ['dropped 1 of 3: term-changed'])
  assert.equal(sent[0]?.kind, 'forward-refused')
})

void test('a follower forwards in messages of limited size, and never forwards what was forwarded to it', () => {
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

void test('proposals without a leader, or above the limit, are refused', () => {
  const { proposals, log, sent } = world(null)
  proposals.local(term(4), [envelope(1)])
  proposals.forwarded(forward([envelope(2, 100)]))
  proposals.forwarded(forward([envelope(3, 100)]))
  assert.equal(sent.length, 1, 'the second did not fit')
  proposals.flush()
  assert.deepEqual(log, ['dropped 1 of 4: no-leader'])
})

void test('batches are tried one by one when they do not fit together', () => {
  const { proposals, log, needs } = world(self)
  needs.room = 2
  proposals.local(term(4), [envelope(1), envelope(2)])
  proposals.local(term(4), [envelope(3), envelope(4), envelope(5)])
  proposals.flush()
  assert.deepEqual(log, ['propose 2 in 4', 'dropped 3 4 5 of 4: too-many-uncommitted'])
})

void test('bytes from a peer that are not an envelope are not proposed, and are a violation', () => {
  const { proposals, log } = world(self)
  const violation = proposals.forwarded(forward([new Uint8Array(3), envelope(1)]))
  assert.equal(violation, 'it forwards a command that was altered')
  assert.equal(proposals.forwarded(forward([])), null)
  proposals.flush()
  assert.deepEqual(log, ['propose 1 in 4'])
})

void test('a leader opens one read round for all reads of a turn, and answers all requesters', () => {
  const { reads, log, sent } = world(self)
  reads.local(11, false)
  reads.requested({
    kind: 'read-request',
    from: other,
    to: self,
    term: term(4),
    round: 70,
    withHeartbeat: false,
  })
  reads.flush()
  assert.deepEqual(log, ['read index'])
  reads.confirmed(0 as ReadContext, logIndex(8))
  assert.deepEqual(log, ['read index', 'round 11: 8'])
  assert.deepEqual(sent, [{ kind: 'read-response', from: self, to: other, term: 4, round: 70, index: 8 }])
  reads.confirmed(0 as ReadContext, logIndex(9))
  assert.equal(sent.length, 1, 'once')
})

void test('a read response carries the term in which the leader opened the round', () => {
  const { reads, sent } = world(self)
  reads.requested({
    kind: 'read-request',
    from: other,
    to: self,
    term: term(3),
    round: 70,
    withHeartbeat: false,
  })
  reads.flush()
  reads.confirmed(0 as ReadContext, logIndex(8))
  assert.deepEqual(sent, [{ kind: 'read-response', from: self, to: other, term: 4, round: 70, index: 8 }])
})

void test('a follower sends the leader one request for all rounds, and fails them when the leader changes', () => {
  const { reads, log, sent } = world(other)
  reads.local(1, false)
  reads.local(2, false)
  reads.flush()
  assert.equal(sent.length, 1)
  const [request] = sent
  assert.equal(request?.kind, 'read-request')
  const round = request?.kind === 'read-request' ? request.round : 0
  reads.responded({ kind: 'read-response', from: other, to: self, term: term(4), round, index: logIndex(5) })
  assert.deepEqual(log, ['round 1: 5', 'round 2: 5'])
  reads.local(3, false)
  reads.flush()
  reads.leaderChanged()
  assert.deepEqual(log.slice(2), ['round 3: null'])
})

void test('round numbers of two processes of one member differ', () => {
  const numbers = [1, 2].map((seed) => {
    const { needs, sent } = world(other)
    const reads = new ReadRelay(needs, { waitingMax: 2 }, new SeededRandom(seed))
    reads.local(1, false)
    reads.flush()
    const [request] = sent
    return request?.kind === 'read-request' ? request.round : 0
  })
  assert.ok(Math.abs((numbers[0] as number) - (numbers[1] as number)) > 1000)
  assert.ok(numbers.every((number) => Number.isSafeInteger(number)))
})

void test('read requests above the limit, and those to a follower, are not confirmed', () => {
  const { reads, sent } = world(other)
  for (const round of [1, 2, 3]) {
    reads.requested({
      kind: 'read-request',
      from: third,
      to: self,
      term: term(4),
      round,
      withHeartbeat: false,
    })
  }
  assert.deepEqual(
    sent.map((message) => 'index' in message && message.index),
    [null],
  )
  reads.flush()
  assert.equal(sent.length, 3)
})

void test('a read response of a member that the request was not sent to is a violation, and confirms nothing', () => {
  const { reads, log, sent } = world(other)
  reads.local(1, false)
  reads.flush()
  const round = sent[0]?.kind === 'read-request' ? sent[0].round : 0
  const answer = { kind: 'read-response', to: self, term: term(4), round, index: logIndex(5) } as const
  assert.match(
    String(reads.responded({ ...answer, from: third })),
    /answers a read that was sent to member 2/,
  )
  assert.deepEqual(log, [])
  assert.equal(reads.responded({ ...answer, from: other }), null)
  assert.equal(reads.responded({ ...answer, from: third }), null, 'late: no round waits for it')
  assert.deepEqual(log, ['round 1: 5'])
})

void test('only the leader that proposals were forwarded to may refuse them', () => {
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

void test('a leader does not propose a forwarded command that it cannot decode, and refuses it as unreadable', () => {
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

void test('a follower reports a command that its leader cannot decode as unreadable', () => {
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

const isPatient = (message: PeerMessage): boolean => message.kind === 'read-request' && message.withHeartbeat

void test('a read that may wait goes with the response to a heartbeat, the latest for all', () => {
  const { reads, sent } = world(other)
  reads.local(1, true)
  reads.local(2, true)
  reads.flush()
  assert.equal(sent.length, 0)
  reads.heartbeat()
  reads.flush()
  assert.deepEqual(sent.map(isPatient), [true])
  reads.heartbeat()
  reads.flush()
  assert.equal(sent.length, 1)
  reads.local(3, true)
  reads.local(4, false)
  reads.heartbeat()
  reads.flush()
  assert.deepEqual(sent.map(isPatient), [true, false], 'one of them cannot wait')
})

void test('requests that wait for one heartbeat are limited: the oldest are not confirmed', () => {
  const { reads, log, sent } = world(self)
  for (const round of [70, 71, 72]) {
    reads.requested({
      kind: 'read-request',
      from: other,
      to: self,
      term: term(4),
      round,
      withHeartbeat: true,
    })
    reads.flush()
  }
  const failed = (): unknown[] =>
    sent.map((message) => message.kind === 'read-response' && [message.round, message.index])
  assert.deepEqual(failed(), [[70, null]])
  reads.local(5, false)
  reads.flush()
  assert.deepEqual(failed(), [
    [70, null],
    [71, null],
  ])
  reads.confirmed(0 as ReadContext, logIndex(8))
  assert.ok(log.includes('round 5: 8'))
})
