/*
 * Goal: an identity token of the one trusted provider authenticates its user by the configured
 * claims; every token that another party could make is refused.
 * Method: the whole server over HTTPS, and a provider over HTTPS with real keys.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SignJWT, UnsecuredJWT, exportSPKI, generateKeyPair, importJWK } from 'jose'
import type { JWTPayload } from 'jose'
import { AccessServer, filesOf } from '../support/fixtures/access-server.ts'
import { OidcProvider } from '../support/fixtures/oidc-provider.ts'
import { until } from '../support/tools/until.ts'

type Opened = {
  readonly api: AccessServer
  readonly provider: OidcProvider
  /** Returns the name of the user of a token, or the status of its refusal. */
  readonly user: (token: string) => Promise<string>
}

async function open(
  t: TestContext,
  flags: Readonly<Record<string, string>> = {},
  prepare: (provider: OidcProvider) => void = () => undefined,
): Promise<Opened> {
  const provider = await OidcProvider.start(t)
  prepare(provider)
  const api = await AccessServer.start(t, {
    'oidc-issuer-url': provider.issuer,
    'oidc-client-id': 'orch',
    'oidc-ca-file': filesOf(t)('oidc-ca.crt', provider.server.authority.pem),
    ...flags,
  })
  const user = (token: string): Promise<string> => api.user({ headers: { authorization: `Bearer ${token}` } })
  return { api, provider, user }
}

async function groupsOf(api: AccessServer, token: string): Promise<unknown> {
  const group = 'authentication.orch.io'
  const body = { apiVersion: `${group}/v1`, kind: 'TokenReview', spec: { token } }
  const { text } = await api.admin(`/apis/${group}/v1/tokenreviews`, { method: 'POST', body })
  return (JSON.parse(text) as { status: { user: { groups?: unknown } } }).status.user.groups
}

void test('spec 5, 5.1: an identity token authenticates its subject, prefixed with the issuer', async (t) => {
  const { api, provider, user } = await open(t)
  const token = await provider.token()
  assert.equal(await user(token), `${provider.issuer}#kate`)
  const calls = provider.server.calls.length
  for (let asked = 0; asked < 5; asked++) await user(await provider.token({ jti: String(asked) }))
  assert.equal(provider.server.calls.length, calls, 'the provider gets no request per token')
  assert.equal(await api.user({ headers: { authorization: 'Bearer static-token' } }), 'static')
})

void test('spec 5.1: the claim flags decide name, prefixes and groups', async (t) => {
  const rows: readonly (readonly [Readonly<Record<string, string>>, JWTPayload, string])[] = [
    [{ 'oidc-username-claim': 'email' }, { email: 'k@x' }, 'k@x'],
    [{ 'oidc-username-claim': 'email' }, { email: 'k@x', email_verified: true }, 'k@x'],
    [{ 'oidc-username-claim': 'email' }, { email: 'k@x', email_verified: false }, '401'],
    [{ 'oidc-username-claim': 'email' }, {}, '401'],
    [{ 'oidc-username-claim': 'name', 'oidc-username-prefix': '-' }, { name: 'k' }, 'k'],
    [{ 'oidc-username-prefix': 'oidc:' }, {}, 'oidc:kate'],
    [{ 'oidc-username-prefix': '-', 'oidc-required-claim': 'hd=x' }, { hd: 'x' }, 'kate'],
    [{ 'oidc-username-prefix': '-', 'oidc-required-claim': 'hd=x' }, { hd: 'y' }, '401'],
    [{ 'oidc-username-prefix': '-', 'oidc-required-claim': 'hd=x' }, {}, '401'],
    [{ 'oidc-username-prefix': '-', 'oidc-groups-claim': 'groups' }, { groups: [1] }, '401'],
    [{ 'oidc-username-prefix': '-', 'oidc-groups-claim': 'groups' }, {}, 'kate'],
  ]
  for (const [flags, claims, expected] of rows) {
    const { provider, user } = await open(t, flags)
    assert.equal(await user(await provider.token(claims)), expected, JSON.stringify([flags, claims]))
  }
  const groups = { 'oidc-groups-claim': 'groups', 'oidc-groups-prefix': 'oidc:' }
  const { api, provider } = await open(t, groups)
  const token = await provider.token({ groups: ['a', 'system:masters'] })
  assert.deepEqual(await groupsOf(api, token), ['oidc:a', 'oidc:system:masters', 'system:authenticated'])
})

