/*
 * Goal: each authentication method accepts its own credentials and no invalid form of them, alone
 * and next to all others.
 * Method: one server per method and one with all of them, over HTTPS; every credential is sent to
 * every server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { TestAuthority } from '../../fixtures/server-fixture.ts'
import { AccessServer, filesOf } from '../support/fixtures/access-server.ts'
import type { AccessCall } from '../support/fixtures/access-server.ts'
import { OidcProvider } from '../support/fixtures/oidc-provider.ts'
import { OutwardServer, kubeconfigFor } from '../support/fixtures/outward-server.ts'
import { until } from '../support/tools/until.ts'

type Flags = Readonly<Record<string, string>>

/** Methods that a flag enables; the others are always enabled. */
type Method = 'token-file' | 'bootstrap' | 'oidc' | 'webhook' | 'proxy'

const METHODS: readonly Method[] = ['token-file', 'bootstrap', 'oidc', 'webhook', 'proxy']

type Row = {
  readonly what: string
  /** null: every server has the method. */
  readonly method: Method | null
  readonly call: (api: AccessServer) => Promise<AccessCall> | AccessCall
  /** The user where the method is enabled. */
  readonly user: string
  /** The user where the method is not enabled; by default the request is answered with 401. */
  readonly without?: string
}

/** The parties that the servers trust: a provider, a webhook, an authority for proxies. */
class World {
  readonly provider: OidcProvider
  readonly hook: OutwardServer
  readonly proxies = new TestAuthority('proxy-ca')
  readonly #file: ReturnType<typeof filesOf>

  constructor(provider: OidcProvider, hook: OutwardServer, file: ReturnType<typeof filesOf>) {
    this.provider = provider
    this.hook = hook
    this.#file = file
  }

  static async open(t: TestContext): Promise<World> {
    const hook = await OutwardServer.start(t, ({ body }) => {
      const review = JSON.parse(body) as { readonly spec: { readonly token: string } }
      const authenticated = review.spec.token === 'webhook-token'
      const user = authenticated ? { username: 'hooked' } : {}
      return { body: JSON.stringify({ ...review, status: { authenticated, user } }) }
    })
    return new World(await OidcProvider.start(t), hook, filesOf(t))
  }

  flagsOf(method: Method): Flags {
    switch (method) {
      case 'token-file':
        return { 'token-auth-file': this.#file('tokens.csv', 'static-token,static,,\n') }
      case 'bootstrap':
        return { 'enable-bootstrap-token-auth': 'true' }
      case 'oidc':
        return {
          'oidc-issuer-url': this.provider.issuer,
          'oidc-client-id': 'orch',
          'oidc-username-prefix': '-',
          'oidc-ca-file': this.#file('oidc.crt', this.provider.server.authority.pem),
        }
      case 'webhook':
        return {
          'authentication-token-webhook-config-file': this.#file(
            'hook.kubeconfig',
            kubeconfigFor(this.hook.config()),
          ),
        }
      case 'proxy':
        return {
          'requestheader-client-ca-file': this.#file('proxies.crt', this.proxies.pem),
          'requestheader-username-headers': 'X-Remote-User',
        }
    }
  }

  rows(): readonly Row[] {
    const expired = { exp: Math.floor(Date.now() / 1000) - 600 }
    const named = { 'x-remote-user': 'proxied' }
    return [
      { what: 'nothing', method: null, call: () => ({}), user: 'system:anonymous' },
      {
        what: 'a certificate',
        method: null,
        call: (api) => ({ identity: api.client('cert') }),
        user: 'cert',
      },
      {
        ...{ what: 'a certificate of a foreign authority', method: null, user: '401' },
        call: () => ({ identity: new TestAuthority('client-ca').client('cert', []) }),
      },
      { what: 'a service account token', method: null, call: accountToken, user: ACCOUNT },
      { what: 'a changed service account token', method: null, call: changedAccountToken, user: '401' },
      { what: 'another scheme', method: null, call: () => header('Basic YTpi'), user: 'system:anonymous' },
      { what: 'an unknown token', method: null, call: () => bearer('made-up'), user: '401' },
      {
        what: 'a token of the file',
        method: 'token-file',
        call: () => bearer('static-token'),
        user: 'static',
      },
      { what: 'a longer token', method: 'token-file', call: () => bearer('static-token-2'), user: '401' },
      {
        what: 'a bootstrap token',
        method: 'bootstrap',
        call: () => bearer(BOOTSTRAP),
        user: 'system:bootstrap:07401b',
      },
      {
        what: 'a wrong bootstrap token',
        method: 'bootstrap',
        call: () => bearer(BOOTSTRAP.replace(/.$/, 'x')),
        user: '401',
      },
      {
        what: 'an identity token',
        method: 'oidc',
        call: async () => bearer(await this.provider.token()),
        user: 'kate',
      },
      {
        ...{ what: 'an expired identity token', method: 'oidc', user: '401' },
        call: async () => bearer(await this.provider.token(expired)),
      },
      {
        what: 'a token of the webhook',
        method: 'webhook',
        call: () => bearer('webhook-token'),
        user: 'hooked',
      },
      {
        what: 'a token that the webhook rejects',
        method: 'webhook',
        call: () => bearer('rejected'),
        user: '401',
      },
      {
        ...{ what: 'headers of a proxy', method: 'proxy', user: 'proxied' },
        call: () => ({ identity: this.proxies.client('front', []), headers: named }),
      },
      {
        ...{ what: 'headers without a proxy', method: 'proxy', user: 'system:anonymous' },
        ...{ without: 'system:anonymous', call: () => ({ headers: named }) },
      },
      {
        ...{ what: 'headers of a client', method: 'proxy', user: 'cert', without: 'cert' },
        call: (api) => ({ identity: api.client('cert'), headers: named }),
      },
      {
        ...{ what: 'the certificate of a proxy', method: 'proxy', user: '401' },
        call: () => ({ identity: this.proxies.client('root', ['system:masters']) }),
      },
      {
        ...{ what: 'a certificate and an unknown token', method: null, user: 'cert' },
        call: (api) => ({ identity: api.client('cert'), ...bearer('made-up') }),
      },
    ]
  }
}

