/*
 * Goal: a service account token authenticates only with a valid signature of a known key, in its
 * time, for this server, and while all objects that it names exist. Method: tokens made by hand, on
 * the shipped verbs and store, with a clock that moves by hand.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import type { AuthenticationMethod, Recognition } from '../../../../../src/auth/credentials.ts'
import { BoundObjects } from '../../../../../src/auth/service-accounts/bound-objects.ts'
import { boundPayload, secretPayload } from '../../../../../src/auth/service-accounts/claims.ts'
import type { BoundClaims, NamedObject } from '../../../../../src/auth/service-accounts/claims.ts'
import { serviceAccountTokens } from '../../../../../src/auth/service-accounts/service-account-tokens.ts'
import { tokenKeysOf } from '../../../../../src/auth/service-accounts/token-keys.ts'
import type { TokenKeys } from '../../../../../src/auth/service-accounts/token-keys.ts'
import { TokenVerifier } from '../../../../../src/auth/service-accounts/verify-token.ts'
import { limits } from '../../../../../src/config/limits.ts'
import { StoreError } from '../../../../../src/store/store-errors.ts'
import type { View } from '../../../../../src/store/object-store.ts'
import { fc } from '../../../../support/generators/fast-check.ts'
import { ecKey, otherKey, rsaKey } from '../../../../../fixtures/token-keys.ts'
import { encodePart, headerOf, tokenOf } from '../../../../support/fixtures/token-kit.ts'
import { Fixture } from '../../registry/fixture.ts'

const names = namesOf('orch.io')
const ISSUER = 'https://issuer.example'
const OWN = 'https://this.server'
const minuteMs = 60_000

/** A namespace with an account, a Pod and a Secret, and the method that checks tokens of them. */
class Kit {
  readonly api: Fixture
  readonly account: NamedObject
  readonly pod: NamedObject
  readonly secret: NamedObject
  keys: TokenKeys = tokenKeysOf([rsaKey.verification], ecKey)
  view: (() => View) | null = null
  readonly #method: AuthenticationMethod
  readonly #verifier = new TokenVerifier({
    keys: () => this.keys,
    names,
    issuers: [ISSUER, 'https://old.example'],
  })

  constructor(
    api: Fixture,
    uids: { readonly account: string; readonly pod: string; readonly secret: string },
  ) {
    this.api = api
    this.account = { name: 'robot', uid: uids.account }
    this.pod = { name: 'p', uid: uids.pod }
    this.secret = { name: 's', uid: uids.secret }
    this.#method = this.method()
  }

  static async open(t: TestContext): Promise<Kit> {
    const api = await Fixture.open()
    t.after(() => api.close())
    await api.create({ kind: 'Namespace', body: { metadata: { name: 'n' } } })
    const make = async (kind: string, body: object): Promise<string> => {
      const { object } = await api.create({ kind, namespace: 'n', body: body as never })
      return object.metadata.uid ?? ''
    }
    const spec = { serviceAccountName: 'robot', containers: [{ name: 'c', image: 'i' }] }
    return new Kit(api, {
      account: await make('ServiceAccount', { metadata: { name: 'robot' } }),
      pod: await make('Pod', { metadata: { name: 'p' }, spec }),
      secret: await make('Secret', { metadata: { name: 's' } }),
    })
  }

  method(options: { readonly looksUp?: boolean } = {}): AuthenticationMethod {
    const store = { view: () => this.view?.() ?? this.api.store.view() }
    const { clock } = this.api
    const objects = new BoundObjects({ store, clock, looksUpSecretTokens: options.looksUp ?? true })
    return serviceAccountTokens({ verifier: this.#verifier, objects, clock, names, audiences: [OWN, 'also'] })
  }

  claims(change: Partial<BoundClaims> = {}): BoundClaims {
    const nowMs = this.api.clock.wallMs()
    return {
      kind: 'bound',
      audiences: [OWN],
      ...{ namespace: 'n', account: this.account, pod: null, secret: null },
      ...{ issuedMs: nowMs, notBeforeMs: nowMs, expiresMs: nowMs + 60 * minuteMs, warnAfterMs: null },
      ...change,
    }
  }

  payload(change: Partial<BoundClaims> = {}): object {
    return boundPayload(this.claims(change), ISSUER, names)
  }

  async ask(
    token: string,
    audiences?: readonly string[],
    connection: object | null = null,
  ): Promise<Recognition> {
    const more = audiences === undefined ? {} : { audiences }
    const credentials = { authorization: `Bearer ${token}`, connection, certificates: () => [], ...more }
    return this.#method.recognize(credentials)
  }

  async kindOf(token: string, audiences?: readonly string[]): Promise<Recognition['kind']> {
    return (await this.ask(token, audiences)).kind
  }

  async rejected(token: string, why: RegExp): Promise<void> {
    const found = await this.ask(token)
    assert.equal(found.kind, 'rejected')
    assert.match(found.kind === 'rejected' ? found.reason : '', why)
  }
}

const user = (account: NamedObject, extra: object = {}) => ({
  name: 'system:serviceaccount:n:robot',
  uid: account.uid,
  groups: ['system:serviceaccounts', 'system:serviceaccounts:n', 'system:authenticated'],
  extra,
})

void test('spec 5: a bound token of either algorithm authenticates its service account', async (t) => {
  const kit = await Kit.open(t)
  for (const key of [ecKey, rsaKey]) {
    const found = await kit.ask(tokenOf(kit.payload(), key))
    assert.deepEqual(found, { kind: 'user', user: user(kit.account), audiences: [OWN] })
    // Tokens of other programs may have no key id.
    const { alg } = headerOf(key)
    assert.equal(await kit.kindOf(tokenOf(kit.payload(), key, { alg })), 'user')
  }
  const inPod = await kit.ask(tokenOf(kit.payload({ pod: kit.pod, secret: kit.secret })))
  const extra = {
    'authentication.orch.io/pod-name': ['p'],
    'authentication.orch.io/pod-uid': [kit.pod.uid],
  }
  assert.deepEqual(inPod.kind === 'user' && inPod.user, user(kit.account, extra))
})

void test('a token of another issuer, or that is no JWT, is left to other methods', async (t) => {
  const kit = await Kit.open(t)
  const foreign = tokenOf({ ...kit.payload(), iss: 'https://accounts.example' })
  const anonymous = { ...kit.payload(), iss: undefined }
  const none = ['x', 'a.b.c', '..', 'hush', foreign, tokenOf(anonymous), tokenOf('no object'), tokenOf([])]
  for (const token of none) assert.equal(await kit.kindOf(token), 'none', token)
  const long = tokenOf({ ...kit.payload(), x: 'x'.repeat(limits.tokenCharactersMax) })
  assert.equal(await kit.kindOf(long), 'none')
  const old = tokenOf({ ...kit.payload(), iss: 'https://old.example' })
  assert.equal(await kit.kindOf(old), 'user')
})

void test('a token that the server did not sign is rejected, whatever algorithm it names', async (t) => {
  const kit = await Kit.open(t)
  const payload = kit.payload()
  const good = tokenOf(payload)
  const [head = '', body = '', signature = ''] = good.split('.')
  const { kid } = headerOf(ecKey)
  const none = `${encodePart({ alg: 'none' })}.${body}.`
  await kit.rejected(none, /no key has its algorithm/)
  await kit.rejected(`${encodePart({ alg: 'none', kid })}.${body}.`, /its algorithm is not that of its key/)
  await kit.rejected(`${head}.${body}.`, /its signature is invalid/)
  await kit.rejected(
    `${head}.${encodePart({ ...payload, sub: 'x' })}.${signature}`,
    /its signature is invalid/,
  )
  await kit.rejected(tokenOf(payload, otherKey), /its key is unknown/)
  await kit.rejected(tokenOf(payload, otherKey, headerOf(ecKey)), /its signature is invalid/)
  await kit.rejected(tokenOf(payload, otherKey, { alg: 'ES256' }), /its signature is invalid/)
  await kit.rejected(tokenOf(payload, rsaKey, { ...headerOf(rsaKey), kid }), /its algorithm is not/)
  await kit.rejected(tokenOf(payload, ecKey, { alg: 'ES256', kid, crit: ['b64'], b64: false }), /critical/)
  for (const alg of ['HS256', 'ES384', 'RS512', 'PS256', 'EdDSA', 1, null]) {
    await kit.rejected(tokenOf(payload, ecKey, { alg, kid }), /its algorithm is not that of its key/)
    await kit.rejected(tokenOf(payload, ecKey, { alg }), /no key has its algorithm/)
  }
  // The public key of RSA, used as the shared secret of HMAC.
  const pem = rsaKey.verification.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  for (const header of [{ alg: 'HS256' }, { alg: 'HS256', kid: rsaKey.verification.id }]) {
    const signed = `${encodePart(header)}.${body}`
    await kit.rejected(
      `${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`,
      /algorithm/,
    )
  }
})

void test('a token is rejected before and after its time, with a minute for wrong clocks', async (t) => {
  const kit = await Kit.open(t)
  const nowMs = kit.api.clock.wallMs()
  const later = tokenOf(kit.payload({ notBeforeMs: nowMs + 3 * minuteMs }))
  await kit.rejected(later, /not valid yet/)
  const token = tokenOf(kit.payload({ expiresMs: nowMs + 10 * minuteMs }))
  assert.equal(await kit.kindOf(token), 'user')
  kit.api.clock.advance(10 * minuteMs)
  assert.equal(await kit.kindOf(token), 'user')
  assert.equal(await kit.kindOf(later), 'user')
  kit.api.clock.advance(2 * minuteMs)
  await kit.rejected(token, /has expired/)
})

void test('a token is valid for the audiences that it names only', async (t) => {
  const kit = await Kit.open(t)
  const audiences = async (named: readonly string[], requested?: readonly string[]) => {
    const found = await kit.ask(tokenOf(kit.payload({ audiences: named })), requested)
    return found.kind === 'user' ? found.audiences : found.kind
  }
  assert.deepEqual(await audiences(['also', OWN, 'vault']), [OWN, 'also'])
  assert.deepEqual(await audiences(['vault']), 'rejected')
  assert.deepEqual(await audiences(['vault'], ['vault', OWN]), ['vault'])
  assert.deepEqual(await audiences([OWN], ['vault']), 'rejected')
  const none = kit.payload()
  assert.equal(await kit.kindOf(tokenOf({ ...none, aud: OWN })), 'user')
  for (const aud of [[], '', 1, null, [1]]) await kit.rejected(tokenOf({ ...none, aud }), /claims/)
})

void test('a signed token with claims of another shape is rejected', async (t) => {
  const kit = await Kit.open(t)
  const payload = kit.payload() as { readonly [claim: string]: unknown }
  const own = payload[names.tokenClaim] as object
  const wrong: readonly object[] = [
    { ...payload, sub: 'system:serviceaccount:n:other' },
    { ...payload, exp: undefined },
    { ...payload, exp: 'tomorrow' },
    { ...payload, [names.tokenClaim]: 'x' },
    { ...payload, [names.tokenClaim]: { ...own, namespace: 'a/b' } },
    { ...payload, [names.tokenClaim]: { ...own, serviceaccount: { name: 'robot' } } },
    { ...payload, [names.tokenClaim]: { ...own, pod: 'p' } },
    { ...payload, [names.tokenClaim]: { ...own, secret: { name: 'a/b', uid: '1' } } },
    { ...payload, [names.tokenClaim]: undefined, 'kubernetes.io': own },
  ]
  for (const claims of wrong) await kit.rejected(tokenOf(claims), /claims are incomplete/)
})

for (const kind of ['ServiceAccount', 'Pod', 'Secret'] as const) {
  void test(`spec 5: a bound token is revoked when its ${kind} is deleted, also if another one has its name`, async (t) => {
    const kit = await Kit.open(t)
    const token = tokenOf(kit.payload({ pod: kit.pod, secret: kit.secret }))
    const connection = {}
    const isValid = async (): Promise<boolean> => {
      const found = await kit.ask(token, undefined, connection)
      return found.kind === 'user'
    }
    assert.equal(await isValid(), true)
    const name = { ServiceAccount: 'robot', Pod: 'p', Secret: 's' }[kind]
    await kit.api.delete({ kind, namespace: 'n', name })
    assert.equal(await isValid(), false)
    const spec = { serviceAccountName: 'robot', containers: [{ name: 'c', image: 'i' }] }
    await kit.api.create({
      kind,
      namespace: 'n',
      body: { metadata: { name }, ...(kind === 'Pod' ? { spec } : {}) },
    })
    assert.equal(await isValid(), false)
  })
}

void test('a token of an account that is being deleted is valid until the deletion has taken a minute', async (t) => {
  const kit = await Kit.open(t)
  const metadata = { name: 'kept', finalizers: ['example.org/x'] }
  const { object } = await kit.api.create({ kind: 'ServiceAccount', namespace: 'n', body: { metadata } })
  const token = tokenOf(kit.payload({ account: { name: 'kept', uid: object.metadata.uid ?? '' } }))
  await kit.api.delete({ kind: 'ServiceAccount', namespace: 'n', name: 'kept' })
  assert.equal(await kit.kindOf(token), 'user')
  kit.api.clock.advance(2 * minuteMs)
  await kit.rejected(token, /its service account was deleted/)
})

void test('spec 5: a token of a Secret is valid as long as a Secret of that name contains it, as upstream', async (t) => {
  const kit = await Kit.open(t)
  const claims = { kind: 'secret', namespace: 'n', account: kit.account, secretName: 't' } as const
  const token = tokenOf(secretPayload(claims, names))
  await kit.rejected(token, /its Secret was deleted/)
  const write = (value: string) => ({
    metadata: { name: 't', annotations: { 'orch.io/service-account.name': 'robot' } },
    type: 'orch.io/service-account-token',
    stringData: { token: value },
  })
  await kit.api.create({ kind: 'Secret', namespace: 'n', body: write(token) })
  const found = await kit.ask(token)
  assert.deepEqual(found, { kind: 'user', user: user(kit.account), audiences: [OWN, 'also'] })
  assert.equal(await kit.kindOf(token, ['vault']), 'rejected')

  await kit.api.update({ kind: 'Secret', namespace: 'n', name: 't', body: write('another') })
  await kit.rejected(token, /its Secret has another token/)
  await kit.api.update({ kind: 'Secret', namespace: 'n', name: 't', body: write(token) })
  assert.equal(await kit.kindOf(token), 'user')
  // Unlike the objects of bound tokens, the Secret is not recognized by its uid.
  await kit.api.delete({ kind: 'Secret', namespace: 'n', name: 't' })
  await kit.rejected(token, /its Secret was deleted/)
  await kit.api.create({ kind: 'Secret', namespace: 'n', body: write(token) })
  assert.equal(await kit.kindOf(token), 'user')
  await kit.api.delete({ kind: 'ServiceAccount', namespace: 'n', name: 'robot' })
  await kit.rejected(token, /its service account was deleted/)
  await kit.api.create({ kind: 'ServiceAccount', namespace: 'n', body: { metadata: { name: 'robot' } } })
  await kit.rejected(token, /its service account was deleted/)
  const unchecked = await kit.method({ looksUp: false }).recognize({
    ...{ authorization: `Bearer ${token}`, connection: null, certificates: () => [] },
  })
  assert.equal(unchecked.kind, 'user')
})

void test('the removal of a key revokes its tokens at once, also on open connections', async (t) => {
  const kit = await Kit.open(t)
  const token = tokenOf(kit.payload(), rsaKey)
  const connection = {}
  assert.equal((await kit.ask(token, undefined, connection)).kind, 'user')
  kit.keys = tokenKeysOf([], ecKey)
  assert.equal((await kit.ask(token, undefined, connection)).kind, 'rejected')
  await kit.rejected(token, /its key is unknown/)
})

void test('two tokens on one connection are two users', async (t) => {
  const kit = await Kit.open(t)
  const { object } = await kit.api.create({
    ...{ kind: 'ServiceAccount', namespace: 'n', body: { metadata: { name: 'second' } } },
  })
  const second = { name: 'second', uid: object.metadata.uid ?? '' }
  const method = kit.method()
  const connection = {}
  for (let round = 0; round < 3; round++) {
    for (const account of [kit.account, second]) {
      const authorization = `Bearer ${tokenOf(kit.payload({ account }))}`
      const found = await method.recognize({ authorization, connection, certificates: () => [] })
      assert.equal(found.kind === 'user' && found.user.uid, account.uid)
    }
  }
})

void test('a member without a trusted state answers a token with ServiceUnavailable', async (t) => {
  const kit = await Kit.open(t)
  kit.view = () => {
    throw new StoreError('quarantined', 'the state is wrong')
  }
  await assert.rejects(
    kit.ask(tokenOf(kit.payload())),
    (error) => error instanceof ApiError && error.code === 'ServiceUnavailable',
  )
})

void test('too many tokens at once are refused, not queued', async (t) => {
  const kit = await Kit.open(t)
  const method = kit.method()
  const asked = Array.from({ length: limits.tokenVerificationsMax + 1 }, async (_, at) => {
    const payload = { ...kit.payload(), nonce: at }
    return method.recognize({
      authorization: `Bearer ${tokenOf(payload)}`,
      connection: null,
      certificates: () => [],
    })
  })
  const settled = await Promise.allSettled(asked)
  const refused = settled.filter(({ status }) => status === 'rejected')
  assert.equal(refused.length, 1)
  assert.equal((await kit.ask(tokenOf(kit.payload()))).kind, 'user')
})

void test('a malformed or forged token never authenticates a user, and causes no exception', async (t) => {
  const kit = await Kit.open(t)
  const good = tokenOf(kit.payload())
  const part = fc.oneof(fc.string(), fc.json().map(encodePart), fc.constantFrom(...good.split('.')))
  const header = fc.record({
    alg: fc.constantFrom('ES256', 'RS256', 'none', 'HS256'),
    kid: fc.option(fc.constantFrom(ecKey.verification.id, rsaKey.verification.id, 'x'), { nil: undefined }),
    typ: fc.option(fc.string(), { nil: undefined }),
  })
  const body = fc
    .record({ iss: fc.constant(ISSUER), sub: fc.string(), aud: fc.anything() })
    .map((of) => of as object)
  const forged = fc
    .tuple(header, body, fc.base64String())
    .map(([head, claims, rest]) => `${encodePart(head)}.${encodePart(claims)}.${rest}`)
  const text = fc.oneof(
    fc.array(part, { maxLength: 6 }).map((parts) => parts.join('.')),
    forged,
  )
  await fc.assert(
    fc.asyncProperty(text, async (token) => {
      if (token !== good) assert.notEqual((await kit.ask(token)).kind, 'user')
    }),
  )
})
