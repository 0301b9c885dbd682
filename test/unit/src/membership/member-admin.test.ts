/*
 * Goal: a change that names a member applies to the member that has the name now, also on a member
 * that lags.
 * Method: the administration of a member whose memory has the newest members only after a barrier.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConsensusError, initialConfiguration, logIndex, nodeId } from '../../../../raft/index.ts'
import type { Configuration, MemberChange, MemberInfo } from '../../../../raft/index.ts'
import { MemberAdmin } from '../../../../src/membership/member-admin.ts'
import { MembersError } from '../../../../src/membership/members.ts'
import { memberInfo } from '../../../../fixtures/fake-consensus.ts'

const founders = [memberInfo(1, 'n1'), memberInfo(2, 'n2'), memberInfo(3, 'n3')]

function lagging(memory: readonly MemberInfo[], newest: readonly MemberInfo[]) {
  let configuration: Configuration = initialConfiguration(memory)
  const changes: MemberChange[] = []
  const admin = new MemberAdmin({
    configuration: () => configuration,
    consensus: {
      barrier: async () => {
        configuration = initialConfiguration(newest)
        return logIndex(9)
      },
      changeMembers: async (change) => {
        changes.push(change)
        return { configuration, index: logIndex(10) }
      },
    },
  })
  return { admin, changes }
}

void test('a member that joined lately can be removed, and is not reported as gone', async () => {
  const { admin, changes } = lagging(founders, [...founders, memberInfo(4, 'n4')])
  assert.equal(await admin.change({ kind: 'remove', name: 'n4', id: null }, 1000), true)
  assert.deepEqual(changes, [{ kind: 'remove', id: 4 }])
  assert.equal(await admin.change({ kind: 'set-role', name: 'n4', id: null, role: 'learner' }, 1000), true)
  assert.equal(changes.length, 2)
})

void test('a name refers to its current member', async () => {
  const { admin, changes } = lagging([...founders, memberInfo(4, 'n4')], [...founders, memberInfo(5, 'n4')])
  await admin.change(
    { kind: 'move', name: 'n4', id: null, peerAddress: 'there:1', clientAddress: null },
    1000,
  )
  assert.deepEqual(
    changes.map((change) => change.kind === 'move' && change.id),
    [5],
  )
})

void test('a change with an id does not apply to a new member with the same name', async () => {
  const { admin, changes } = lagging([...founders, memberInfo(4, 'n4')], [...founders, memberInfo(5, 'n4')])
  const [name, id] = ['n4', nodeId(4)]
  assert.equal(await admin.change({ kind: 'remove', name, id }, 1000), false)
  const another = (cause: unknown): boolean =>
    cause instanceof MembersError && /n4 is another member now, 5 and not 4/.test(cause.message)
  await assert.rejects(admin.change({ kind: 'set-role', name, id, role: 'learner' }, 1000), another)
  assert.deepEqual(changes, [])
  assert.equal(await admin.change({ kind: 'remove', name, id: nodeId(5) }, 1000), true)
  assert.deepEqual(changes, [{ kind: 'remove', id: 5 }])
})

void test('removing a name that no member has now reports that, and any other change of it is rejected', async () => {
  const { admin, changes } = lagging([...founders, memberInfo(4, 'n4')], founders)
  assert.equal(await admin.change({ kind: 'remove', name: 'n4', id: null }, 1000), false)
  const unknown = (cause: unknown): boolean =>
    cause instanceof MembersError && cause.message === 'there is no member n4: there are n1, n2, n3'
  await assert.rejects(admin.change({ kind: 'set-role', name: 'n4', id: null, role: 'voter' }, 1000), unknown)
  assert.deepEqual(changes, [])
})

void test('a change of a name that is not in memory fails if the read barrier fails', async () => {
  const failure = new ConsensusError('timed-out', 'no leader in time')
  const admin = new MemberAdmin({
    configuration: () => initialConfiguration(founders),
    consensus: {
      barrier: () => Promise.reject(failure),
      changeMembers: () => assert.fail('nothing is changed'),
    },
  })
  await assert.rejects(admin.change({ kind: 'remove', name: 'n4', id: null }, 1000), failure)
})
