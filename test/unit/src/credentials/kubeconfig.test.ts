/*
 * Goal: every credential and server setting of a client configuration is used or refused clearly.
 * Method: real files.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { credentialHeaders, headerRecord } from '../../../../src/credentials/credentials.ts'
import type { Credentials } from '../../../../src/credentials/credentials.ts'
import { tlsOptions } from '../../../../src/credentials/endpoint.ts'
import type { Endpoint } from '../../../../src/credentials/endpoint.ts'
import { CredentialError } from '../../../../src/credentials/errors.ts'
import { SharedSources } from '../../../../src/credentials/host.ts'
import type { CredentialHost } from '../../../../src/credentials/host.ts'
import { Kubeconfig } from '../../../../src/credentials/kubeconfig.ts'
import type { PluginRun } from '../../../../src/credentials/run-plugin.ts'
import { TestAuthority } from '../../../../fixtures/server-fixture.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const scratch = mkdtempSync(join(tmpdir(), 'orch-kubeconfig-'))
after(() => rmSync(scratch, { recursive: true, force: true }))

const encoded = (text: string): string => Buffer.from(text).toString('base64')
const trusted = new TestAuthority()
const client = trusted.client('a', [])
const apiVersion = 'client.authentication.k8s.io/v1'

function hostWith(runs: PluginRun[] = []): CredentialHost {
  return {
    clock: new ManualClock(),
    run: (run) => {
      runs.push(run)
      const status = { token: `t${runs.length}` }
      return Promise.resolve({
        kind: 'ended',
        output: JSON.stringify({ kind: 'ExecCredential', apiVersion, status }),
      })
    },
    environment: () => ({}),
    isTerminal: () => false,
    sources: new SharedSources(),
  }
}

type Parts = { readonly cluster?: object; readonly user?: object | null }

function config({ cluster = {}, user = {} }: Parts, host = hostWith()): Kubeconfig {
  const path = join(scratch, 'config')
  const server = { 'certificate-authority-data': encoded(trusted.pem), ...cluster }
  const value = {
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'n1' },
    clusters: ['n1', 'n2'].map((name) => ({ name, cluster: { server: `https://${name}:6443`, ...server } })),
    users: [{ name: 'u', user }],
    contexts: ['n1', 'n2'].map((name) => ({ name, context: { cluster: name, user: 'u' } })),
  }
  writeFileSync(path, JSON.stringify(value))
  return new Kubeconfig(path, host)
}

function endpoint(parts: Parts): Endpoint {
  return config(parts).endpoint('n1')
}

function credentials(user: object | null): Promise<Credentials> {
  return endpoint({ user }).credentials.current()
}

void test('tokens, certificates and files of a user are used, and a user without any is anonymous', async () => {
  writeFileSync(join(scratch, 'client.crt'), client.cert)
  writeFileSync(join(scratch, 'client.key'), client.key)
  writeFileSync(join(scratch, 'token'), 'from-file\n')
  const identity = { certificate: client.cert, key: client.key }
  const none = { token: null, identity: null, impersonation: [] }
  assert.deepEqual(await credentials({ token: 'fixed' }), { ...none, token: 'fixed' })
  assert.deepEqual(await credentials({ tokenFile: 'token' }), { ...none, token: 'from-file' })
  assert.deepEqual(await credentials({ token: 'fixed', tokenFile: 'token' }), { ...none, token: 'from-file' })
  const inline = { 'client-certificate-data': encoded(client.cert), 'client-key-data': encoded(client.key) }
  assert.deepEqual(await credentials(inline), { ...none, identity })
  const beside = { 'client-certificate': 'client.crt', 'client-key': 'client.key', token: 'both' }
  assert.deepEqual(await credentials(beside), { ...none, identity, token: 'both' })
  for (const empty of [{}, null, { token: '' }]) assert.deepEqual(await credentials(empty), none)
})

void test('the server name, CA and client certificate of a kubeconfig become options of TLS', () => {
  const { credentials: source, ...server } = endpoint({
    cluster: { 'tls-server-name': 'api.example', 'insecure-skip-tls-verify': true },
  })
  assert.ok(source)
  const ca = trusted.pem
  assert.deepEqual(tlsOptions(server, { identity: null }), {
    ...{ ca, servername: 'api.example', rejectUnauthorized: false },
  })
  assert.deepEqual(tlsOptions(endpoint({}), { identity: { certificate: 'c', key: 'k' } }), {
    ...{ ca, cert: 'c', key: 'k', rejectUnauthorized: true },
  })
})

void test('impersonation of a user is sent as headers', async () => {
  const acting = await credentials({
    ...{ token: 't', as: 'jané', 'as-uid': '42', 'as-groups': ['g1', 'g2'] },
    'as-user-extra': { 'Example.com/scope%': ['a', 'b'] },
  })
  assert.deepEqual(headerRecord(credentialHeaders(acting)), {
    authorization: 'Bearer t',
    'impersonate-user': Buffer.from('jané').toString('latin1'),
    'impersonate-uid': '42',
    'impersonate-group': ['g1', 'g2'],
    'impersonate-extra-example.com%2Fscope%25': ['a', 'b'],
  })
})

void test('spec 5.5: cluster data: the extension and the server reach a plugin that requests them', async () => {
  const runs: PluginRun[] = []
  const user = (provideClusterInfo: boolean): object => ({
    exec: { command: './login', apiVersion, interactiveMode: 'Never', provideClusterInfo },
  })
  const cluster = {
    'tls-server-name': 'api.example',
    extensions: [
      { name: 'client.authentication.orch.io/exec', extension: { of: 'another domain' } },
      { name: 'client.authentication.k8s.io/exec', extension: { audience: 'a' } },
    ],
  }
  const informed = config({ user: user(true), cluster }, hostWith(runs))
  const tokens = await Promise.all(
    informed.endpointsWith('n1').map(async (one) => (await one.credentials.current()).token),
  )
  assert.deepEqual(tokens, ['t1', 't2'], 'it runs for each server')
  assert.equal(runs[0]?.command, join(scratch, 'login'))
  assert.deepEqual(JSON.parse(runs[1]?.environment['KUBERNETES_EXEC_INFO'] ?? ''), {
    ...{ kind: 'ExecCredential', apiVersion },
    spec: {
      interactive: false,
      cluster: {
        ...{ server: 'https://n2:6443', 'tls-server-name': 'api.example' },
        ...{ 'certificate-authority-data': encoded(trusted.pem), config: { audience: 'a' } },
      },
    },
  })
  runs.length = 0
  const blind = config({ user: user(false), cluster }, hostWith(runs))
  for (const one of blind.endpointsWith('n1')) await one.credentials.current()
  assert.equal(runs.length, 1, 'the servers of one user share a plugin')
  assert.deepEqual(JSON.parse(runs[0]?.environment['KUBERNETES_EXEC_INFO'] ?? ''), {
    ...{ kind: 'ExecCredential', apiVersion, spec: { interactive: false } },
  })
})

void test('what is invalid or not supported is refused with its place', () => {
  const exec = { command: 'login', apiVersion, interactiveMode: 'Never' }
  const table: readonly (readonly [Parts, RegExp])[] = [
    [
      { user: { username: 'a', password: 'b' } },
      /no basic authentication: give a token, a certificate or exec$/,
    ],
    [{ user: { password: 'b' } }, /no basic authentication/],
    [{ user: { 'auth-provider': { name: 'oidc' } } }, /auth-provider is not supported: give exec/],
    [{ user: { 'client-key-data': 'QQ==' } }, /client-certificate and client-key go together$/],
    [{ user: { token: 7 } }, /token must be a string$/],
    [{ user: { exec: { ...exec, command: '' } } }, /exec needs command$/],
    [
      { user: { exec, token: 't' } },
      /exec excludes other credentials: keep exec, or the token or certificate$/,
    ],
    [{ user: { 'as-groups': ['g'] } }, /as-uid, as-groups and as-user-extra need as$/],
    [{ user: { as: 'a', 'as-groups': 'g' } }, /as-groups must be a list of strings$/],
    [{ user: { as: 'a\nb' } }, /must not have control characters$/],
    [{ cluster: { server: 'ftp://x' } }, /server must be a URL such as/],
    [
      { cluster: { 'proxy-url': 'http://p:1' } },
      /proxy-url is not supported: give an address that needs no proxy$/,
    ],
    [{ cluster: { 'certificate-authority-data': 'QQ==' } }, /certificate-authority is not PEM$/],
    [
      { cluster: { 'certificate-authority-data': null, 'certificate-authority': 'gone' } },
      /gone cannot be read/,
    ],
  ]
  for (const [parts, words] of table) {
    assert.throws(
      () => endpoint(parts),
      (cause) =>
        cause instanceof CredentialError && words.test(cause.message) && !cause.message.includes('\n'),
      JSON.stringify(parts),
    )
  }
  assert.throws(() => config({}).endpoint('n3'), /config lacks the context "n3"$/)
})
