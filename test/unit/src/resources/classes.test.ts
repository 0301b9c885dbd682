/*
 * Goal: PriorityClass, RuntimeClass and IngressClass follow the rules of upstream 1.24.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember } from '../../../../src/api/json.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

void test('spec 2.13: values of priority classes are bounded, values and preemption policies immutable, and system names reserved', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'PriorityClass'
  const body = { metadata: { name: 'high' }, value: 1000 }
  const reserved = ['FieldValueForbidden metadata.name']
  await refusesNew(api, { kind, body }, [
    [
      { value: 1_000_000_001 },
      ['FieldValueForbidden value'],
      'maximum allowed value of a user defined priority is 1000000000',
    ],
    [{ metadata: { name: 'system-x' } }, reserved, 'system-x is not a known system priority class'],
    [
      { metadata: { name: 'system-node-critical' } },
      reserved,
      'value of system-node-critical PriorityClass must be 2000001000',
    ],
    [{ preemptionPolicy: 'Sometimes' }, ['FieldValueNotSupported preemptionPolicy']],
  ])
  const { object } = await api.create({ kind, body })
  assert.equal(object['preemptionPolicy'], 'PreemptLowerPriority')
  assert.deepEqual(cells(api, kind, object), { Name: 'high', Value: 1000, 'Global-Default': false })
  await refusesChange(api, { kind, name: 'high' }, [
    [{ value: 1 }, ['FieldValueForbidden value'], 'may not be changed in an update.'],
    [{ preemptionPolicy: 'Never' }, ['FieldValueInvalid preemptionPolicy'], 'field is immutable'],
  ])
})

void test('spec 2.13: a runtime class has a handler, which is immutable, valid overhead and scheduling, and is read in another version', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'RuntimeClass'
  const body = { metadata: { name: 'fast' }, handler: 'runc' }
  const toleration = { key: 'a', operator: 'Exists' }
  await refusesNew(api, { kind, body }, [
    [{ handler: null }, ['FieldValueRequired handler']],
    [{ handler: 'A.b' }, ['FieldValueInvalid handler']],
    [{ overhead: { podFixed: { disk: '1' } } }, Array(2).fill('FieldValueInvalid overhead.podFixed[disk]')],
    [{ scheduling: { nodeSelector: { 'a b': 'x' } } }, ['FieldValueInvalid scheduling.nodeSelector[a b]']],
    [
      { scheduling: { tolerations: [toleration, toleration] } },
      ['FieldValueDuplicate scheduling.tolerations[1]'],
    ],
  ])
  await api.create({ kind: 'node.orch.io/v1beta1/RuntimeClass', body })
  const { object } = await api.get({ kind: 'node.orch.io/v1/RuntimeClass', name: 'fast' })
  assert.deepEqual([object.apiVersion, object['handler']], ['node.orch.io/v1', 'runc'])
  await refusesChange(api, { kind, name: 'fast' }, [
    [{ handler: 'other' }, ['FieldValueInvalid handler'], 'field is immutable'],
  ])
})

void test('spec 2.13: an ingress class has a controller with a domain, which is immutable, and parameters that fit their scope', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const kind = 'IngressClass'
  const parameters = { apiGroup: 'x.io', kind: 'Params', name: 'p' }
  const body = { metadata: { name: 'nginx' }, spec: { controller: 'x.io/nginx', parameters } }
  const using = (more: object) => ({ spec: { parameters: { ...more } } })
  await refusesNew(api, { kind, body }, [
    [{ spec: { controller: null } }, ['FieldValueRequired spec.controller']],
    [
      { spec: { controller: 'nginx' } },
      ['FieldValueInvalid spec.controller'],
      'must be a domain-prefixed path',
    ],
    [{ spec: { controller: `x.io/${'a'.repeat(250)}` } }, ['FieldValueTooLong spec.controller']],
    [using({ kind: '' }), ['FieldValueRequired spec.parameters.kind']],
    [using({ scope: 'Node' }), ['FieldValueNotSupported spec.parameters.scope']],
    [using({ scope: 'Namespace' }), ['FieldValueRequired spec.parameters.namespace'], "set to 'Namespace'"],
    [using({ namespace: 'x' }), ['FieldValueForbidden spec.parameters.namespace'], "set to 'Cluster'"],
  ])
  const { object } = await api.create({ kind, body })
  assert.equal(objectMember(objectMember(object, 'spec'), 'parameters')['scope'], 'Cluster')
  assert.deepEqual(cells(api, kind, object), {
    Name: 'nginx',
    Controller: 'x.io/nginx',
    Parameters: 'Params.x.io/p',
  })
  await refusesChange(api, { kind, name: 'nginx' }, [
    [{ spec: { controller: 'x.io/b' } }, ['FieldValueInvalid spec.controller'], 'field is immutable'],
  ])
})

void test('a PriorityClass has the generation 1, which updates do not change', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const [kind, name] = ['PriorityClass', 'high']
  const { object } = await api.create({ kind, body: { metadata: { name, generation: 7 }, value: 5 } })
  assert.equal(object.metadata.generation, 1)
  const changed = await api.patch({ kind, name, body: { description: 'd', metadata: { generation: 9 } } })
  assert.equal(changed.object.metadata.generation, 1)
})
