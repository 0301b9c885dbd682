/*
 * Goal: APIServices follow the rules of upstream 1.24, and those of the built-in groups are valid.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember, objectsMember, withoutMembers } from '../../../../src/api/json.ts'
import { localApiServices } from '../../../../src/resources/aggregation/local-api-services.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesNew } from './common/broken-rules.ts'

const kind = 'APIService'
const body = {
  metadata: { name: 'v1beta1.metrics.k8s.io' },
  spec: {
    ...{ group: 'metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 },
    service: { namespace: 'kube-system', name: 'metrics-server' },
  },
}

void test('an APIService follows the rules of upstream', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const caBundle = Buffer.from('pem').toString('base64')
  await refusesNew(api, { kind, body }, [
    [
      { metadata: { name: 'metrics' } },
      ['FieldValueInvalid metadata.name'],
      'must be `spec.version+"."+spec.group`: "v1beta1.metrics.k8s.io"',
    ],
    [
      { metadata: { name: 'v1beta1.' }, spec: { group: '' } },
      ['FieldValueRequired spec.group'],
      'only v1 may have an empty group',
    ],
    [
      { metadata: { name: 'V1.metrics.k8s.io' }, spec: { version: 'V1' } },
      ['FieldValueInvalid spec.version'],
    ],
    [
      { spec: { groupPriorityMinimum: 20_001 } },
      ['FieldValueInvalid spec.groupPriorityMinimum'],
      'must be positive and less than 20000',
    ],
    [
      { spec: { versionPriority: 0 } },
      ['FieldValueInvalid spec.versionPriority'],
      'must be positive and less than 1000',
    ],
    [{ spec: { service: { name: null } } }, ['FieldValueRequired spec.service.name']],
    [
      { spec: { service: { port: 70_000 } } },
      ['FieldValueInvalid spec.service.port'],
      'must be between 1 and 65535, inclusive',
    ],
    [
      { spec: { caBundle, insecureSkipTLSVerify: true } },
      ['FieldValueInvalid spec.insecureSkipTLSVerify'],
      'may not be true if caBundle is present',
    ],
    [
      { spec: { service: null, caBundle } },
      ['FieldValueInvalid spec.caBundle'],
      'local APIServices may not have a caBundle',
    ],
    [
      { spec: { service: null, insecureSkipTLSVerify: true } },
      ['FieldValueInvalid spec.insecureSkipTLSVerify'],
    ],
  ])
})

void test('an APIService of another server is not available: its status and a Warning show it', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const { object } = await api.create({ kind, body })
  assert.match(api.warnings.join(), /requests for metrics.k8s.io\/v1beta1 are not proxied to the Service/)
  assert.deepEqual(objectMember(objectMember(object, 'spec'), 'service')['port'], 443)
  assert.deepEqual(cells(api, kind, object), {
    ...{ Name: 'v1beta1.metrics.k8s.io', Service: 'kube-system/metrics-server' },
    Available: 'False (NotProxied)',
  })
  const name = 'v1beta1.metrics.k8s.io'
  const local = await api.patch({ kind, name, body: { spec: { service: null } } })
  assert.equal(cells(api, kind, local.object)['Available'], 'True')
})

void test('the built-in groups have valid APIServices, which are Local and available', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const locals = localApiServices(api.names, api.catalog.builtIn())
  for (const { name, labels = {}, members } of locals) {
    const { object } = await api.create({ kind, body: { metadata: { name, labels }, ...members } })
    const [condition = {}] = objectsMember(objectMember(object, 'status'), 'conditions')
    assert.deepEqual(withoutMembers(condition, 'lastTransitionTime'), {
      ...{ type: 'Available', status: 'True', reason: 'Local' },
      message: 'Local APIServices are always available',
    })
  }
  assert.deepEqual(api.warnings, [])
  const priorities = new Map(locals.map(({ name, members }) => [name, objectMember(members, 'spec')]))
  assert.deepEqual(priorities.get('v1.'), { version: 'v1', groupPriorityMinimum: 18_000, versionPriority: 1 })
  assert.deepEqual(priorities.get('v2.autoscaling'), {
    ...{ group: 'autoscaling', version: 'v2', groupPriorityMinimum: 17_500, versionPriority: 30 },
  })
})

void test('a status update of an APIService keeps its metadata', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const { object } = await api.create({ kind, body })
  const metadata = {
    ...{ labels: { a: 'b' }, annotations: { a: 'b' }, finalizers: ['x.io/a'] },
    ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'u' }],
  }
  const status = { conditions: [{ type: 'Available', status: 'True' }] }
  const call = { kind, name: body.metadata.name, subresource: 'status', body: { metadata, status } }
  const changed = (await api.patch(call)).object
  const others = ['managedFields', 'resourceVersion']
  assert.deepEqual(withoutMembers(changed.metadata, ...others), withoutMembers(object.metadata, ...others))
  assert.notEqual(changed.metadata.resourceVersion, object.metadata.resourceVersion)
  assert.deepEqual(objectsMember(objectMember(changed, 'status'), 'conditions'), [
    { lastTransitionTime: null, ...status.conditions[0] },
  ])
})
