/*
 * Goal: `orchctl pki rotate-ca --authority signing` replaces the authority of certificate requests
 * while clients with its certificates keep working, until the last step refuses the old ones.
 * Method: the whole server, and the whole command line in this process.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../base/random.ts'
import type { Identity } from '../../fixtures/server-fixture.ts'
import { systemClock } from '../../fixtures/system.ts'
import { objectsMember, objectMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { cli } from '../../src/cli/cli.ts'
import type { Terminal } from '../../src/cli/terminal.ts'
import { createAuthority } from '../../src/pki/authority.ts'
import { readCertificate } from '../../src/pki/certificate.ts'
import { generateKeyPair, privateKeyPem } from '../../src/pki/keys.ts'
import { readTrustBundle } from '../../src/pki/trust-bundle.ts'
import { AccessServer, filesOf } from '../support/fixtures/access-server.ts'
import { certificateRequest } from '../support/fixtures/certificate-request.ts'
import { until } from '../support/tools/until.ts'

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const PUBLISHED = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'
const BINDINGS = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
const STATE = '/cluster/v1/signing-authorities'

type Ended = { readonly code: number; readonly text: string }

async function objectOf(api: AccessServer, path: string, method = 'GET', body?: object): Promise<JsonObject> {
  const { status, text } = await api.admin(path, { method, ...(body === undefined ? {} : { body }) })
  assert.ok(status < 300, `${method} ${path}: ${text}`)
  return JSON.parse(text) as JsonObject
}

/** Returns a client certificate that the server issued. */
async function issued(api: AccessServer, name: string): Promise<Identity> {
  const keys = generateKeyPair()
  const request = Buffer.from(certificateRequest({ commonName: name, keys })).toString('base64')
  const spec = { signerName: namesOf('k8s.io').signers.apiserverClient, request, usages: ['client auth'] }
  const made = await objectOf(api, REQUESTS, 'POST', { metadata: { name }, spec })
  const conditions = [{ type: 'Approved', status: 'True', reason: 'Fine' }]
  await objectOf(api, `${REQUESTS}/${name}/approval`, 'PUT', { ...made, status: { conditions } })
  let encoded = ''
  await until('it is signed', async () => {
    const { status } = await objectOf(api, `${REQUESTS}/${name}`)
    encoded = textMember(objectMember({ status: status ?? null }, 'status'), 'certificate')
    return encoded !== ''
  })
  return { cert: Buffer.from(encoded, 'base64').toString(), key: privateKeyPem(keys.privateKey) }
}

async function fingerprints(api: AccessServer): Promise<readonly string[]> {
  const authorities = objectsMember(await objectOf(api, STATE), 'authorities')
  return authorities.map((one) => textMember(one, 'fingerprint'))
}

/** Returns the authorities of clients that other servers read. */
async function published(api: AccessServer): Promise<ReadonlySet<string>> {
  const { status, text } = await api.admin(PUBLISHED)
  if (status === 404) return new Set()
  const data = objectMember(JSON.parse(text) as JsonObject, 'data')
  return readTrustBundle(textMember(data, 'client-ca-file')).fingerprints
}

function commandLine(t: TestContext, api: AccessServer): (...args: readonly string[]) => Promise<Ended> {
  const admin = api.client('root', ['system:masters'])
  const encoded = (text: string): string => Buffer.from(text).toString('base64')
  const kubeconfig = filesOf(t)(
    'kubeconfig',
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'c' },
      clusters: [
        {
          name: 'c',
          cluster: { server: api.url, 'certificate-authority-data': encoded(api.serverAuthority.pem) },
        },
      ],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      users: [
        {
          name: 'u',
          user: { 'client-certificate-data': encoded(admin.cert), 'client-key-data': encoded(admin.key) },
        },
      ],
    }),
  )
  const lines: string[] = []
  const terminal: Terminal = {
    ...{ clock: systemClock, random: new SeededRandom(1), program: 'orchctl' },
    print: (line) => void lines.push(line),
    note: (line) => void lines.push(line),
  }
  return async (...args) => {
    lines.length = 0
    return { code: await cli([...args, '--kubeconfig', kubeconfig], terminal), text: lines.join('\n') }
  }
}

/** Returns a function that takes the next step. */
function rotating(t: TestContext, api: AccessServer): (...args: readonly string[]) => Promise<Ended> {
  const orchctl = commandLine(t, api)
  return (...args) => orchctl('pki', 'rotate-ca', '--authority', 'signing', ...args)
}

