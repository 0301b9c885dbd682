/*
 * Goal: reviews of access are answered by the server's own authorizer, as spec 2.12 has them.
 * Method: the shipped verbs with the shipped authorizer over rules of the test.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../../src/config/limits.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import type { UserInfo } from '../../../../src/api/metadata/object.ts'
import { authorizerFor, firstOpinion } from '../../../../src/auth/authorize.ts'
import type { Authorizer } from '../../../../src/auth/decision.ts'
import { rbac } from '../../../../src/auth/rbac.ts'
import { reviewersOf } from '../../../../src/auth/reviewers.ts'
import type { RuleSource } from '../../../../src/auth/rules.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'

const reader = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods', 'pods/log'] }
const healer = { verbs: ['get'], nonResourceURLs: ['/healthz'] }
const local = { verbs: ['delete'], apiGroups: ['apps'], resources: ['deployments'], resourceNames: ['web'] }

/** Jane may read pods everywhere; staff may delete one deployment of one namespace. */
const source: RuleSource = {
  version: 1,
  clusterGrants: ({ name }) => (name === 'jane' ? [{ rules: [reader, healer] }] : []),
  namespaceGrants: ({ groups }, namespace) =>
    namespace === 'shop' && groups.includes('staff') ? [{ rules: [local] }] : [],
}
/** Denies robots, whatever other authorizers decide. */
const noRobots: Authorizer = {
  name: 'Webhook',
  authorize: ({ name }) =>
    name === 'robot' ? { kind: 'deny', reason: 'no robots' } : { kind: 'no-opinion', reason: 'a person' },
}

function open(authorizer = firstOpinion([noRobots, rbac(source)])): Promise<Fixture> {
  return Fixture.open({ reviewers: reviewersOf({ authorizer, tokens: [], audiences: [] }) })
}

function user(name: string, ...groups: readonly string[]): UserInfo {
  return { name, uid: '', groups, extra: {} }
}

const pods = { verb: 'get', resource: 'pods' }

void test('spec 2.12: SubjectAccessReview checks whether a user may perform an action', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const kind = 'SubjectAccessReview'
  const deployments = {
    verb: 'delete',
    group: 'apps',
    resource: 'deployments',
    namespace: 'shop',
  }
  const deployment = { ...deployments, name: 'web' }
  const rows: readonly (readonly [JsonObject, JsonObject])[] = [
    [{ user: 'jane', resourceAttributes: pods }, { allowed: true }],
    [
      { user: 'jane', resourceAttributes: { ...pods, subresource: 'log', namespace: 'shop' } },
      { allowed: true },
    ],
    [
      { user: 'jane', resourceAttributes: { ...pods, verb: 'delete' } },
      { allowed: false, reason: 'a person' },
    ],
    [
      { user: 'jane', resourceAttributes: { ...pods, group: 'apps' } },
      { allowed: false, reason: 'a person' },
    ],
    [{ user: 'jane', nonResourceAttributes: { verb: 'get', path: '/healthz' } }, { allowed: true }],
    [
      { user: 'jane', nonResourceAttributes: { verb: 'get', path: '/metrics' } },
      { allowed: false, reason: 'a person' },
    ],
    [{ groups: ['staff'], resourceAttributes: deployment }, { allowed: true }],
    [
      { groups: ['staff'], resourceAttributes: deployments },
      { allowed: false, reason: 'a person' },
    ],
    [
      { user: 'robot', resourceAttributes: pods },
      { allowed: false, denied: true, reason: 'no robots' },
    ],
  ]
  for (const [spec, status] of rows) {
    const { code, object } = await api.create({ kind, body: { spec } })
    assert.deepEqual(
      [code, object],
      [
        201,
        {
          kind,
          apiVersion: 'authorization.orch.io/v1',
          spec,
          status,
          metadata: { creationTimestamp: null },
        },
      ],
    )
  }
})

void test('spec 2.12: SelfSubjectAccessReview is about the caller, whatever the body names', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const kind = 'SelfSubjectAccessReview'
  const body = { spec: { resourceAttributes: pods } }
  for (const [name, allowed] of [
    ['jane', true],
    ['joe', false],
  ] as const) {
    const { object } = await api.create({ kind, user: user(name), body })
    assert.equal((object['status'] as JsonObject)['allowed'], allowed)
  }
  const other = { spec: { resourceAttributes: pods, user: 'jane' }, status: { allowed: true } }
  const { object } = await api.create({ kind, user: user('joe'), body: other })
  assert.deepEqual([object['spec'], object['status']], [body.spec, { allowed: false, reason: 'a person' }])
})

