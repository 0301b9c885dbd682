/*
 * Goal: the first rule that matches decides how much of a request is recorded, as upstream; an
 * invalid policy is rejected with the place and the expected value. Method: a table of rules and
 * requests; files with one mistake each.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Action, ResourceAction } from '../../../../src/api/action.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { UserInfo } from '../../../../src/api/metadata/object.ts'
import { auditDecision, isAtLeast } from '../../../../src/audit/audit-policy.ts'
import { AuditPolicyMalformed, parseAuditPolicy } from '../../../../src/audit/policy-file.ts'

const names = namesOf('orch.io')
const alice: UserInfo = { name: 'alice', uid: 'u1', groups: ['dev', 'system:authenticated'], extra: {} }

function path(of: string, verb = 'get'): Action {
  return { kind: 'path', verb, path: of }
}

function on(resource: string, more: Partial<ResourceAction> = {}): ResourceAction {
  const [main = '', subresource = ''] = resource.split('/')
  const place = { group: '', version: 'v1', namespace: 'default', name: 'a' }
  return { kind: 'resource', verb: 'get', ...place, resource: main, subresource, ...more }
}

/** Returns whether a rule matches a request. */
function matches(rule: object, action: Action, user: UserInfo | null = alice): boolean {
  const file = { apiVersion: 'audit.orch.io/v1', kind: 'Policy', rules: [{ level: 'Metadata', ...rule }] }
  return auditDecision(parseAuditPolicy(JSON.stringify(file), names), user, action).level === 'Metadata'
}

void describe('a rule', () => {
  const table: readonly (readonly [string, object, Action, boolean])[] = [
    ['a resource, without conditions', {}, on('pods'), true],
    ['a path, without conditions', {}, path('/version'), true],
    ['a user', { users: ['alice'] }, on('pods'), true],
    ['another user', { users: ['bob'] }, on('pods'), false],
    ['one of the groups', { userGroups: ['ops', 'dev'] }, on('pods'), true],
    ['none of the groups', { userGroups: ['ops'] }, on('pods'), false],
    ['user and group, of which one differs', { users: ['alice'], userGroups: ['ops'] }, on('pods'), false],
    ['a verb', { verbs: ['get', 'list'] }, on('pods'), true],
    ['another verb', { verbs: ['create'] }, on('pods'), false],
    ['a path with another verb', { verbs: ['get'], nonResourceURLs: ['*'] }, path('/metrics', 'post'), false],
    ['a group of resources', { resources: [{ group: '' }] }, on('pods/log'), true],
    ['another group', { resources: [{ group: 'apps' }] }, on('pods'), false],
    ['a resource', { resources: [{ group: '', resources: ['pods'] }] }, on('pods'), true],
    [
      'a subresource, for a rule about its resource',
      { resources: [{ group: '', resources: ['pods'] }] },
      on('pods/log'),
      false,
    ],
    ['a subresource', { resources: [{ group: '', resources: ['pods/log'] }] }, on('pods/log'), true],
    [
      'a resource, for a rule about its subresource',
      { resources: [{ group: '', resources: ['pods/log'] }] },
      on('pods'),
      false,
    ],
    [
      'a resource, for a rule about it and all its subresources',
      { resources: [{ group: '', resources: ['pods/*'] }] },
      on('pods'),
      true,
    ],
    [
      'a subresource of another resource',
      { resources: [{ group: '', resources: ['pods/*'] }] },
      on('nodes/status'),
      false,
    ],
    [
      'a subresource, for a rule about that of every resource',
      { resources: [{ group: '', resources: ['*/status'] }] },
      on('nodes/status'),
      true,
    ],
    [
      'the resource itself, for a rule about subresources',
      { resources: [{ group: '', resources: ['*/status'] }] },
      on('nodes'),
      false,
    ],
    ['everything of a group', { resources: [{ group: '', resources: ['*'] }] }, on('pods/exec'), true],
    [
      'an object by name',
      { resources: [{ group: '', resources: ['configmaps'], resourceNames: ['a'] }] },
      on('configmaps'),
      true,
    ],
    [
      'another object',
      { resources: [{ group: '', resources: ['configmaps'], resourceNames: ['b'] }] },
      on('configmaps'),
      false,
    ],
    ['a namespace', { namespaces: ['default'] }, on('pods'), true],
    ['another namespace', { namespaces: ['system-ns'] }, on('pods'), false],
    ['what is in no namespace', { namespaces: [''] }, on('nodes', { namespace: '' }), true],
    ['a path, for a rule about namespaces', { namespaces: ['default', ''] }, path('/version'), false],
    ['a path, for a rule about resources', { resources: [{ group: '' }] }, path('/version'), false],
    ['a path', { nonResourceURLs: ['/version'] }, path('/version'), true],
    ['a path below another one', { nonResourceURLs: ['/healthz'] }, path('/healthz/ping'), false],
    [
      'a path, for a rule whose path ends with a star',
      { nonResourceURLs: ['/healthz*'] },
      path('/healthz/ping'),
      true,
    ],
    ['any path, for a star', { nonResourceURLs: ['*'] }, path('/x'), true],
    ['a resource, for a rule about paths', { nonResourceURLs: ['*'] }, on('pods'), false],
  ]
  for (const [what, rule, action, expected] of table) {
    void test(`a rule ${expected ? 'matches' : 'does not match'}: ${what}`, () =>
      assert.equal(matches(rule, action), expected))
  }

  void test('a rule that names users or groups never matches an unauthenticated request', () => {
    assert.equal(matches({ users: ['alice'] }, path('/version'), null), false)
    assert.equal(matches({ userGroups: ['dev'] }, path('/version'), null), false)
    assert.equal(matches({}, path('/version'), null), true)
  })
})

