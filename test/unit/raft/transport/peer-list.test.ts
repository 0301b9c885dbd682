/*
 * Goal: strangers are let in only where they know more than this member and nobody whom it knows leads or follows, a bounded
 * number of them, and only until its own log says who is who.
 * Method: callers and time made up.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { membersMax } from '../../../../raft/core/config.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { PeerMessage } from '../../../../raft/ports.ts'
import type { Introduction } from '../../../../raft/transport/guests.ts'
import { PeerList } from '../../../../raft/transport/peer-list.ts'
import { memberInfo } from './fixtures.ts'

const self = memberInfo({ id: nodeId(1), name: 'n1' }, 'h1:1')
const peer = memberInfo({ id: nodeId(2), name: 'n2' }, 'h2:1')

function caller(id: number, decided: number, more: Partial<Introduction> = {}): Introduction {
  const known = { id: nodeId(id), name: `n${id}`, peerAddress: `h${id}:1` }
  return { ...known, decidedIndex: logIndex(decided), ...more }
}

/** Monotonic ms; each look is one later. */
let now = 0

function listed(decided: number, guestsAfterMs = 0): PeerList {
  const list = new PeerList(self, { now: () => now++, guestsAfterMs })
  list.set([self, peer], logIndex(decided))
  return list
}

function heartbeat(from: number): PeerMessage {
  const word = { from: nodeId(from), to: self.id, term: term(1), commit: logIndex(1), context: null }
  return { kind: 'core', message: { kind: 'heartbeat', ...word } }
}

const idsOf = (list: PeerList): readonly number[] => [...list.all.keys()]

void test('a list says where this member is and what it knows, and leaves it out of its peers', () => {
  const list = listed(7)
  assert.deepEqual(list.introduction, { ...caller(1, 7) })
  assert.deepEqual(idsOf(list), [2])
  list.set([peer], logIndex(8))
  assert.equal(list.introduction.peerAddress, '')
})

void test('who knows of a later decision is a guest, and no other one', () => {
  const list = listed(7)
  assert.equal(list.admits(caller(4, 7)), false)
  assert.equal(list.admits(caller(4, 8, { peerAddress: '' })), false)
  assert.equal(list.admits(caller(1, 8, { name: 'other' })), false, 'this member’s id')
  assert.equal(list.admits(caller(9, 8, { name: 'n1' })), false, 'this member’s name')
  assert.deepEqual(idsOf(list), [2])
  assert.equal(list.admits(caller(4, 8)), true)
  assert.deepEqual(idsOf(list), [2, 4])
  assert.deepEqual([list.all.get(nodeId(4))?.name, list.all.get(nodeId(4))?.peerAddress], ['n4', 'h4:1'])
  list.admits(caller(4, 9, { peerAddress: 'moved:1' }))
  assert.equal(list.all.get(nodeId(4))?.peerAddress, 'moved:1')
})

void test('a guest stays until this member knows as much, or lists it', () => {
  const list = listed(7)
  list.admits(caller(4, 9))
  list.admits(caller(5, 20))
  list.set([self, peer], logIndex(8))
  assert.deepEqual(idsOf(list), [2, 4, 5], 'it learned something, and less than they know')
  list.set([self, peer], logIndex(9))
  assert.deepEqual(idsOf(list), [2, 5])
  const five = memberInfo({ id: nodeId(5), name: 'n5' }, 'elsewhere:1')
  list.set([self, five], logIndex(9))
  assert.deepEqual([idsOf(list), list.all.get(nodeId(5))?.peerAddress], [[5], 'elsewhere:1'])
})

void test('guests are bounded; those who are there may come again', () => {
  const list = listed(7)
  for (let id = 10; id < 10 + membersMax; id++) assert.equal(list.admits(caller(id, 8)), true)
  assert.equal(list.admits(caller(500, 8)), false)
  assert.equal(list.admits(caller(10, 9)), true)
  assert.equal(list.all.size, membersMax + 1)
})

void test('nobody is a guest before some time has passed since the first one asked', () => {
  const list = listed(7, 100)
  assert.equal(list.admits(caller(4, 8)), false)
  now += 90
  assert.equal(list.admits(caller(5, 8)), false)
  now += 10
  assert.equal(list.admits(caller(5, 8)), true)
  assert.equal(list.admits(caller(4, 8)), true)
})

void test('while a known peer leads or follows nobody is a guest, whatever it says it knows', () => {
  const list = listed(7, 100)
  for (let time = 0; time < 50; time++) {
    assert.equal(list.admits(caller(4, 1000)), false)
    now += 90
    assert.equal(list.heard(heartbeat(2)), false, 'nobody had to go')
  }
  assert.deepEqual(idsOf(list), [2])
})

void test('guests go once a known peer leads or follows, and for nothing that others say', () => {
  const list = listed(7)
  list.admits(caller(4, 9))
  const to = self.id
  const log = { lastIndex: logIndex(1), lastTerm: term(1), transfer: false }
  const vote = { kind: 'vote-request', from: peer.id, to, term: term(9), ...log } as const
  const answer = { kind: 'pre-vote-response', from: peer.id, to, term: term(1), granted: true } as const
  assert.equal(list.heard({ kind: 'core', message: vote }), false)
  assert.equal(list.heard({ kind: 'core', message: answer }), false)
  assert.equal(list.heard({ kind: 'report', from: peer.id, to, bytes: new Uint8Array() }), false)
  assert.equal(list.heard(heartbeat(4)), false, 'a guest that leads keeps itself')
  assert.deepEqual(idsOf(list), [2, 4])
  const taken = { kind: 'append-accepted', from: peer.id, to, term: term(1), index: logIndex(1) } as const
  assert.equal(list.heard({ kind: 'core', message: taken }), true)
  assert.deepEqual(idsOf(list), [2])
})

void test('who alone votes lets nobody in: nothing was decided without it', () => {
  const list = listed(7)
  list.set([self, { ...peer, role: 'learner' }], logIndex(7))
  assert.equal(list.admits(caller(4, 9)), false)
  list.set([peer, { ...self, role: 'learner' }], logIndex(7))
  assert.equal(list.admits(caller(4, 9)), true)
})
