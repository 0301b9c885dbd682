/*
 * Goal: an event is one line of JSON with upstream's members; bodies that are too long or secret
 * stay out of it.
 * Method: events made by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventLine, nothingNamed } from '../../../../src/audit/audit-event.ts'
import type { AuditEvent } from '../../../../src/audit/audit-event.ts'
import { redacted, redactedText } from '../../../../src/audit/redaction.ts'

const names = { apiVersion: 'audit.orch.io/v1', truncated: 'audit.orch.io/truncated' }

const event: AuditEvent = {
  level: 'RequestResponse',
  auditId: 'id-1',
  stage: 'ResponseComplete',
  requestUri: '/api/v1/namespaces/default/configmaps?dryRun=All',
  action: {
    kind: 'resource',
    verb: 'create',
    group: '',
    version: 'v1',
    resource: 'configmaps',
    subresource: '',
    namespace: 'default',
    name: '',
  },
  user: { name: 'alice', uid: 'u1', groups: ['dev'], extra: { scopes: ['a'] } },
  sourceIps: ['10.0.0.1'],
  impersonatedUser: null,
  userAgent: 'test/1',
  named: { ...nothingNamed, name: 'made' },
  responseStatus: { metadata: {}, code: 201 },
  requestObject: { kind: 'ConfigMap', data: { big: 12345678901234567890n, lines: 'a\nb\u2028c' } },
  responseObject: '{"kind":"ConfigMap","metadata":{"name":"made"}}',
  receivedMs: 1_767_323_045_678,
  stageMs: 1_767_323_045_690,
  annotations: new Map([
    ['b', '2'],
    ['a', '1'],
  ]),
}

function lineOf(change: Partial<AuditEvent>, bytesMax = 1_000_000): string {
  return Buffer.from(eventLine({ ...event, ...change }, names, bytesMax)).toString('utf8')
}

void test('members are in the order of upstream, digits are kept, and the only line break is at the end', () => {
  const line = lineOf({})
  assert.equal(line.indexOf('\n'), line.length - 1)
  assert.match(line, /"big":12345678901234567890/)
  const parsed = JSON.parse(line) as Record<string, unknown>
  assert.deepEqual(Object.keys(parsed), [
    ...[
      'kind',
      'apiVersion',
      'level',
      'auditID',
      'stage',
      'requestURI',
      'verb',
      'user',
      'sourceIPs',
      'userAgent',
    ],
    ...['objectRef', 'responseStatus', 'requestObject', 'responseObject'],
    ...['requestReceivedTimestamp', 'stageTimestamp', 'annotations'],
  ])
  assert.deepEqual(parsed['user'], {
    username: 'alice',
    uid: 'u1',
    groups: ['dev'],
    extra: { scopes: ['a'] },
  })
  assert.deepEqual(parsed['objectRef'], {
    resource: 'configmaps',
    namespace: 'default',
    name: 'made',
    apiVersion: 'v1',
  })
  assert.equal(parsed['requestReceivedTimestamp'], '2026-01-02T03:04:05.678000Z')
  assert.equal(parsed['stageTimestamp'], '2026-01-02T03:04:05.690000Z')
  assert.deepEqual(Object.keys(parsed['annotations'] as object), ['a', 'b'])
})

void test('an event of a path has no object, an unauthenticated one no user', () => {
  const parsed = JSON.parse(
    lineOf({
      action: { kind: 'path', verb: 'get', path: '/version' },
      user: null,
      sourceIps: [],
      userAgent: '',
      responseStatus: null,
      requestObject: null,
      responseObject: null,
      annotations: new Map(),
    }),
  ) as Record<string, unknown>
  assert.deepEqual(parsed['user'], {})
  for (const name of [
    'objectRef',
    'sourceIPs',
    'userAgent',
    'responseStatus',
    'requestObject',
    'annotations',
  ]) {
    assert.ok(!(name in parsed), name)
  }
})

void test('an event beyond the limit is written without its bodies and annotated', () => {
  const whole = lineOf({})
  assert.equal(lineOf({}, Buffer.byteLength(whole)), whole)
  const short = JSON.parse(lineOf({}, Buffer.byteLength(whole) - 1)) as Record<string, unknown>
  assert.ok(!('requestObject' in short) && !('responseObject' in short))
  assert.deepEqual(short['annotations'], { a: '1', 'audit.orch.io/truncated': 'true', b: '2' })
  assert.equal(event.annotations.size, 2, 'the event itself is as it was')
})

void test('tokens and managed fields are removed if requested', () => {
  const review = {
    kind: 'TokenReview',
    metadata: { name: 'x', managedFields: [{ manager: 'm' }] },
    spec: { token: 'secret-1', audiences: ['a'] },
    status: { token: 'secret-2', authenticated: true },
  }
  const both = redacted(review, { tokens: true, managedFields: true })
  assert.deepEqual(both, {
    kind: 'TokenReview',
    metadata: { name: 'x' },
    spec: { token: '[withheld]', audiences: ['a'] },
    status: { token: '[withheld]', authenticated: true },
  })
  assert.equal(redacted(review, { tokens: false, managedFields: false }), review)
  const text = JSON.stringify(review)
  assert.equal(redactedText(text, { tokens: false, managedFields: false }), text)
  assert.doesNotMatch(redactedText(text, { tokens: true, managedFields: false }), /secret-/)
  assert.doesNotMatch(redactedText(text, { tokens: false, managedFields: true }), /managedFields/)
})
