/*
 * Goal: flags decide which keys, issuers and audiences of service account tokens are accepted. If a
 * key file is unusable, the start fails with an error that names it.
 * Method: files in a temporary directory.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import { FileTokenKeys } from '../../../../src/app/file-token-keys.ts'
import { configuredServiceAccounts } from '../../../../src/app/service-accounts.ts'
import type { SharedKeySource, SigningKey } from '../../../../src/auth/service-accounts/token-keys.ts'
import type { ServiceAccounts } from '../../../../src/auth/service-accounts/service-accounts.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { StartError } from '../../../../src/config/start-error.ts'
import { privateKeyPem, publicKeyPem } from '../../../../src/pki/keys.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import { ecKey, otherKey, rsaKey } from '../../../../fixtures/token-keys.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { tokenOf } from '../../../support/fixtures/token-kit.ts'

const server = {
  certificate: '',
  key: privateKeyPem(ecKey.privateKey),
  clientAuthorities: null,
  proxyAuthorities: null,
}
const keys = { server, peer: null, kubeconfig: null, madeNow: false, fingerprints: {} }

class Kit {
  /** The shared keys of the cluster. */
  shared: SharedKeySource = sharedKeys(null)
  readonly directory = mkdtempSync(join(tmpdir(), 'orch-tokens-'))

  constructor(t: TestContext) {
    t.after(() => rmSync(this.directory, { recursive: true }))
  }

  file(name: string, content: string): string {
    const path = join(this.directory, name)
    writeFileSync(path, content)
    return path
  }

  configured(args: readonly string[], domain: ApiDomain = 'orch.io'): ServiceAccounts {
    return this.renewable(args, domain).accounts
  }

  renewable(
    args: readonly string[],
    domain: ApiDomain = 'orch.io',
  ): { readonly accounts: ServiceAccounts; readonly files: FileTokenKeys } {
    const loaded = loadConfig({ args: ['--in-memory', ...args], readFile: () => '' })
    assert.ok(loaded.kind === 'config')
    const site = { config: loaded.config, names: namesOf(domain), clock: systemClock }
    const view = () => {
      throw new StoreError('stopped', 'reached the store')
    }
    const files = new FileTokenKeys(site.config, keys)
    const accounts = configuredServiceAccounts(site, { store: { view }, files, shared: this.shared })
    return { accounts, files }
  }
}

/** @param signing null: there is none yet */
function sharedKeys(signing: SigningKey | null): SharedKeySource {
  return {
    version: 1,
    verification: signing === null ? [] : [signing.verification],
    signer: () => signing,
    untilSigner: () => Promise.resolve(signing),
    untilCurrent: () => Promise.resolve(),
  }
}

const own = 'https://orch.default.svc.cluster.local'

/** Returns whether the signature, issuer, audience and time of a token are accepted. */
async function accepts(
  { method }: ServiceAccounts,
  key: SigningKey,
  { iss = own, aud = iss }: { readonly iss?: string; readonly aud?: string } = {},
): Promise<boolean> {
  const account = { namespace: 'n', serviceaccount: { name: 'a', uid: 'u' } }
  const times = { iat: 0, nbf: 0, exp: systemClock.wallMs() }
  const token = tokenOf({ iss, aud, sub: 'system:serviceaccount:n:a', 'orch.io': account, ...times }, key)
  const credentials = { authorization: `Bearer ${token}`, connection: null, certificates: () => [] }
  try {
    const found = await method.recognize(credentials)
    assert.notEqual(found.kind, 'user')
    return false
  } catch (cause) {
    // Only a token with nothing wrong is looked up.
    assert.match(String(cause), /reached the store/)
    return true
  }
}

