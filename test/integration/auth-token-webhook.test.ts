/*
 * Goal: bearer tokens are authenticated by a webhook, which counts only when it answers in the
 * right form, and delays nothing but the requests that need it.
 * Method: the whole server over HTTPS, and a webhook over HTTPS that misbehaves on request.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { AccessServer, filesOf } from '../support/fixtures/access-server.ts'
import { OutwardServer, kubeconfigFor } from '../support/fixtures/outward-server.ts'
import type { Answer, SeenCall } from '../support/fixtures/outward-server.ts'
import { until } from '../support/tools/until.ts'

const AUDIENCE = 'https://orch.default.svc.cluster.local'

type Review = { readonly apiVersion: string; readonly kind: string; readonly spec: Record<string, unknown> }

function reviewIn({ body }: SeenCall): Review {
  return JSON.parse(body) as Review
}

/** Answers a review in the API version of the review. */
function answered(call: SeenCall, status: object, change: object = {}): Answer {
  const { apiVersion, kind } = reviewIn(call)
  return { body: JSON.stringify({ apiVersion, kind, status, ...change }) }
}

async function open(
  t: TestContext,
  answer: (call: SeenCall) => Answer | Promise<Answer>,
  flags: Readonly<Record<string, string>> = {},
): Promise<{ readonly api: AccessServer; readonly hook: OutwardServer }> {
  const hook = await OutwardServer.start(t, answer)
  const path = filesOf(t)('webhook.kubeconfig', kubeconfigFor(hook.config({ authorization: 'Bearer own' })))
  const api = await AccessServer.start(t, {
    'authentication-token-webhook-config-file': path,
    'authentication-token-webhook-version': 'v1',
    ...flags,
  })
  return { api, hook }
}

const kate = { authenticated: true, user: { username: 'kate', groups: ['a'], uid: '7', extra: { k: ['v'] } } }

for (const version of ['v1', 'v1beta1']) {
  void test(`spec 4.6.1, 5, 5.2, 8: a token webhook gets the token and the audiences in ${version} and returns the user`, async (t) => {
    const { api, hook } = await open(t, (call) => answered(call, { ...kate, error: 'ignored' }), {
      'authentication-token-webhook-version': version,
    })
    assert.equal(await api.user({ headers: { authorization: 'Bearer opaque' } }), 'kate')
    const [call] = hook.calls
    assert.ok(call)
    assert.deepEqual([call.client, call.headers.authorization], ['orch', 'Bearer own'])
    const { apiVersion, kind, spec } = reviewIn(call)
    assert.deepEqual([apiVersion, kind], [`authentication.orch.io/${version}`, 'TokenReview'])
    assert.deepEqual(spec, { token: 'opaque', audiences: [AUDIENCE] })
    await api.user({ headers: { authorization: 'Bearer opaque' } })
    assert.equal(hook.calls.length, 1, 'the answer is kept')
  })
}

void test('spec 4.6.1: an answer is accepted by its version and status; its spec and its content type do not matter', async (t) => {
  const spec = { token: 'another', audiences: ['https://other'] }
  let type = ''
  const { api } = await open(t, (call) => {
    const answer = answered(call, kate, { spec })
    return typeof answer === 'string' ? answer : { ...answer, headers: { 'content-type': type } }
  })
  for (type of ['text/plain', 'application/octet-stream', 'application/json; charset=utf-8']) {
    assert.equal(await api.user({ headers: { authorization: `Bearer ${type.length}` } }), 'kate', type)
  }
})

void test('spec 5.2: a token review returns the user, groups, uid and extra of the webhook', async (t) => {
  const { api } = await open(t, (call) => answered(call, kate))
  const body = {
    apiVersion: 'authentication.orch.io/v1',
    kind: 'TokenReview',
    spec: { token: 'opaque' },
  }
  const path = '/apis/authentication.orch.io/v1/tokenreviews'
  const { text } = await api.admin(path, { method: 'POST', body })
  const { status } = JSON.parse(text) as { status: Record<string, unknown> }
  assert.equal(status['authenticated'], true)
  assert.deepEqual(status['user'], {
    ...{ username: 'kate', uid: '7', extra: { k: ['v'] } },
    groups: ['a', 'system:authenticated'],
  })
})

void test('spec 5.2: a token review passes its audiences on, and returns those that the webhook accepts', async (t) => {
  const { api, hook } = await open(t, (call) => answered(call, { ...kate, audiences: ['b', 'c'] }))
  const review = async (audiences: readonly string[]): Promise<Record<string, unknown>> => {
    const group = 'authentication.orch.io'
    const body = { apiVersion: `${group}/v1`, kind: 'TokenReview', spec: { token: 'opaque', audiences } }
    const { text } = await api.admin(`/apis/${group}/v1/tokenreviews`, { method: 'POST', body })
    return (JSON.parse(text) as { status: Record<string, unknown> }).status
  }
  assert.deepEqual((await review(['a', 'b']))['audiences'], ['b'])
  assert.deepEqual(hook.calls.map(reviewIn)[0]?.spec, { token: 'opaque', audiences: ['a', 'b'] })
  assert.notEqual((await review(['a']))['authenticated'], true)
})

