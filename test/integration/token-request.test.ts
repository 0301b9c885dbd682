/*
 * Goal: tokens of service accounts are issued over HTTP for a time, for audiences and bound to
 * objects, only to callers with the permission.
 * Method: the shipped server; the issued tokens authenticate to it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { THIS_SERVER } from '../../fixtures/real-registry.ts'
import { NOBODY } from '../../fixtures/server-fixture.ts'
import { ecKey } from '../../fixtures/token-keys.ts'
import { encodeProtobuf } from '../../src/api/codec/protobuf-envelope.ts'
import { decodeProtobuf } from '../../src/api/codec/protobuf.ts'
import { objectMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../src/api/metadata/names.ts'
import { wholeObject } from '../../src/api/schema/shared.ts'
import { tokenRequest } from '../../src/resources/token-request.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'
import type { Asking, Reply } from '../support/fixtures/spec-server.ts'

const CORE = '/api/v1/namespaces/default'
const ACCOUNTS = `${CORE}/serviceaccounts`

class Kit {
  readonly api: SpecServer
  readonly domain: ApiDomain

  constructor(api: SpecServer, domain: ApiDomain) {
    this.api = api
    this.domain = domain
  }

  static async open(t: TestContext, domain: ApiDomain = 'orch.io'): Promise<Kit> {
    const kit = new Kit(await SpecServer.start(t, { domain }), domain)
    await kit.make('serviceaccounts', { metadata: { name: 'robot' } })
    return kit
  }

  /** @returns the uid */
  async make(plural: string, body: object): Promise<string> {
    const { status, text, doc } = await this.api.ask('POST', `${CORE}/${plural}`, { body })
    assert.equal(status, 201, text)
    return doc.metadata?.uid ?? ''
  }

  makePod(name: string, serviceAccountName = 'robot'): Promise<string> {
    const spec = { serviceAccountName, containers: [{ name: 'c', image: 'i' }] }
    return this.make('pods', { metadata: { name }, spec })
  }

  request(spec: object, asking: Asking = {}, path = `${ACCOUNTS}/robot/token`): Promise<Reply> {
    const apiVersion = `authentication.${this.domain}/v1`
    return this.api.ask('POST', path, { body: { apiVersion, kind: 'TokenRequest', spec }, ...asking })
  }

  async token(spec: object): Promise<string> {
    const { status, text, doc } = await this.request(spec)
    assert.equal(status, 201, text)
    return textMember(doc.status as JsonObject, 'token')
  }

  async refused(spec: object, status: number, why: RegExp): Promise<void> {
    const reply = await this.request(spec)
    assert.equal(reply.status, status, reply.text)
    assert.match(reply.doc.message ?? '', why)
  }

  async status(token: string): Promise<number> {
    return (await this.api.ask('GET', '/api', { headers: { authorization: `Bearer ${token}` } })).status
  }
}

type Status = { readonly token: string; readonly expirationTimestamp: string }

function part(token: string, at: 0 | 1): JsonObject {
  return JSON.parse(Buffer.from(token.split('.')[at] ?? '', 'base64url').toString()) as JsonObject
}

void test('spec 5.6: a requested token lives for an hour and is for the API server by default', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const kit = await Kit.open(t, domain)
    const { status, doc } = await kit.request({})
    const { expirationTimestamp } = doc.status as Status
    const token = await kit.token({})
    const { creationTimestamp = '', ...metadata } = doc.metadata ?? {}
    assert.deepEqual(
      [status, doc.kind, doc.apiVersion, metadata, doc['spec'], Object.keys(doc.status as Status)],
      [
        ...[201, 'TokenRequest', `authentication.${domain}/v1`, { name: 'robot', namespace: 'default' }],
        ...[{ audiences: [THIS_SERVER], expirationSeconds: 3600, boundObjectRef: null }],
        ['token', 'expirationTimestamp'],
      ],
    )
    assert.equal(Date.parse(expirationTimestamp) - Date.parse(creationTimestamp), 3_600_000)
    assert.deepEqual(part(token, 0), { alg: 'ES256', kid: ecKey.verification.id })
    const { iat, nbf, exp, ...claims } = part(token, 1)
    const stored = await kit.api.ask('GET', `${ACCOUNTS}/robot`)
    assert.deepEqual(claims, {
      ...{ aud: [THIS_SERVER], iss: THIS_SERVER, sub: 'system:serviceaccount:default:robot' },
      [namesOf(domain).tokenClaim]: {
        namespace: 'default',
        serviceaccount: { name: 'robot', uid: stored.doc.metadata?.uid },
      },
    })
    assert.deepEqual([nbf, Number(exp) - Number(iat)], [iat, 3600])
    assert.equal(await kit.status(token), 200)
    await kit.api.ask('DELETE', `${ACCOUNTS}/robot`)
    assert.equal(await kit.status(token), 401)
  }
})

