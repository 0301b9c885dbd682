/*
 * Goal: requests for certificates are approved, signed, refused and removed as the spec requires,
 * once each, whatever member leads. Method: the shipped controllers on the shipped verbs.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import pino from 'pino'
import type { Action } from '../../../../../src/api/action.ts'
import { objectMember, objectsMember, textMember } from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import type { UserInfo } from '../../../../../src/api/metadata/object.ts'
import { startCertificates } from '../../../../../src/app/controllers/certificates.ts'
import type { ControllerName } from '../../../../../src/config/controllers-flag.ts'
import { EventRecorder } from '../../../../../src/controllers/event-recorder.ts'
import type { SigningAuthorities } from '../../../../../src/controllers/certificates/signing.ts'
import { readCertificate } from '../../../../../src/pki/certificate.ts'
import type { Certificate } from '../../../../../src/pki/certificate.ts'
import { LocalClient } from '../../../../../src/registry/local-client.ts'
import { certificateIssuing, testAuthority } from '../../../../support/fixtures/certificate-issuing.ts'
import { Fixture } from '../../registry/fixture.ts'
import type { Obj } from '../../registry/fixture.ts'
import { nodeRequestBody, nodeUsages, requestBody } from './request-bodies.ts'

const kind = 'CertificateSigningRequest'
const all = ['csrapproving', 'csrcleaner', 'csrsigning'] as const
const hourMs = 3_600_000
const names = { system: 'system:controller' }

class Kit {
  readonly api: Fixture
  /** Subresources that the users have the permission to create requests for. */
  granted: readonly string[] = ['nodeclient', 'selfnodeclient']
  readonly asked: string[] = []
  authority: ReturnType<SigningAuthorities['of']> = testAuthority()

  constructor(api: Fixture) {
    this.api = api
  }

  static async open(t: TestContext): Promise<Kit> {
    const api = await Fixture.open({ domain: 'k8s.io' })
    t.after(() => api.close())
    return new Kit(api)
  }

  /** Starts the controllers of a member that leads. @returns a function that stops them */
  lead(enabled: readonly ControllerName[] = all): () => void {
    const { clock, catalog, registry, store } = this.api
    const user = { name: names.system, uid: '', groups: [], extra: {} }
    const client = new LocalClient({ registry, clock, user, timeoutMs: 10_000 })
    const stops = startCertificates({
      ...{ ...certificateIssuing(), store, clock, catalog, names: this.api.names },
      ...{ enabled: new Set(enabled), log: pino({ level: 'silent' }) },
      authorities: { of: () => this.authority },
      reviewers: { authorize: (of, action) => this.#authorize(of, action) },
      clientOf: () => client,
      eventsOf: () =>
        new EventRecorder({ ...{ store, clock, catalog, client, component: 'c' }, onError: assert.ifError }),
      switched: (name, work) => {
        if (!enabled.includes(name)) return []
        work.start()
        return [() => work.stop()]
      },
    })
    return () => stops.forEach((stop) => stop())
  }

  #authorize({ name }: UserInfo, action: Action): { allowed: boolean; denied: boolean; reason: string } {
    const { verb, group, resource, subresource } =
      action.kind === 'resource' ? action : assert.fail('a resource')
    this.asked.push(`${name} ${verb} ${group} ${resource}/${subresource}`)
    return { allowed: this.granted.includes(subresource), denied: false, reason: '' }
  }

  async rest(ms = 1000): Promise<void> {
    for (let at = 0; at < 20; at++) {
      for (let turns = 0; turns < 20; turns++) await turn()
      this.api.clock.advance(ms / 20)
    }
    for (let turns = 0; turns < 200; turns++) await turn()
  }

  async create(body: JsonObject, user?: UserInfo): Promise<void> {
    await this.api.create({ kind, body, ...(user === undefined ? {} : { user }) })
  }

  async get(name: string): Promise<Obj | null> {
    try {
      return (await this.api.get({ kind, name })).object
    } catch {
      return null
    }
  }

  async decide(name: string, type: 'Approved' | 'Denied'): Promise<void> {
    const object = (await this.get(name)) ?? assert.fail(name)
    const conditions = [{ type, status: 'True', reason: 'Test' }]
    await this.api.update({
      kind,
      name,
      subresource: 'approval',
      body: { ...object, status: { conditions } },
    })
  }

  async certificate(name: string): Promise<Certificate | null> {
    const pem = textMember(objectMember((await this.get(name)) ?? {}, 'status'), 'certificate')
    return pem === '' ? null : readCertificate(Buffer.from(pem, 'base64').toString('latin1'))
  }

  /** Returns the events about a request as texts, in alphabetical order. */
  async events(name: string): Promise<readonly string[]> {
    const { catalog, registry, clock } = this.api
    const user = { name: 'reader', uid: '', groups: [], extra: {} }
    const client = new LocalClient({ registry, clock, user, timeoutMs: 10_000 })
    const events = catalog.find('', 'v1', 'events') ?? assert.fail('no events')
    const { objects } = await client.list(events, 'default', 500)
    return objects
      .filter((event) => textMember(objectMember(event, 'involvedObject'), 'name') === name)
      .map((event) => ['type', 'reason', 'message'].map((member) => textMember(event, member)).join(': '))
      .sort()
  }

  async conditions(name: string): Promise<readonly string[]> {
    const conditions = objectsMember(objectMember((await this.get(name)) ?? {}, 'status'), 'conditions')
    return conditions.map((one) =>
      ['type', 'reason', 'message'].map((member) => textMember(one, member)).join(': '),
    )
  }
}

