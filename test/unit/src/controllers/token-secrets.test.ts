/*
 * Goal: Secrets for tokens of service accounts are filled, and deleted with their accounts, also
 * when the leader changes. Method: the shipped controller on the shipped verbs.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectMember, textMember } from '../../../../src/api/json.ts'
import type { Controller } from '../../../../src/controllers/controller.ts'
import { readTokenSecret } from '../../../../src/controllers/token-secret.ts'
import { tokenSecrets } from '../../../../src/controllers/token-secrets.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import type { SecretToken } from '../../../../src/registry/kinds/token-issuer.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import { ApiError } from '../../../../src/api/errors/api-error.ts'
import { Fixture } from '../registry/fixture.ts'
import type { Obj } from '../registry/fixture.ts'
import { eventsIn, recorderOf } from './recorded-events.ts'

const TYPE = 'orch.io/service-account-token'
const NAME = 'orch.io/service-account.name'
const UID = 'orch.io/service-account.uid'

class Kit {
  readonly api: Fixture
  readonly errors: unknown[] = []
  readonly issued: SecretToken[] = []
  hasKey = true
  /** The text that precedes each token. */
  header = ''
  readonly revoked = new Set<string>()
  keysChanged: () => void = () => undefined
  rootCa: string | null = 'CA'
  rootCaChanged: () => void = () => undefined
  controller: Pick<Controller, 'start' | 'stop'> | null = null

  constructor(api: Fixture) {
    this.api = api
  }

  static async open(t: TestContext): Promise<Kit> {
    const api = await Fixture.open()
    t.after(() => api.close())
    return new Kit(api)
  }

  /** Starts the controller of a member that leads. @returns a function that stops it */
  lead(): () => void {
    const { clock, names, catalog, registry, store } = this.api
    const prefix = (plural: string) => prefixOf({ group: '', plural, namespace: null })
    const kind = { names, rootCa: () => this.rootCa }
    const secrets = new Informer({
      ...{ store, clock, prefix: prefix('secrets') },
      parse: (stored) => readTokenSecret(kind, stored),
    })
    const accounts = new Informer({
      ...{ store, clock, prefix: prefix('serviceaccounts') },
      parse: ({ uid }) => uid,
    })
    const user = { name: 'system:apiserver', uid: '', groups: [], extra: {} }
    const client = new LocalClient({ registry, clock, user, timeoutMs: 10_000 })
    const issueForSecret = async (of: SecretToken): Promise<string> => {
      if (!this.hasKey) throw new ApiError('ServiceUnavailable', 'no key yet')
      this.issued.push(of)
      return `${this.header}token-${this.issued.length}`
    }
    const isKeyInForce = async (id: string): Promise<boolean> => !this.revoked.has(id)
    const tokens = { issueForSecret, isKeyInForce }
    const controller = tokenSecrets({
      ...{ ...kind, clock, catalog, client, secrets, accounts, tokens, events: recorderOf(this.api) },
      onKeysChanged: (listener) => void (this.keysChanged = listener),
      onRootCaChanged: (listener) => void (this.rootCaChanged = listener),
      onError: (...failure) => void this.errors.push(failure),
    })
    this.controller = controller
    secrets.start()
    accounts.start()
    controller.start()
    return () => {
      controller.stop()
      secrets.close()
      accounts.close()
    }
  }

  async account(name: string): Promise<string> {
    const { object } = await this.api.create({ kind: 'ServiceAccount', body: { metadata: { name } } })
    return object.metadata.uid
  }

  async secret(name: string, account: string, more: object = {}): Promise<void> {
    const metadata = { name, annotations: { [NAME]: account } }
    await this.api.create({ kind: 'Secret', body: { type: TYPE, metadata, ...more } })
  }

  async settled(): Promise<void> {
    for (let at = 0; at < 200; at++) await turn()
  }

  async find(name: string): Promise<Obj | null> {
    await this.settled()
    try {
      return (await this.api.get({ kind: 'Secret', name })).object
    } catch {
      return null
    }
  }
}

function content(secret: Obj | null): unknown {
  if (secret === null) return null
  const data = objectMember(secret, 'data')
  const texts = Object.keys(data).map((key) => [key, Buffer.from(textMember(data, key), 'base64').toString()])
  return {
    ...(Object.fromEntries(texts) as object),
    uid: objectMember(objectMember(secret, 'metadata'), 'annotations')[UID],
  }
}

void test('spec 5.6: a Secret that names an account is filled with a token, once', async (t) => {
  const kit = await Kit.open(t)
  const uid = await kit.account('robot')
  await kit.secret('early', 'robot')
  const stop = kit.lead()
  await kit.secret('late', 'robot', { data: { other: 'eA==' } })
  const wanted = { 'ca.crt': 'CA', namespace: 'default', uid }
  assert.deepEqual(content(await kit.find('early')), { ...wanted, token: 'token-1' })
  const late = await kit.find('late')
  assert.deepEqual(content(late), { ...wanted, other: 'x', token: 'token-2' })
  assert.deepEqual(kit.issued, [
    { namespace: 'default', account: { name: 'robot', uid }, secretName: 'early' },
    { namespace: 'default', account: { name: 'robot', uid }, secretName: 'late' },
  ])
  stop()

  // Another leader writes nothing until the token is removed or the root CA changes.
  kit.lead()()
  assert.equal((await kit.find('late'))?.metadata.resourceVersion, late?.metadata.resourceVersion)
  kit.rootCa = 'another CA'
  kit.lead()
  assert.deepEqual(content(await kit.find('early')), { ...wanted, 'ca.crt': 'another CA', token: 'token-1' })
  await kit.api.patch({ kind: 'Secret', name: 'early', body: { data: { token: null } } })
  assert.deepEqual(content(await kit.find('early')), { ...wanted, 'ca.crt': 'another CA', token: 'token-3' })
  assert.deepEqual(kit.errors, [])
})