void test('spec 5.6: a token bound to a Pod or a Secret expires with it', async (t) => {
  const kit = await Kit.open(t)
  const uid = await kit.makePod('p')
  await kit.make('secrets', { metadata: { name: 's' } })
  for (const [plural, ref] of [
    ['pods', { kind: 'Pod', apiVersion: 'v1', name: 'p', uid }],
    ['pods', { kind: 'Pod', apiVersion: 'v1', name: 'q' }],
    ['secrets', { kind: 'Secret', apiVersion: 'v1', name: 's' }],
  ] as const) {
    if (ref.name === 'q') await kit.makePod('q')
    const token = await kit.token({ boundObjectRef: ref })
    assert.equal(await kit.status(token), 200)
    await kit.api.ask('DELETE', `${CORE}/${plural}/${ref.name}`)
    assert.equal(await kit.status(token), 401)
  }
})

void test('a token is not bound to an object that it does not belong to', async (t) => {
  const kit = await Kit.open(t)
  await kit.makePod('p')
  await kit.makePod('other', 'default')
  const bind = (ref: object) => ({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'p', ...ref } })
  await kit.refused(bind({ uid: 'x' }), 409, /the UID in the bound object reference \(x\) does not match/)
  await kit.refused(bind({ name: 'none' }), 404, /pods "none" not found/)
  await kit.refused(bind({ name: '' }), 404, /pods "" not found/)
  await kit.refused(bind({ name: '../x' }), 404, /not found/)
  await kit.refused(bind({ name: 'other' }), 400, /cannot bind token for serviceaccount "robot" to pod/)
  await kit.refused(
    bind({ kind: 'ConfigMap' }),
    400,
    /cannot bind token to object of type v1, Kind=ConfigMap/,
  )
  await kit.refused(
    bind({ apiVersion: 'apps/v1' }),
    400,
    /cannot bind token to object of type apps\/v1, Kind=Pod/,
  )
})

void test('the lifetime of a token has limits; a longer one than this server allows is shortened', async (t) => {
  const kit = await Kit.open(t)
  await kit.refused({ expirationSeconds: 599 }, 422, /spec.expirationSeconds.*less than 10 minutes/)
  await kit.refused({ expirationSeconds: -1 }, 422, /less than 10 minutes/)
  await kit.refused({ expirationSeconds: 2 ** 32 + 1 }, 422, /larger than 2\^32 seconds/)
  const long = await kit.request({ expirationSeconds: 2 ** 32 })
  assert.equal(long.status, 201)
  assert.match(
    long.headers.get('warning') ?? '',
    /requested expiration of 4294967296 seconds shortened to 7200 seconds/,
  )
  const { exp, iat } = part(textMember(long.doc.status as JsonObject, 'token'), 1)
  assert.equal(Number(exp) - Number(iat), 7200)
  assert.equal(objectMember(long.doc as JsonObject, 'spec')['expirationSeconds'], 7200)
  assert.equal((await kit.request({ expirationSeconds: 600 })).headers.get('warning'), null)
})

void test('the token that a Pod gets by default is valid longer than its status states', async (t) => {
  const kit = await Kit.open(t)
  await kit.makePod('p')
  const boundObjectRef = { kind: 'Pod', apiVersion: 'v1', name: 'p' }
  const lifetime = async (spec: object) => {
    const { doc } = await kit.request(spec)
    const { token, expirationTimestamp } = doc.status as Status
    const { exp, iat, 'orch.io': own } = part(token, 1)
    const { warnafter = null } = own as JsonObject
    const stated = Date.parse(expirationTimestamp) / 1000 - Number(iat)
    return [stated, Number(exp) - Number(iat), warnafter === null ? null : Number(warnafter) - Number(iat)]
  }
  // The token would live for a year, but the maximum of this server is two hours.
  assert.deepEqual(await lifetime({ boundObjectRef, expirationSeconds: 3607 }), [3607, 7200, 3607])
  assert.deepEqual(await lifetime({ boundObjectRef, expirationSeconds: 3600 }), [3600, 3600, null])
  assert.deepEqual(await lifetime({ expirationSeconds: 3607 }), [3607, 3607, null])
  const others = { boundObjectRef, expirationSeconds: 3607, audiences: ['vault'] }
  assert.deepEqual(await lifetime(others), [3607, 3607, null])
})

