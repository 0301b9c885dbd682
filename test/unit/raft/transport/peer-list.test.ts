/*
 * Goal: strangers are let in only where they know more than this member, a bounded number of them, and only until its own
 * log says who is who.
 * Method: callers made up.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { membersMax } from '../../../../raft/core/config.ts'
import { logIndex, nodeId } from '../../../../raft/core/types.ts'
import type { Introduction } from '../../../../raft/transport/guests.ts'
import { PeerList } from '../../../../raft/transport/peer-list.ts'
import { memberInfo } from './fixtures.ts'

const self = memberInfo({ id: nodeId(1), name: 'n1' }, 'h1:1')
const peer = memberInfo({ id: nodeId(2), name: 'n2' }, 'h2:1')

function caller(id: number, decided: number, more: Partial<Introduction> = {}): Introduction {
  const known = { id: nodeId(id), name: `n${id}`, peerAddress: `h${id}:1` }
  return { ...known, decidedIndex: logIndex(decided), ...more }
}

function listed(decided: number): PeerList {
  const list = new PeerList(self)
  list.set([self, peer], logIndex(decided))
  return list
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
