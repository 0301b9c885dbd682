/*
 * Goal: members are read like any object; a write to one is requested from consensus, and the
 * response shows the result.
 * Method: the shipped verbs, membership changes and machine over a consensus of one that changes
 * its members at once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { nodeId } from '../../../../raft/index.ts'
import type { MemberInfo } from '../../../../raft/index.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'
import type { Call, Got } from '../registry/fixture.ts'

const kind = 'Member'

function infoOf(id: number, more: Partial<MemberInfo> = {}): MemberInfo {
  return {
    ...{ id: nodeId(id), name: `n${id}`, role: 'voter', wantedRole: 'voter' },
    ...{ peerAddress: `h${id}:7443`, clientAddress: `h${id}:6443` },
    ...{ version: '0.1.0', featureLevel: 3, replaces: null, addedMs: 1_790_000_000_000 },
    ...more,
  }
}

const three = [1, 2, 3].map((id) => infoOf(id))
const learner = infoOf(4, { role: 'learner', wantedRole: 'learner' })

async function open(t: TestContext, members: readonly MemberInfo[] = three): Promise<Fixture> {
  const fixture = await Fixture.open()
  t.after(() => fixture.close())
  fixture.consensus.configure(members)
  return fixture
}

function memberOf(fixture: Fixture, name: string): MemberInfo | null {
  return fixture.consensus.status.configuration.members.find((one) => one.name === name) ?? null
}

const announcement = (name: string, spec: JsonObject = {}): Call => ({
  kind,
  body: { apiVersion: 'cluster.orch.io/v1', kind, metadata: { name }, spec },
})

const spec = ({ object }: Got): JsonObject => object['spec'] as JsonObject
const status = ({ object }: Got): JsonObject => object['status'] as JsonObject

void test('members are listed, and watches report additions and removals', async (t) => {
  const fixture = await open(t)
  const { items, metadata } = await fixture.list({ kind })
  assert.deepEqual(
    items.map((item) => item.metadata.name),
    ['n1', 'n2', 'n3'],
  )
  const events = await fixture.watch({ kind, query: { resourceVersion: metadata.resourceVersion } })
  fixture.consensus.configure([...three, learner])
  fixture.consensus.configure(three.slice(0, 2))
  const reported = (await events.now()).map(({ type, object }) => `${type} ${object.metadata.name}`)
  assert.deepEqual(reported, ['ADDED n4', 'DELETED n3', 'DELETED n4'])
})

void test('a change of the role is a membership change, and the response shows its result', async (t) => {
  const fixture = await open(t)
  const got = await fixture.patch({ kind, name: 'n3', body: { spec: { role: 'Learner' } } })
  assert.equal(got.code, 200)
  assert.equal(memberOf(fixture, 'n3')?.role, 'learner')
  assert.deepEqual([spec(got)['role'], status(got)['role']], ['Learner', 'Learner'])
  assert.deepEqual(got.object, (await fixture.get({ kind, name: 'n3' })).object)

  const again = await fixture.patch({ kind, name: 'n3', body: { spec: { role: 'Learner' } } })
  assert.equal(again.text, got.text, 'a role that is set already changes nothing')
  const back = await fixture.patch({ kind, name: 'n3', body: { spec: { role: 'Voter' } } })
  assert.deepEqual(
    [spec(back)['role'], status(back)['role'], status(back)['phase']],
    ['Voter', 'Learner', 'Joining'],
    'it votes once it has caught up',
  )
})

void test('a PUT with a version changes role, addresses and labels in one request', async (t) => {
  const fixture = await open(t)
  const { object } = await fixture.get({ kind, name: 'n2' })
  const wanted = {
    ...object,
    metadata: { ...object.metadata, labels: { zone: 'b' } },
    spec: { role: 'Learner', peerAddress: 'x:1', clientAddress: '[::1]:2' },
    status: { id: '77', role: 'Voter', leader: true },
  }
  const got = await fixture.update({ kind, name: 'n2', body: wanted })
  assert.deepEqual(got.object.metadata.labels, { zone: 'b' })
  assert.deepEqual(spec(got), wanted.spec)
  assert.deepEqual(
    status(got),
    { id: '2', role: 'Learner', phase: 'NotReady' },
    'clients do not set the status',
  )
  const now = memberOf(fixture, 'n2')
  assert.deepEqual([now?.role, now?.peerAddress, now?.clientAddress], ['learner', 'x:1', '[::1]:2'])
  const stale = await refused(
    fixture.update({ kind, name: 'n2', body: { ...wanted, spec: { ...wanted.spec, peerAddress: 'y:1' } } }),
  )
  assert.equal(stale.code, 409)
  assert.equal(
    memberOf(fixture, 'n2')?.peerAddress,
    'x:1',
    'no membership change is requested under an old version',
  )
})

void test('a change of labels alone is an ordinary write', async (t) => {
  const fixture = await open(t)
  fixture.consensus.changeMembers = () => assert.fail('a membership change is requested')
  const got = await fixture.patch({ kind, name: 'n1', body: { metadata: { labels: { a: 'b' } } } })
  assert.deepEqual(got.object.metadata.labels, { a: 'b' })
  assert.deepEqual((await fixture.get({ kind, name: 'n1' })).object, got.object)
})

void test('a deletion removes the member; preconditions apply, and a second deletion is a 404', async (t) => {
  const fixture = await open(t)
  const options = { apiVersion: 'v1', kind: 'DeleteOptions' }
  for (const preconditions of [{ uid: 'another' }, { resourceVersion: '1' }]) {
    const refusal = await refused(fixture.delete({ kind, name: 'n3', body: { ...options, preconditions } }))
    assert.equal(refusal.code, 409)
  }
  assert.notEqual(memberOf(fixture, 'n3'), null)
  const { uid } = (await fixture.get({ kind, name: 'n3' })).object.metadata
  const got = await fixture.delete({ kind, name: 'n3', body: { ...options, preconditions: { uid } } })
  assert.deepEqual([got.code, got.object.kind, memberOf(fixture, 'n3')], [200, 'Status', null])
  assert.equal((await refused(fixture.delete({ kind, name: 'n3' }))).code, 404)
})

void test('a member with finalizers is removed after the last finalizer is', async (t) => {
  const fixture = await open(t)
  await fixture.patch({ kind, name: 'n3', body: { metadata: { finalizers: ['example.com/drain'] } } })
  const held = await fixture.delete({ kind, name: 'n3' })
  assert.deepEqual([held.code, held.object.kind], [202, kind])
  assert.notEqual(memberOf(fixture, 'n3'), null)
  await fixture.patch({ kind, name: 'n3', body: { metadata: { finalizers: null } } })
  assert.equal(memberOf(fixture, 'n3'), null)
  assert.equal((await refused(fixture.get({ kind, name: 'n3' }))).code, 404)
})

void test('a foreground deletion of a member sets a finalizer, and the member is removed after it', async (t) => {
  const fixture = await open(t)
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Foreground' }
  const held = await fixture.delete({ kind, name: 'n3', body })
  assert.equal(held.code, 202)
  assert.deepEqual(held.object.metadata.finalizers, ['foregroundDeletion'])
  assert.notEqual(memberOf(fixture, 'n3'), null)
  await fixture.patch({ kind, name: 'n3', body: { metadata: { finalizers: null } } })
  assert.equal(memberOf(fixture, 'n3'), null)
})

void test('a refused membership change reports cause and remedy, also in a dry run', async (t) => {
  const fixture = await open(t, [infoOf(1), learner])
  for (const query of [{}, { dryRun: 'All' }]) {
    for (const refusal of [
      await refused(fixture.delete({ kind, name: 'n1', query })),
      await refused(fixture.patch({ kind, name: 'n1', query, body: { spec: { role: 'Learner' } } })),
    ]) {
      assert.deepEqual([refusal.code, refusal.reason], [403, 'Forbidden'])
      assert.match(
        refusal.message,
        /^members\.cluster\.orch\.io "n1" is forbidden: it is the only voter: add another/,
      )
      const { causes } = refusal.status['details'] as { causes: readonly { reason: string }[] }
      assert.deepEqual(
        causes.map(({ reason }) => reason),
        ['LastVoter'],
      )
    }
  }
})

void test('if one of two changes in a request would be refused, neither is made', async (t) => {
  const fixture = await open(t, [infoOf(1), learner])
  const before = memberOf(fixture, 'n1')
  const body = { spec: { role: 'Learner', peerAddress: 'z:1' } }
  assert.equal((await refused(fixture.patch({ kind, name: 'n1', body }))).code, 403)
  assert.deepEqual(memberOf(fixture, 'n1'), before)
})

void test('a dry run returns the result, and changes nothing', async (t) => {
  const fixture = await open(t)
  const query = { dryRun: 'All' }
  const before = fixture.store.view().revision
  const got = await fixture.patch({ kind, name: 'n3', query, body: { spec: { role: 'Learner' } } })
  assert.equal(spec(got)['role'], 'Learner')
  assert.equal((await fixture.delete({ kind, name: 'n3', query })).code, 200)
  assert.equal((await fixture.create({ ...announcement('n9'), query })).code, 201)
  assert.deepEqual([memberOf(fixture, 'n3')?.role, fixture.store.view().revision], ['voter', before])
})

void test('a created member is an announcement: it waits for a member of that name to join, or is deleted; there are at most 8', async (t) => {
  const fixture = await open(t)
  const made = await fixture.create(
    announcement('n4', { peerAddress: 'h4:1', clientAddress: 'h4:2', replaces: 'n2' }),
  )
  assert.deepEqual([made.code, status(made), spec(made)['role']], [201, { phase: 'Pending' }, 'Voter'])
  assert.equal(memberOf(fixture, 'n4'), null, 'an announcement adds no member')
  const moved = await fixture.patch({ kind, name: 'n4', body: { spec: { role: 'Learner', replaces: null } } })
  assert.equal(spec(moved)['role'], 'Learner')
  fixture.consensus.configure([...three, learner])
  const real = await fixture.get({ kind, name: 'n4' })
  assert.deepEqual([real.object.metadata.uid, status(real)['id']], [made.object.metadata.uid, '4'])

  await fixture.create(announcement('n5'))
  assert.equal((await fixture.delete({ kind, name: 'n5' })).code, 200)
  assert.equal((await refused(fixture.create(announcement('n1')))).reason, 'AlreadyExists')
  for (let at = 10; at < 18; at++) await fixture.create(announcement(`n${at}`))
  const tooMany = await refused(fixture.create(announcement('n18')))
  assert.deepEqual([tooMany.code, tooMany.reason], [422, 'Invalid'])
  assert.deepEqual(causes(tooMany), ['FieldValueForbidden metadata.name'])
  assert.match(tooMany.message, /8 members are announced that have not joined: let them join, or delete some/)
})

const wrong: readonly (readonly [what: string, name: string, spec: JsonObject, message: RegExp])[] = [
  ['name', 'N_4', {}, /metadata\.name: Invalid value: "N_4"/],
  [
    'role',
    'n4',
    { role: 'Leader' },
    /spec\.role: Unsupported value: "Leader": supported values: "Voter", "Learner"/,
  ],
  ['peer address', 'n4', { peerAddress: 'h4' }, /spec\.peerAddress: Invalid value: "h4": must be host:port/],
  ['port', 'n4', { clientAddress: 'h4:70000' }, /spec\.clientAddress: Invalid value/],
  [
    'replaced member',
    'n4',
    { replaces: 'n9' },
    /spec\.replaces: Invalid value: "n9": must be the name of a member/,
  ],
  ['role of a replacement', 'n4', { replaces: 'n2', role: 'Learner' }, /spec\.replaces: Forbidden/],
]

for (const [what, name, body, message] of wrong) {
  void test(`an announcement with a wrong ${what} is 422 and names the field`, async (t) => {
    const fixture = await open(t)
    const refusal = await refused(fixture.create(announcement(name, body)))
    assert.deepEqual([refusal.code, refusal.reason], [422, 'Invalid'])
    assert.match(refusal.message, message)
  })
}

void test('the peer address of a joined member cannot be removed, and the member that it replaces cannot be changed', async (t) => {
  const waiting = infoOf(5, { role: 'learner', wantedRole: 'voter', replaces: nodeId(2) })
  const fixture = await open(t, [...three, waiting])
  for (const change of [{ peerAddress: null }, { peerAddress: '' }, { replaces: 'n1' }, { replaces: null }]) {
    const refusal = await refused(fixture.patch({ kind, name: 'n5', body: { spec: change } }))
    assert.deepEqual([refusal.code, refusal.reason], [422, 'Invalid'], JSON.stringify(change))
  }
  assert.equal(spec(await fixture.get({ kind, name: 'n5' }))['replaces'], 'n2')
})
