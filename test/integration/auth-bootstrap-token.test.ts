/*
 * Goal: a bootstrap token authenticates its holder while its Secret exists and is valid.
 * Method: the whole server over HTTPS in both domains.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { AccessServer } from '../support/fixtures/access-server.ts'

const DOMAINS = {
  'orch.io': { namespace: 'system-ns', type: 'bootstrap.orch.io/token' },
  'k8s.io': { namespace: 'kube-system', type: 'bootstrap.kubernetes.io/token' },
} as const

type Domain = keyof typeof DOMAINS

const SECRET = 'f395accd246ae52d'

/** A server with clients that write the Secrets of tokens. */
class Issuer {
  readonly api: AccessServer
  readonly #domain: Domain

  constructor(api: AccessServer, domain: Domain) {
    this.api = api
    this.#domain = domain
  }

  static async start(t: TestContext, domain: Domain, enabled = 'true'): Promise<Issuer> {
    const flags = { 'api-domain': domain, 'enable-bootstrap-token-auth': enabled }
    return new Issuer(await AccessServer.start(t, flags), domain)
  }

  get path(): string {
    return `/api/v1/namespaces/${DOMAINS[this.#domain].namespace}/secrets`
  }

  /** Writes the Secret of a valid token, with the members of `change`. */
  async issue(id: string, change: Readonly<Record<string, string>> = {}, type?: string): Promise<void> {
    const stringData = {
      ...{ 'token-id': id, 'token-secret': SECRET, 'usage-bootstrap-authentication': 'true' },
      ...change,
    }
    const body = {
      ...{ apiVersion: 'v1', kind: 'Secret', type: type ?? DOMAINS[this.#domain].type, stringData },
      metadata: { name: `bootstrap-token-${id}` },
    }
    const { status, text } = await this.api.admin(this.path, { method: 'POST', body })
    assert.equal(status, 201, text)
  }

  user(id: string, secret = SECRET): Promise<string> {
    return this.api.user({ headers: { authorization: `Bearer ${id}.${secret}` } })
  }

  async groups(id: string): Promise<unknown> {
    const group = `authentication.${this.#domain}`
    const body = { apiVersion: `${group}/v1`, kind: 'TokenReview', spec: { token: `${id}.${SECRET}` } }
    const { text } = await this.api.admin(`/apis/${group}/v1/tokenreviews`, { method: 'POST', body })
    return (JSON.parse(text) as { status: { user: { groups?: unknown } } }).status.user.groups
  }
}

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`spec 5: the bootstrap token of a Secret authenticates in ${domain}, with its extra groups`, async (t) => {
    const issuer = await Issuer.start(t, domain)
    await issuer.issue('07401b', { 'auth-extra-groups': 'system:bootstrappers:workers' })
    assert.equal(await issuer.user('07401b'), 'system:bootstrap:07401b')
    assert.deepEqual(await issuer.groups('07401b'), [
      ...['system:bootstrappers', 'system:bootstrappers:workers', 'system:authenticated'],
    ])
    const gone = await issuer.api.admin(`${issuer.path}/bootstrap-token-07401b`, { method: 'DELETE' })
    assert.equal(gone.status, 200)
    assert.equal(await issuer.user('07401b'), '401', 'its Secret was deleted')
  })
}

void test('spec 2.4, 3.3: a bootstrap token that is wrong, expired or not for authentication is refused', async (t) => {
  const issuer = await Issuer.start(t, 'orch.io')
  const later = new Date(Date.now() + 3_600_000).toISOString()
  const earlier = new Date(Date.now() - 1000).toISOString()
  await issuer.issue('aaaaaa', { expiration: later })
  await issuer.issue('bbbbbb', { expiration: earlier })
  await issuer.issue('cccccc', { 'usage-bootstrap-authentication': 'false' })
  await issuer.issue('dddddd', { 'token-id': 'eeeeee' }, 'Opaque')
  await issuer.issue('ffffff', {}, 'Opaque')
  await issuer.issue('gggggg', { 'usage-bootstrap-authentication': 'True' })
  const rows = [
    ['aaaaaa', SECRET, 'system:bootstrap:aaaaaa'],
    ['aaaaaa', SECRET.replace('f', 'e'), '401'],
    ['aaaaaa', `${SECRET}0`, '401'],
    ['AAAAAA', SECRET, '401'],
    ['bbbbbb', SECRET, '401'],
    ['cccccc', SECRET, '401'],
    ['dddddd', SECRET, '401'],
    ['eeeeee', SECRET, '401'],
    ['ffffff', SECRET, '401'],
    ['gggggg', SECRET, '401'],
    ['999999', SECRET, '401'],
  ] as const
  for (const [id, secret, expected] of rows) assert.equal(await issuer.user(id, secret), expected, id)
})

void test('without the flag a bootstrap token is an unknown token', async (t) => {
  const issuer = await Issuer.start(t, 'orch.io', 'false')
  await issuer.issue('aaaaaa')
  assert.equal(await issuer.user('aaaaaa'), '401')
})