void test('spec 5.2: an answer that is not authenticated, or in another form than the request, authenticates no user, with a general message', async (t) => {
  let status: object = kate
  let change: object = {}
  const { api } = await open(t, (call) => answered(call, status, change))
  let token = 0
  const name = (): Promise<string> => api.user({ headers: { authorization: `Bearer t${token++}` } })
  assert.equal(await name(), 'kate')
  const user = { username: 'kate' }
  const wrong: readonly (readonly [object, object])[] = [
    [{ authenticated: false, error: 'because' }, {}],
    [{ authenticated: false }, {}],
    [{}, {}],
    [{ authenticated: 'true', user }, {}],
    [{ authenticated: true }, {}],
    [{ authenticated: true, user: { username: '' } }, {}],
    [{ authenticated: true, user: { username: 7 } }, {}],
    [{ authenticated: true, user: { ...user, uid: 7 } }, {}],
    [{ authenticated: true, user: { ...user, groups: 'system:masters' } }, {}],
    [{ authenticated: true, user: { ...user, groups: ['a', 1] } }, {}],
    [{ authenticated: true, user: { ...user, extra: { a: 'b' } } }, {}],
    [{ ...kate, audiences: ['https://other'] }, {}],
    [kate, { apiVersion: 'authentication.orch.io/v1beta1' }],
    [kate, { apiVersion: 'authentication.k8s.io/v1' }],
    [kate, { kind: 'SubjectAccessReview' }],
  ]
  for (const row of wrong) {
    ;[status, change] = row
    assert.equal(await name(), '401', JSON.stringify(row))
  }
  ;[status, change] = [{ authenticated: false }, {}]
  const { text } = await api.ask('/nowhere', { headers: { authorization: 'Bearer unknown' } })
  assert.match(text, /"message":"Unauthorized"/)
  ;[status, change] = [{ ...kate, audiences: ['https://other', AUDIENCE] }, {}]
  assert.equal(await name(), 'kate')
})

void test('a webhook that is dead, slow, redirecting or sends garbage fails only its own tokens', async (t) => {
  let answer: Answer = 'never'
  const { api, hook } = await open(t, () => answer)
  const headers = { authorization: 'Bearer secret-token' }
  const slow = api.user({ headers })
  await until('the webhook has the token', () => hook.calls.length > 0)
  // These answers come while the other request waits.
  assert.equal(await api.user({ headers: { authorization: 'Bearer static-token' } }), 'static')
  assert.equal(await api.user({ identity: api.client('lena') }), 'lena')
  assert.equal(await api.user({}), 'system:anonymous')
  assert.equal(await slow, '401')
  const answers: readonly Answer[] = [
    { body: 'garbage' },
    { body: '[]' },
    { body: '{"a":'.repeat(40_000) },
    { status: 403, body: '{}' },
    { status: 302, body: '', headers: { location: hook.url.href } },
    'endless',
  ]
  for (const given of answers) {
    answer = given
    hook.calls.length = 0
    assert.equal(await api.user({ headers }), '401', JSON.stringify(given).slice(0, 50))
    assert.equal(hook.calls.length, 1, 'a failure is not kept, and a redirect not followed')
  }
  hook.stop()
  assert.equal(await api.user({ headers }), '401')
  const failures = api.lines.filter((line) => line.includes('calls of the authentication webhook fail'))
  assert.equal(failures.length, 1, 'one line for many failures')
  assert.ok(!api.lines.some((line) => line.includes('secret-token')), 'no token in the log')
})

void test('spec 5: requests with the same token share one review, and its answer is kept', async (t) => {
  const answers: ((answer: Answer) => void)[] = []
  const { api, hook } = await open(t, () => new Promise((resolve) => answers.push(resolve)))
  const headers = { authorization: 'Bearer one' }
  const asked = Array.from({ length: 5 }, () => api.user({ headers }))
  await until('the webhook has the token', () => answers.length > 0)
  const [call] = hook.calls
  assert.ok(call)
  answers[0]?.(answered(call, { authenticated: false }))
  assert.deepEqual(await Promise.all(asked), ['401', '401', '401', '401', '401'])
  assert.equal(await api.user({ headers }), '401')
  assert.equal(hook.calls.length, 1)
})

void test('with a cache TTL of zero, each request calls the webhook', async (t) => {
  const flags = { 'authentication-token-webhook-cache-ttl': '0' }
  const { api, hook } = await open(t, (call) => answered(call, kate), flags)
  for (let asked = 1; asked <= 3; asked++) {
    assert.equal(await api.user({ headers: { authorization: 'Bearer one' } }), 'kate')
    assert.equal(hook.calls.length, asked)
  }
})
