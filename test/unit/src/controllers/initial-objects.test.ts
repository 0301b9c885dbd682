/*
 * Goal: the objects that every cluster has are created where a member leads. Those of flow control
 * are restored unless their annotation is `false`.
 * Method: the shipped controller on the shipped verbs, started once for each leader.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { initialObjects } from '../../../../src/controllers/initial-objects.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { initialFlows } from '../../../../src/resources/flows/initial-flows.ts'
import { Fixture } from '../registry/fixture.ts'

const GROUP = 'flowcontrol.apiserver.k8s.io/v1beta2'
const SCHEMA = `${GROUP}/FlowSchema`
const LEVEL = `${GROUP}/PriorityLevelConfiguration`
const AUTO_UPDATE = 'apf.kubernetes.io/autoupdate-spec'

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  return api
}

/** Leads until nothing is written any longer. */
async function lead(api: Fixture): Promise<void> {
  const { clock, names, catalog, registry } = api
  const user = { name: 'system:apiserver', uid: '', groups: ['system:masters'], extra: {} }
  const errors: unknown[] = []
  const controller = initialObjects({
    ...{ clock, catalog, expected: initialFlows(names) },
    client: new LocalClient({ registry, clock, user, timeoutMs: 10_000 }),
    onError: (name, cause) => void errors.push([name, cause]),
  })
  controller.start()
  for (let quiet = 0, at = revisionOf(api); quiet < 50; quiet++) {
    await turn()
    clock.advance(10)
    if (revisionOf(api) !== at) quiet = 0
    at = revisionOf(api)
  }
  controller.stop()
  assert.deepEqual(errors, [])
}

function revisionOf(api: Fixture): number {
  return api.store.view().revision
}

async function specOf(api: Fixture, kind: string, name: string): Promise<JsonObject> {
  return objectMember((await api.get({ kind, name })).object, 'spec')
}

void test('a new cluster has the flow schemas and priority levels of release 1.24', async (t) => {
  const api = await open(t)
  await lead(api)
  const names = async (kind: string): Promise<readonly string[]> =>
    (await api.list({ kind })).items.map(({ metadata }) => metadata.name ?? '')
  assert.deepEqual(await names(LEVEL), [
    ...['catch-all', 'exempt', 'global-default', 'leader-election', 'node-high', 'system'],
    ...['workload-high', 'workload-low'],
  ])
  assert.deepEqual(await names(SCHEMA), [
    ...['catch-all', 'exempt', 'global-default', 'kube-controller-manager', 'kube-scheduler'],
    ...['kube-system-service-accounts', 'probes', 'service-accounts', 'system-leader-election'],
    ...['system-node-high', 'system-nodes', 'workload-leader-election'],
  ])
  const { object } = await api.get({ kind: SCHEMA, name: 'probes' })
  assert.deepEqual(object.metadata.annotations, { [AUTO_UPDATE]: 'true' })
})

void test('a changed suggested object is restored, unless its annotation is `false`', async (t) => {
  const api = await open(t)
  await lead(api)
  const before = await specOf(api, LEVEL, 'system')
  const change = { spec: { limited: { assuredConcurrencyShares: 7 } } }
  await api.patch({ kind: LEVEL, name: 'system', body: change })
  await api.patch({
    ...{ kind: LEVEL, name: 'node-high' },
    body: { ...change, metadata: { annotations: { [AUTO_UPDATE]: 'false' } } },
  })
  const kept = await specOf(api, LEVEL, 'node-high')
  await api.delete({ kind: LEVEL, name: 'workload-low' })
  await lead(api)
  assert.deepEqual(await specOf(api, LEVEL, 'system'), before)
  assert.deepEqual(await specOf(api, LEVEL, 'node-high'), kept)
  assert.equal((await specOf(api, LEVEL, 'workload-low'))['type'], 'Limited')
})

void test('objects that are as expected are not written again', async (t) => {
  const api = await open(t)
  await lead(api)
  const before = revisionOf(api)
  await lead(api)
  assert.equal(revisionOf(api), before)
})