const bootstrapper: UserInfo = {
  ...{ name: 'system:bootstrap:abcdef', uid: '', groups: ['system:bootstrappers'] },
  extra: {},
}
const nodeUser: UserInfo = { name: 'system:node:n1', uid: '', groups: ['system:nodes'], extra: {} }

void test('spec 2.11: the client certificate of a new node is approved and issued', async (t) => {
  const kit = await Kit.open(t)
  kit.granted = ['nodeclient']
  kit.lead()
  await kit.create(nodeRequestBody(kit.api.names), bootstrapper)
  await kit.rest()
  const approved =
    'Approved: AutoApproved: Auto approving kubelet client certificate after SubjectAccessReview.'
  assert.deepEqual(await kit.conditions('node-n1'), [approved])
  assert.deepEqual(kit.asked, [
    'system:bootstrap:abcdef create certificates.k8s.io certificatesigningrequests/nodeclient',
  ])
  const certificate = (await kit.certificate('node-n1')) ?? assert.fail('no certificate')
  assert.deepEqual(certificate.subject, { commonName: 'system:node:n1', organizations: ['system:nodes'] })
  assert.deepEqual(certificate.extendedUsages, ['1.3.6.1.5.5.7.3.2'])
  assert.ok(certificate.x509.verify(testAuthority().certificate.publicKey))
})

void test('spec 2.11: the renewal of a node is approved by the permission to renew its own certificate', async (t) => {
  const kit = await Kit.open(t)
  kit.granted = ['selfnodeclient']
  kit.lead()
  await kit.create(nodeRequestBody(kit.api.names), nodeUser)
  // A node does not get the certificate of another one.
  await kit.create(nodeRequestBody(kit.api.names, 'n2', 'other'), nodeUser)
  await kit.rest()
  const approved =
    'Approved: AutoApproved: Auto approving self kubelet client certificate after SubjectAccessReview.'
  assert.deepEqual(await kit.conditions('node-n1'), [approved])
  assert.notEqual(await kit.certificate('node-n1'), null)
  assert.deepEqual(await kit.conditions('other'), [])
})

void test('a request without the permission stays pending until the permission is granted', async (t) => {
  const kit = await Kit.open(t)
  kit.granted = []
  kit.lead()
  await kit.create(nodeRequestBody(kit.api.names), bootstrapper)
  await kit.rest(5000)
  assert.deepEqual(await kit.conditions('node-n1'), [])
  kit.granted = ['nodeclient']
  await kit.rest(60_000)
  assert.equal((await kit.conditions('node-n1')).length, 1)
})

void test('spec 2.11: requests for other signers, subjects, alternative names, usages or an authority are not approved', async (t) => {
  const kit = await Kit.open(t)
  kit.lead()
  const { signers } = kit.api.names
  const node = { commonName: 'system:node:n1', organizations: ['system:nodes'] }
  const of = (name: string, change: Partial<Parameters<typeof requestBody>[0]>): JsonObject =>
    requestBody({
      ...{ name, signerName: signers.apiserverClientNodeAgent, usages: nodeUsages, request: node },
      ...change,
    })
  const wrong = [
    of('serving', { signerName: signers.nodeAgentServing }),
    of('client', { signerName: signers.apiserverClient }),
    of('foreign', { signerName: 'example.com/signer' }),
    of('organization', { request: { ...node, organizations: ['system:nodes', 'admins'] } }),
    of('name', { request: { ...node, commonName: 'admin' } }),
    of('alternative', { request: { ...node, dns: ['n1'] } }),
    of('authority', { request: { ...node, isAuthority: true } }),
    of('usages', { usages: ['client auth', 'server auth'] }),
  ]
  for (const body of wrong) await kit.create(body, nodeUser)
  await kit.rest(60_000)
  for (const body of wrong) {
    const name = textMember(objectMember(body, 'metadata'), 'name')
    assert.deepEqual(await kit.conditions(name), [], name)
    assert.equal(await kit.certificate(name), null)
  }
})

