/*
 * Goal: CertificateSigningRequest follows spec 2.11 and 3.2: the requester, and which path may
 * change which part of the status.
 * Method: the shipped verbs on the state machine in memory; each rule violated once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import type { Json, JsonObject } from '../../../../src/api/json.ts'
import { createAuthority } from '../../../../src/pki/authority.ts'
import { generateKeyPair, privateKeyPem } from '../../../../src/pki/keys.ts'
import { certificateRequest } from '../../../support/fixtures/certificate-request.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'
import type { Got, Seen } from '../registry/fixture.ts'

const kind = 'CertificateSigningRequest'
const name = 'csr-1'
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64')
const good = {
  request: base64(certificateRequest({ commonName: 'jane' })),
  signerName: 'example.com/some-signer',
  usages: ['client auth'],
}
const approved = { type: 'Approved', status: 'True', reason: 'Fine' }
const denied = { type: 'Denied', status: 'True' }

function make(api: Fixture, spec: JsonObject, more: JsonObject = {}): Promise<Got> {
  return api.create({ kind, body: { metadata: { name }, spec, ...more } })
}

function setConditions(
  api: Fixture,
  subresource: string,
  conditions: Json,
  more: JsonObject = {},
): Promise<Got> {
  return api.patch({ kind, name, subresource, body: { status: { conditions, ...more } } })
}

/** Asserts that there is one cause with its message. */
function assertCause(seen: Seen, cause: string, words: string): void {
  assert.deepEqual([seen.code, ...causes(seen)], [422, cause])
  assert.ok(seen.message.includes(words), seen.message)
}

void test('spec 2.11: each rule of the spec of a request is enforced', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const keys = generateKeyPair()
  const stolen = certificateRequest({ commonName: 'x', keys, signer: generateKeyPair().privateKey })
  const rows: readonly (readonly [JsonObject, string, string])[] = [
    [{ request: '' }, 'FieldValueRequired spec.request', ''],
    [
      { request: base64('x') },
      'FieldValueInvalid spec.request',
      'PEM block type must be CERTIFICATE REQUEST',
    ],
    [{ request: base64(stolen) }, 'FieldValueInvalid spec.request', 'not signed by its own key'],
    [{ signerName: '' }, 'FieldValueRequired spec.signerName', ''],
    [{ signerName: 'some' }, 'FieldValueInvalid spec.signerName', "of the form 'example.com/signer-name'"],
    [{ signerName: 'some/signer' }, 'FieldValueInvalid spec.signerName', 'at least two segments'],
    [{ signerName: 'a.io/A' }, 'FieldValueInvalid spec.signerName', 'validating label "A"'],
    [{ signerName: 'orch.io/legacy-unknown' }, 'FieldValueInvalid spec.signerName', 'legacy signerName'],
    [{ expirationSeconds: 599 }, 'FieldValueInvalid spec.expirationSeconds', 'less than 600 seconds'],
    [{ usages: [] }, 'FieldValueRequired spec.usages', 'usages are required'],
    [{ usages: ['party'] }, 'FieldValueNotSupported spec.usages[0]', '"client auth"'],
    [{ usages: ['any', 'any'] }, 'FieldValueDuplicate spec.usages[1]', ''],
  ]
  for (const [spec, cause, words] of rows)
    assertCause(await refused(make(api, { ...good, ...spec })), cause, words)
  assert.equal((await make(api, { ...good, expirationSeconds: 600 })).code, 201)
})

void test('a private key that was given instead of a request is not in the error, which is audited', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const request = base64(privateKeyPem(generateKeyPair().privateKey))
  const seen = await refused(make(api, { ...good, request }))
  assertCause(seen, 'FieldValueInvalid spec.request', 'PEM block type must be CERTIFICATE REQUEST')
  assert.equal(JSON.stringify(seen).includes(request.slice(40, 80)), false)
})

void test('spec 2.11: the server sets the requester, and a new request has no approval', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const lies = { username: 'root', uid: '1', groups: ['x'], extra: { a: ['b'] } }
  const { object } = await make(api, { ...good, ...lies }, { status: { conditions: [approved] } })
  assert.deepEqual(object['spec'], { ...good, username: 'tester', groups: ['system:masters'] })
  assert.deepEqual(object['status'], {})
})

void test('spec 2.11: the spec is immutable, and status changes only on its own paths', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const made = await make(api, good)
  const body = {
    metadata: { labels: { a: 'b' } },
    spec: { signerName: 'other.io/x', username: 'root' },
    status: { conditions: [approved] },
  }
  const { object } = await api.patch({ kind, name, body })
  assert.deepEqual([object['spec'], object['status']], [made.object['spec'], {}])
  assert.deepEqual(object.metadata.labels, { a: 'b' })
})