void test('a token request names an existing account, and its own', async (t) => {
  const kit = await Kit.open(t)
  const missing = await kit.request({}, {}, `${ACCOUNTS}/none/token`)
  assert.deepEqual([missing.status, missing.doc.message], [404, 'serviceaccounts "none" not found'])
  const body = { metadata: { name: 'other' }, spec: {} }
  const other = await kit.request({}, { body })
  assert.equal(other.status, 400, other.text)
  const elsewhere = await kit.request({}, { body: { metadata: { namespace: 'public-ns' }, spec: {} } })
  assert.equal(elsewhere.status, 400, elsewhere.text)
  assert.equal((await kit.api.ask('GET', `${ACCOUNTS}/robot/token`)).status, 405)
  const audiences = Array.from({ length: 400 }, (_, at) => `https://audience-${at}.example.org/with/a/path`)
  await kit.refused({ audiences }, 400, /would have more than 16384 characters/)
})

void test('a dry run of a token request checks it and issues no token', async (t) => {
  const kit = await Kit.open(t)
  const dry = await kit.request({}, {}, `${ACCOUNTS}/robot/token?dryRun=All`)
  assert.equal(dry.status, 201, dry.text)
  assert.doesNotMatch(dry.text, /eyJ/)
  const path = `${ACCOUNTS}/robot/token?dryRun=All`
  const bound = await kit.request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'x' } }, {}, path)
  assert.equal(bound.status, 404)
})

void test('spec 5.7: a token request needs create on serviceaccounts/token', async (t) => {
  const kit = await Kit.open(t)
  const refused = await kit.request({}, { headers: NOBODY })
  assert.equal(refused.status, 403)
  assert.match(refused.doc.message ?? '', /cannot create resource "serviceaccounts\/token"/)
  const group = 'rbac.authorization.orch.io'
  const RBAC = `/apis/${group}/v1/namespaces/default`
  const rules = [
    { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'], resourceNames: ['robot'] },
  ]
  const role = { metadata: { name: 'issuer' }, rules }
  assert.equal((await kit.api.ask('POST', `${RBAC}/roles`, { body: role })).status, 201)
  const binding = {
    metadata: { name: 'issuer' },
    roleRef: { apiGroup: group, kind: 'Role', name: 'issuer' },
    subjects: [{ apiGroup: group, kind: 'User', name: 'nobody' }],
  }
  assert.equal((await kit.api.ask('POST', `${RBAC}/rolebindings`, { body: binding })).status, 201)
  assert.equal((await kit.request({}, { headers: NOBODY })).status, 201)
  const other = await kit.request({}, { headers: NOBODY }, `${ACCOUNTS}/default/token`)
  assert.equal(other.status, 403)
})

void test('a token request and its answer can be protobuf or YAML, and discovery lists it', async (t) => {
  const kit = await Kit.open(t, 'k8s.io')
  const names = namesOf('k8s.io')
  const { body: kind } = tokenRequest(names)
  const schema = wholeObject(kind.schema)
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: {},
    spec: { audiences: ['x'] },
  }
  const path = `${ACCOUNTS}/robot/token`
  const type = names.protobufMediaType
  const reply = await kit.api.ask('POST', path, {
    body: encodeProtobuf(schema, body),
    ...{ type, headers: { accept: type } },
  })
  assert.equal(reply.status, 201, reply.text)
  const answered = decodeProtobuf(schema, reply.bytes)
  assert.equal(textMember(answered, 'kind'), 'TokenRequest')
  assert.deepEqual(part(textMember(objectMember(answered, 'status'), 'token'), 1)['aud'], ['x'])
  const yaml = await kit.api.ask('POST', path, {
    body: 'spec:\n  audiences: [x]\n',
    ...{ type: 'application/yaml', headers: { accept: 'application/yaml' } },
  })
  assert.match(yaml.text, /^kind: TokenRequest$/m)
  assert.match(yaml.text, /^ {2}token: eyJ/m)

  const { doc } = await kit.api.ask('GET', '/api/v1')
  const resources = doc['resources'] as readonly { readonly name: string }[]
  assert.deepEqual(
    resources.find(({ name }) => name === 'serviceaccounts/token'),
    {
      ...{ name: 'serviceaccounts/token', singularName: '', namespaced: true },
      ...{ group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest', verbs: ['create'] },
    },
  )
})
