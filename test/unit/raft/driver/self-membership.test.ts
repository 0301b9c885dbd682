/*
 * Goal: a member ends as removed when its own log says so, or a majority of the other voters that
 * know more, never because of one peer; until then it keeps its peers.
 * Method: configurations set by hand, and what the transport is told.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, logIndex, nodeId } from '../../../../raft/core/types.ts'
import type { Configuration } from '../../../../raft/core/types.ts'
import type { PeerMessage } from '../../../../raft/ports.ts'
import { SelfMembership } from '../../../../raft/driver/self-membership.ts'
import type { Joining, MemberList } from '../../../../raft/protocol/node-options.ts'
import { cluster } from '../../../scenario/people.ts'

function bench(
  self: number,
  configuration: Configuration,
  index: number,
  joining?: Joining,
  currentMembers?: MemberList,
) {
  const core = { configuration, decided: { index: logIndex(index), configuration } }
  const peerCalls: [string, number][] = []
  const removed: [string, number][] = []
  const sent: PeerMessage[] = []
  const membership = new SelfMembership({
    ...{ self: nodeId(self), joining, currentMembers, core },
    transport: {
      setPeers: (peers, decided) => void peerCalls.push([peers.map(({ id }) => id).join(), decided ?? -1]),
    },
    send: (message) => void sent.push(message),
    removed: (cause, at) => void removed.push([cause, at]),
  })
  membership.refresh()
  return { core, peerCalls, removed, sent, membership }
}

void test('peers are told once for each configuration, and once more when it is decided', () => {
  const { core, peerCalls, membership, removed } = bench(1, cluster([1, 2, 3]), 5)
  membership.refresh()
  core.configuration = cluster([1, 2, 3, 4])
  membership.refresh()
  core.decided = { index: logIndex(9), configuration: core.configuration }
  membership.refresh()
  membership.refresh()
  assert.deepEqual(peerCalls, [
    ['1,2,3', 5],
    ['1,2,3,4', 5],
    ['1,2,3,4', 9],
  ])
  assert.equal(removed.length, 0)
})

void test('who is to be removed is let in until that is decided', () => {
  const { core, peerCalls, membership } = bench(1, cluster([1, 2, 3]), 5)
  core.configuration = cluster([1, 2])
  membership.refresh()
  assert.deepEqual(peerCalls.at(-1), ['1,2,3', 5])
  core.decided = { index: logIndex(9), configuration: core.configuration }
  membership.refresh()
  assert.deepEqual(peerCalls.at(-1), ['1,2', 9])
})

void test('its own log tells a member that it was removed, once it is decided', () => {
  const { core, removed, membership } = bench(3, cluster([1, 2, 3]), 5)
  core.configuration = cluster([1, 2])
  membership.refresh()
  assert.equal(removed.length, 0)
  core.decided = { index: logIndex(9), configuration: core.configuration }
  membership.refresh()
  core.decided = { index: logIndex(12), configuration: cluster([1]) }
  membership.refresh()
  assert.equal(removed.length, 1)
  assert.match(
    removed[0]?.[0] ?? '',
    /^this member was removed from its cluster, by entry 9 or before: empty /,
  )
})

void test('one peer alone never proves that this member was removed', () => {
  const { core, removed, membership } = bench(3, cluster([1, 2, 3]), 5)
  for (const index of [6, 7, 1000]) membership.onRemovedByPeer(nodeId(1), logIndex(index))
  membership.refresh()
  assert.equal(removed.length, 0)
  core.decided = { index: logIndex(8), configuration: core.configuration }
  membership.refresh()
  membership.onRemovedByPeer(nodeId(2), logIndex(8))
  assert.equal(removed.length, 0, 'peer 2 knows no later configuration than this member')
})

void test('a majority of the other voters proves that this member was removed, if all know a later configuration', () => {
  const { removed, membership } = bench(3, cluster([1, 2, 3, 4, 5], [6]), 5)
  for (const index of [0, 4, 5]) {
    for (const peer of [1, 2, 4, 5]) membership.onRemovedByPeer(nodeId(peer), logIndex(index))
  }
  membership.onRemovedByPeer(nodeId(1), logIndex(9))
  membership.onRemovedByPeer(nodeId(2), logIndex(6))
  for (const peer of [6, 99]) membership.onRemovedByPeer(nodeId(peer), logIndex(9))
  assert.equal(removed.length, 0, 'neither learners nor strangers count')
  membership.onRemovedByPeer(nodeId(4), logIndex(7))
  membership.onRemovedByPeer(nodeId(5), logIndex(7))
  assert.deepEqual(
    removed.map(([, at]) => at),
    [6],
  )
})

void test('in a joint configuration both halves have to refuse', () => {
  const joint = { ...cluster([1, 2, 3]), votersOutgoing: [3, 4, 5].map((id) => nodeId(id)) }
  const { members } = cluster([1, 2, 3, 4, 5])
  const { removed, membership } = bench(3, { ...joint, members }, 5)
  for (const peer of [1, 2, 4]) membership.onRemovedByPeer(nodeId(peer), logIndex(6))
  assert.equal(removed.length, 0)
  membership.onRemovedByPeer(nodeId(5), logIndex(6))
  assert.equal(removed.length, 1)
})

void test('a member that joins talks to the members it was given until its log has a configuration', () => {
  const joining = {
    ...{ clusterId: 'c1', members: cluster([1, 2], [4]).members, configurationIndex: logIndex(20) },
  }
  const { core, peerCalls, removed, membership } = bench(4, emptyConfiguration, 0, joining)
  assert.deepEqual(peerCalls, [['1,2,4', 0]])
  // The log begins long before it was added.
  core.decided = { index: logIndex(7), configuration: cluster([1, 2, 3]) }
  core.configuration = core.decided.configuration
  membership.refresh()
  // A peer that lags has not heard of it yet.
  for (const index of [3, 19, 20]) {
    for (const peer of [1, 2, 3]) membership.onRemovedByPeer(nodeId(peer), logIndex(index))
  }
  assert.equal(removed.length, 0)
  core.decided = { index: logIndex(20), configuration: cluster([1, 2], [4]) }
  core.configuration = core.decided.configuration
  membership.refresh()
  assert.equal(removed.length, 0)
  membership.onRemovedByPeer(nodeId(1), logIndex(21))
  assert.equal(removed.length, 0)
  membership.onRemovedByPeer(nodeId(2), logIndex(21))
  assert.equal(removed.length, 1)
})

void test('members that the operator gave are peers until the own log knows a configuration as late', () => {
  const current = { members: cluster([3, 4, 5]).members, configurationIndex: logIndex(20) }
  const { core, peerCalls, membership } = bench(3, cluster([1, 2, 3]), 5, undefined, current)
  assert.deepEqual(peerCalls, [['3,4,5,1,2', 5]])
  core.configuration = cluster([2, 3, 4])
  core.decided = { index: logIndex(19), configuration: core.configuration }
  membership.refresh()
  assert.deepEqual(peerCalls.at(-1), ['3,4,5,2', 19])
  core.configuration = cluster([3, 4, 5])
  core.decided = { index: logIndex(20), configuration: core.configuration }
  membership.refresh()
  assert.deepEqual(peerCalls.at(-1), ['3,4,5', 20])
})

void test('who knows of no configuration keeps the peers it had', () => {
  const { core, peerCalls, removed, membership } = bench(1, cluster([1, 2, 3]), 5)
  core.configuration = emptyConfiguration
  core.decided = { index: logIndex(9), configuration: emptyConfiguration }
  membership.refresh()
  assert.deepEqual(peerCalls, [['1,2,3', 5]])
  assert.equal(removed.length, 0)
})

void test('a member without a leader asks its peers who the members are, and talks to those that a known peer names', () => {
  const { core, peerCalls, sent, membership } = bench(3, cluster([1, 2, 3]), 5)
  membership.tick(0, true)
  membership.tick(500, false)
  membership.tick(1499, false)
  assert.deepEqual(sent, [])
  membership.tick(1500, false)
  membership.tick(1600, false)
  const wanted = { kind: 'members-wanted', from: nodeId(3), index: logIndex(5) }
  assert.deepEqual(sent, [
    { ...wanted, to: nodeId(1) },
    { ...wanted, to: nodeId(2) },
  ])
  const news = { kind: 'members', to: nodeId(3), configuration: cluster([2, 3, 4]) } as const
  membership.receive({ ...news, from: nodeId(4), index: logIndex(9) })
  membership.receive({ ...news, from: nodeId(2), index: logIndex(5) })
  membership.receive({ ...news, from: nodeId(2), index: logIndex(9), configuration: cluster([2, 4]) })
  const [second, ...rest] = cluster([2, 3, 4]).members
  assert.ok(second !== undefined)
  const impossible = { ...cluster([2, 3, 4]), members: [{ ...second, name: 'Not A Name' }, ...rest] }
  membership.receive({ ...news, from: nodeId(2), index: logIndex(9), configuration: impossible })
  assert.equal(
    peerCalls.length,
    1,
    'a stranger, one that knows no more, and one that knows no place for this member, or what cannot be',
  )
  membership.receive({ ...news, from: nodeId(2), index: logIndex(9) })
  assert.deepEqual(peerCalls.at(-1), ['2,3,4,1', 5])
  core.configuration = cluster([2, 3, 4])
  core.decided = { index: logIndex(9), configuration: core.configuration }
  membership.refresh()
  assert.deepEqual(peerCalls.at(-1), ['2,3,4', 9])
})

void test('a member is told who the members are by peers that know more, if it is one', () => {
  const { sent, membership } = bench(1, cluster([1, 2, 3]), 5)
  const wanted = { kind: 'members-wanted', to: nodeId(1) } as const
  membership.receive({ ...wanted, from: nodeId(2), index: logIndex(5) })
  membership.receive({ ...wanted, from: nodeId(9), index: logIndex(4) })
  assert.deepEqual(sent, [])
  membership.receive({ ...wanted, from: nodeId(2), index: logIndex(4) })
  assert.deepEqual(sent, [
    {
      kind: 'members',
      from: nodeId(1),
      to: nodeId(2),
      index: logIndex(5),
      configuration: cluster([1, 2, 3]),
    },
  ])
})