void test('the signing authority is replaced in three steps, and certificates of both are accepted until the last one', async (t) => {
  const api = await AccessServer.start(t, { 'api-domain': 'k8s.io' })
  const rotate = rotating(t, api)
  const before = await issued(api, 'before')
  const early = await rotate('--finish')
  assert.deepEqual([early.code, /no rotation has begun/.test(early.text)], [1, true], early.text)

  const first = await rotate()
  assert.equal(first.code, 0, first.text)
  assert.match(first.text, /^step 1 of 3: /)
  const [old = '', next = ''] = await fingerprints(api)
  assert.notEqual(next, '')
  await until('both are published', async () => (await published(api)).has(next))
  assert.ok((await published(api)).has(old))
  const during = await issued(api, 'during')
  const issuerOf = async ({ cert }: Identity): Promise<readonly boolean[]> => {
    const all = objectsMember(await objectOf(api, STATE), 'authorities')
    const keys = all.map((one) => readCertificate(textMember(one, 'certificate')).publicKey)
    return keys.map((key) => readCertificate(cert).x509.verify(key))
  }
  assert.deepEqual(await issuerOf(during), [true, false], 'the next authority does not sign yet')
  const tooEarly = await rotate('--finish')
  assert.match(tooEarly.text, /the next authority does not sign yet: run it without --finish/)

  const second = await rotate()
  assert.match(second.text, /^step 2 of 3: /)
  const after = await issued(api, 'after')
  assert.deepEqual(await issuerOf(after), [false, true])
  const names = { before, during, after }
  for (const [name, identity] of Object.entries(names)) assert.equal(await api.user({ identity }), name)
  const again = await rotate()
  assert.deepEqual([again.code, /--finish ends the trust/.test(again.text)], [0, true], again.text)

  const third = await rotate('--finish')
  assert.match(third.text, /^step 3 of 3: /)
  await until('the old one is refused', async () => (await api.user({ identity: before })) === '401')
  assert.equal(await api.user({ identity: during }), '401')
  assert.equal(await api.user({ identity: after }), 'after')
  assert.deepEqual(await fingerprints(api), [next])
  // Members never remove an authority from there: another member may have published it.
  await objectOf(api, PUBLISHED, 'DELETE')
  await until('the new one is published alone', async () => (await published(api)).has(next))
  assert.equal((await published(api)).has(old), false)
})

void test('a watch ends when the last step refuses the certificate of its caller', async (t) => {
  const api = await AccessServer.start(t, { 'api-domain': 'k8s.io' })
  const rotate = rotating(t, api)
  const bind = async (name: string): Promise<Identity> => {
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' }
    await objectOf(api, BINDINGS, 'POST', { metadata: { name }, subjects, roleRef })
    return issued(api, name)
  }
  const watch = async (identity: Identity): Promise<string> => {
    const { status } = await api.ask('/api/v1/namespaces?watch=true', { identity })
    return `ended with ${status}`
  }
  const old = await bind('old')
  await rotate()
  await rotate()
  let ofOld = 'open'
  let ofNext = 'open'
  void watch(old).then((result) => (ofOld = result))
  void watch(await bind('next')).then((result) => (ofNext = result))
  assert.equal(ofOld, 'open')
  const { code, text } = await rotate('--finish')
  assert.equal(code, 0, text)
  await until('the watch of the old one ends', () => Promise.resolve(ofOld !== 'open'))
  // The status shows that the watch had begun before the step.
  assert.equal(ofOld, 'ended with 200')
  assert.equal(ofNext, 'open')
})

void test('steps of the signing authority are refused over HTTP when another one is to be taken', async (t) => {
  const api = await AccessServer.start(t, {})
  await until('there is one', async () => (await fingerprints(api)).length === 1)
  const step = (value: string) => api.admin(STATE, { method: 'POST', body: { step: value } })
  for (const wrong of ['promote', 'finish']) assert.equal((await step(wrong)).status, 409, wrong)
  assert.equal((await step('other')).status, 400)
  assert.equal((await step('announce')).status, 200)
  assert.doesNotMatch((await api.admin(STATE)).text, /PRIVATE|jwe/)
  assert.equal((await api.ask(STATE)).status, 403)
})

void test('rotate-ca names the files when flags name those of the signing authority', async (t) => {
  const file = filesOf(t)
  const authority = createAuthority({
    ...{ notBeforeMs: 0, notAfterMs: Date.now() + 1e9, commonName: 'x', random: new SeededRandom(3) },
  })
  const api = await AccessServer.start(t, {
    'cluster-signing-cert-file': file('ca.crt', authority.certificatePem),
    'cluster-signing-key-file': file('ca.key', privateKeyPem(authority.privateKey)),
  })
  const { code, text } = await rotating(t, api)()
  assert.equal(code, 1)
  assert.match(text, /replace the files of --cluster-signing-cert-file and --cluster-signing-key-file/)
})

void test('pki status names the step of the rotation that remains', async (t) => {
  const api = await AccessServer.start(t, {})
  await until('there is one', async () => (await fingerprints(api)).length === 1)
  const rotate = rotating(t, api)
  const orchctl = commandLine(t, api)
  const remaining = async (): Promise<readonly string[]> => {
    const { text } = await orchctl('pki', 'status')
    return text.split('\n').filter((line) => line.includes('rotate-ca --authority signing'))
  }
  const next = 'orchctl pki rotate-ca --authority signing'
  assert.deepEqual(await remaining(), [])
  await rotate()
  assert.deepEqual(await remaining(), [`the next signing authority is trusted, and signs after: ${next}`])
  await rotate()
  assert.deepEqual(await remaining(), [`earlier signing authorities are trusted until: ${next} --finish`])
  await rotate('--finish')
  assert.deepEqual(await remaining(), [])
})
