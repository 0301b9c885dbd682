/*
 * Goal: every gRPC status of the other side is the error that its sender meant.
 * Method: a table of all codes of gRPC.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metadata, status } from '@grpc/grpc-js'
import { logIndex } from '../../../../raft/core/types.ts'
import { failureOf, refusalStatus, removedIndexOf } from '../../../../raft/transport/status.ts'
import type { TransportErrorCode } from '../../../../raft/transport/errors.ts'

const meant: Partial<Record<status, TransportErrorCode>> = {
  [status.UNAUTHENTICATED]: 'refused',
  [status.PERMISSION_DENIED]: 'refused',
  [status.FAILED_PRECONDITION]: 'refused',
  [status.INVALID_ARGUMENT]: 'refused',
  [status.OUT_OF_RANGE]: 'lost-log',
  [status.RESOURCE_EXHAUSTED]: 'busy',
  [status.ALREADY_EXISTS]: 'busy',
  [status.ABORTED]: 'aborted',
  [status.DATA_LOSS]: 'corrupt',
}

void test('each status is the error that it stands for, and any other means unreachable', () => {
  const codes = Object.values(status).filter((code) => typeof code === 'number')
  assert.equal(codes.length, 17)
  for (const code of codes) {
    const error = failureOf({ code, details: 'some words' })
    assert.deepEqual([error.code, error.message], [meant[code] ?? 'unreachable', 'some words'], status[code])
  }
})

void test('the text of a status is one printable line of limited length', () => {
  const unavailable = status.UNAVAILABLE
  assert.equal(failureOf({ code: unavailable, details: '' }).message, 'gRPC status 14')
  assert.equal(failureOf({ code: unavailable, details: 'a\n\u001b[2Jb é' }).message, 'a [2Jb  ')
  assert.equal(failureOf({ code: unavailable, details: 'x'.repeat(301) }).message.length, 300)
  assert.equal(
    failureOf({ code: unavailable, details: 'self-signed certificate' }).message,
    'no authority that this member trusts signed the peer certificate (self-signed certificate)',
  )
})

void test('only a caller that is not a member is sent the index of the configuration without it', () => {
  const unknown = refusalStatus('unknown-member', 'who?', logIndex(7))
  assert.equal(unknown.code, status.PERMISSION_DENIED)
  const metadata = unknown.metadata ?? new Metadata()
  assert.equal(removedIndexOf({ code: status.PERMISSION_DENIED, metadata }), 7)
  assert.equal(removedIndexOf({ code: status.UNAUTHENTICATED, metadata }), 0)
  assert.equal(refusalStatus('other-member', 'who?', logIndex(7)).metadata, undefined)
  for (const text of ['', 'x', '-1', '1.5', '99999999999999999', '9999999999999999']) {
    const wrong = new Metadata()
    if (text !== '') wrong.set('orch-configuration-index', text)
    assert.equal(removedIndexOf({ code: status.PERMISSION_DENIED, metadata: wrong }), 0, text)
  }
})
