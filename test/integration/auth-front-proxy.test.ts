/*
 * Goal: the headers of a proxy name the user of each request, if the proxy has a certificate of the
 * authority for proxies; that authority is not trusted for clients.
 * Method: the whole server over HTTPS; an authorization webhook sees the user of each request.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import { Agent } from 'node:https'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { writeFileSync } from 'node:fs'
import { TestAuthority } from '../../fixtures/server-fixture.ts'
import type { Identity } from '../../fixtures/server-fixture.ts'
import { AccessServer, filesOf } from '../support/fixtures/access-server.ts'
import type { AccessCall } from '../support/fixtures/access-server.ts'
import { OutwardServer, kubeconfigFor } from '../support/fixtures/outward-server.ts'
import { until } from '../support/tools/until.ts'

type Seen = {
  readonly user: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

type Opened = {
  readonly api: AccessServer
  readonly proxies: TestAuthority
  /** The certificate of a proxy. */
  readonly proxy: Identity
  readonly caFile: string
  /** Returns the user of a request as the webhook sees it, or the status of its refusal. */
  readonly seen: (call: AccessCall) => Promise<Seen | number>
}

async function open(t: TestContext, flags: Readonly<Record<string, string>> = {}): Promise<Opened> {
  const file = filesOf(t)
  const reviews: Seen[] = []
  const hook = await OutwardServer.start(t, ({ body }) => {
    const { apiVersion, kind, spec } = JSON.parse(body) as { apiVersion: string; kind: string; spec: Seen }
    reviews.push(spec)
    return { body: JSON.stringify({ apiVersion, kind, status: { allowed: true } }) }
  })
  const proxies = new TestAuthority('proxy-ca')
  const caFile = file('proxy-ca.crt', proxies.pem)
  const api = await AccessServer.start(t, {
    'authorization-mode': 'Webhook',
    'authorization-webhook-config-file': file('hook.kubeconfig', kubeconfigFor(hook.config())),
    'authorization-webhook-version': 'v1',
    'authorization-webhook-cache-authorized-ttl': '0',
    'requestheader-client-ca-file': caFile,
    'requestheader-username-headers': 'X-Remote-User,X-Other-User',
    'requestheader-group-headers': 'X-Remote-Group,X-Other-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    ...flags,
  })
  const seen = async (call: AccessCall): Promise<Seen | number> => {
    reviews.length = 0
    const { status } = await api.ask('/version', call)
    return reviews[0] ?? status
  }
  return { api, proxies, proxy: proxies.client('front', []), caFile, seen }
}

const both = ['system:authenticated']

void test('spec 5, 5.3: the headers of a trusted proxy name user, groups and extra', async (t) => {
  const { proxy: identity, seen } = await open(t)
  const rows: readonly (readonly [AccessCall['headers'], object])[] = [
    [{ 'x-remote-user': 'kate' }, { user: 'kate', groups: both }],
    [{ 'X-REMOTE-USER': 'kate' }, { user: 'kate', groups: both }],
    [
      { 'x-other-user': 'lena', 'x-remote-user': 'kate' },
      { user: 'kate', groups: both },
    ],
    [
      { 'x-other-user': 'lena', 'x-remote-user': '' },
      { user: 'lena', groups: both },
    ],
    [
      { 'x-remote-user': 'kate', 'x-remote-group': ['a', 'b'], 'x-other-group': 'c' },
      { user: 'kate', groups: ['a', 'b', 'c', ...both] },
    ],
    [
      {
        ...{ 'x-remote-user': 'kate', 'x-remote-extra-Scopes': ['one', 'two'] },
        ...{ 'x-remote-extra-acme.com%2fproject': 'p', 'x-remote-extra-%zz': 'q' },
      },
      {
        ...{ user: 'kate', groups: both },
        extra: { scopes: ['one', 'two'], 'acme.com/project': ['p'], '%zz': ['q'] },
      },
    ],
    [
      { 'x-remote-user': bytesOf('josé'), 'x-remote-group': bytesOf('équipe') },
      { user: 'josé', groups: ['équipe', ...both] },
    ],
  ]
  for (const [headers = {}, expected] of rows) {
    const got = await seen({ identity, headers })
    assert.ok(typeof got === 'object', JSON.stringify(got))
    const { user, groups, extra } = got
    assert.deepEqual({ user, groups, ...(extra === undefined ? {} : { extra }) }, expected)
  }
})

void test('spec 5.3: a header of a proxy that is not UTF-8 names no user', async (t) => {
  const { proxy: identity, seen } = await open(t)
  for (const headers of [
    { 'x-remote-user': 'jos\xe9' },
    { 'x-remote-user': 'kate', 'x-remote-group': '\xff' },
    { 'x-remote-user': 'kate', 'x-remote-extra-scopes': '\xc3' },
  ]) {
    assert.equal(await seen({ identity, headers }), 401)
  }
})