void test('spec 3.2: an approved request that breaks a rule of its signer fails with the rule', async (t) => {
  const kit = await Kit.open(t)
  kit.lead()
  const { signers } = kit.api.names
  const serving = { name: 'serving', signerName: signers.nodeAgentServing }
  const request = { commonName: 'system:node:n1', organizations: ['system:nodes'] }
  const usages = ['digital signature', 'key encipherment', 'server auth']
  await kit.create(requestBody({ ...serving, request, usages }))
  await kit.decide('serving', 'Approved')
  await kit.rest()
  const failed = 'Failed: SignerValidationFailure: DNS or IP subjectAltName is required'
  assert.deepEqual(await kit.conditions('serving'), ['Approved: Test: ', failed])
  assert.equal(await kit.certificate('serving'), null)
})

void test('each step of a request, and why it is not taken, is an event about it', async (t) => {
  const kit = await Kit.open(t)
  kit.granted = []
  kit.lead()
  await kit.create(nodeRequestBody(kit.api.names), nodeUser)
  const other = { commonName: 'jane', organizations: ['system:nodes'] }
  const { signers } = kit.api.names
  const node = { signerName: signers.apiserverClientNodeAgent, usages: nodeUsages, request: other }
  await kit.create(requestBody({ ...node, name: 'jane' }), nodeUser)
  await kit.rest()
  const missing = 'selfnodeclient or certificatesigningrequests/nodeclient'
  const notApproved = 'Warning: CertificateNotApproved: Not approved automatically: '
  const refused = `${notApproved}the requester may not create certificatesigningrequests/${missing}`
  assert.deepEqual(await kit.events('node-n1'), [refused])
  const rule = 'subject common name does not begin with system:node:'
  assert.deepEqual(await kit.events('jane'), [`${notApproved}${rule}`])
  kit.granted = ['selfnodeclient']
  await kit.decide('jane', 'Approved')
  await kit.rest(60_000)
  assert.deepEqual(await kit.events('jane'), [`Warning: CertificateFailed: ${rule}`, `${notApproved}${rule}`])
  await kit.rest(2 * hourMs)
  assert.deepEqual(await kit.events('node-n1'), [
    'Normal: CertificateApproved: Auto approving self kubelet client certificate after SubjectAccessReview.',
    `Normal: CertificateIssued: Issued by the signer ${signers.apiserverClientNodeAgent}`,
    'Normal: CertificateRequestRemoved: Removed: it is no longer needed',
    refused,
  ])
})

void test('spec 3.2: what is pending, denied, or of the signer of another program is not signed', async (t) => {
  const kit = await Kit.open(t)
  kit.lead()
  const { signers } = kit.api.names
  const client = { request: { commonName: 'jane' }, usages: ['client auth'] }
  await kit.create(requestBody({ ...client, name: 'pending', signerName: signers.apiserverClient }))
  await kit.create(requestBody({ ...client, name: 'denied', signerName: signers.apiserverClient }))
  await kit.create(requestBody({ ...client, name: 'foreign', signerName: 'example.com/signer' }))
  await kit.decide('denied', 'Denied')
  await kit.decide('foreign', 'Approved')
  await kit.rest(60_000)
  for (const name of ['pending', 'denied', 'foreign']) assert.equal(await kit.certificate(name), null, name)
  assert.deepEqual(await kit.conditions('foreign'), ['Approved: Test: '])
})

