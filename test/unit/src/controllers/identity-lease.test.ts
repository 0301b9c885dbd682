/*
 * Goal: each member that is ready has one lease, and a member that is gone has no lease.
 * Method: leases of members whose readiness and clocks the test sets, against a real registry; the
 * leader's clean-up with the shipped controllers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { nodeId } from '../../../../raft/index.ts'
import { objectMember, textMember } from '../../../../src/api/json.ts'
import { serverUser } from '../../../../src/app/controllers/controller-user.ts'
import { identityLease, identityLeaseName } from '../../../../src/controllers/identity-lease.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { lead, rest } from '../app/leading-member.ts'
import { refused } from '../registry/fixture.ts'
import type { Fixture } from '../registry/fixture.ts'

type Started = { isReady: boolean; failures: number; stop(): void }

function startLease(
  t: TestContext,
  api: Fixture,
  id: number,
  { isReady = true, durationSeconds = 3600 } = {},
): Started {
  const { clock, names, catalog, registry } = api
  const state = { isReady, failures: 0, stop: () => lease.stop() }
  const lease = identityLease({
    ...{ clock, names, catalog },
    client: new LocalClient({ registry, clock, user: serverUser(), timeoutMs: 5000 }),
    member: { id: nodeId(id), name: `n${id}` },
    isReady: () => state.isReady,
    ...{ durationSeconds, renewalMs: 60_000 },
    onError: () => {
      state.failures++
    },
  })
  lease.start()
  t.after(() => lease.stop())
  return state
}

function at(api: Fixture, id: number) {
  const { names } = api
  return { kind: 'Lease', namespace: names.systemNamespace, name: identityLeaseName(names, nodeId(id)) }
}

async function specOf(api: Fixture, id: number): Promise<Readonly<Record<string, unknown>>> {
  return objectMember((await api.get(at(api, id))).object, 'spec')
}

async function rests(api: Fixture, times: number): Promise<void> {
  for (let time = 0; time < times; time++) await rest(api)
}

const expected = {
  'k8s.io': { name: /^kube-apiserver-[0-9a-f]{26}$/, labels: { 'k8s.io/component': 'kube-apiserver' } },
  'orch.io': { name: /^orch-apiserver-[0-9a-f]{26}$/, labels: { 'orch.io/component': 'orch-apiserver' } },
} as const

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`spec 9.7: APIServerIdentity, ${domain}: a ready member creates its lease and renews it; the next process takes it over`, async (t) => {
    const api = await lead(t, { domain, enabled: [], members: [nodeId(1)] })
    const first = startLease(t, api, 1)
    await rest(api)
    const { object } = await api.get(at(api, 1))
    const metadata = objectMember(object, 'metadata')
    assert.match(textMember(metadata, 'name'), expected[domain].name)
    assert.deepEqual(objectMember(metadata, 'labels'), expected[domain].labels)
    const created = await specOf(api, 1)
    assert.deepEqual([created['holderIdentity'], created['leaseDurationSeconds']], ['n1_1', 3600])
    await rests(api, 7)
    const renewed = await specOf(api, 1)
    assert.notEqual(renewed['renewTime'], created['renewTime'])
    assert.equal(renewed['acquireTime'], created['acquireTime'])
    first.stop()
    startLease(t, api, 1)
    await rest(api)
    const taken = await specOf(api, 1)
    assert.notEqual(taken['renewTime'], renewed['renewTime'])
    assert.equal(taken['acquireTime'], created['acquireTime'])
  })
}

void test('a member that is not ready neither creates nor renews its lease', async (t) => {
  const api = await lead(t, { domain: 'k8s.io', enabled: [], members: [nodeId(1)] })
  const state = startLease(t, api, 1, { isReady: false })
  await rest(api)
  assert.equal((await refused(api.get(at(api, 1)))).code, 404)
  state.isReady = true
  await rest(api)
  const created = await specOf(api, 1)
  state.isReady = false
  await rests(api, 13)
  assert.deepEqual(await specOf(api, 1), created)
})

void test('a lease that a client deletes or changes is back after the next renewal', async (t) => {
  const api = await lead(t, { domain: 'k8s.io', enabled: [], members: [nodeId(1)] })
  const state = startLease(t, api, 1)
  await rest(api)
  await api.delete(at(api, 1))
  await rests(api, 7)
  assert.equal((await specOf(api, 1))['holderIdentity'], 'n1_1')
  await api.patch({ ...at(api, 1), body: { spec: { holderIdentity: 'other' }, metadata: { labels: null } } })
  await rests(api, 7)
  const { object } = await api.get(at(api, 1))
  assert.equal(textMember(objectMember(object, 'spec'), 'holderIdentity'), 'n1_1')
  assert.deepEqual(objectMember(objectMember(object, 'metadata'), 'labels'), expected['k8s.io'].labels)
  assert.equal(state.failures, 0)
})

void test('the lease of a member that has left is removed at once, those of others when they expire', async (t) => {
  const members = [nodeId(1), nodeId(2), nodeId(3)]
  const api = await lead(t, { domain: 'k8s.io', enabled: [], members })
  const started = [1, 2, 3].map((id) => startLease(t, api, id, { durationSeconds: 300 }))
  // This lease is not that of a member.
  const namespace = api.names.systemNamespace
  const other = { kind: 'Lease', namespace, name: 'kube-scheduler' }
  const body = { kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', metadata: { name: 'kube-scheduler' } }
  await api.create({ kind: 'Lease', namespace, body })
  await rest(api)
  for (const id of [1, 2, 3]) assert.equal((await api.get(at(api, id))).code, 200)
  started[2]?.stop()
  members.pop()
  await rests(api, 2)
  assert.equal((await refused(api.get(at(api, 3)))).code, 404)
  started[1]?.stop()
  await rests(api, 26)
  assert.equal((await api.get(at(api, 2))).code, 200, 'not expired')
  await rests(api, 6)
  assert.equal((await refused(api.get(at(api, 2)))).code, 404)
  for (const kept of [at(api, 1), other]) assert.equal((await api.get(kept)).code, 200)
})
