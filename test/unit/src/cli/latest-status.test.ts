/*
 * Goal: the status of the latest term with a leader decides which members a local cluster has, not
 * the directories on this machine.
 * Method: a table of possible responses of members.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRemoved, otherMembers, latestStatus } from '../../../../src/cli/latest-status.ts'
import type { MemberStatus } from '../../../../src/cli/cluster-status.ts'

function statusOf(term: number, leader: string | null, ...names: readonly string[]): MemberStatus {
  const members = names.map((name) => ({
    ...{ id: name, name, role: 'voter', wantedRole: 'voter', peerAddress: '', clientAddress: '' },
    ...{ replaces: null, lag: null },
  }))
  return {
    name: 'n1',
    role: 'follower',
    term,
    leader,
    appliedMemory: 1,
    ready: true,
    quarantine: null,
    members,
  }
}

void test('a removed member is not a member, and one on another machine is', () => {
  // n3 was removed while it was down, and still reports its old configuration.
  const latest = latestStatus([
    statusOf(4, 'n1', 'n1', 'n2', 'n6'),
    null,
    statusOf(3, 'n1', 'n1', 'n2', 'n3'),
  ])
  assert.deepEqual([isRemoved(latest, 'n3'), isRemoved(latest, 'n2')], [true, false])
  assert.deepEqual(
    otherMembers(latest, ['n1', 'n2', 'n3']).map(({ name }) => name),
    ['n6'],
  )
})

void test('without a leader no member is known to be removed', () => {
  for (const latest of [latestStatus([]), latestStatus([null, statusOf(9, null, 'n1')])]) {
    assert.equal(latest, null)
    assert.equal(isRemoved(latest, 'n3'), false)
    assert.deepEqual(otherMembers(latest, ['n1']), [])
  }
})
