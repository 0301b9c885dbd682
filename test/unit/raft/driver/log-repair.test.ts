/*
 * Goal: the missing entries of a damaged log are requested from one peer after the other and
 * accepted only if they belong to this log; if no peer has them, that is reported once.
 * Method: the repair with a manual clock; the test plays the peers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { Entry } from '../../../../raft/core/types.ts'
import { encodeEnvelope } from '../../../../raft/protocol/envelope.ts'
import { EntryRelay } from '../../../../raft/driver/entry-relay.ts'
import { LogRepair } from '../../../../raft/driver/log-repair.ts'
import type { PeerMessage } from '../../../../raft/ports.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { memberInfo } from '../../../../fixtures/peer-credentials.ts'

const [self, second, third] = [nodeId(1), nodeId(2), nodeId(3)]

function entry(index: number, at = 1): Entry {
  const data = encodeEnvelope({
    session: 1,
    sequence: index,
    acknowledgedBelow: 0,
    expectedTerm: term(at),
    payload: new Uint8Array(10),
  })
  return { index: logIndex(index), term: term(at), kind: 'command', data }
}

async function bench() {
  const clock = new ManualClock()
  const sent: PeerMessage[] = []
  const notices: string[] = []
  const repairedEntries: (readonly Entry[])[] = []
  const repair = new LogRepair({
    ...{
      self,
      peers: [second, third],
      first: logIndex(5),
      anchor: { index: logIndex(8), term: term(1) },
      clock,
    },
    send: (message) => sent.push(message),
    refusePeer: (peer) => notices.push(`link to ${peer} closed`),
    done: (entries) => repairedEntries.push(entries),
    refuse: (why) => notices.push(`refused: ${why}`),
    notice: (line) => notices.push(line),
  })
  const answer = (from: number, first: number, entries: readonly Entry[]): void =>
    repair.receive({ kind: 'entries-sent', from: nodeId(from), to: self, first: logIndex(first), entries })
  await clock.settle()
  return { clock, sent, notices, repairedEntries, answer, repair }
}

function wanted(to: number, first: number): PeerMessage {
  return { kind: 'entries-wanted', from: self, to: nodeId(to), first: logIndex(first), last: logIndex(8) }
}

void test('missing entries are fetched in parts from one peer', async () => {
  const { sent, repairedEntries, answer, clock, notices } = await bench()
  assert.deepEqual(sent, [wanted(2, 5)])
  answer(3, 5, [entry(5)])
  answer(2, 6, [entry(6)])
  assert.equal(sent.length, 1, 'entries that were not requested are ignored')
  answer(2, 5, [entry(5), entry(6)])
  assert.deepEqual(sent.at(-1), wanted(2, 7))
  answer(2, 7, [entry(7), entry(8)])
  assert.deepEqual(repairedEntries, [[5, 6, 7, 8].map((index) => entry(index))])
  await clock.advance(100_000)
  assert.equal(sent.length, 2, 'nothing is requested any more')
  assert.deepEqual(notices, [])
})

void test('a peer that does not respond is given up for the next one, repeatedly', async () => {
  const { sent, clock, notices, answer, repairedEntries } = await bench()
  answer(2, 5, [entry(5)])
  for (let at = 0; at < 3; at++) await clock.advance(1000)
  assert.deepEqual(sent, [wanted(2, 5), wanted(2, 6), wanted(3, 5), wanted(2, 5), wanted(3, 5)])
  for (let at = 0; at < 60; at++) await clock.advance(1000)
  assert.deepEqual(notices, [
    'entries 5 to 8 are needed to repair the log, and no other member that has them responds',
  ])
  const last = sent.at(-1)
  answer(
    last?.kind === 'core' ? 0 : (last?.to ?? 0),
    5,
    [5, 6, 7, 8].map((index) => entry(index)),
  )
  assert.equal(repairedEntries.length, 1)
})

void test('entries that do not belong to this log are refused, and their sender is not tried again', async () => {
  const { sent, notices, answer, repairedEntries, clock } = await bench()
  answer(2, 5, [entry(5), entry(6), entry(7), entry(8, 2)])
  assert.equal(notices.shift(), 'link to 2 closed')
  assert.match(
    notices[0] ?? '',
    /member 2 sent what is not in this log: entry 8 is of term 2, in this log it is of term 1/,
  )
  assert.deepEqual(sent.at(-1), wanted(3, 5))
  const altered = entry(6)
  if (altered.kind === 'command') altered.data[altered.data.length - 1] = 7
  answer(3, 5, [entry(5), altered, entry(7), entry(8)])
  assert.equal(notices[1], 'link to 3 closed')
  assert.match(notices[2] ?? '', /member 3 sent what is not in this log: entry 6 was altered/)
  assert.deepEqual(notices.slice(3), ['refused: no other member has entries 5 to 8 any more'])
  await clock.advance(100_000)
  assert.equal(sent.length, 2)
  assert.deepEqual(repairedEntries, [])
})

void test('the repair is refused when all peers have compacted the entries', async () => {
  const { notices, answer } = await bench()
  answer(2, 5, [])
  answer(3, 5, [])
  assert.match(notices[0] ?? '', /member 2 has compacted them/)
  assert.equal(notices.at(-1), 'refused: no other member has entries 5 to 8 any more')
})

void test('a peer sends only committed and durable entries, only to members, one request at a time', () => {
  const sent: PeerMessage[] = []
  const reads: ((entries: readonly Entry[]) => void)[] = []
  const status = { commit: logIndex(8), persistedIndex: logIndex(7) }
  const relay = new EntryRelay(
    {
      self,
      core: { status: () => status },
      members: [memberInfo({ id: second, name: 'b' }, 'b:1'), memberInfo({ id: third, name: 'c' }, 'c:1')],
      send: (message) => sent.push(message),
      fetch: (_from, _bytesMax, take) => reads.push(take),
    },
    { bytesMax: 1000 },
  )
  relay.requested(second, logIndex(5), logIndex(8))
  relay.requested(second, logIndex(5), logIndex(9))
  relay.requested(nodeId(9), logIndex(5), logIndex(6))
  relay.requested(second, logIndex(6), logIndex(5))
  assert.equal(reads.length, 0)
  relay.requested(second, logIndex(5), logIndex(6))
  relay.requested(second, logIndex(5), logIndex(6))
  relay.requested(third, logIndex(2), logIndex(3))
  assert.equal(reads.length, 2)
  reads[0]?.([entry(5), entry(6), entry(7)])
  reads[1]?.([])
  assert.deepEqual(sent, [
    { kind: 'entries-sent', from: self, to: second, first: 5, entries: [entry(5), entry(6)] },
    { kind: 'entries-sent', from: self, to: third, first: 2, entries: [] },
  ])
})

void test('a repair that was closed before its first request asks no peer', async () => {
  const clock = new ManualClock()
  const sent: PeerMessage[] = []
  const repair = new LogRepair({
    ...{ self, peers: [second], first: logIndex(5), anchor: { index: logIndex(8), term: term(1) }, clock },
    send: (message) => sent.push(message),
    ...{ refusePeer: () => undefined, done: () => undefined },
    ...{ refuse: () => undefined, notice: () => undefined },
  })
  repair.close()
  await clock.settle()
  assert.deepEqual(sent, [])
})
