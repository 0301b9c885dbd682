/*
 * Goal: a token makes one process a member, once, whatever fails or happens in between.
 * Method: the service on records in memory and a configuration that changes by the shipped plan.
 * Changes fail before or after they take effect.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { ConsensusError } from '../../../../raft/index.ts'
import type { MemberChange } from '../../../../raft/index.ts'
import { IssueError, JoinService } from '../../../../src/membership/join-service.ts'
import type { JoinServiceDependencies } from '../../../../src/membership/join-service.ts'
import { JoinError } from '../../../../src/membership/join-rules.ts'
import { parseJoinToken } from '../../../../src/membership/join-token.ts'
import { limits } from '../../../../src/config/limits.ts'
import {
  MemoryJoinRecords,
  PlannedMembers,
  cluster,
  prints,
  request,
  seat,
  tokenIn,
} from '../../../support/join-service-kit.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const forEver = Number.MAX_SAFE_INTEGER

function serviceOf(change: Partial<JoinServiceDependencies> = {}) {
  const [clock, records, members] = [
    new ManualClock(),
    new MemoryJoinRecords(),
    new PlannedMembers(['n1', 'n2', 'n3']),
  ]
  const service = new JoinService({
    ...{ clock, records, random: new SeededRandom(1), version: '1.0.0' },
    consensus: members,
    configuration: () => members.configuration,
    applied: () => members.applied,
    cluster: () => cluster,
    authority: () => prints['client-ca'],
    hasPeerPort: true,
    levelMin: 3,
    ...change,
  })
  const issue = async (name = 'n4', replaces: string | null = null): Promise<string> => {
    const own =
      name === seat.name ? seat : { ...seat, peerAddress: `${name}:7443`, clientAddress: `${name}:6443` }
    const token = tokenIn(await service.issue({ ...own, name, replaces }, forEver))
    return parseJoinToken(token)?.id ?? assert.fail('a token')
  }
  return { service, clock, records, members, issue }
}

const failsWith = (code: string) => (cause: unknown) =>
  (cause instanceof JoinError || cause instanceof IssueError) && cause.code === code

void test('a process with a token becomes a learner that will vote, as the token specifies', async () => {
  const { service, members, issue } = serviceOf()
  const answer = await service.join(await issue(), request, forEver)
  const member = members.named('n4')
  assert.equal(member?.id, answer.memberId)
  assert.deepEqual(
    [member.role, member.wantedRole, member.peerAddress],
    ['learner', 'voter', seat.peerAddress],
  )
  assert.ok(member.addedMs > 0)
  assert.equal(answer.members.length, 4)
})

void test('a repeated request gets the same answer; another process is rejected', async () => {
  const { service, members, issue } = serviceOf()
  const id = await issue()
  const first = await service.join(id, request, forEver)
  const again = await service.join(id, request, forEver)
  assert.equal(again.memberId, first.memberId)
  assert.equal(members.configuration.members.length, 4)
  await assert.rejects(service.join(id, { ...request, nonce: '22'.repeat(16) }, forEver), failsWith('used'))
})

for (const when of ['before', 'after'] as const) {
  void test(`a retry after a failure ${when} the change was made returns the same member`, async () => {
    const { service, members, records, clock, issue } = serviceOf()
    const id = await issue()
    members.failures.push({ when, cause: new ConsensusError('timed-out', 'too slow') })
    await assert.rejects(service.join(id, request, forEver), ConsensusError)
    const drawn = records.find(id)?.record.joining?.memberId
    // A join that began in time is completed after the token expired, too.
    await clock.advance(limits.joinTokenMsMax)
    const answer = await service.join(id, request, forEver)
    assert.equal(answer.memberId, drawn)
    assert.equal(members.named('n4')?.id, drawn)
  })
}

void test('a member that was removed before its process got the response joins under another id', async () => {
  const { service, members, records, issue } = serviceOf()
  const id = await issue()
  members.failures.push({ when: 'after', cause: new ConsensusError('timed-out', 'too slow') })
  await assert.rejects(service.join(id, request, forEver), ConsensusError)
  const first = members.named('n4')?.id ?? assert.fail('it was added')
  await members.changeMembers({ kind: 'remove', id: first })
  const answer = await service.join(id, request, forEver)
  assert.notEqual(answer.memberId, first)
  assert.equal(members.named('n4')?.id, answer.memberId)
  assert.equal(records.find(id)?.record.joining?.memberId, answer.memberId)
  assert.equal(
    (await service.join(id, request, forEver)).memberId,
    answer.memberId,
    'asked again it is the same',
  )
})

void test('a late addition, after its member was added and removed, adds no member', async () => {
  const { service, members, issue } = serviceOf()
  const id = await issue()
  const { memberId } = await service.join(id, request, forEver)
  const [late] = members.changes
  assert.ok(late !== undefined)
  await members.changeMembers({ kind: 'remove', id: memberId })
  await assert.rejects(members.changeMembers(late), { code: 'id-taken' })
  assert.equal(members.named('n4'), null)
})

void test('a join whose member is removed and replaced concurrently returns the later id', async () => {
  const { service, members, issue } = serviceOf()
  const id = await issue()
  const change = members.changeMembers.bind(members)
  const later: unknown[] = []
  members.changeMembers = async (wanted) => {
    const changed = await change(wanted)
    if (wanted.kind === 'add' && later.length === 0) {
      // The addition is reported late: an operator removes the member first, and the process sends
      // its request again.
      await change({ kind: 'remove', id: wanted.member.id })
      later.push('asks')
      later.push(await service.join(id, request, forEver))
    }
    return changed
  }
  const answer = await service.join(id, request, forEver)
  assert.deepEqual(later, ['asks', answer])
  assert.equal(members.named('n4')?.id, answer.memberId)
})

void test('a member of a cluster that is not founded yet rejects joins with a retry', async () => {
  let clusterId: string | null = null
  const { service, members, records, issue } = serviceOf({ cluster: () => ({ ...cluster, clusterId }) })
  const id = await issue()
  await assert.rejects(service.join(id, request, forEver), failsWith('not-founded'))
  assert.equal(members.changes.length, 0)
  assert.equal(records.find(id)?.record.joining, null)
  clusterId = cluster.clusterId
  assert.equal((await service.join(id, request, forEver)).clusterId, clusterId)
})

void test('a removed member does not come back with the same token', async () => {
  const { service, members, issue } = serviceOf()
  const id = await issue()
  const { memberId } = await service.join(id, request, forEver)
  await members.changeMembers({ kind: 'remove', id: memberId })
  await assert.rejects(service.join(id, request, forEver), failsWith('removed'))
  assert.equal(members.named('n4'), null)
})

void test('membership is decided by memory after a barrier, not by the last status of consensus', async () => {
  const members = new PlannedMembers(['n1', 'n2', 'n3'])
  // Consensus publishes its status periodically; the records are read after a barrier.
  const consensus = {
    status: members.status,
    changeMembers: (change: MemberChange) => members.changeMembers(change),
  }
  const { service, issue } = serviceOf({
    consensus,
    configuration: () => members.configuration,
  })
  const id = await issue()
  const first = await service.join(id, request, forEver)
  const again = await service.join(id, request, forEver)
  assert.equal(again.memberId, first.memberId)
})

void test('the record of a token stays during the join, and is removed after it if the token expired an hour ago', async () => {
  const { service, members, records, clock, issue } = serviceOf()
  const id = await issue()
  const lost = { when: 'after', cause: new ConsensusError('timed-out', 'too slow') } as const
  members.failures.push({ ...lost, when: 'before' })
  await assert.rejects(service.join(id, request, forEver), ConsensusError)
  await clock.advance(limits.joinTokenMsMax)
  await issue('n5')
  assert.ok(records.find(id) !== null, 'the process may repeat its request')
  members.failures.push(lost)
  await assert.rejects(service.join(id, request, forEver), ConsensusError)
  await clock.advance(limits.joinTokenMsMax)
  await issue('n5')
  assert.equal((await service.join(id, request, forEver)).memberId, members.named('n4')?.id)
  await issue('n5')
  assert.equal(records.find(id), null, 'the process has joined')
})

void test('of two tokens for one address, the second to be used is refused', async () => {
  const { service, members } = serviceOf()
  const issued = async (name: string): Promise<string> => {
    const token = tokenIn(await service.issue({ ...seat, name }, forEver))
    return parseJoinToken(token)?.id ?? assert.fail('a token')
  }
  const [four, five] = [await issued('n4'), await issued('n5')]
  await service.join(four, request, forEver)
  await assert.rejects(service.join(five, { ...request, name: 'n5' }, forEver), failsWith('address-taken'))
  assert.equal(members.named('n5'), null)
})

void test('a process that lacks the feature level reached during its join is refused; a newer version completes the join', async () => {
  let featureLevel = 3
  const { service, members, issue } = serviceOf({ cluster: () => ({ ...cluster, featureLevel }) })
  const change = members.changeMembers.bind(members)
  members.changeMembers = (wanted) => {
    featureLevel = 4
    return change(wanted)
  }
  const id = await issue()
  await assert.rejects(service.join(id, request, forEver), failsWith('other-rules'))
  const drawn = members.named('n4')?.id
  assert.ok(drawn !== undefined, 'a learner that waits for its process')
  await assert.rejects(service.join(id, request, forEver), failsWith('other-rules'))
  const answer = await service.join(id, { ...request, version: '2.0.0', featureLevelMax: 4 }, forEver)
  assert.equal(answer.memberId, drawn)
})

void test('two processes with one token at the same moment: one joins', async () => {
  const { service, members, records, issue } = serviceOf()
  const id = await issue()
  let raced = false
  records.onSave = () => {
    const kept = records.kept.get(id)
    if (raced || kept === undefined) return
    raced = true
    const fields = {
      ...(JSON.parse(kept.fields) as object),
      joining: { nonce: '33'.repeat(16), memberId: '77', basedOn: '10', joined: false },
    }
    records.kept.set(id, { fields: JSON.stringify(fields), version: 999 })
  }
  await assert.rejects(service.join(id, request, forEver), failsWith('used'))
  assert.equal(members.named('n4'), null)
})

void test('a new token removes expired tokens, and the oldest one of a name that has three', async () => {
  const { service, clock, records, issue } = serviceOf()
  const first = await issue()
  for (let at = 1; at < limits.joinTokensPerNameMax; at++) await issue()
  assert.equal(records.all().length, limits.joinTokensPerNameMax)
  const second = await issue()
  assert.equal(records.all().length, limits.joinTokensPerNameMax)
  await assert.rejects(service.join(first, request, forEver), failsWith('unknown-token'))
  await clock.advance(limits.joinTokenMsMax)
  await assert.rejects(service.join(second, request, forEver), failsWith('expired'))
  await issue('n5')
  await assert.rejects(service.join(second, request, forEver), failsWith('unknown-token'))
})

void test('the number of pending tokens is limited, until they expire', async () => {
  const { clock, records, issue } = serviceOf()
  for (let at = 0; at < limits.joinTokensMax; at++) await issue(`m${at}`)
  await assert.rejects(issue('n4'), failsWith('full'))
  await clock.advance(limits.joinTokenMsMax)
  await issue('n4')
  assert.equal(records.kept.size, 1)
})

void test('a replacement refers to a member by id, not by a name that may be reused', async () => {
  const { service, members, issue } = serviceOf()
  const id = await issue('n4', 'n3')
  const old = members.named('n3')
  assert.ok(old !== null)
  const answer = await service.join(id, request, forEver)
  assert.equal(members.named('n4')?.replaces, old.id)
  await members.changeMembers({ kind: 'promote', id: answer.memberId })
  assert.deepEqual(members.configuration.members.map(({ name }) => name).sort(), ['n1', 'n2', 'n4'])
})

void test('a request for an existing member returns it; any other request for its name is rejected', async () => {
  const { service, members, records, issue } = serviceOf()
  const id = await issue('n4', 'n3')
  const { memberId } = await service.join(id, request, forEver)
  const wanted = { ...seat, replaces: 'n3' }
  const kept = records.kept.size
  const waiting = await service.issue(wanted, forEver)
  assert.ok(waiting.kind === 'member' && waiting.member.id === memberId && waiting.replaces === 'n3')
  for (const other of [
    { ...wanted, replaces: null },
    { ...wanted, replaces: 'n2' },
    { ...wanted, role: 'learner' },
    { ...wanted, peerAddress: '10.0.0.5:7443' },
    { ...wanted, clientAddress: '10.0.0.5:6443' },
  ] as const) {
    await assert.rejects(service.issue(other, forEver), failsWith('taken'), JSON.stringify(other))
  }
  await members.changeMembers({ kind: 'promote', id: memberId })
  const inPlace = await service.issue(wanted, forEver)
  assert.ok(inPlace.kind === 'member' && inPlace.member.role === 'voter' && inPlace.replaces === null)
  await members.changeMembers({ kind: 'set-role', id: memberId, role: 'learner' })
  await assert.rejects(service.issue(wanted, forEver), failsWith('taken'))
  assert.equal(records.kept.size, kept, 'no token was made')
})

for (const [what, change, says] of [
  ['no port for peers', { hasPeerPort: false }, /--peer-address/],
  ['a serving certificate of another authority', { authority: () => null }, /--client-ca-file/],
  ['an upgrade that is not over', { cluster: () => ({ ...cluster, featureLevel: 2 }) }, /every member/],
] as const) {
  void test(`no token is issued: ${what}`, async () => {
    const { service } = serviceOf(change)
    await assert.rejects(service.issue(seat, forEver), (cause: unknown) => {
      assert.ok(cause instanceof IssueError && cause.code === 'unready')
      assert.match(cause.message, says)
      return true
    })
  })
}

void test('a token with a wrong secret or an unknown id is not known', async () => {
  const { service } = serviceOf()
  const token = tokenIn(await service.issue(seat, forEver))
  const parsed = parseJoinToken(token)
  assert.ok(parsed !== null && service.isKnown(parsed))
  assert.ok(!service.isKnown({ ...parsed, secret: '0'.repeat(32) }))
  assert.ok(!(await service.isKnownAnywhere({ ...parsed, id: '0'.repeat(12) }, forEver)))
})
