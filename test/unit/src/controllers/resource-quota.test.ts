/*
 * Goal: the controller puts quotas in force, lowers usage when objects go, and never lowers it
 * below what there is. Method: the shipped controller, admission plugin and verbs of one member
 * that leads.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { admissionChain } from '../../../../src/admission/chain.ts'
import { resourceQuotaAdmission } from '../../../../src/admission/resource-quota.ts'
import { objectMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { lead, rest } from '../app/leading-member.ts'
import { refused } from '../registry/fixture.ts'
import type { Fixture } from '../registry/fixture.ts'

const kind = 'ResourceQuota'

function open(t: TestContext): Promise<Fixture> {
  const admission = admissionChain([resourceQuotaAdmission({ names: namesOf('orch.io') })])
  return lead(t, { domain: 'orch.io', enabled: ['resourcequota'], admission })
}

async function quota(api: Fixture, name: string, spec: JsonObject): Promise<void> {
  await api.create({ kind, body: { metadata: { name }, spec } })
  await rest(api)
}

async function statusOf(api: Fixture, name: string): Promise<JsonObject> {
  return objectMember((await api.get({ kind, name })).object, 'status')
}

function pod(api: Fixture, name: string, cpu: string): ReturnType<Fixture['create']> {
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu } } }]
  return api.create({ kind: 'Pod', body: { metadata: { name }, spec: { containers } } })
}

void test('spec 5.9: a new quota is in force with the usage of what was there before', async (t) => {
  const api = await open(t)
  await pod(api, 'a', '300m')
  await api.configMap('x')
  await quota(api, 'q', {
    hard: {
      pods: '1',
      'requests.cpu': '1',
      'count/configmaps': '5',
      services: '1',
      'count/x.example.com': '1',
    },
  })
  assert.deepEqual(await statusOf(api, 'q'), {
    hard: {
      'count/configmaps': '5',
      'count/x.example.com': '1',
      pods: '1',
      'requests.cpu': '1',
      services: '1',
    },
    used: {
      'count/configmaps': '1',
      'count/x.example.com': '0',
      pods: '1',
      'requests.cpu': '300m',
      // The Service of the API server.
      services: '1',
    },
  })
  assert.match((await refused(pod(api, 'b', '1m'))).message, /exceeded quota: q, requested: pods=1/)
})

void test('spec 5.9: usage is replenished within a second when Pods end or are deleted', async (t) => {
  const api = await open(t)
  await quota(api, 'q', { hard: { pods: '2', 'requests.cpu': '2' } })
  await pod(api, 'a', '1')
  await pod(api, 'b', '1')
  await api.patch({ kind: 'Pod', name: 'a', subresource: 'status', body: { status: { phase: 'Succeeded' } } })
  await api.delete({ kind: 'Pod', name: 'b', query: { gracePeriodSeconds: '0' } })
  for (let at = 0; at < 20; at++) {
    await new Promise((resolve) => setImmediate(resolve))
    api.clock.advance(50)
  }
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(objectMember(await statusOf(api, 'q'), 'used'), { pods: '0', 'requests.cpu': '0' })
})

void test('spec 5.9: a quota below its usage refuses creates, and accepts updates and deletions', async (t) => {
  const api = await open(t)
  await api.configMap('a')
  await api.configMap('b')
  await quota(api, 'q', { hard: { configmaps: '5' } })
  await api.patch({ kind, name: 'q', body: { spec: { hard: { configmaps: '1' } } } })
  await rest(api)
  const seen = await refused(api.configMap('c'))
  assert.match(
    seen.message,
    /exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=1$/,
  )
  assert.equal((await api.patch({ name: 'a', body: { data: { k: 'v' } } })).code, 200)
  await api.delete({ name: 'a' })
  await rest(api)
  assert.deepEqual(objectMember(await statusOf(api, 'q'), 'used'), { configmaps: '1' })
})

void test('spec 5.9: each quota counts what is in its scope', async (t) => {
  const api = await open(t)
  await pod(api, 'a', '1')
  const containers = [{ name: 'c', image: 'i' }]
  await api.create({
    kind: 'Pod',
    body: { metadata: { name: 'b' }, spec: { containers, activeDeadlineSeconds: 1 } },
  })
  await quota(api, 'best', { hard: { pods: '9' }, scopes: ['BestEffort'] })
  await quota(api, 'long', { hard: { pods: '9', 'requests.cpu': '9' }, scopes: ['NotTerminating'] })
  assert.deepEqual(objectMember(await statusOf(api, 'best'), 'used'), { pods: '1' })
  assert.deepEqual(objectMember(await statusOf(api, 'long'), 'used'), { pods: '1', 'requests.cpu': '1' })
})

void test('spec 5.9: the usage of load balancers and node ports follows the Services', async (t) => {
  const api = await open(t)
  const service = (name: string, type: string): ReturnType<Fixture['create']> =>
    api.create({ kind: 'Service', body: { metadata: { name }, spec: { type, ports: [{ port: 80 }] } } })
  await service('a', 'LoadBalancer')
  await quota(api, 'q', {
    hard: { services: '9', 'services.loadbalancers': '1', 'services.nodeports': '2' },
  })
  const used = async (): Promise<unknown> => (await statusOf(api, 'q'))['used']
  assert.deepEqual(await used(), { services: '2', 'services.loadbalancers': '1', 'services.nodeports': '1' })
  await service('b', 'NodePort')
  await api.patch({ kind: 'Service', name: 'a', body: { spec: { type: 'NodePort' } } })
  await rest(api)
  assert.deepEqual(await used(), { services: '3', 'services.loadbalancers': '0', 'services.nodeports': '2' })
})
