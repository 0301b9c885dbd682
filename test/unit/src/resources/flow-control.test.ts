/*
 * Goal: FlowSchema and PriorityLevelConfiguration follow the rules of upstream 1.24, and those that
 * every cluster has are valid.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { initialFlows } from '../../../../src/resources/flows/initial-flows.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesNew } from './common/broken-rules.ts'

const SCHEMA = 'flowcontrol.apiserver.k8s.io/v1beta2/FlowSchema'
const LEVEL = 'flowcontrol.apiserver.k8s.io/v1beta2/PriorityLevelConfiguration'
const rule = {
  subjects: [{ kind: 'User', user: { name: 'a' } }],
  resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], namespaces: ['default'] }],
}
const schema = {
  metadata: { name: 'a' },
  spec: { priorityLevelConfiguration: { name: 'low' }, rules: [rule] },
}
const level = {
  metadata: { name: 'low' },
  spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } },
}

void test('a FlowSchema follows the rules of upstream', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const at = 'spec.rules[0]'
  const ruled = (more: JsonObject): JsonObject => ({ spec: { rules: [{ ...rule, ...more }] } })
  const path = (more: JsonObject): JsonObject =>
    ruled({ nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/a'], ...more }] })
  const resource = (more: JsonObject): JsonObject =>
    ruled({ resourceRules: [{ ...rule.resourceRules[0], ...more }] })
  const subject = (of: JsonObject): JsonObject => ruled({ subjects: [of] })
  await refusesNew(api, { kind: SCHEMA, body: schema }, [
    [
      { spec: { matchingPrecedence: -1 } },
      ['FieldValueInvalid spec.matchingPrecedence'],
      'must be a positive value',
    ],
    [
      { spec: { matchingPrecedence: 10_001 } },
      ['FieldValueInvalid spec.matchingPrecedence'],
      'must not be greater than 10000',
    ],
    [
      { spec: { matchingPrecedence: 1 } },
      ['FieldValueInvalid spec.matchingPrecedence'],
      "only the schema named 'exempt'",
    ],
    [
      { spec: { priorityLevelConfiguration: null } },
      ['FieldValueRequired spec.priorityLevelConfiguration.name'],
      'must reference a priority level',
    ],
    [
      { spec: { distinguisherMethod: { type: 'x' } } },
      ['FieldValueNotSupported spec.distinguisherMethod.type'],
    ],
    [ruled({ subjects: null }), [`FieldValueRequired ${at}.subjects`], 'must contain at least one value'],
    [ruled({ resourceRules: null }), [`FieldValueRequired ${at}`], 'at least one of resourceRules'],
    [subject({ kind: 'Pod' }), [`FieldValueNotSupported ${at}.subjects[0].kind`]],
    [
      subject({ kind: 'Group' }),
      [`FieldValueRequired ${at}.subjects[0].group`],
      "required when subject kind is 'Group'",
    ],
    [
      subject({ kind: 'User', user: { name: 'a' }, group: { name: 'b' } }),
      [`FieldValueForbidden ${at}.subjects[0].group`],
      "group is forbidden when subject kind is not 'Group'",
    ],
    [
      subject({ kind: 'ServiceAccount', serviceAccount: { name: 'a' } }),
      [`FieldValueRequired ${at}.subjects[0].serviceAccount.namespace`],
      'must specify namespace for service account',
    ],
    [resource({ verbs: ['read'] }), [`FieldValueNotSupported ${at}.resourceRules[0].verbs`]],
    [
      resource({ verbs: ['*', 'get'] }),
      [`FieldValueInvalid ${at}.resourceRules[0].verbs`],
      "if '*' is present, must not specify other verbs",
    ],
    [
      resource({ namespaces: null }),
      [`FieldValueRequired ${at}.resourceRules[0].namespaces`],
      'not cluster scoped',
    ],
    [
      resource({ namespaces: ['A'] }),
      [`FieldValueInvalid ${at}.resourceRules[0].namespaces[0]`],
      "must be '*' or a DNS-1123 label",
    ],
    [
      path({ nonResourceURLs: ['a'] }),
      [`FieldValueInvalid ${at}.nonResourceRules[0].nonResourceURLs[0]`],
      'must start with slash',
    ],
    [
      path({ nonResourceURLs: ['/a*'] }),
      [`FieldValueInvalid ${at}.nonResourceRules[0].nonResourceURLs[0]`],
      'suffix matching',
    ],
    [
      { metadata: { name: 'catch-all' } },
      ['FieldValueInvalid spec'],
      "spec of 'catch-all' must equal the fixed value",
    ],
  ])
  api.warnings.length = 0
  const { object } = await api.create({
    kind: 'flowcontrol.apiserver.k8s.io/v1beta1/FlowSchema',
    body: schema,
  })
  assert.match(api.warnings.join(), /stored but not enforced by this release/)
  assert.deepEqual(cells(api, SCHEMA, object), {
    ...{ Name: 'a', PriorityLevel: 'low', MatchingPrecedence: 1000 },
    ...{ DistinguisherMethod: '<none>', MissingPL: '?' },
  })
})

void test('a PriorityLevelConfiguration follows the rules of upstream', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const at = 'spec.limited'
  const queues = (queuing: JsonObject | null): JsonObject => ({
    spec: { limited: { limitResponse: { queuing } } },
  })
  const hand = `${at}.limitResponse.queuing.handSize`
  await refusesNew(api, { kind: LEVEL, body: level }, [
    [
      { metadata: { name: 'exempt' } },
      ['FieldValueInvalid spec.type', 'FieldValueInvalid spec'],
      "if and only if name is 'exempt'",
    ],
    [{ spec: { type: 'Some', limited: null } }, ['FieldValueNotSupported spec.type']],
    [{ spec: { limited: null } }, [`FieldValueRequired ${at}`], 'must not be empty when type is Limited'],
    [
      { spec: { limited: { assuredConcurrencyShares: -1 } } },
      [`FieldValueInvalid ${at}.assuredConcurrencyShares`],
      'must be positive',
    ],
    [
      { spec: { limited: { limitResponse: { type: 'Reject' } } } },
      [`FieldValueForbidden ${at}.limitResponse.queuing`],
    ],
    [queues(null), [`FieldValueRequired ${at}.limitResponse.queuing`]],
    [queues({ handSize: 65 }), [`FieldValueInvalid ${hand}`], 'should not be greater than queues (64)'],
    [
      queues({ handSize: 11 }),
      [`FieldValueInvalid ${hand}`],
      'required entropy bits of deckSize 64 and handSize 11',
    ],
    [
      queues({ queues: 10_000_001, handSize: 1 }),
      [`FieldValueInvalid ${at}.limitResponse.queuing.queues`],
      'must not be greater than 10000000',
    ],
  ])
  const { object } = await api.create({ kind: LEVEL, body: level })
  assert.deepEqual(cells(api, LEVEL, object), {
    ...{ Name: 'low', Type: 'Limited', AssuredConcurrencyShares: 30 },
    ...{ Queues: 64, HandSize: 8, QueueLengthLimit: 50 },
  })
})

void test('the mandatory and suggested objects of flow control are valid, and their specs are stored as they are', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  for (const { group, version, kind, name, members } of initialFlows(api.names)) {
    const body = { metadata: { name }, ...members }
    const { object } = await api.create({ kind: `${group}/${version}/${kind}`, body })
    assert.deepEqual(object['spec'], members['spec'])
  }
})

void test('a status update of a FlowSchema keeps its metadata', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  await api.create({ kind: SCHEMA, body: schema })
  const changed = { metadata: { labels: { a: 'b' } }, status: { conditions: [{ type: 'Dangling' }] } }
  const { object } = await api.patch({ kind: SCHEMA, name: 'a', subresource: 'status', body: changed })
  assert.equal(object.metadata.labels, undefined)
  assert.deepEqual(object['status'], {
    conditions: [{ lastTransitionTime: null, type: 'Dangling' }],
  })
})
