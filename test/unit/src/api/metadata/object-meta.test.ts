// Goal: the rules for metadata are upstream's. Method: one error at a time; whole messages are
// compared.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiError, ApiErrorCause } from '../../../../../src/api/errors/api-error.ts'
import { invalidObject } from '../../../../../src/api/errors/field-error.ts'
import type { GroupKind } from '../../../../../src/api/errors/field-error.ts'
import { Findings, causesOf } from '../../../../../src/api/errors/findings.ts'
import { generateName } from '../../../../../src/api/metadata/generate-name.ts'
import {
  checkConfigKey,
  checkDns1123Subdomain,
  checkQualifiedName,
} from '../../../../../src/api/metadata/name-rules.ts'
import {
  fieldManagerOf,
  validateFieldManager,
  validateMetaOnCreate,
  validateMetaOnUpdate,
} from '../../../../../src/api/metadata/object-meta.ts'
import type { MetaRules, UpdateRules } from '../../../../../src/api/metadata/object-meta.ts'
import type { ObjectMeta } from '../../../../../src/api/metadata/object.ts'
import { SeededRandom } from '../../../../../base/random.ts'
import { statusOf } from '../../../../../src/api/errors/status.ts'

const rules = { namespaced: true, validateName: checkDns1123Subdomain }
type Owner = NonNullable<ObjectMeta['ownerReferences']>[number]
const good: ObjectMeta = { name: 'a', namespace: 'n', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' }

type Causes = readonly ApiErrorCause[]

function created(meta: ObjectMeta, by: MetaRules = rules): Causes {
  return causesOf((found) => {
    validateMetaOnCreate(meta, by, found)
  })
}

function updated(meta: ObjectMeta, current: ObjectMeta, by: UpdateRules = {}): Causes {
  return causesOf((found) => {
    validateMetaOnUpdate(meta, current, by, found)
  })
}

/** Returns the 422 for an object with that metadata. */
function refusal(of: GroupKind, name: string, meta: ObjectMeta): ApiError {
  const found = new Findings()
  validateMetaOnCreate(meta, rules, found)
  return invalidObject(of, name, found.list)
}

function messages(meta: ObjectMeta): string[] {
  return created(meta).map((cause) => `${cause.field}: ${cause.message}`)
}

void test('well-formed metadata has no findings', () => {
  const meta: ObjectMeta = {
    ...good,
    labels: { 'example.com/Tier': 'front_end', empty: '' },
    annotations: { 'Example.COM/x': 'any text\n' },
    finalizers: ['example.com/x', 'foregroundDeletion'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true }],
  }
  assert.deepEqual(messages(meta), [])
})

void test('an invalid name is rejected with the message that clients know', () => {
  const words =
    'metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of lower case ' +
    "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. " +
    "'example.com', regex used for validation is " +
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
  assert.deepEqual(messages({ ...good, name: 'A_b' }), [words])
  const status = statusOf(refusal({ group: '', kind: 'ConfigMap' }, 'A_b', { ...good, name: 'A_b' }))
  assert.equal(status['code'], 422)
  assert.equal(status['reason'], 'Invalid')
  assert.equal(status['message'], `ConfigMap "A_b" is invalid: ${words}`)
})

void test('several errors are reported together, in brackets', () => {
  const meta = { labels: { 'a b': 'x' } }
  const error = refusal({ group: 'g.test', kind: 'Thing' }, '', meta)
  assert.match(error.message, /^Thing\.g\.test "" is invalid: \[metadata\.name: Required value: name or /)
  assert.match(
    error.message,
    /, metadata\.namespace: Required value, metadata\.labels: Invalid value: "a b": /,
  )
  assert.deepEqual(error.details.causes, created(meta))
})

void test('names and keys are checked for length and syntax', () => {
  assert.deepEqual(checkDns1123Subdomain('a'.repeat(253)), [])
  assert.deepEqual(checkDns1123Subdomain('a'.repeat(254)), ['must be no more than 253 characters'])
  assert.deepEqual(checkQualifiedName(`x/${'a'.repeat(63)}`), [])
  assert.equal(checkQualifiedName('/a')[0], 'prefix part must be non-empty')
  assert.equal(checkQualifiedName('a/')[0], 'name part must be non-empty')
  assert.match(checkQualifiedName('a/b/c')[0] ?? '', /^a qualified name must consist of/)
  assert.deepEqual(checkConfigKey('..a'), [`must not start with '..'`])
  assert.deepEqual(checkConfigKey('A_b-c.d'), [])
  assert.match(checkConfigKey('a/b').join(), /^a valid config key must consist of/)
})

void test('cluster-scoped objects have no namespace', () => {
  const causes = created(good, { ...rules, namespaced: false })
  assert.deepEqual(causes, [
    {
      reason: 'FieldValueForbidden',
      field: 'metadata.namespace',
      message: 'Forbidden: not allowed on this type',
    },
  ])
})

void test('annotations have a common limit in bytes', () => {
  const half = 'é'.repeat(64 * 1024)
  assert.deepEqual(messages({ ...good, annotations: { a: half, b: half.slice(2) } }), [])
  assert.deepEqual(messages({ ...good, annotations: { a: half, b: half } }), [
    'metadata.annotations: Too long: must have at most 262144 bytes',
  ])
})

void test('owner references are complete, and at most one of them is the controller', () => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true }
  const refusals = (...ownerReferences: readonly Owner[]): string[] => messages({ ...good, ownerReferences })
  const [two = '', ...none] = refusals(owner, { ...owner, name: 'q' })
  assert.match(two, /^metadata\.ownerReferences: Invalid value: .*: Only one reference can have Controller /)
  assert.match(two, /Found "true" in references for p and q$/)
  assert.deepEqual(none, [])
  assert.deepEqual(refusals({ ...owner, uid: '', apiVersion: '' }), [
    'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
    'metadata.ownerReferences.uid: Invalid value: "": uid must not be empty',
  ])
  assert.deepEqual(refusals({ ...owner, kind: '', name: '' }), [
    'metadata.ownerReferences.kind: Invalid value: "": kind must not be empty',
    'metadata.ownerReferences.name: Invalid value: "": name must not be empty',
  ])
  const [event = '', ...more] = refusals({ ...owner, kind: 'Event' })
  assert.match(event, /: v1, Kind=Event is disallowed from being an owner$/)
  assert.deepEqual(more, [])
})