void test('spec 2.11: expirationSeconds shortens the lifetime, and never lengthens it', async (t) => {
  const kit = await Kit.open(t)
  kit.lead(['csrsigning'])
  const { signers } = kit.api.names
  const client = {
    signerName: signers.apiserverClient,
    request: { commonName: 'jane' },
    usages: ['client auth'],
  }
  await kit.create(requestBody({ ...client, name: 'short', expirationSeconds: 600 }))
  await kit.create(requestBody({ ...client, name: 'long', expirationSeconds: 2 * 8760 * 3600 }))
  for (const name of ['short', 'long']) await kit.decide(name, 'Approved')
  const beforeMs = kit.api.clock.wallMs()
  await kit.rest()
  const lifetime = async (name: string): Promise<number> =>
    ((await kit.certificate(name)) ?? assert.fail(name)).notAfterMs - beforeMs
  assert.ok(Math.abs((await lifetime('short')) - 600_000) < 2000)
  assert.ok(Math.abs((await lifetime('long')) - (8760 * hourMs - 300_000)) < 2000)
})

void test('a request approved before the members share an authority is signed once they do', async (t) => {
  const kit = await Kit.open(t)
  kit.authority = 'not-yet'
  kit.lead()
  await kit.create(nodeRequestBody(kit.api.names), bootstrapper)
  await kit.rest()
  assert.equal(await kit.certificate('node-n1'), null)
  kit.authority = testAuthority()
  await kit.rest(60_000)
  assert.notEqual(await kit.certificate('node-n1'), null)
})

void test('a signer without files signs nothing and refuses nothing', async (t) => {
  const kit = await Kit.open(t)
  kit.authority = 'disabled'
  kit.lead()
  await kit.create(nodeRequestBody(kit.api.names), bootstrapper)
  await kit.rest(60_000)
  assert.equal((await kit.conditions('node-n1')).length, 1)
  assert.equal(await kit.certificate('node-n1'), null)
})

void test('two members that both lead sign each request once', async (t) => {
  const kit = await Kit.open(t)
  const stop = kit.lead()
  kit.lead()
  for (let at = 0; at < 20; at++)
    await kit.create(nodeRequestBody(kit.api.names, `n${at}`, `r${at}`), nodeUser)
  await kit.rest()
  stop()
  await kit.rest(60_000)
  const serials = new Set<string>()
  for (let at = 0; at < 20; at++) {
    const made = (await kit.certificate(`r${at}`)) ?? assert.fail(`r${at}`)
    assert.equal(made.subject.commonName, `system:node:n${at}`)
    serials.add(made.serial)
    assert.equal((await kit.conditions(`r${at}`)).length, 1)
  }
  assert.equal(serials.size, 20)
})

void test('spec 3.2, 8: requests are removed at the times of the spec', async (t) => {
  const kit = await Kit.open(t)
  const { signers } = kit.api.names
  const client = {
    signerName: signers.apiserverClient,
    request: { commonName: 'jane' },
    usages: ['client auth'],
  }
  for (const name of ['pending', 'approved', 'denied']) await kit.create(requestBody({ ...client, name }))
  await kit.create(requestBody({ ...client, name: 'failed', usages: ['server auth'] }))
  await kit.create(requestBody({ ...client, name: 'expired', expirationSeconds: 600 }))
  for (const name of ['approved', 'failed', 'expired']) await kit.decide(name, 'Approved')
  await kit.decide('denied', 'Denied')
  kit.lead()
  await kit.rest()
  const left = async (): Promise<readonly string[]> => {
    const present: string[] = []
    for (const name of ['approved', 'denied', 'expired', 'failed', 'pending']) {
      if ((await kit.get(name)) !== null) present.push(name)
    }
    return present
  }
  assert.deepEqual(await left(), ['approved', 'denied', 'expired', 'failed', 'pending'])
  await kit.rest(8 * 60_000)
  assert.equal((await left()).length, 5)
  // The certificate of ten minutes expires.
  await kit.rest(5 * 60_000)
  assert.deepEqual(await left(), ['approved', 'denied', 'failed', 'pending'])
  await kit.rest(hourMs)
  assert.deepEqual(await left(), ['pending'])
  await kit.rest(22 * hourMs)
  assert.deepEqual(await left(), ['pending'])
  await kit.rest(hourMs)
  assert.deepEqual(await left(), [])
})

void test('a new leader removes what became due while no member led', async (t) => {
  const kit = await Kit.open(t)
  const { signers } = kit.api.names
  const client = {
    signerName: signers.apiserverClient,
    request: { commonName: 'jane' },
    usages: ['client auth'],
  }
  await kit.create(requestBody({ ...client, name: 'old' }))
  kit.api.clock.advance(25 * hourMs)
  kit.lead(['csrcleaner'])
  await kit.rest(20)
  assert.equal(await kit.get('old'), null)
})
