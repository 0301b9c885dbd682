/*
 * Goal: authorizers are asked in the order of the flag and the first opinion decides, whichever
 * modes there are; a webhook that fails has no opinion and delays no other request.
 * Method: the whole server over HTTPS, with policy files and a webhook over HTTPS.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { AccessServer, filesOf } from '../support/fixtures/access-server.ts'
import { OutwardServer, kubeconfigFor } from '../support/fixtures/outward-server.ts'
import type { Answer, SeenCall } from '../support/fixtures/outward-server.ts'
import { until } from '../support/tools/until.ts'

type Spec = {
  readonly user: string
  readonly groups?: readonly string[]
  readonly group?: readonly string[]
  readonly resourceAttributes?: Readonly<Record<string, string>>
  readonly nonResourceAttributes?: Readonly<Record<string, string>>
}

type Review = { readonly apiVersion: string; readonly kind: string; readonly spec: Spec }

function reviewIn({ body }: SeenCall): Review {
  return JSON.parse(body) as Review
}

function answered(call: SeenCall, status: object, change: object = {}): Answer {
  const { apiVersion, kind } = reviewIn(call)
  return { body: JSON.stringify({ apiVersion, kind, status, ...change }) }
}

type Opened = { readonly api: AccessServer; readonly hook: OutwardServer }

async function open(
  t: TestContext,
  modes: string,
  answer: (call: SeenCall) => Answer | Promise<Answer>,
  flags: Readonly<Record<string, string>> = {},
): Promise<Opened> {
  const file = filesOf(t)
  const hook = await OutwardServer.start(t, answer)
  const api = await AccessServer.start(t, {
    'authorization-mode': modes,
    ...(modes.includes('ABAC') ? { 'authorization-policy-file': file('policies', POLICIES) } : {}),
    ...(modes.includes('Webhook')
      ? {
          'authorization-webhook-config-file': file('hook.kubeconfig', kubeconfigFor(hook.config())),
          'authorization-webhook-version': 'v1',
        }
      : {}),
    ...flags,
  })
  return { api, hook }
}

const CM = '/api/v1/namespaces/default/configmaps'

const POLICIES = [
  '# Readers.',
  policy({ user: 'lena', namespace: 'default', resource: 'configmaps', apiGroup: '*', readonly: true }),
  '',
  policy({ group: 'operators', nonResourcePath: '/metrics*' }),
].join('\n')

function policy(spec: object): string {
  return JSON.stringify({ apiVersion: 'abac.authorization.orch.io/v1beta1', kind: 'Policy', spec })
}

for (const version of ['v1', 'v1beta1']) {
  void test(`spec 5.7: the mode Webhook sends the attributes of a request in ${version}`, async (t) => {
    const { api, hook } = await open(t, 'Webhook', (call) => answered(call, { allowed: true }), {
      'authorization-webhook-version': version,
    })
    const identity = api.client('kate', ['a'])
    assert.equal((await api.ask(`${CM}/one`, { identity })).status, 404)
    assert.equal((await api.ask('/metrics', { identity })).status, 200)
    const [first, second] = hook.calls.map(reviewIn)
    assert.ok(first && second)
    assert.equal(hook.calls[0]?.client, 'orch')
    assert.equal(first.apiVersion, `authorization.orch.io/${version}`)
    const groups = ['a', 'system:authenticated']
    const user = { user: 'kate', ...(version === 'v1' ? { groups } : { group: groups }) }
    assert.deepEqual(first.spec, {
      ...user,
      resourceAttributes: {
        ...{ namespace: 'default', verb: 'get', version: 'v1', resource: 'configmaps', name: 'one' },
      },
    })
    assert.deepEqual(second.spec, { ...user, nonResourceAttributes: { path: '/metrics', verb: 'get' } })
    assert.equal((await api.admin(CM)).status, 200)
    assert.equal(hook.calls.length, 2, 'system:masters does not depend on the webhook')
  })
}

void test('spec 5.7: a webhook allows, denies or has no opinion, and its decisions are kept', async (t) => {
  let status: object = { allowed: true }
  const { api, hook } = await open(t, 'Webhook', (call) => answered(call, status))
  const rows: readonly (readonly [object, number, string])[] = [
    [{ allowed: true, reason: 'fine' }, 200, ''],
    [{ allowed: false, reason: 'not today' }, 403, 'not today'],
    [{ allowed: false, denied: true, reason: 'never' }, 403, 'never'],
    [{ allowed: true, denied: true, reason: 'both' }, 403, 'both'],
    [{ allowed: 'true' }, 403, 'cannot list'],
    [{}, 403, 'cannot list'],
  ]
  for (const [at, [given, expected, words]] of rows.entries()) {
    status = given
    const identity = api.client(`user-${at}`)
    for (let asked = 0; asked < 2; asked++) {
      const reply = await api.ask(CM, { identity })
      assert.equal(reply.status, expected, JSON.stringify(given))
      assert.ok(reply.text.includes(words), reply.text)
    }
    assert.equal(hook.calls.length, at + 1, 'one review per user')
  }
})

void test('spec 5.7: the first of the modes with an opinion decides, in any order', async (t) => {
  const denied = { allowed: false, denied: true, reason: 'by webhook' }
  const silent = { allowed: false }
  const rows: readonly (readonly [string, object, number])[] = [
    ['ABAC', silent, 200],
    ['ABAC,Webhook', denied, 200],
    ['Webhook,ABAC', denied, 403],
    ['Webhook,ABAC', silent, 200],
    ['RBAC,Webhook', silent, 403],
    ['RBAC,Webhook', { allowed: true }, 200],
    ['RBAC,ABAC', silent, 200],
    ['AlwaysDeny,ABAC', silent, 200],
    ['Webhook,AlwaysAllow', denied, 403],
    ['Webhook,AlwaysAllow', silent, 200],
    ['AlwaysAllow,Webhook', denied, 200],
    ['Webhook,AlwaysDeny', silent, 403],
  ]
  for (const [modes, status, expected] of rows) {
    const { api } = await open(t, modes, (call) => answered(call, status))
    const { status: got, text } = await api.ask(CM, { identity: api.client('lena') })
    assert.equal(got, expected, `${modes} ${JSON.stringify(status)}: ${text}`)
    if (modes.startsWith('AlwaysDeny')) continue
    assert.equal((await api.admin(CM)).status, 200, modes)
  }
})

void test('spec 5.7: the mode ABAC allows what a line of its file allows, and nothing else', async (t) => {
  const { api } = await open(t, 'ABAC', () => 'never')
  const lena = api.client('lena')
  const operator = api.client('olga', ['operators'])
  const rows = [
    [lena, 'GET', CM, 200],
    [lena, 'GET', `${CM}/one`, 404],
    [lena, 'DELETE', `${CM}/one`, 403],
    [lena, 'GET', '/api/v1/namespaces/other/configmaps', 403],
    [lena, 'GET', '/api/v1/configmaps', 403],
    [lena, 'GET', '/api/v1/namespaces/default/secrets', 403],
    [lena, 'GET', '/metrics', 403],
    [operator, 'GET', '/metrics', 200],
    [operator, 'GET', CM, 403],
    [api.client('nina'), 'GET', CM, 403],
  ] as const
  for (const [identity, method, path, expected] of rows) {
    const { status, text } = await api.ask(path, { identity, method })
    assert.equal(status, expected, `${method} ${path}: ${text}`)
  }
})

void test('a rules review lists the policies of ABAC and names the webhook as incomplete', async (t) => {
  const { api } = await open(t, 'ABAC,Webhook', (call) => answered(call, { allowed: true }))
  const body = {
    apiVersion: 'authorization.orch.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace: 'default' },
  }
  const path = '/apis/authorization.orch.io/v1/selfsubjectrulesreviews'
  const { text } = await api.ask(path, { method: 'POST', body, identity: api.client('lena') })
  const { status } = JSON.parse(text) as { status: Record<string, unknown> }
  assert.deepEqual(status['resourceRules'], [
    { verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['configmaps'] },
  ])
  assert.equal(status['incomplete'], true)
  assert.match(String(status['evaluationError']), /webhook authorizer does not support user rule resolution/)
})

void test('spec 5.4: the right to impersonate may come from a webhook', async (t) => {
  const { api } = await open(t, 'Webhook', (call) => {
    const { user, resourceAttributes } = reviewIn(call).spec
    return answered(call, { allowed: user === 'kate' && resourceAttributes?.['verb'] === 'impersonate' })
  })
  const identity = api.client('kate')
  assert.equal(await api.user({ identity, headers: { 'impersonate-user': 'lena' } }), 'lena')
  assert.match(
    (await api.ask(CM, { identity: api.client('nina'), headers: { 'impersonate-user': 'lena' } })).text,
    /User \\"nina\\" cannot impersonate/,
  )
})

void test('a dead, slow or broken authorization webhook fails only the requests that need it', async (t) => {
  let answer: Answer = 'never'
  const { api, hook } = await open(t, 'ABAC,Webhook', () => answer)
  const identity = api.client('nina')
  const slow = api.ask(CM, { identity })
  await until('the webhook has the review', () => hook.calls.length > 0)
  assert.equal((await api.ask(CM, { identity: api.client('lena') })).status, 200)
  assert.equal((await api.admin(CM)).status, 200)
  const late = await slow
  assert.equal(late.status, 403)
  assert.match(late.text, /the authorization webhook failed: no response in time/)
  for (const given of [
    { body: 'garbage' },
    { status: 401, body: '{}' },
    { status: 302, body: '', headers: { location: hook.url.href } },
    {
      body: '{"apiVersion":"authorization.orch.io/v1beta1","kind":"SubjectAccessReview","status":{"allowed":true}}',
    },
    'endless',
  ] satisfies readonly Answer[]) {
    answer = given
    hook.calls.length = 0
    assert.equal((await api.ask(CM, { identity })).status, 403)
    assert.equal(hook.calls.length, 1)
  }
  hook.stop()
  assert.equal((await api.ask(CM, { identity })).status, 403)
  answer = { body: '' }
  const failures = api.lines.filter((line) => line.includes('calls of the authorization webhook fail'))
  assert.equal(failures.length, 1, 'one line for many failures')
})

void test('files of webhooks and policies that cannot be used make the start fail with one line', async (t) => {
  const file = filesOf(t)
  const hook = await OutwardServer.start(t, () => 'never')
  const plain = kubeconfigFor(hook.config()).replace('https:', 'http:')
  const other = policy({ user: 'a', readOnly: true })
  const rows: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [
      { 'authorization-mode': 'Webhook', 'authorization-webhook-config-file': file('a', plain) },
      /^--authorization-webhook-config-file: server must be an https URL/,
    ],
    [
      { 'authentication-token-webhook-config-file': file('b', '{}') },
      /^--authentication-token-webhook-config-file: .*b: current-context names no context$/,
    ],
    [
      { 'authorization-mode': 'ABAC', 'authorization-policy-file': file('c', `\n${other}`) },
      /^--authorization-policy-file: .*c, line 2: spec has the unknown member "readOnly"/,
    ],
    [{ 'authorization-mode': 'ABAC' }, /^--authorization-mode ABAC needs --authorization-policy-file$/],
    [{ 'authorization-mode': 'Webhook' }, /needs --authorization-webhook-config-file$/],
    [{ 'authorization-policy-file': 'x' }, /is for the mode ABAC: add it to --authorization-mode$/],
    [{ 'authorization-mode': 'RBAC,RBAC' }, /has RBAC twice: omit one of them$/],
    [
      { 'authorization-mode': 'Magic' },
      /must be a list of Node, ABAC, RBAC, Webhook, AlwaysAllow, AlwaysDeny, not "Magic"$/,
    ],
  ]
  for (const [flags, words] of rows) {
    await assert.rejects(
      AccessServer.start(t, flags),
      (cause) => cause instanceof Error && words.test(cause.message),
      JSON.stringify(flags),
    )
  }
})