void test('spec 5: --service-account-key-file names the keys that verify tokens; by default the key of the client port does', async (t) => {
  const kit = new Kit(t)
  const byDefault = kit.configured([])
  assert.deepEqual([await accepts(byDefault, ecKey), await accepts(byDefault, rsaKey)], [true, false])

  const rsa = kit.file('rsa.pub', publicKeyPem(rsaKey.verification.publicKey))
  const pair = kit.file('both.pem', `${privateKeyPem(otherKey.privateKey)}\n${server.key}`)
  const one = kit.configured(['--service-account-key-file', rsa])
  assert.deepEqual([await accepts(one, ecKey), await accepts(one, rsaKey)], [false, true])
  const args = ['--service-account-key-file', rsa, '--service-account-key-file', pair]
  const several = kit.configured(args)
  for (const key of [ecKey, otherKey, rsaKey]) assert.equal(await accepts(several, key), true)
})

void test('a renewed key of the client port replaces the old one for tokens, unless a flag names keys', async (t) => {
  const kit = new Kit(t)
  const { accounts, files } = kit.renewable([])
  assert.deepEqual([await accepts(accounts, ecKey), files.version], [true, 0])
  files.renew({ ...keys, server: { ...server, clientAuthorities: 'other' } })
  assert.equal(files.version, 0, 'the key is the same')
  files.renew({ ...keys, server: { ...server, key: privateKeyPem(otherKey.privateKey) } })
  assert.equal(files.version, 1)
  assert.deepEqual([await accepts(accounts, ecKey), await accepts(accounts, otherKey)], [false, true])

  const rsa = kit.file('rsa.pub', publicKeyPem(rsaKey.verification.publicKey))
  const named = kit.renewable(['--service-account-key-file', rsa])
  named.files.renew({ ...keys, server: { ...server, key: privateKeyPem(otherKey.privateKey) } })
  assert.deepEqual([await accepts(named.accounts, otherKey), named.files.version], [false, 0])
})

void test('the start fails if a key file has no usable key: the error has the name of the file and not its content', (t) => {
  const kit = new Kit(t)
  const pem = (type: 'rsa' | 'ec', options: object): string =>
    privateKeyPem(generateKeyPairSync(type as 'rsa', options as { modulusLength: number }).privateKey)
  const rows: readonly (readonly [content: string, why: RegExp])[] = [
    ['', /it has no key in PEM form/],
    ['-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n', /a PUBLIC KEY is malformed/],
    ['-----BEGIN PRIVATE KEY-----\nAAAA', /has no end/],
    [pem('rsa', { modulusLength: 1024 }), /neither ECDSA P-256 nor RSA with at least 2048 bits/],
    [pem('ec', { namedCurve: 'P-384' }), /neither ECDSA P-256/],
    [
      rsaKey.privateKey
        .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'x' })
        .toString(),
      /a key is encrypted/,
    ],
  ]
  for (const [at, [content, why]] of rows.entries()) {
    const path = kit.file(`${at}.pem`, content)
    assert.throws(
      () => kit.configured(['--service-account-key-file', path]),
      (error) => {
        assert.ok(error instanceof StartError && error.code === 'keys')
        assert.match(error.message, why)
        assert.ok(error.message.includes(`--service-account-key-file ${path}`), error.message)
        const [, first = ''] = content.split('\n')
        assert.ok(first === '' || !error.message.includes(first), error.message)
        return true
      },
    )
  }
  const missing = join(kit.directory, 'missing')
  assert.throws(() => kit.configured(['--service-account-key-file', missing]), /missing cannot be read/)
})

void test('issuers and audiences are those of the flags; by default the audiences are the issuers', async (t) => {
  const kit = new Kit(t)
  const issuers = ['--service-account-issuer', 'https://a', '--service-account-issuer', 'https://b']
  const several = kit.configured(issuers)
  assert.deepEqual(several.audiences, ['https://a', 'https://b'])
  assert.equal(await accepts(several, ecKey, { iss: 'https://b' }), true)
  assert.equal(await accepts(several, ecKey, { iss: 'https://b', aud: 'https://a' }), true)
  assert.equal(await accepts(several, ecKey), false)
  const named = kit.configured(['--api-audiences', 'x,y'])
  assert.deepEqual(named.audiences, ['x', 'y'])
  assert.equal(await accepts(named, ecKey, { aud: 'y' }), true)
  assert.equal(await accepts(named, ecKey), false)
  assert.deepEqual(kit.configured([], 'k8s.io').audiences, ['https://kubernetes.default.svc.cluster.local'])
  assert.throws(() => kit.configured(['--service-account-issuer', 'not a url: x']), /must be a URL/)
  assert.throws(() => kit.configured(['--service-account-issuer', '']), /must not be empty/)
})

