/**
 * Goal: rules allow exactly what they list, and the built-in ones what spec 5.7 requires and a
 * member needs. Method: the evaluator over hand-made rules and over the built-in policy.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Action, ResourceAction } from '../../../../src/api/action.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { UserInfo } from '../../../../src/api/metadata/object.ts'
import { anonymous } from '../../../../src/auth/anonymous.ts'
import { authorizerFor, firstOpinion } from '../../../../src/auth/authorize.ts'
import { defaultPolicy } from '../../../../src/auth/bootstrap/default-policy.ts'
import type { Decision } from '../../../../src/auth/decision.ts'
import { AuthError } from '../../../../src/auth/errors.ts'
import { rbac } from '../../../../src/auth/rbac.ts'
import { refusalText } from '../../../../src/api/errors/refusal-text.ts'
import { ruleAllows, subjectIs } from '../../../../src/auth/rules.ts'
import type { PolicyRule, RuleSource } from '../../../../src/auth/rules.ts'
import { staticRules } from '../../../../src/auth/static-rules.ts'
import { authenticatedUser } from '../../../../src/auth/user.ts'

function on(resource: string, more: Partial<ResourceAction> = {}): ResourceAction {
  const [name = '', subresource = ''] = resource.split('/')
  return {
    ...{ kind: 'resource', verb: 'get', group: '', version: 'v1', namespace: '', name: '' },
    ...{ resource: name, subresource },
    ...more,
  }
}

function path(text: string, verb = 'get'): Action {
  return { kind: 'path', verb, path: text }
}

void test('a rule needs verb, group and resource; a star stands for all', () => {
  const rule: PolicyRule = {
    verbs: ['get', 'list'],
    apiGroups: ['', 'apps'],
    resources: ['pods', 'pods/log'],
  }
  assert.ok(ruleAllows(rule, on('pods')))
  assert.ok(ruleAllows(rule, on('pods/log')))
  assert.ok(ruleAllows(rule, on('pods', { group: 'apps', verb: 'list' })))
  for (const refused of [
    on('pods', { verb: 'delete' }),
    on('pods', { verb: '' }),
    on('pods', { group: 'batch' }),
    on('pods/status'),
    on('secrets'),
    path('/pods'),
  ]) {
    assert.ok(!ruleAllows(rule, refused), JSON.stringify(refused))
  }
  const all: PolicyRule = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }
  for (const action of [
    on('pods'),
    on('pods/log'),
    on('x', { group: 'y', verb: 'z' }),
    on('x', { verb: '' }),
  ]) {
    assert.ok(ruleAllows(all, action))
  }
  assert.ok(!ruleAllows(all, path('/metrics')))
})

void test('a resource does not cover its subresources, and */status covers the status of every resource', () => {
  const plain: PolicyRule = { verbs: ['*'], apiGroups: ['*'], resources: ['pods'] }
  assert.ok(!ruleAllows(plain, on('pods/exec')))
  const status: PolicyRule = { verbs: ['*'], apiGroups: ['*'], resources: ['*/status'] }
  assert.ok(ruleAllows(status, on('pods/status')))
  assert.ok(!ruleAllows(status, on('pods')))
  assert.ok(!ruleAllows(status, on('pods/exec')))
})

void test('names narrow a rule, and calls without a name are then not covered', () => {
  const rule: PolicyRule = { verbs: ['*'], apiGroups: [''], resources: ['secrets'], resourceNames: ['a'] }
  assert.ok(ruleAllows(rule, on('secrets', { name: 'a' })))
  assert.ok(!ruleAllows(rule, on('secrets', { name: 'b' })))
  assert.ok(!ruleAllows(rule, on('secrets', { verb: 'list' })))
  assert.ok(ruleAllows({ ...rule, resourceNames: [] }, on('secrets', { verb: 'list' })))
})

void test('paths match whole, or up to a final star', () => {
  const rule: PolicyRule = { verbs: ['get'], nonResourceURLs: ['/metrics', '/healthz/*'] }
  assert.ok(ruleAllows(rule, path('/metrics')))
  assert.ok(ruleAllows(rule, path('/healthz/a/b')))
  for (const other of ['/metrics/', '/metric', '/healthz', '/', '/x/metrics']) {
    assert.ok(!ruleAllows(rule, path(other)), other)
  }
  assert.ok(!ruleAllows(rule, path('/metrics', 'post')))
  assert.ok(ruleAllows({ verbs: ['*'], nonResourceURLs: ['*'] }, path('/anything', 'post')))
  assert.ok(!ruleAllows({ verbs: ['*'], nonResourceURLs: ['*'] }, on('pods')))
})