void test('spec 3.2: approval sets Approved permanently, and not together with Denied', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await make(api, good)
  const both = await refused(setConditions(api, 'approval', [approved, denied]))
  assert.deepEqual(causes(both), [
    'FieldValueInvalid status.conditions[0].type',
    'FieldValueInvalid status.conditions[1].type',
  ])
  const certificate = base64('not checked here')
  const unsure = { ...approved, status: 'Unknown' }
  const no = await refused(setConditions(api, 'approval', [unsure]))
  assertCause(no, 'FieldValueNotSupported status.conditions[0].status', '"True"')
  const yes = await setConditions(api, 'approval', [approved], { certificate })
  const now = '2026-01-02T03:04:05Z'
  assert.deepEqual(yes.object['status'], {
    conditions: [{ ...approved, lastUpdateTime: now, lastTransitionTime: now }],
  })
  const back = await refused(setConditions(api, 'approval', []))
  assertCause(back, 'FieldValueForbidden status.conditions', 'may not remove a condition of type "Approved"')
  api.clock.advance(5000)
  const again = await setConditions(api, 'approval', [{ ...approved, reason: 'Better' }])
  assert.deepEqual(again.object['status'], {
    conditions: [
      {
        ...approved,
        reason: 'Better',
        lastUpdateTime: '2026-01-02T03:04:10Z',
        lastTransitionTime: now,
      },
    ],
  })
})

void test('spec 3.2: a signer sets the certificate or a failure, and cannot approve', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await make(api, good)
  const add = await refused(setConditions(api, 'status', [approved]))
  assertCause(add, 'FieldValueForbidden status.conditions', 'may not add a condition of type "Approved"')
  const { object } = await setConditions(api, 'approval', [approved])
  const kept = (object['status'] as JsonObject)['conditions'] as readonly JsonObject[]
  const changed = await setConditions(api, 'status', [{ ...approved, reason: 'Mine' }])
  assert.deepEqual((changed.object['status'] as JsonObject)['conditions'], kept)
  const bare = { certificate: base64('x') }
  assertCause(
    await refused(setConditions(api, 'status', kept, bare)),
    'FieldValueInvalid status.certificate',
    'at least one',
  )
  const odd = { certificate: good.request }
  assertCause(
    await refused(setConditions(api, 'status', kept, odd)),
    'FieldValueInvalid status.certificate',
    'only CERTIFICATE',
  )
  const junk = { certificate: base64('-----BEGIN CERTIFICATE-----\nAQID\n-----END CERTIFICATE-----\n') }
  assertCause(
    await refused(setConditions(api, 'status', kept, junk)),
    'FieldValueInvalid status.certificate',
    'certificate data',
  )
  const many = { certificate: base64(issued('one').repeat(200)) }
  assertCause(
    await refused(setConditions(api, 'status', kept, many)),
    'FieldValueInvalid status.certificate',
    'must contain at most 65536 bytes of certificates',
  )
  const certificate = base64(issued('one'))
  const done = await setConditions(api, 'status', kept, { certificate })
  assert.equal((done.object['status'] as JsonObject)['certificate'], certificate)
  const other = await refused(setConditions(api, 'status', kept, { certificate: base64(issued('two')) }))
  assertCause(other, 'FieldValueForbidden status.certificate', 'may not modify existing certificate content')
  const failed = { type: 'Failed', status: 'True' }
  const end = await setConditions(api, 'status', [...kept, failed])
  const shown = api.definition(kind).columns?.at(-1)?.cell(end.object)
  assert.equal(shown, 'Approved,Failed,Issued')
  const gone = await refused(setConditions(api, 'status', kept))
  assertCause(gone, 'FieldValueForbidden status.conditions', 'may not remove a condition of type "Failed"')
})

void test('a request has its columns and can be selected by its signer', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const signerName = 'kubernetes.io/kube-apiserver-client'
  const { object } = await make(api, { ...good, signerName, expirationSeconds: 86_400 })
  const columns = api.definition(kind).columns ?? []
  assert.deepEqual(
    columns.map((column) => [column.name, column.cell(object)]),
    [
      ['Name', name],
      ['Age', { since: object.metadata.creationTimestamp }],
      ['SignerName', signerName],
      ['Requestor', 'tester'],
      ['RequestedDuration', '24h'],
      ['Condition', 'Pending'],
    ],
  )
  const list = await api.list({ kind, query: { fieldSelector: `spec.signerName=${signerName}` } })
  assert.equal(list.items.length, 1)
  const no = await api.list({ kind, query: { fieldSelector: 'spec.signerName=example.com/other' } })
  assert.equal(no.items.length, 0)
})

function issued(commonName: string): string {
  const validity = { notBeforeMs: Date.UTC(2026, 0, 1), notAfterMs: Date.UTC(2027, 0, 1) }
  return createAuthority({ commonName, ...validity, random: new SeededRandom(3) }).certificatePem
}
