// Goal: small values: times, quantities, versions, names by domain, events. Method: tables, and
// times against Date.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expired, notFound, tooLargeResourceVersion } from '../../../../src/api/errors/standard-errors.ts'
import {
  compareVersions,
  formatGroupVersion,
  parseGroupVersion,
} from '../../../../src/api/metadata/group-version.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { canonicalQuantity, compareQuantities, parseQuantity } from '../../../../src/api/schema/quantity.ts'
import { deletedStatus, statusOf } from '../../../../src/api/errors/status.ts'
import {
  canonicalMicroTime,
  formatMicroTime,
  formatTime,
  parseTime,
  parseTimeMs,
} from '../../../../src/api/metadata/time.ts'
import { utf8Length } from '../../../../src/api/utf8.ts'
import { bookmarkEvent, errorEvent } from '../../../../src/api/watch-event.ts'
import { fc } from '../../../support/generators/fast-check.ts'

void test('times agree with Date over the whole range', () => {
  const range = { min: Date.parse('0001-01-01T00:00:00Z'), max: Date.parse('9999-12-31T23:59:59Z') }
  fc.assert(
    fc.property(fc.integer(range), (ms) => {
      const text = new Date(ms)
        .toISOString()
        .replace(/\.\d+Z$/, 'Z')
        .replace(/^[+]?0*(\d{4}-)/, '$1')
      assert.equal(formatTime(ms), text)
      assert.equal(parseTimeMs(text), Math.floor(ms / 1000) * 1000)
      assert.equal(parseTimeMs(formatMicroTime(ms)), ms)
    }),
    { numRuns: 2000 },
  )
})

void test('times are parsed strictly and keep their digits', () => {
  assert.deepEqual(parseTime('2026-01-01T00:30:00.123456789+01:00'), {
    seconds: 1767223800,
    nanos: 123456789,
  })
  assert.equal(canonicalMicroTime('2026-01-01T00:00:00.1Z'), '2026-01-01T00:00:00.100000Z')
  for (const text of [
    '2026-1-1T00:00:00Z',
    '2026-01-01',
    '2026-01-01T24:00:00Z',
    '2026-02-29T00:00:00Z',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00+24:00',
    '2026-00-01T00:00:00Z',
    '',
  ]) {
    assert.equal(parseTime(text), null, text)
  }
})

void test('quantities have one canonical form', () => {
  for (const [text, canonical] of [
    ['1000m', '1'],
    ['1500m', '1500m'],
    ['1.5', '1500m'],
    ['0.5Gi', '512Mi'],
    ['1024Mi', '1Gi'],
    ['1Ki', '1Ki'],
    ['512', '512'],
    ['1000k', '1M'],
    ['1e3', '1e3'],
    ['12e6', '12e6'],
    ['100E', '9223372036854775807'],
    ['0', '0'],
    ['-1000m', '-1'],
    ['.5', '500m'],
    ['5.', '5'],
    ['1e-12', '1e-9'],
    ['0.1n', '1n'],
    ['+3', '3'],
  ] as const) {
    assert.equal(canonicalQuantity(text), canonical, text)
  }
  for (const text of ['', '.', '1x', '1 Gi', '1ki', '--1', '1e', '1e9999', '1'.repeat(65)]) {
    assert.equal(canonicalQuantity(text), null, text)
  }
  const [small, big] = [parseQuantity('1Gi'), parseQuantity('2G')]
  assert.ok(small !== null && big !== null)
  assert.ok(compareQuantities(small, big) < 0)
})

void test('versions are sorted by preference as in discovery', () => {
  const sorted = ['foo10', 'v1alpha1', 'v2beta1', 'v1', 'v11alpha2', 'v10', 'v2beta2', 'foo1'].sort(
    compareVersions,
  )
  assert.deepEqual(sorted, ['v10', 'v1', 'v2beta2', 'v2beta1', 'v11alpha2', 'v1alpha1', 'foo1', 'foo10'])
})

void test('spec 9.2: apiVersion is the version, or group and version', () => {
  assert.deepEqual(parseGroupVersion('v1'), { group: '', version: 'v1' })
  assert.deepEqual(parseGroupVersion('a.b/v1'), { group: 'a.b', version: 'v1' })
  for (const text of ['', '/v1', 'a/', 'a/b/c']) assert.equal(parseGroupVersion(text), null, text)
  assert.equal(formatGroupVersion({ group: 'a.b', version: 'v1' }), 'a.b/v1')
})

void test('each domain has its own names for the same concepts', () => {
  const orch = namesOf('orch.io')
  const upstream = namesOf('k8s.io')
  assert.equal(orch.group('storage'), 'storage.orch.io')
  assert.equal(upstream.group('rbac.authorization'), 'rbac.authorization.k8s.io')
  assert.equal(upstream.group('apps'), 'apps')
  assert.equal(orch.group(''), '')
  assert.equal(orch.groupStem('storage.orch.io'), 'storage')
  assert.equal(orch.label('metadata.name'), 'orch.io/metadata.name')
  assert.equal(upstream.labelUnder('node', 'unreachable'), 'node.kubernetes.io/unreachable')
  assert.equal(upstream.definition('core.v1.ConfigMap'), 'io.k8s.api.core.v1.ConfigMap')
  assert.equal(upstream.definition('meta.v1.ObjectMeta'), 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta')
  assert.equal(orch.definition('core.v1.ConfigMap'), 'io.orch.api.core.v1.ConfigMap')
})

void test('spec 7: a Status has the form that clients expect', () => {
  assert.deepEqual(statusOf(notFound({ group: 'apps', resource: 'deployments' }, 'x')), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'deployments.apps "x" not found',
    reason: 'NotFound',
    details: { name: 'x', group: 'apps', kind: 'deployments' },
    code: 404,
  })
  assert.deepEqual(deletedStatus({ name: 'a', group: '', resource: 'configmaps', uid: 'u' }), {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: 'a', kind: 'configmaps', uid: 'u' },
  })
})

void test('spec 4.8.5: a resourceVersion in the future is a 504 with the reason and a time to retry', () => {
  const status = statusOf(tooLargeResourceVersion(9n, 5n))
  assert.equal(status['code'], 504)
  assert.equal(status['message'], 'Timeout: Too large resource version: 9, current: 5')
  assert.deepEqual(status['details'], {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
})

void test('spec 6.1: bookmarks and errors are events of one line', () => {
  const bookmark = bookmarkEvent({ apiVersion: 'v1', kind: 'ConfigMap' }, 12)
  assert.deepEqual(JSON.parse(bookmark), {
    type: 'BOOKMARK',
    object: {
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: { resourceVersion: '12', creationTimestamp: null },
    },
  })
  assert.ok(bookmark.endsWith('}\n'))
  const event = JSON.parse(errorEvent(expired('too old'))) as { type: string; object: { code: number } }
  assert.equal(event.type, 'ERROR')
  assert.equal(event.object.code, 410)
})

void test('the length in UTF-8 is the number of bytes of the encoded text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.equal(utf8Length(text), Buffer.byteLength(text))
    }),
  )
})

void test('of the name of a missing object at most 256 characters are shown', () => {
  const of = { group: '', resource: 'configmaps' }
  const { message, details } = notFound(of, '🦄'.repeat(1000))
  assert.equal(message, `configmaps "${'🦄'.repeat(256)}" not found`)
  assert.equal(details.name, '🦄'.repeat(256))
  assert.equal(notFound(of, 'x'.repeat(253)).details.name, 'x'.repeat(253))
})
