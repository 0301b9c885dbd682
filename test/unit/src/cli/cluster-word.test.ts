/*
 * Goal: who is a member of a cluster on this machine is what its newest leader's followers say, not
 * which directories there are. Method: a table of what members may answer.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isNoMember, membersBesides, newestWord } from '../../../../src/cli/cluster-word.ts'
import type { MemberStatus } from '../../../../src/cli/cluster-status.ts'

function says(term: number, leader: string | null, ...names: readonly string[]): MemberStatus {
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

void test('one that was removed is no member, and one elsewhere is', () => {
  // n3 was removed while it was down, and still tells of its own time when it is asked.
  const word = newestWord([says(4, 'n1', 'n1', 'n2', 'n6'), null, says(3, 'n1', 'n1', 'n2', 'n3')])
  assert.deepEqual([isNoMember(word, 'n3'), isNoMember(word, 'n2')], [true, false])
  assert.deepEqual(
    membersBesides(word, ['n1', 'n2', 'n3']).map(({ name }) => name),
    ['n6'],
  )
})

void test('without a leader nobody knows who was removed', () => {
  for (const word of [newestWord([]), newestWord([null, says(9, null, 'n1')])]) {
    assert.equal(word, null)
    assert.equal(isNoMember(word, 'n3'), false)
    assert.deepEqual(membersBesides(word, ['n1']), [])
  }
})