void test('spec 2.12: LocalSubjectAccessReview is about its own namespace', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const kind = 'LocalSubjectAccessReview'
  const ask = (namespace: string, spec: JsonObject) => api.create({ kind, namespace, body: { spec } })
  const deployment = {
    verb: 'delete',
    group: 'apps',
    resource: 'deployments',
    namespace: 'shop',
    name: 'web',
  }
  // The namespace does not exist, which does not matter: nothing is stored.
  const { code, object } = await ask('shop', { groups: ['staff'], resourceAttributes: deployment })
  assert.equal(code, 201)
  assert.deepEqual(object['status'], { allowed: true })
  assert.deepEqual(object.metadata, { namespace: 'shop', creationTimestamp: null })
  const away = await refused(ask('default', { groups: ['staff'], resourceAttributes: deployment }))
  assert.deepEqual([away.code, ...causes(away)], [422, 'FieldValueInvalid spec.resourceAttributes.namespace'])
  assert.ok(away.message.includes('must match metadata.namespace'))
  const path = await refused(ask('shop', { user: 'jane', nonResourceAttributes: { path: '/', verb: 'get' } }))
  assert.deepEqual(causes(path), ['FieldValueInvalid spec.nonResourceAttributes'])
})

void test('each rule of a review is enforced', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const both = { resourceAttributes: pods, nonResourceAttributes: { path: '/', verb: 'get' } }
  const rows: readonly (readonly [string, JsonObject, readonly string[]])[] = [
    ['SubjectAccessReview', { spec: { user: 'x' } }, ['FieldValueInvalid spec.resourceAttributes']],
    [
      'SubjectAccessReview',
      { spec: { user: 'x', ...both } },
      ['FieldValueInvalid spec.nonResourceAttributes'],
    ],
    ['SubjectAccessReview', { spec: { resourceAttributes: pods } }, ['FieldValueInvalid spec.user']],
    ['SelfSubjectAccessReview', { spec: {} }, ['FieldValueInvalid spec.resourceAttributes']],
    ['SelfSubjectAccessReview', { spec: both }, ['FieldValueInvalid spec.nonResourceAttributes']],
    [
      'SelfSubjectAccessReview',
      { metadata: { name: 'x' }, spec: { resourceAttributes: pods } },
      ['FieldValueInvalid metadata'],
    ],
  ]
  for (const [kind, body, wanted] of rows) {
    const seen = await refused(api.create({ kind, body }))
    assert.deepEqual([seen.code, ...causes(seen)], [422, ...wanted])
  }
})

void test("spec 2.12: SelfSubjectRulesReview lists the caller's permissions and marks an incomplete list", async (t) => {
  const kind = 'SelfSubjectRulesReview'
  const api = await open()
  t.after(() => api.close())
  const ask = (of: Fixture, namespace: string) =>
    of.create({ kind, user: user('jane', 'staff'), body: { spec: { namespace } } })
  const missing = 'Webhook authorizer does not support user rule resolution'
  const { code, object } = await ask(api, 'shop')
  assert.equal(code, 201)
  assert.deepEqual(object['status'], {
    resourceRules: [reader, local],
    nonResourceRules: [healer],
    incomplete: true,
    evaluationError: missing,
  })
  const elsewhere = await ask(api, 'default')
  assert.deepEqual((elsewhere.object['status'] as JsonObject)['resourceRules'], [reader])
  assert.deepEqual([(await refused(ask(api, ''))).code], [400])
  const simple = await open(authorizerFor(['AlwaysDeny', 'AlwaysAllow'], source))
  t.after(() => simple.close())
  assert.deepEqual((await ask(simple, 'shop')).object['status'], {
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: false,
  })
})

void test('SelfSubjectRulesReview with too many rules is incomplete and names the limit', async (t) => {
  const { reviewedRulesMax: max } = limits
  const rules = Array.from({ length: max + 1 }, () => reader)
  const many: RuleSource = { ...source, clusterGrants: () => [{ rules }] }
  const api = await open(authorizerFor(['RBAC'], many))
  t.after(() => api.close())
  const body = { spec: { namespace: 'default' } }
  const { object } = await api.create({ kind: 'SelfSubjectRulesReview', user: user('jane'), body })
  const { resourceRules, incomplete, evaluationError } = object['status'] as JsonObject
  assert.equal((resourceRules as readonly unknown[]).length, max)
  assert.deepEqual([incomplete, evaluationError], [true, `only ${max} of ${max + 1} rules are listed`])
})

void test('a review is not stored: get and list are 405, a dry run makes no difference, and without reviewers it is 503', async (t) => {
  const api = await open()
  t.after(() => api.close())
  const kind = 'SelfSubjectAccessReview'
  const { revision } = api.store.view()
  const body = { spec: { resourceAttributes: pods } }
  const dry = await api.create({ kind, user: user('jane'), body, query: { dryRun: 'All' } })
  assert.deepEqual([dry.code, dry.object['status']], [201, { allowed: true }])
  assert.equal(api.store.view().revision, revision)
  assert.equal((await refused(api.list({ kind }))).code, 405)
  assert.equal((await refused(api.get({ kind, name: 'x' }))).code, 405)
  const bare = await Fixture.open({ reviewers: null })
  t.after(() => bare.close())
  assert.equal((await refused(bare.create({ kind, body }))).code, 503)
})
