/*
 * Goal: over HTTP, an approved certificate request stays as it was approved, and the lifetime of
 * its certificate is within the bounds of the API and of the signer.
 * Method: the whole server, with a maximum of an hour for what it signs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { readCertificate } from '../../src/pki/certificate.ts'
import { AccessServer } from '../support/fixtures/access-server.ts'
import { certificateRequest } from '../support/fixtures/certificate-request.ts'
import { until } from '../support/tools/until.ts'

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const { signers } = namesOf('k8s.io')
const hourMs = 3_600_000

type Reply = { readonly status: number; readonly doc: JsonObject }

class Requests {
  readonly #api: AccessServer

  constructor(api: AccessServer) {
    this.#api = api
  }

  static async open(t: TestContext): Promise<Requests> {
    const flags = { 'api-domain': 'k8s.io', 'cluster-signing-duration': '1h' }
    return new Requests(await AccessServer.start(t, flags))
  }

  async send(method: string, path: string, body?: JsonObject): Promise<Reply> {
    const call = { method, ...(body === undefined ? {} : { body }) }
    const { status, text } = await this.#api.admin(`${REQUESTS}${path}`, call)
    return { status, doc: JSON.parse(text) as JsonObject }
  }

  /** Requests a client certificate. */
  create(name: string, seconds?: number): Promise<Reply> {
    const request = Buffer.from(certificateRequest({ commonName: 'jane' })).toString('base64')
    const spec = { signerName: signers.apiserverClient, request, usages: ['client auth'] }
    const lifetime = seconds === undefined ? {} : { expirationSeconds: seconds }
    return this.send('POST', '', { metadata: { name }, spec: { ...spec, ...lifetime } })
  }

  async get(name: string): Promise<JsonObject> {
    return (await this.send('GET', `/${name}`)).doc
  }

  /** Sends the stored object with other conditions through a subresource. */
  async decide(name: string, path: string, conditions: readonly JsonObject[]): Promise<Reply> {
    const stored = await this.get(name)
    const status = { ...objectMember(stored, 'status'), conditions }
    return this.send('PUT', `/${name}/${path}`, { ...stored, status })
  }

  /** Approves a request. @returns it with its certificate */
  async approved(name: string): Promise<JsonObject> {
    const { status, doc } = await this.decide(name, 'approval', [APPROVED])
    assert.equal(status, 200, textMember(doc, 'message'))
    let stored = doc
    await until('it is signed', async () => {
      stored = await this.get(name)
      return textMember(objectMember(stored, 'status'), 'certificate') !== ''
    })
    return stored
  }
}

const APPROVED = { type: 'Approved', status: 'True', reason: 'Fine' }
const DENIED = { type: 'Denied', status: 'True', reason: 'Mistake' }

function refusalOf(words: string): string {
  return `CertificateSigningRequest.certificates.k8s.io "a" is invalid: ${words}`
}

void test('spec 2.11: an approved request keeps its spec, its decision and its certificate', async (t) => {
  const requests = await Requests.open(t)
  assert.equal((await requests.create('a')).status, 201)
  const stored = await requests.approved('a')
  const conditions = objectsMember(objectMember(stored, 'status'), 'conditions')

  // As upstream: the parts that a path may not change are ignored there.
  const usages = ['client auth', 'digital signature']
  const changed = { ...stored, spec: { ...objectMember(stored, 'spec'), usages, expirationSeconds: 900 } }
  for (const path of ['', '/approval', '/status']) {
    const { status, doc } = await requests.send('PUT', `/a${path}`, changed)
    assert.equal(status, 200, textMember(doc, 'message'))
    assert.deepEqual(doc['spec'], stored['spec'], path)
  }
  const other = conditions.map((condition) => ({ ...condition, reason: 'Other' }))
  assert.equal((await requests.decide('a', 'status', other)).status, 200)
  assert.deepEqual((await requests.get('a'))['status'], stored['status'])

  const removed = 'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
  for (const path of ['approval', 'status']) {
    const { status, doc } = await requests.decide('a', path, [])
    assert.deepEqual([status, doc['message']], [422, refusalOf(removed)], path)
  }
  const both = await requests.decide('a', 'approval', [...conditions, DENIED])
  assert.equal(both.status, 422)
  assert.match(textMember(both.doc, 'message'), /Approved and Denied conditions are mutually exclusive/)
  const late = await requests.decide('a', 'status', [...conditions, DENIED])
  assert.equal(late.status, 422)
  const added = /status\.conditions: Forbidden: updates may not add a condition of type "Denied"/
  assert.match(textMember(late.doc, 'message'), added)

  assert.equal((await requests.create('b')).status, 201)
  const { certificate = '' } = objectMember(await requests.approved('b'), 'status')
  const status = { ...objectMember(stored, 'status'), certificate }
  const swapped = await requests.send('PUT', '/a/status', { ...(await requests.get('a')), status })
  const kept = 'status.certificate: Forbidden: updates may not modify existing certificate content'
  assert.deepEqual([swapped.status, swapped.doc['message']], [422, refusalOf(kept)])
  assert.deepEqual((await requests.get('a'))['status'], stored['status'])
})

void test('spec 2.11: a lifetime is at least ten minutes and at most what the signer allows', async (t) => {
  const requests = await Requests.open(t)
  const words = 'Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)'
  const short = await requests.create('a', 599)
  const message = refusalOf(`spec.expirationSeconds: ${words}`)
  assert.deepEqual([short.status, short.doc['message']], [422, message])
  for (const [name, seconds, wantedMs] of [
    ['shortest', 600, 600_000],
    ['longer', 7200, hourMs],
  ] as const) {
    assert.equal((await requests.create(name, seconds)).status, 201)
    const fromMs = Date.now()
    const stored = await requests.approved(name)
    assert.equal(objectMember(stored, 'spec')['expirationSeconds'], seconds)
    const pem = Buffer.from(textMember(objectMember(stored, 'status'), 'certificate'), 'base64').toString()
    const { notAfterMs } = readCertificate(pem)
    // Certificates have whole seconds.
    assert.ok(notAfterMs >= fromMs + wantedMs - 1000, `${name} ends ${notAfterMs - fromMs} ms later`)
    assert.ok(notAfterMs <= Date.now() + wantedMs, `${name} ends ${notAfterMs - fromMs} ms later`)
  }
})