const ACCOUNT = 'system:serviceaccount:default:robot'
const BOOTSTRAP = '07401b.f395accd246ae52d'

function header(authorization: string): AccessCall {
  return { headers: { authorization } }
}

function bearer(token: string): AccessCall {
  return header(`Bearer ${token}`)
}

async function tokenOf(api: AccessServer): Promise<string> {
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  const path = `${accounts}/robot/token`
  const body = { apiVersion: 'authentication.orch.io/v1', kind: 'TokenRequest', spec: {} }
  const { status, text } = await api.admin(path, { method: 'POST', body })
  assert.equal(status, 201, text)
  return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token
}

async function accountToken(api: AccessServer): Promise<AccessCall> {
  return bearer(await tokenOf(api))
}

async function changedAccountToken(api: AccessServer): Promise<AccessCall> {
  const [head = '', body = '', signature = ''] = (await tokenOf(api)).split('.')
  const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as object
  const changed = JSON.stringify({ ...claims, sub: 'system:serviceaccount:default:other' })
  return bearer([head, Buffer.from(changed).toString('base64url'), signature].join('.'))
}

/** Creates the objects that credentials are made of. */
async function prepare(api: AccessServer): Promise<void> {
  const make = async (path: string, body: object): Promise<void> => {
    await until(`${path} takes an object`, async () => {
      const { status } = await api.admin(path, { method: 'POST', body: { apiVersion: 'v1', ...body } })
      return status === 201 || status === 409
    })
  }
  const metadata = { name: 'robot' }
  await make('/api/v1/namespaces/default/serviceaccounts', { kind: 'ServiceAccount', metadata })
  const [id = '', secret = ''] = BOOTSTRAP.split('.')
  await make('/api/v1/namespaces/system-ns/secrets', {
    ...{ kind: 'Secret', type: 'bootstrap.orch.io/token', metadata: { name: `bootstrap-token-${id}` } },
    stringData: { 'token-id': id, 'token-secret': secret, 'usage-bootstrap-authentication': 'true' },
  })
}

async function check(
  t: TestContext,
  world: World,
  methods: readonly Method[],
  more: Flags = {},
): Promise<void> {
  const flags = Object.assign(
    { 'token-auth-file': '' },
    ...methods.map((method) => world.flagsOf(method)),
    more,
  ) as Flags
  const api = await AccessServer.start(t, flags)
  await prepare(api)
  const isAnonymousOff = more['anonymous-auth'] === 'false'
  for (const { what, method, call, user, without = '401' } of world.rows()) {
    const known = method === null || methods.includes(method) ? user : without
    const expected = isAnonymousOff && known === 'system:anonymous' ? '401' : known
    assert.equal(
      await api.user(await call(api)),
      expected,
      `${what}; ${methods.join()} ${JSON.stringify(more)}`,
    )
  }
}

void test('spec 5: each method accepts its own credentials and rejects invalid ones, alone', async (t) => {
  const world = await World.open(t)
  await check(t, world, [])
  for (const method of METHODS) await check(t, world, [method])
})

void test('spec 5: all methods together accept the credentials of each, and reject the same invalid ones', async (t) => {
  const world = await World.open(t)
  await check(t, world, METHODS)
  await check(t, world, METHODS, { 'anonymous-auth': 'false' })
})
