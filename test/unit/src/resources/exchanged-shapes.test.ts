/*
 * Goal: the objects exchanged with webhooks and credential plugins have the members of spec 2.12,
 * 4.6 and 5.5. Method: sample objects are conformed, validated, and encoded and decoded in protobuf
 * where they have that form.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { causesOf } from '../../../../src/api/errors/findings.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { decodeProtobufMessage } from '../../../../src/api/codec/protobuf-decode.ts'
import { encodeProtobufMessage } from '../../../../src/api/codec/protobuf-encode.ts'
import { conform } from '../../../../src/api/schema/conform.ts'
import type { ObjectSchema } from '../../../../src/api/schema/schema.ts'
import { validateSchema } from '../../../../src/api/schema/validate.ts'
import { admissionReviewSchema } from '../../../../src/resources/reviews/admission-review.ts'
import { execCredentialSchema } from '../../../../src/resources/certificates/exec-credential.ts'

const pod = { group: '', version: 'v1', kind: 'Pod' }
const pods = { group: '', version: 'v1', resource: 'pods' }
const request = {
  uid: 'u-1',
  kind: pod,
  resource: pods,
  subResource: 'status',
  requestKind: pod,
  requestResource: pods,
  requestSubResource: 'status',
  name: 'web',
  namespace: 'shop',
  operation: 'UPDATE',
  userInfo: { username: 'jane', uid: '7', groups: ['staff'], extra: { reason: ['a', 'b'] } },
  object: { kind: 'Pod', metadata: { name: 'web' } },
  oldObject: { kind: 'Pod' },
  dryRun: false,
  options: { kind: 'UpdateOptions' },
}
const response = {
  uid: 'u-1',
  allowed: false,
  status: { metadata: {}, code: 403, message: 'no' },
  patch: Buffer.from('[]').toString('base64'),
  patchType: 'JSONPatch',
  auditAnnotations: { a: 'b' },
  warnings: ['w'],
}

function wrong(schema: ObjectSchema, object: JsonObject): readonly string[] {
  const { value, unknown } = conform(schema, object)
  assert.deepEqual(unknown, [])
  const causes = causesOf((found) => {
    validateSchema(schema, value, found)
  })
  return causes.map(({ reason, field }) => `${reason} ${field}`)
}

void test('spec 2.12: AdmissionReview carries request and response, in JSON and protobuf', () => {
  for (const version of ['v1', 'v1beta1'] as const) {
    const schema = admissionReviewSchema(version)
    const review = { request, response }
    assert.deepEqual(wrong(schema, review), [])
    assert.deepEqual(decodeProtobufMessage(schema, encodeProtobufMessage(schema, review)), review)
  }
})

void test('spec 4.6: an admission request and response have the required members and enums, and a request the field numbers', () => {
  const schema = admissionReviewSchema('v1')
  const nameless = { ...request, uid: '' }
  assert.deepEqual(wrong(schema, { request: nameless }), ['FieldValueRequired request.uid'])
  const read = { ...request, operation: 'READ' }
  assert.deepEqual(wrong(schema, { request: read }), ['FieldValueNotSupported request.operation'])
  assert.deepEqual(wrong(schema, { response: {} }), [
    'FieldValueRequired response.uid',
    'FieldValueRequired response.allowed',
  ])
  const odd = { ...response, patchType: 'Merge' }
  assert.deepEqual(wrong(schema, { response: odd }), ['FieldValueNotSupported response.patchType'])
  const numbers = [1, 2, 3, 4, 13, 14, 15, 5, 6, 7, 8, 9, 10, 11, 12]
  const { request: requested } = schema.properties
  assert.ok(requested?.type === 'object')
  assert.deepEqual(Object.values(requested.protobuf ?? {}), numbers)
})

void test('spec 5.5: ExecCredential has a token, or a certificate with its key', () => {
  for (const version of ['v1', 'v1beta1'] as const) {
    const schema = execCredentialSchema(version)
    const meta = { kind: 'ExecCredential', apiVersion: `client.authentication.orch.io/${version}` }
    const cluster = {
      server: 'https://a.io:6443',
      'certificate-authority-data': Buffer.from('x').toString('base64'),
      config: { audience: 'b' },
    }
    assert.deepEqual(wrong(schema, { ...meta, spec: { cluster, interactive: true } }), [])
    const pair = {
      clientCertificateData: 'c',
      clientKeyData: 'k',
      expirationTimestamp: '2026-01-02T03:04:05Z',
    }
    const reported = (status: JsonObject): readonly string[] =>
      wrong(schema, { ...meta, spec: { interactive: false }, status })
    assert.deepEqual(reported({ token: 't' }), [])
    assert.deepEqual(reported(pair), [])
    assert.deepEqual(reported({ ...pair, token: 't' }), [])
    assert.deepEqual(reported({}), ['FieldValueInvalid status'])
    assert.deepEqual(reported({ clientKeyData: 'k' }), ['FieldValueRequired status.clientCertificateData'])
    assert.deepEqual(reported({ clientCertificateData: 'c', token: 't' }), [
      'FieldValueRequired status.clientKeyData',
    ])
  }
})

void test('spec 5.5: spec.interactive is required in the stable version', () => {
  const spec = { cluster: { server: '' } }
  assert.deepEqual(wrong(execCredentialSchema('v1'), { spec }), [
    'FieldValueRequired spec.interactive',
    'FieldValueRequired spec.cluster.server',
  ])
  assert.deepEqual(wrong(execCredentialSchema('v1beta1'), { spec }), [
    'FieldValueRequired spec.cluster.server',
  ])
})