void test('the discovery document names this server, or the URL of the flag', (t) => {
  const kit = new Kit(t)
  const url = (args: readonly string[]) => kit.configured(args).documents?.configuration()['jwks_uri']
  assert.equal(url(['--advertise-address', 'api.example:443']), 'https://api.example:443/openid/v1/jwks')
  assert.equal(url(['--service-account-jwks-uri', 'https://keys.example/x']), 'https://keys.example/x')
  assert.throws(() => url(['--service-account-jwks-uri', 'http://keys.example']), /begins with https/)
  assert.equal(kit.configured(['--service-account-issuer', 'cluster']).documents, null)
})

void test('spec 5.6: the signing key is that of the flag, else the shared one; without any the request fails with 503', async (t) => {
  const kit = new Kit(t)
  const path = kit.file('rsa.key', privateKeyPem(rsaKey.privateKey))
  const order = {
    ...{ namespace: 'n', account: { name: 'a', uid: 'u' }, pod: null, secret: null },
    ...{ audiences: ['x'], expirationSeconds: 7200 },
  }
  const one = kit.configured(['--service-account-signing-key-file', path])
  const { token, expirationSeconds } = await one.tokens.issue(order)
  const [header = ''] = token.split('.')
  assert.deepEqual(JSON.parse(Buffer.from(header, 'base64url').toString()), {
    alg: 'RS256',
    kid: rsaKey.verification.id,
  })
  assert.equal(expirationSeconds, 7200)
  assert.equal(await accepts(one, rsaKey), true)
  const max = ['--service-account-max-token-expiration', '1h', '--service-account-signing-key-file', path]
  assert.equal((await kit.configured(max).tokens.issue(order)).expirationSeconds, 3600)
  assert.throws(() => kit.configured(['--service-account-max-token-expiration', '59m']), /at least 1h/)
  await assert.rejects(kit.configured([]).tokens.issue(order), { code: 'ServiceUnavailable' })
  kit.shared = sharedKeys(ecKey)
  const shared = await kit.configured([]).tokens.issue(order)
  assert.match(Buffer.from(shared.token.split('.')[0] ?? '', 'base64url').toString(), /ES256/)
  assert.equal(await accepts(kit.configured([]), ecKey), true)
  assert.equal((await kit.configured(max).tokens.issue(order)).token.split('.')[0], header)
  const publicOnly = kit.file('rsa.pub', publicKeyPem(rsaKey.verification.publicKey))
  assert.throws(
    () => kit.configured(['--service-account-signing-key-file', publicOnly]),
    /it has no private key in PEM form/,
  )
})

void test('spec 5: --service-account-private-key-file signs the tokens of Secrets, by default the signing key', async (t) => {
  const kit = new Kit(t)
  const signing = [
    '--service-account-signing-key-file',
    kit.file('rsa.key', privateKeyPem(rsaKey.privateKey)),
  ]
  const own = ['--service-account-private-key-file', kit.file('own.key', privateKeyPem(otherKey.privateKey))]
  const keyOf = async (args: readonly string[]): Promise<unknown> => {
    const of = { namespace: 'n', account: { name: 'a', uid: 'u' }, secretName: 's' }
    const token = await kit.configured(args).tokens.issueForSecret(of)
    const [header = ''] = token.split('.')
    return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { readonly kid: string }).kid
  }
  await assert.rejects(keyOf([]), { code: 'ServiceUnavailable' })
  assert.equal(await keyOf(signing), rsaKey.verification.id)
  assert.equal(await keyOf([...signing, ...own]), otherKey.verification.id)
  const both = kit.configured([...signing, ...own])
  assert.deepEqual([await accepts(both, rsaKey), await accepts(both, otherKey)], [true, true])
})