/** The text as Node sends its UTF-8. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

void test('spec 5.3: two users on one connection of a proxy stay two users', async (t) => {
  const { api, proxy, seen } = await open(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const session = http2.connect(api.url, { ca: api.serverAuthority.pem, ...proxy })
  t.after(() => session.destroy())
  for (const user of ['kate', 'lena', 'kate']) {
    const got = await seen({ identity: proxy, agent, headers: { 'x-remote-user': user } })
    assert.equal(typeof got === 'object' && got.user, user)
    const stream = session.request({ ':path': '/nowhere', 'x-remote-user': user })
    const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    assert.equal(head[':status'], 404)
    stream.resume()
    await once(stream, 'end')
  }
  assert.equal(Object.values(agent.freeSockets).flat().length, 1, 'one connection')
})

void test('spec 5.3: headers count only with a certificate of the authority for proxies', async (t) => {
  const { api, proxies, seen } = await open(t)
  const headers = { 'x-remote-user': 'kate', 'x-remote-group': 'system:masters' }
  const user = async (call: AccessCall): Promise<string> => {
    const got = await seen(call)
    return typeof got === 'number' ? String(got) : got.user
  }
  assert.equal(await user({ headers }), 'system:anonymous', 'no certificate')
  assert.equal(await user({ headers, identity: api.client('lena') }), 'lena', 'the certificate of a client')
  const bearing = { ...headers, authorization: 'Bearer static-token' }
  assert.equal(await user({ headers: bearing }), 'static', 'a token')
  const other = new TestAuthority('proxy-ca')
  assert.equal(await user({ headers, identity: other.client('front', []) }), '401', 'another authority')
  assert.equal(await user({ headers, identity: proxies.server() }), '401', 'the certificate of a server')
})

void test('the authority for proxies is not trusted for clients', async (t) => {
  const { proxies, seen } = await open(t)
  const identity = proxies.client('root', ['system:masters'])
  assert.equal(await seen({ identity }), 401)
  assert.equal(await seen({ identity, headers: { 'x-remote-user': '' } }), 401)
  assert.equal(await seen({ identity, headers: { 'x-remote-group': 'system:masters' } }), 401)
})

void test('spec 5.3: only proxies with an allowed name are trusted', async (t) => {
  const { proxies, seen } = await open(t, { 'requestheader-allowed-names': 'front,second' })
  const headers = { 'x-remote-user': 'kate' }
  for (const [name, expected] of [
    ['front', 'kate'],
    ['second', 'kate'],
    ['third', '401'],
    ['frontier', '401'],
  ] as const) {
    const got = await seen({ headers, identity: proxies.client(name, []) })
    assert.equal(typeof got === 'object' ? got.user : String(got), expected, name)
  }
})

void test('a replaced file of the authority for proxies takes effect without a restart', async (t) => {
  const { api, proxies, proxy, caFile, seen } = await open(t)
  const headers = { 'x-remote-user': 'kate' }
  assert.equal(typeof (await seen({ headers, identity: proxy })), 'object')
  const isPublished = async (...authorities: readonly TestAuthority[]): Promise<boolean> => {
    const path = '/api/v1/namespaces/system-ns/configmaps/extension-apiserver-authentication'
    const { data } = JSON.parse((await api.admin(path)).text) as { data?: Record<string, string> }
    const pem = data?.['requestheader-client-ca-file'] ?? ''
    return authorities.every((authority) => pem.includes(authority.pem.trim()))
  }
  await until('the authority is published', () => isPublished(proxies))
  const next = new TestAuthority('next-ca')
  writeFileSync(caFile, next.pem)
  await until('both authorities are published', () => isPublished(proxies, next))
  await until('the old proxy is refused', async () => (await seen({ headers, identity: proxy })) === 401)
  assert.equal(typeof (await seen({ headers, identity: next.client('front', []) })), 'object')
})

void test('contradictory flags of a proxy make the start fail', async (t) => {
  const file = filesOf(t)
  const ca = file('ca', new TestAuthority('proxy-ca').pem)
  const rows: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [
      { 'requestheader-client-ca-file': ca },
      /^--requestheader-client-ca-file needs --requestheader-username-headers/,
    ],
    [
      { 'requestheader-username-headers': 'X-Remote-User' },
      /^--requestheader-username-headers needs --requestheader-client-ca-file/,
    ],
    [
      { 'requestheader-allowed-names': 'a' },
      /^--requestheader-allowed-names needs --requestheader-client-ca-file/,
    ],
    [
      { 'requestheader-client-ca-file': ca, 'requestheader-username-headers': 'X Remote' },
      /^--requestheader-username-headers has "X Remote", which is not the name of a header$/,
    ],
    [
      { 'requestheader-client-ca-file': file('bad', 'x'), 'requestheader-username-headers': 'X-Remote-User' },
      /^--requestheader-client-ca-file .*bad is damaged/,
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
