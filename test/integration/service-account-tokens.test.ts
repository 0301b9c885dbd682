/*
 * Goal: service account tokens over HTTP: valid ones authenticate, all others are 401, and deleting
 * an object of a token ends it. Method: the shipped server, with tokens made by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { THIS_SERVER } from '../../fixtures/real-registry.ts'
import { otherKey, rsaKey } from '../../fixtures/token-keys.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../src/api/metadata/names.ts'
import { boundPayload } from '../../src/auth/service-accounts/claims.ts'
import type { BoundClaims } from '../../src/auth/service-accounts/claims.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'
import { encodePart, tokenOf } from '../support/fixtures/token-kit.ts'
import { systemClock } from '../../fixtures/system.ts'

const ACCOUNTS = '/api/v1/namespaces/default/serviceaccounts'

async function open(t: TestContext, domain: ApiDomain = 'orch.io') {
  const names = namesOf(domain)
  const api = await SpecServer.start(t, { domain })
  const make = async (): Promise<string> => {
    const made = await api.ask('POST', ACCOUNTS, { body: { metadata: { name: 'robot' } } })
    assert.equal(made.status, 201, made.text)
    return made.doc.metadata?.uid ?? ''
  }
  const uid = await make()
  const payload = (change: Partial<BoundClaims> = {}): object => {
    const nowMs = systemClock.wallMs()
    const times = { issuedMs: nowMs, notBeforeMs: nowMs, expiresMs: nowMs + 3_600_000, warnAfterMs: null }
    const account = { name: 'robot', uid }
    const of = { kind: 'bound', audiences: [THIS_SERVER], namespace: 'default', account } as const
    return boundPayload({ ...of, ...times, pod: null, secret: null, ...change }, THIS_SERVER, names)
  }
  const status = async (token: string, path = '/api'): Promise<number> => {
    return (await api.ask('GET', path, { headers: { authorization: `Bearer ${token}` } })).status
  }
  return { api, uid, payload, status, make }
}

void test('spec 5: a service account token authenticates, until its account is deleted', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const { api, payload, status, make } = await open(t, domain)
    const token = tokenOf(payload())
    assert.equal(await status(token), 200)
    assert.equal(await status(tokenOf(payload(), rsaKey)), 200)
    assert.equal(await status(token, '/api/v1/namespaces/default/configmaps'), 403)
    assert.equal((await api.ask('DELETE', `${ACCOUNTS}/robot`)).status, 200)
    assert.equal(await status(token), 401)
    await make()
    assert.equal(await status(token), 401)
  }
})

void test('spec 5: invalid service account tokens are 401, although anonymous access is on', async (t) => {
  const { payload, status } = await open(t)
  const nowMs = systemClock.wallMs()
  const [, body = ''] = tokenOf(payload()).split('.')
  const wrong = [
    tokenOf(payload(), otherKey),
    `${encodePart({ alg: 'none' })}.${body}.`,
    tokenOf(payload({ expiresMs: nowMs - 3_600_000 })),
    tokenOf(payload({ notBeforeMs: nowMs + 3_600_000 })),
    tokenOf(payload({ audiences: ['vault'] })),
    tokenOf({ ...payload(), iss: 'https://other.issuer' }),
    tokenOf(payload({ account: { name: 'robot', uid: 'another' } })),
    tokenOf({ ...payload(), x: 'x'.repeat(20_000) }),
  ]
  for (const token of wrong) {
    assert.equal(await status(token), 401)
    // A request for /healthz without credentials would get 200.
    assert.equal(await status(token, '/healthz'), 401)
  }
})

void test('spec 5.2: a token review returns the user and the audiences of a service account token', async (t) => {
  const { api, uid, payload } = await open(t)
  const review = async (token: string, audiences?: readonly string[]) => {
    const spec = { token, ...(audiences === undefined ? {} : { audiences }) }
    const statuses = []
    for (const version of ['v1', 'v1beta1']) {
      const path = `/apis/authentication.orch.io/${version}/tokenreviews`
      const { status, doc } = await api.ask('POST', path, { body: { spec } })
      assert.deepEqual([status, doc.apiVersion], [201, `authentication.orch.io/${version}`])
      statuses.push(doc.status)
    }
    assert.deepEqual(statuses[0], statuses[1])
    return statuses[0]
  }
  const user = {
    username: 'system:serviceaccount:default:robot',
    uid,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
  }
  const both = tokenOf(payload({ audiences: [THIS_SERVER, 'vault'] }))
  assert.deepEqual(await review(both), { authenticated: true, user, audiences: [THIS_SERVER] })
  assert.deepEqual(await review(both, ['vault', 'x']), { authenticated: true, user, audiences: ['vault'] })
  const invalid = { user: {}, error: 'invalid bearer token' }
  assert.deepEqual(await review(tokenOf(payload({ audiences: ['vault'] }))), invalid)
  assert.deepEqual(await review(tokenOf(payload(), otherKey)), invalid)
  const pod = { name: 'p', uid: 'u' }
  const { status } = await api.ask('POST', '/api/v1/namespaces/default/pods', {
    body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  })
  assert.equal(status, 201)
  assert.deepEqual(await review(tokenOf(payload({ pod }))), invalid)
  const stored = await api.ask('GET', '/api/v1/namespaces/default/pods/p')
  const bound = tokenOf(payload({ pod: { name: 'p', uid: stored.doc.metadata?.uid ?? '' } }))
  const extra = {
    'authentication.orch.io/pod-name': ['p'],
    'authentication.orch.io/pod-uid': [stored.doc.metadata?.uid],
  }
  assert.deepEqual(await review(bound), {
    ...{ authenticated: true, audiences: [THIS_SERVER] },
    user: { ...user, extra },
  })
})