void test('spec 5.1: a token with a wrong issuer, audience, time, key or algorithm is refused', async (t) => {
  const { api, provider, user } = await open(t, { 'oidc-signing-algs': 'RS256' })
  assert.equal(await user(await provider.token()), `${provider.issuer}#kate`)
  assert.equal(await user(await provider.token({ aud: ['other', 'orch'] })), `${provider.issuer}#kate`)
  const nowSeconds = Math.floor(Date.now() / 1000)
  const claims: readonly JWTPayload[] = [
    { iss: 'https://other' },
    { iss: `${provider.issuer}/` },
    { aud: 'other' },
    { aud: [] },
    { exp: nowSeconds - 60 },
    { nbf: nowSeconds + 120 },
    { sub: '' },
  ]
  for (const wrong of claims) {
    assert.equal(await user(await provider.token(wrong)), '401', JSON.stringify(wrong))
  }
  const payload = { iss: provider.issuer, aud: 'orch', sub: 'kate', exp: nowSeconds + 600 }
  const forged: string[] = [new UnsecuredJWT(payload).encode()]
  const [known] = provider.keys
  assert.ok(known)
  const { privateKey } = await generateKeyPair('RS256')
  for (const kid of ['first', 'unknown', undefined]) {
    const header = { alg: 'RS256', ...(kid === undefined ? {} : { kid }) }
    forged.push(await new SignJWT(payload).setProtectedHeader(header).sign(privateKey))
  }
  // The published key as the secret of a symmetric algorithm.
  const published = await importJWK(known.published, 'RS256', { extractable: true })
  assert.ok(!(published instanceof Uint8Array))
  const secret = Buffer.from(await exportSPKI(published))
  forged.push(await new SignJWT(payload).setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(secret))
  // A key of the provider whose algorithm is not among the configured ones.
  forged.push(await provider.token({}, await provider.addKey('ES256', 'second')))
  const good = await provider.token({}, known)
  const [head = '', body = '', signature = ''] = good.split('.')
  const other = Buffer.from(JSON.stringify({ ...payload, sub: 'root' })).toString('base64url')
  forged.push(`${head}.${body}.`, `${head}.${other}.${signature}`, `${head}.${body}`, `${good}.x`)
  forged.push(`${head}.${body}.${signature.slice(0, -2)}`)
  const embedded = { alg: 'RS256', jwk: known.published }
  forged.push(await new SignJWT(payload).setProtectedHeader(embedded).sign(privateKey))
  for (const token of forged) assert.equal(await user(token), '401', token)
  assert.equal(await user(good), `${provider.issuer}#kate`)
  assert.ok(!api.lines.some((line) => line.includes(signature)), 'no token in the log')
})

void test('a token without a key id is verified by each key, and other algorithms can be configured', async (t) => {
  const { provider, user } = await open(t, { 'oidc-signing-algs': 'ES256,RS256,PS256' })
  const keys = provider.keys
  for (const algorithm of ['RS256', 'ES256', 'PS256']) await provider.addKey(algorithm, algorithm)
  for (const key of keys) {
    assert.equal(await user(await provider.token({}, key)), `${provider.issuer}#kate`, key.algorithm)
    const unnamed = await provider.token({ jti: 'unnamed' }, { ...key, id: '' })
    assert.equal(await user(unnamed), `${provider.issuer}#kate`, key.algorithm)
  }
})

void test('a new key of the provider is fetched when its first token comes, at limited frequency', async (t) => {
  const { provider, user } = await open(t)
  assert.equal(await user(await provider.token()), `${provider.issuer}#kate`)
  provider.keys.length = 0
  await provider.addKey('RS256', 'second')
  const token = await provider.token()
  await until('the new key counts', async () => (await user(token)) !== '401')
  const { privateKey } = await generateKeyPair('RS256')
  const payload = { iss: provider.issuer, aud: 'orch', sub: 'kate', exp: Date.now() }
  provider.server.calls.length = 0
  const startMs = performance.now()
  for (let forged = 0; forged < 50; forged++) {
    const header = { alg: 'RS256', kid: `made-up-${forged}` }
    assert.equal(await user(await new SignJWT(payload).setProtectedHeader(header).sign(privateKey)), '401')
  }
  const fetches = Math.ceil((performance.now() - startMs) / 1000) + 1
  assert.ok(provider.server.calls.length <= 2 * fetches, `${provider.server.calls.length} calls`)
})

void test('spec 5.1: while the provider fails only its own tokens are refused, and it is used when it is back', async (t) => {
  const { api, provider, user } = await open(t, {}, (started) => {
    started.fault = 'never'
  })
  const token = await provider.token()
  const slow = user(token)
  await until('the provider has a request', () => provider.server.calls.length > 0)
  assert.equal(await api.user({ headers: { authorization: 'Bearer static-token' } }), 'static')
  assert.equal(await api.user({ identity: api.client('lena') }), 'lena')
  assert.equal(await slow, '401')
  provider.fault = null
  await until('the provider is used again', async () => (await user(token)) !== '401')
  provider.fault = 'reset'
  assert.equal(await user(await provider.token({ jti: 'late' })), `${provider.issuer}#kate`)
})

void test('a discovery document of another issuer, or with keys over http, is not used', async (t) => {
  for (const discovery of [
    { issuer: 'https://other' },
    { jwks_uri: 'http://localhost:1/' },
    { jwks_uri: 7 },
  ]) {
    const { provider, user } = await open(t, {}, (started) => {
      started.discovery = discovery
    })
    assert.equal(await user(await provider.token()), '401', JSON.stringify(discovery))
  }
})

void test('contradictory OpenID flags make the start fail', async (t) => {
  const rows: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [{ 'oidc-issuer-url': 'https://a' }, /^--oidc-issuer-url needs --oidc-client-id/],
    [{ 'oidc-client-id': 'a' }, /^--oidc-client-id needs --oidc-issuer-url/],
    [{ 'oidc-groups-claim': 'a' }, /^--oidc-groups-claim needs --oidc-issuer-url/],
    [{ 'oidc-issuer-url': 'http://a', 'oidc-client-id': 'a' }, /^--oidc-issuer-url must be an https URL/],
    [
      { 'oidc-issuer-url': 'https://a', 'oidc-client-id': 'a', 'oidc-signing-algs': 'HS256' },
      /^--oidc-signing-algs has HS256/,
    ],
    [
      { 'oidc-issuer-url': 'https://a', 'oidc-client-id': 'a', 'oidc-required-claim': 'x' },
      /--oidc-required-claim .*must be KEY=VALUE/,
    ],
    [
      { 'oidc-issuer-url': 'https://a', 'oidc-client-id': 'a', 'oidc-ca-file': filesOf(t)('x', 'x') },
      /^--oidc-ca-file: /,
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
