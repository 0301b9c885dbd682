/*
 * Goal: a policy file allows what its lines name, and a malformed one is refused with its line.
 * Method: policies and actions made by hand, by the rules of upstream.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { abac } from '../../../../src/auth/abac.ts'
import { anonymous } from '../../../../src/auth/anonymous.ts'
import { allowed, noOpinion } from '../../../../src/auth/decision.ts'
import { AuthError } from '../../../../src/auth/errors.ts'
import type { Action } from '../../../../src/api/action.ts'
import { authenticatedUser } from '../../../../src/auth/user.ts'

const API = 'abac.authorization.orch.io/v1beta1'

function line(spec: object): string {
  return JSON.stringify({ apiVersion: API, kind: 'Policy', spec })
}

function get(namespace: string, resource: string, group = '', verb = 'get'): Action {
  return {
    ...{ kind: 'resource', verb, group, version: 'v1', resource, subresource: '' },
    ...{ namespace, name: '' },
  } as const
}

function path(at: string, verb = 'get'): Action {
  return { kind: 'path', verb, path: at }
}

void test('a policy for every user or group does not apply to the anonymous user, unless it names that user or its group', () => {
  const decide = (spec: object) =>
    abac(line({ ...spec, nonResourcePath: '*' }), 'policies', API).authorize(anonymous, path('/version'))
  assert.deepEqual(decide({ user: '*' }), noOpinion)
  assert.deepEqual(decide({ group: '*' }), noOpinion)
  assert.deepEqual(decide({ group: 'system:unauthenticated' }), allowed)
  assert.deepEqual(decide({ user: 'system:anonymous' }), allowed)
})

void test('subject, namespace, resource, API group, path and verb all have to match', () => {
  const kate = authenticatedUser({ name: 'kate', groups: ['a', 'b'] })
  const pods = { namespace: 'ns', resource: 'pods' }
  const rows: readonly (readonly [object, Action, boolean])[] = [
    [{ user: 'kate', ...pods }, get('ns', 'pods'), true],
    [{ user: 'lena', ...pods }, get('ns', 'pods'), false],
    [{ user: '*', ...pods }, get('ns', 'pods'), true],
    [{ group: 'b', ...pods }, get('ns', 'pods'), true],
    [{ group: 'c', ...pods }, get('ns', 'pods'), false],
    [{ group: '*', ...pods }, get('ns', 'pods'), true],
    [{ group: 'system:authenticated', ...pods }, get('ns', 'pods'), true],
    [{ user: 'kate', group: 'a', ...pods }, get('ns', 'pods'), true],
    [{ user: 'kate', group: 'c', ...pods }, get('ns', 'pods'), false],
    [{ user: '*', group: 'c', ...pods }, get('ns', 'pods'), false],
    [{ user: 'lena', group: 'a', ...pods }, get('ns', 'pods'), false],
    [pods, get('ns', 'pods'), false],
    [{ user: 'kate', ...pods }, get('other', 'pods'), false],
    [{ user: 'kate', ...pods }, get('', 'pods'), false],
    [{ user: 'kate', ...pods, namespace: '*' }, get('', 'pods'), true],
    [{ user: 'kate', ...pods }, get('ns', 'secrets'), false],
    [{ user: 'kate', ...pods, resource: '*' }, get('ns', 'secrets'), true],
    [{ user: 'kate', ...pods }, get('ns', 'pods', 'apps'), false],
    [{ user: 'kate', ...pods, apiGroup: 'apps' }, get('ns', 'pods', 'apps'), true],
    [{ user: 'kate', ...pods, apiGroup: '*' }, get('ns', 'pods', 'apps'), true],
    [{ user: 'kate', ...pods }, get('ns', 'pods', '', 'delete'), true],
    [{ user: 'kate', ...pods, readonly: true }, get('ns', 'pods', '', 'delete'), false],
    [{ user: 'kate', ...pods, readonly: true }, get('ns', 'pods', '', 'watch'), true],
    [{ user: 'kate', resource: '*', namespace: '*', apiGroup: '*' }, path('/metrics'), false],
    [{ user: 'kate', nonResourcePath: '*' }, path('/metrics'), true],
    [{ user: 'kate', nonResourcePath: '*' }, get('ns', 'pods'), false],
    [{ user: 'kate', nonResourcePath: '/metrics' }, path('/metrics/more'), false],
    [{ user: 'kate', nonResourcePath: '/metrics*' }, path('/metrics/more'), true],
    [{ user: 'kate', nonResourcePath: '/metrics', readonly: true }, path('/metrics', 'post'), false],
  ]
  for (const [spec, action, isAllowed] of rows) {
    const decision = abac(line(spec), 'policies', API).authorize(kate, action)
    assert.ok(!(decision instanceof Promise))
    assert.equal(decision.kind, isAllowed ? 'allow' : 'no-opinion', JSON.stringify([spec, action]))
  }
})

void test('a policy file with a malformed line is refused with the number of the line', () => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['{', /^policies, line 3: it is not JSON; each line is one policy$/],
    ['[]', /it is not a JSON object/],
    ['{"user":"a"}', /it must have apiVersion abac\.authorization\.orch\.io\/v1beta1 and kind Policy$/],
    [line({ user: 'a' }).replace('Policy', 'Police'), /kind Policy$/],
    [JSON.stringify({ apiVersion: API, kind: 'Policy' }), /it has no spec$/],
    [line({ user: ['a'] }), /spec\.user must be a string$/],
    [line({ user: 'a', readonly: 'true' }), /spec\.readonly must be a boolean$/],
    [line({ user: 'a', verbs: [] }), /spec has the unknown member "verbs": known are user, /],
    [`${line({ user: 'a' })}\n`.repeat(10_001), /line 10003: more than 10000 policies$/],
  ]
  for (const [text, words] of rows) {
    assert.throws(
      () => abac(`# comment\n\n${text}`, 'policies', API),
      (cause) => cause instanceof AuthError && words.test(cause.message),
    )
  }
})