void test('finalizers are qualified or well known, and do not contradict each other', () => {
  assert.deepEqual(messages({ ...good, finalizers: ['mine'] }), [
    'metadata.finalizers[0]: Invalid value: "mine": ' +
      'name is neither a standard finalizer name nor is it fully qualified',
  ])
  assert.deepEqual(messages({ ...good, finalizers: ['foregroundDeletion', 'orphan'] }), [
    'metadata.finalizers: Invalid value: ["foregroundDeletion","orphan"]: ' +
      'finalizer orphan and foregroundDeletion cannot be both set',
  ])
  // For kinds whose finalizers upstream does not check.
  const plain = { ...rules, plainFinalizers: true }
  assert.deepEqual(created({ ...good, finalizers: ['mine'] }, plain), [])
  assert.deepEqual(updated({ ...good, finalizers: ['mine'] }, good, plain), [])
  const [spaced, ...rest] = updated({ ...good, finalizers: ['a b'] }, good, plain)
  assert.match(spaced?.message ?? '', /^Invalid value: "a b": name part must consist of/)
  assert.deepEqual(rest, [])
})

void test('an update cannot change immutable metadata', () => {
  const changed = { ...good, name: 'b', uid: 'v', namespace: 'm', deletionTimestamp: '2026-01-01T00:00:00Z' }
  assert.deepEqual(
    updated(changed, good).map((cause) => cause.field),
    ['metadata.name', 'metadata.namespace', 'metadata.uid', 'metadata.deletionTimestamp'],
  )
  assert.deepEqual(updated(good, good), [])
})

void test('an object that is being deleted accepts no new finalizer', () => {
  const stored = { ...good, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] }
  assert.deepEqual(updated({ ...stored, finalizers: [] }, stored), [])
  const causes = updated({ ...stored, finalizers: ['a/b', 'a/c'] }, stored)
  assert.equal(causes[0]?.reason, 'FieldValueForbidden')
})

void test('a generated name is the prefix cut to 58 characters and five random ones', () => {
  const random = new SeededRandom(1)
  assert.match(generateName('web-', random), /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  assert.equal(generateName('a'.repeat(80), random).length, 63)
  assert.deepEqual(messages({ ...good, generateName: 'web-' }), [])
  const [upper = '', ...rest] = messages({ ...good, generateName: 'Web-' })
  assert.match(upper, /^metadata\.generateName: Invalid value: "Web-": a lowercase RFC 1123 subdomain/)
  assert.deepEqual(rest, [])
})

void test('the field manager of a write without one comes from the user agent', () => {
  assert.equal(fieldManagerOf('kubectl/v1.20.2 (linux/amd64)'), 'kubectl')
  assert.equal(fieldManagerOf(''), '')
})

void test('each unprintable character of a field manager is reported with its position in bytes', () => {
  const found = causesOf((findings) => validateFieldManager('é\u0007 \u2028\u{e0001}', 'm', findings))
  assert.deepEqual(
    found.map(({ message }) => message.split(': ').at(-1)),
    [
      'invalid character U+0007 (at position 2)',
      'invalid character U+2028 (at position 4)',
      'invalid character U+E0001 (at position 7)',
    ],
  )
  assert.deepEqual(
    causesOf((findings) => validateFieldManager('é b', 'm', findings)),
    [],
  )
})

void test('a field manager from the user agent has only what validation accepts', () => {
  assert.equal(fieldManagerOf('a'.repeat(200)), 'a'.repeat(128))
  assert.equal(fieldManagerOf(`a${'é'.repeat(100)}`), `a${'é'.repeat(63)}`)
  assert.equal(fieldManagerOf('a b\u00a0c\u0001d'), 'a bcd')
})