void test('subjects are users, groups and service accounts', () => {
  const robot = authenticatedUser({ name: 'system:serviceaccount:ns:robot', groups: ['g'] })
  assert.ok(subjectIs({ kind: 'ServiceAccount', namespace: 'ns', name: 'robot' }, robot))
  assert.ok(subjectIs({ kind: 'User', name: 'system:serviceaccount:ns:robot' }, robot))
  assert.ok(subjectIs({ kind: 'Group', name: 'g' }, robot))
  assert.ok(!subjectIs({ kind: 'Group', name: 'robot' }, robot))
  assert.ok(!subjectIs({ kind: 'ServiceAccount', namespace: 'other', name: 'robot' }, robot))
})

void test('rules of a namespace count there only, and changed rules count at once', () => {
  const user = authenticatedUser({ name: 'u', groups: [] })
  let version = 1
  let requested = 0
  let cluster: readonly PolicyRule[] = []
  const rule: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
  const source: RuleSource = {
    get version() {
      return version
    },
    clusterGrants: () => {
      requested++
      return [{ rules: cluster }]
    },
    namespaceGrants: (_user, namespace) => (namespace === 'ns' ? [{ rules: [rule] }] : []),
  }
  const authorizer = rbac(source)
  const decide = (action: Action): string => (authorizer.authorize(user, action) as Decision).kind
  assert.equal(decide(on('pods', { namespace: 'ns' })), 'allow')
  assert.equal(decide(on('pods', { namespace: 'other' })), 'no-opinion')
  assert.equal(decide(on('pods')), 'no-opinion')
  assert.equal(requested, 1)
  cluster = [rule]
  version = 2
  assert.equal(decide(on('pods')), 'allow')
  assert.equal(requested, 2)
})

void test('built-in rules: masters may do everything, other users read discovery, anonymous users health and version', () => {
  const authorizer = authorizerFor(['RBAC'], staticRules(defaultPolicy(namesOf('orch.io'))))
  const may = (user: UserInfo, action: Action): boolean =>
    (authorizer.authorize(user, action) as Decision).kind === 'allow'
  const master = authenticatedUser({ name: 'root', groups: ['system:masters'] })
  const someUser = authenticatedUser({ name: 'u', groups: [] })
  const secrets = on('secrets', { verb: 'list', namespace: 'ns' })
  const review = on('selfsubjectaccessreviews', { verb: 'create', group: 'authorization.orch.io' })

  for (const action of [secrets, path('/metrics'), path('/cluster/v1/transfer-leader', 'post')]) {
    assert.ok(may(master, action))
    assert.ok(!may(someUser, action))
    assert.ok(!may(anonymous, action))
  }
  for (const open of ['/healthz', '/livez', '/readyz', '/readyz/leader', '/version', '/version/']) {
    assert.ok(may(someUser, path(open)), open)
    assert.ok(may(anonymous, path(open)), open)
    assert.ok(!may(anonymous, path(open, 'post')), open)
  }
  for (const reported of ['/api', '/api/v1', '/apis', '/apis/x', '/openapi/v2']) {
    assert.ok(may(someUser, path(reported)) && may(someUser, path(reported, 'head')), reported)
    assert.ok(!may(anonymous, path(reported)), reported)
  }
  assert.ok(may(someUser, review))
  assert.ok(!may(anonymous, review))
})

void test('spec 5.7: of several modes the first with an opinion decides, and without any there is none', async () => {
  const user = anonymous
  const rules = staticRules({ roles: [], bindings: [] })
  const kindOf = async (modes: string[]): Promise<string> =>
    (await authorizerFor(modes, rules).authorize(user, path('/x'))).kind
  assert.equal(await kindOf(['RBAC']), 'no-opinion')
  assert.equal(await kindOf(['RBAC', 'AlwaysAllow']), 'allow')
  assert.equal(await kindOf(['AlwaysDeny']), 'no-opinion')
  assert.equal(await kindOf(['AlwaysDeny', 'AlwaysAllow']), 'allow')
  const slow = {
    name: 'slow',
    authorize: async (): Promise<Decision> => ({ kind: 'no-opinion', reason: 'why not' }),
  }
  assert.deepEqual(await firstOpinion([slow, slow]).authorize(user, path('/x')), {
    kind: 'no-opinion',
    reason: 'why not\nwhy not',
  })
  assert.throws(() => authorizerFor(['Magic'], rules), AuthError)
})

void test('a rejection names the user, the action and the resource', () => {
  assert.equal(
    refusalText('x', on('secrets', { verb: 'list', namespace: 'y' })),
    'User "x" cannot list resource "secrets" in API group "" in the namespace "y"',
  )
  assert.equal(
    refusalText('x', on('pods/log', { group: 'g' })),
    'User "x" cannot get resource "pods/log" in API group "g" at the cluster scope',
  )
  assert.equal(refusalText('x', path('/p', 'post')), 'User "x" cannot post path "/p"')
})
