/*
 * Goal: a member ends as removed when its own log shows it, or a majority of the other voters with
 * a later configuration, never because of one peer; until then it keeps its peers.
 * Method: configurations set by the test, and the recorded calls of the transport.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, logIndex, nodeId } from '../../../../raft/core/types.ts'
import type { Configuration } from '../../../../raft/core/types.ts'
import type { PeerMessage } from '../../../../raft/ports.ts'
import { SelfMembership } from '../../../../raft/driver/self-membership.ts'
import type { Joining } from '../../../../raft/protocol/node-options.ts'
import { cluster } from '../../../scenario/member-infos.ts'

function bench(self: number, configuration: Configuration, index: number, joining?: Joining) {
  const core = { configuration, decided: { index: logIndex(index), configuration } }
  const peerCalls: [string, number][] = []
  const removed: [string, number][] = []
  const sent: PeerMessage[] = []
  const membership = new SelfMembership({
    ...{ self: nodeId(self), joining, core },
    transport: {
      setPeers: (peers, decided) => void peerCalls.push([peers.map(({ id }) => id).join(), decided ?? -1]),
    },
    send: (message) => void sent.push(message),
    removed: (cause, at) => void removed.push([cause, at]),
  })
  membership.refresh()
  return { core, peerCalls, removed, sent, membership }
}

void test('the peers are set once for each configuration, and once more when it is committed', () => {
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

void test('a member to be removed stays a peer until the removal is committed', () => {
  const { core, peerCalls, membership } = bench(1, cluster([1, 2, 3]), 5)
  core.configuration = cluster([1, 2])
  membership.refresh()
  assert.deepEqual(peerCalls.at(-1), ['1,2,3', 5])
  core.decided = { index: logIndex(9), configuration: core.configuration }
  membership.refresh()
  assert.deepEqual(peerCalls.at(-1), ['1,2', 9])
})

void test('a member is removed when its own log contains the committed removal', () => {
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

void test('a majority of the other voters proves the removal of this member, if all know a later configuration', () => {
  const { removed, membership } = bench(3, cluster([1, 2, 3, 4, 5], [6]), 5)
  for (const index of [0, 4, 5]) {
    for (const peer of [1, 2, 4, 5]) membership.onRemovedByPeer(nodeId(peer), logIndex(index))
  }
  membership.onRemovedByPeer(nodeId(1), logIndex(9))
  membership.onRemovedByPeer(nodeId(2), logIndex(6))
  for (const peer of [6, 99]) membership.onRemovedByPeer(nodeId(peer), logIndex(9))
  assert.equal(removed.length, 0, 'neither learners nor non-members count')
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

void test('a joining member connects to the members it was given until its log has a configuration', () => {
  const joining = {
    ...{ clusterId: 'c1', members: cluster([1, 2], [4]).members, configurationIndex: logIndex(20) },
  }
  const { core, peerCalls, removed, membership } = bench(4, emptyConfiguration, 0, joining)
  assert.deepEqual(peerCalls, [['1,2,4', 0]])
  // The log begins long before its addition.
  core.decided = { index: logIndex(7), configuration: cluster([1, 2, 3]) }
  core.configuration = core.decided.configuration
  membership.refresh()
  // A lagging peer does not know of it yet.
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

void test('a member without a known configuration keeps its peers', () => {
  const { core, peerCalls, removed, membership } = bench(1, cluster([1, 2, 3]), 5)
  core.configuration = emptyConfiguration
  core.decided = { index: logIndex(9), configuration: emptyConfiguration }
  membership.refresh()
  assert.deepEqual(peerCalls, [['1,2,3', 5]])
  assert.equal(removed.length, 0)
})

void test('a member without a leader requests the members from its peers, and connects to those in a newer list', () => {
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
    'a list of members is ignored from a non-member, without news, without this member, or when it is invalid',
  )
  membership.receive({ ...news, from: nodeId(2), index: logIndex(9) })
  assert.deepEqual(peerCalls.at(-1), ['2,3,4,1', 5])
  core.configuration = cluster([2, 3, 4])
  core.decided = { index: logIndex(9), configuration: core.configuration }
  membership.refresh()
  assert.deepEqual(peerCalls.at(-1), ['2,3,4', 9])
})

void test('a member gets the list of members from peers that know more, if it is a member', () => {
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
