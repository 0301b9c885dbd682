/*
 * Goal: ResourceQuota and LimitRange follow the rules of upstream 1.24.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember, objectsMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Findings } from '../../../../src/api/errors/findings.ts'
import { bodyLimits } from '../../../../src/api/limits.ts'
import { checkQuota } from '../../../../src/resources/quotas/quota-rules.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

const kind = 'ResourceQuota'
const body = { metadata: { name: 'q' }, spec: { hard: { pods: '5' } } }

void test('spec 2.13: a quota has limits of known resources, and scopes that can apply to them', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const expression = (of: JsonObject): JsonObject => ({ spec: { scopeSelector: { matchExpressions: [of] } } })
  const at = 'spec.scopeSelector.matchExpressions'
  const exists = {
    spec: { scopeSelector: { matchExpressions: [{ scopeName: 'BestEffort', operator: 'Exists' }] } },
  }
  await refusesNew(api, { kind, body }, [
    [{ spec: { hard: { cpus: '1' } } }, ['FieldValueInvalid spec.hard[cpus]'], 'standard resource for quota'],
    [{ spec: { hard: { pods: '-1' } } }, ['FieldValueInvalid spec.hard[pods]'], 'greater than or equal to 0'],
    [{ spec: { hard: { secrets: '1m' } } }, ['FieldValueInvalid spec.hard[secrets]'], 'must be an integer'],
    [
      { spec: { scopes: ['BestEffort', 'NotBestEffort'] } },
      ['FieldValueInvalid spec.scopes'],
      '[]core.ResourceQuotaScope{"BestEffort", "NotBestEffort"}: conflicting scopes',
    ],
    [
      { spec: { hard: { secrets: '1' }, scopes: ['Terminating'] } },
      ['FieldValueInvalid spec.scopes'],
      '[]core.ResourceQuotaScope{"Terminating"}: unsupported scope applied to resource',
    ],
    [
      { spec: { hard: { secrets: '1' }, ...exists.spec } },
      [`FieldValueInvalid ${at}`],
      'Invalid value: core.ScopeSelector{MatchExpressions:[]core.ScopedResourceSelectorRequirement{' +
        'core.ScopedResourceSelectorRequirement{ScopeName:"BestEffort", Operator:"Exists", Values:[]string(nil)}}}: ' +
        'unsupported scope applied to resource',
    ],
    [
      expression({ scopeName: 'BestEffort', operator: 'In', values: ['x'] }),
      [`FieldValueInvalid ${at}[0].operator`],
      "must be 'Exist' when scope is any of",
    ],
    [
      expression({ scopeName: 'PriorityClass', operator: 'In' }),
      [`FieldValueRequired ${at}[0].values`],
      'at least one value',
    ],
    [
      expression({ scopeName: 'PriorityClass', operator: 'Exists', values: ['x'] }),
      [`FieldValueInvalid ${at}[0].values`],
      'Invalid value: []string{"x"}: must be no value',
    ],
  ])
  const sent = { ...body, status: { used: { pods: '9' } } }
  const { object } = await api.create({ kind, body: sent })
  assert.deepEqual(object['status'], {})
  await refusesChange(api, { kind, name: 'q' }, [
    [{ spec: { scopes: ['Terminating'] } }, ['FieldValueInvalid spec.scopes'], 'field is immutable'],
  ])
  await refusesChange(api, { kind, name: 'q', subresource: 'status' }, [
    [{ status: { used: { x: '1' } } }, ['FieldValueInvalid status.used[x]'], 'standard resource for quota'],
  ])
  const status = { hard: { pods: '5', 'limits.cpu': '1' }, used: { pods: '2', 'limits.cpu': '500m' } }
  const done = await api.patch({ kind, name: 'q', subresource: 'status', body: { status } })
  assert.deepEqual(cells(api, kind, done.object), {
    Name: 'q',
    Request: 'pods: 2/5',
    Limit: 'limits.cpu: 500m/1',
  })
})

void test('as many unknown scopes as a body can hold are checked in one pass', () => {
  const scopes = Array.from({ length: bodyLimits.valuesMax }, (_, at) => `s${at}`)
  const found = new Findings()
  const metadata = { name: 'q' }
  checkQuota({ apiVersion: 'v1', kind, metadata, spec: { hard: { pods: '1' }, scopes } }, found)
  assert.ok(found.isFull)
})

void test('spec 2.13: a LimitRange has consistent amounts, and fills the defaults of containers', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const of = (item: JsonObject): JsonObject => ({ spec: { limits: [{ type: 'Container', ...item }] } })
  const at = 'spec.limits[0]'
  const range = { metadata: { name: 'r' }, spec: { limits: [{ type: 'Container', max: { cpu: '2' } }] } }
  await refusesNew(api, { kind: 'LimitRange', body: range }, [
    [of({ type: '' }), [`FieldValueRequired ${at}.type`]],
    [of({ type: 'a b' }), [`FieldValueInvalid ${at}.type`]],
    [
      of({ type: 'container' }),
      [`FieldValueInvalid ${at}.type`],
      'must be a standard limit type or fully qualified',
    ],
    [
      of({ max: { cpu: '1' }, min: { cpu: '2' } }),
      [
        `FieldValueInvalid ${at}.min[cpu]`,
        `FieldValueInvalid ${at}.defaultRequest[cpu]`,
        `FieldValueInvalid ${at}.default[cpu]`,
      ],
      'min value 2 is greater than max value 1',
    ],
    [
      of({ type: 'Pod', default: { cpu: '1' } }),
      [`FieldValueForbidden ${at}.default`],
      "when `type` is 'Pod'",
    ],
    [
      of({ type: 'PersistentVolumeClaim' }),
      [`FieldValueRequired ${at}.limits`],
      'either minimum or maximum storage',
    ],
    [
      of({ maxLimitRequestRatio: { cpu: '500m' } }),
      [`FieldValueInvalid ${at}.maxLimitRequestRatio[cpu]`],
      'ratio 500m is less than 1',
    ],
    [
      of({ type: 'Pod', max: { cpu: '2' }, min: { cpu: '1' }, maxLimitRequestRatio: { cpu: '3' } }),
      [`FieldValueInvalid ${at}.maxLimitRequestRatio[cpu]`],
      'ratio 3 is greater than max/min = 2.000000',
    ],
    [
      of({ max: { disk: '1' } }),
      ['max', 'max', 'default', 'default', 'defaultRequest', 'defaultRequest'].map(
        (name) => `FieldValueInvalid ${at}.${name}[disk]`,
      ),
      'standard resource for containers',
    ],
    [{ spec: { limits: [{ type: 'Pod' }, { type: 'Pod' }] } }, ['FieldValueDuplicate spec.limits[1].type']],
  ])
  const { object } = await api.create({ kind: 'LimitRange', body: range })
  const [item] = objectsMember(objectMember(object, 'spec'), 'limits')
  const cpu = { cpu: '2' }
  assert.deepEqual(item, { type: 'Container', max: cpu, default: cpu, defaultRequest: cpu })
})