void test('the first match decides, and without one nothing is recorded', () => {
  const policy = parseAuditPolicy(
    [
      'apiVersion: audit.orch.io/v1',
      'kind: Policy',
      'omitStages: [RequestReceived]',
      'omitManagedFields: true',
      'rules:',
      '- {level: None, resources: [{resources: [events]}]}',
      '- {level: Request, resources: [{group: ""}], omitStages: [ResponseStarted], omitManagedFields: false}',
      '- {level: RequestResponse, resources: [{group: apps}]}',
    ].join('\n'),
    names,
  )
  assert.equal(auditDecision(policy, alice, on('events')).level, 'None')
  const core = auditDecision(policy, alice, on('pods'))
  assert.equal(core.level, 'Request')
  assert.deepEqual([...core.omitStages], ['RequestReceived', 'ResponseStarted'])
  assert.equal(core.omitManagedFields, false)
  const apps = auditDecision(policy, alice, on('deployments', { group: 'apps' }))
  assert.equal(apps.level, 'RequestResponse')
  assert.deepEqual([...apps.omitStages], ['RequestReceived'])
  assert.equal(apps.omitManagedFields, true)
  assert.equal(auditDecision(policy, alice, on('leases', { group: 'coordination.orch.io' })).level, 'None')
})

void test('levels include those below', () => {
  assert.ok(isAtLeast('RequestResponse', 'Request'))
  assert.ok(isAtLeast('Metadata', 'Metadata'))
  assert.ok(!isAtLeast('Metadata', 'Request'))
  assert.ok(!isAtLeast('None', 'Metadata'))
})

void describe('an invalid policy is rejected', () => {
  const file = (rules: string): string => `apiVersion: audit.orch.io/v1\nkind: Policy\nrules:\n${rules}`
  const table: readonly (readonly [string, string, RegExp])[] = [
    ['nothing', '', /^it must be a YAML map/],
    ['not YAML', 'rules: [', /^line 1, column \d+ \(offset \d+\): /],
    [
      'of another domain',
      'apiVersion: audit.k8s.io/v1\nkind: Policy',
      /^apiVersion: it is "audit\.k8s\.io\/v1", and must be audit\.orch\.io\/v1$/,
    ],
    [
      'another kind',
      'apiVersion: audit.orch.io/v1\nkind: Event',
      /^kind: it is "Event", and must be Policy$/,
    ],
    ['without rules', 'apiVersion: audit.orch.io/v1\nkind: Policy\nrules: []', /^rules: Required value/],
    [
      'a field that no rule has',
      file('- {level: None, verb: [get]}'),
      /^unknown field "rules\[0\]\.verb": known are level, users/,
    ],
    [
      'a field that no resource has',
      file('- {level: None, resources: [{names: [a]}]}'),
      /^unknown field "rules\[0\]\.resources\[0\]\.names": known are group, resources, resourceNames$/,
    ],
    [
      'a duplicate key',
      file('- {level: None, level: Request}'),
      /^line 4: key "level" already set.*set it once/,
    ],
    ['a rule without level', file('- {verbs: [get]}'), /^rules\[0\]\.level: Required value/],
    [
      'an unknown level',
      file('- {level: None}\n- {level: metadata}'),
      /^rules\[1\]\.level: Unsupported value: "metadata": supported values: "None", "Metadata"/,
    ],
    [
      'an unknown stage',
      file('- {level: None, omitStages: [Begin]}'),
      /^rules\[0\]\.omitStages\[0\]: Unsupported value: "Begin"/,
    ],
    [
      'a text for a list',
      file('- {level: None, users: alice}'),
      /^cannot unmarshal string into field rules\[0\]\.users/,
    ],
    [
      'a group with its version',
      file('- {level: None, resources: [{group: apps/v1}]}'),
      /^rules\[0\]\.resources\[0\]\.group: Invalid value: "apps\/v1"/,
    ],
    [
      'names of objects without resources',
      file('- {level: None, resources: [{resourceNames: [a]}]}'),
      /^rules\[0\]\.resources\[0\]\.resources: Required value: resourceNames needs resources/,
    ],
    [
      'resources and paths at once',
      file('- {level: None, namespaces: [a], nonResourceURLs: ["/x"]}'),
      /^rules\[0\]\.nonResourceURLs: Invalid value: .*split it in two$/,
    ],
    [
      'a path without its slash',
      file('- {level: None, nonResourceURLs: ["/a", version]}'),
      /^rules\[0\]\.nonResourceURLs\[1\]: Invalid value: "version": must begin with a slash/,
    ],
    [
      'a star within a path',
      file('- {level: None, nonResourceURLs: ["/a/*/b"]}'),
      /^rules\[0\]\.nonResourceURLs\[0\]: Invalid value/,
    ],
  ]
  for (const [what, content, words] of table) {
    void test(`an invalid policy is rejected: ${what}`, () => {
      assert.throws(
        () => parseAuditPolicy(content, names),
        (cause) => {
          assert.ok(cause instanceof AuditPolicyMalformed, String(cause))
          assert.match(cause.message, words)
          assert.doesNotMatch(cause.message, /\n/)
          return true
        },
      )
    })
  }
})
