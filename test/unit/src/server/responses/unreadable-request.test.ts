/*
 * Goal: every error of the HTTP/1.1 parser is answered with one `Status`, once, and only on an open
 * connection.
 * Method: the function around a stream that records what is written.
 */
import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { answerUnreadable } from '../../../../../src/server/responses/unreadable-request.ts'

/** Returns a connection, and a function that returns what its client received. */
function socket(): { readonly stream: Duplex; readonly reported: () => string } {
  let reported = ''
  const stream = new Duplex({
    read: () => undefined,
    write: (bytes: Buffer, _encoding, done) => {
      reported += bytes.toString()
      done()
    },
  })
  return { stream, reported: () => reported }
}

function failure(code: string, reason?: string): Error & { readonly code: string } {
  return Object.assign(new Error('parse error'), { code, ...(reason === undefined ? {} : { reason }) })
}

void test('each parser error is answered once, with its code and message', () => {
  for (const [code, line, reason, message] of [
    [
      'ERR_HTTP_REQUEST_TIMEOUT',
      '408 Request Timeout',
      'RequestTimeout',
      /^the request did not arrive in time$/,
    ],
    [
      'HPE_HEADER_OVERFLOW',
      '431 Request Header Fields Too Large',
      'RequestHeaderFieldsTooLarge',
      /65536 bytes/,
    ],
    ['HPE_INVALID_METHOD', '400 Bad Request', 'BadRequest', /a method of HTTP\/1\.1$/],
    ['HPE_INVALID_URL', '400 Bad Request', 'BadRequest', /^the request is not HTTP\/1\.1: why$/],
  ] as const) {
    const { stream, reported } = socket()
    answerUnreadable(failure(code, 'why'), stream, null)
    const [head = '', body = ''] = reported().split('\r\n\r\n')
    assert.equal(head.split('\r\n')[0], `HTTP/1.1 ${line}`)
    assert.match(head, new RegExp(`\r\nContent-Length: ${body.length}\r\n`))
    const status = JSON.parse(body) as Record<string, unknown>
    assert.deepEqual(
      [status['kind'], status['code'], status['reason']],
      ['Status', Number(line.slice(0, 3)), reason],
    )
    assert.match(String(status['message']), message)
    // A second error of the same connection is not answered.
    answerUnreadable(failure(code), stream, null)
    assert.equal(reported(), `${head}\r\n\r\n${body}`)
  }
})

void test('the connection is closed when the client sends more than 1 MiB, or ends its side', () => {
  const endless = socket()
  answerUnreadable(failure('HPE_INVALID_URL'), endless.stream, null)
  for (let at = 0; at < 17; at++) endless.stream.emit('data', Buffer.alloc(64 * 1024))
  assert.ok(endless.stream.destroyed)
  const ended = socket()
  answerUnreadable(failure('HPE_INVALID_URL'), ended.stream, null)
  assert.ok(!ended.stream.destroyed)
  ended.stream.emit('end')
  assert.ok(ended.stream.destroyed)
})

void test('nothing is sent on a broken connection', () => {
  const { stream, reported } = socket()
  answerUnreadable(failure('ECONNRESET'), stream, null)
  assert.ok(stream.destroyed)
  assert.equal(reported(), '')
})