void test('token Secrets get a root CA that changes while the server runs, and keep their tokens', async (t) => {
  const kit = await Kit.open(t)
  const uid = await kit.account('robot')
  kit.lead()
  await kit.secret('a', 'robot')
  await kit.secret('b', 'robot')
  assert.ok(await kit.find('b'))
  kit.rootCa = 'next CA'
  kit.rootCaChanged()
  const wanted = { 'ca.crt': 'next CA', namespace: 'default', uid }
  assert.deepEqual(content(await kit.find('a')), { ...wanted, token: 'token-1' })
  const b = await kit.find('b')
  assert.deepEqual(content(b), { ...wanted, token: 'token-2' })
  kit.rootCaChanged()
  assert.equal((await kit.find('b'))?.metadata.resourceVersion, b?.metadata.resourceVersion)

  // The root CA changes while this member does not lead.
  kit.controller?.stop()
  kit.rootCa = 'last CA'
  kit.rootCaChanged()
  kit.controller?.start()
  assert.deepEqual(content(await kit.find('a')), { ...wanted, 'ca.crt': 'last CA', token: 'token-1' })
})

void test('spec 5.6: token Secrets are deleted with their account, and only they', async (t) => {
  const kit = await Kit.open(t)
  await kit.account('robot')
  await kit.account('other')
  kit.rootCa = null
  const stop = kit.lead()
  for (const name of ['a', 'b']) await kit.secret(name, 'robot')
  await kit.secret('of-other', 'other')
  const metadata = { name: 'opaque', annotations: { [NAME]: 'robot' } }
  await kit.api.create({ kind: 'Secret', body: { metadata, stringData: { type: TYPE } } })
  assert.ok(await kit.find('a'))
  await kit.api.delete({ kind: 'ServiceAccount', name: 'robot' })
  assert.deepEqual([await kit.find('a'), await kit.find('b')], [null, null])
  assert.ok((await kit.find('of-other')) && (await kit.find('opaque')))
  await kit.secret('late', 'robot')
  await kit.secret('strange', 'no/name')
  assert.deepEqual([await kit.find('late'), await kit.find('strange')], [null, null])

  // The account is replaced while no member leads.
  stop()
  await kit.api.delete({ kind: 'ServiceAccount', name: 'other' })
  await kit.account('other')
  assert.ok(await kit.find('of-other'))
  kit.lead()
  assert.equal(await kit.find('of-other'), null)
  assert.deepEqual(kit.errors, [])
})

void test('a token Secret stays empty until there is a signing key; an immutable one is left alone', async (t) => {
  const kit = await Kit.open(t)
  await kit.account('robot')
  kit.hasKey = false
  kit.lead()
  await kit.secret('empty', 'robot')
  assert.deepEqual(content(await kit.find('empty')), { uid: undefined })
  assert.notEqual(kit.errors.length, 0)
  kit.hasKey = true
  kit.api.clock.advance(60_000)
  assert.notEqual(objectMember((await kit.find('empty')) ?? {}, 'data')['token'], undefined)
  await kit.secret('fixed', 'robot', { immutable: true })
  assert.deepEqual(content(await kit.find('fixed')), { uid: undefined })
})

void test('a token of a revoked key is replaced; tokens of other keys and of other programs stay', async (t) => {
  const kit = await Kit.open(t)
  await kit.account('robot')
  kit.lead()
  const header = (kid: string) => `${Buffer.from(JSON.stringify({ kid })).toString('base64url')}.`
  const tokenIn = async (name: string) =>
    textMember(objectMember((await kit.find(name)) ?? {}, 'data'), 'token')
  kit.header = header('old')
  await kit.secret('revoked', 'robot')
  await kit.settled()
  kit.header = header('new')
  await kit.secret('valid', 'robot')
  const foreign = Buffer.from('not a token').toString('base64')
  await kit.secret('foreign', 'robot', { data: { token: foreign } })
  const before = { revoked: await tokenIn('revoked'), valid: await tokenIn('valid') }
  kit.keysChanged()
  assert.deepEqual({ revoked: await tokenIn('revoked'), valid: await tokenIn('valid') }, before)
  kit.revoked.add('old')
  kit.keysChanged()
  assert.notEqual(await tokenIn('revoked'), before.revoked)
  assert.equal(await tokenIn('valid'), before.valid)
  assert.equal(await tokenIn('foreign'), foreign)
  assert.equal(kit.issued.length, 3)
  assert.deepEqual(await eventsIn(kit.api), ['default: Normal TokenReplaced Secret revoked x1'])
})
