/*
 * Goal: every failed request gets a response or a closed connection, and an incomplete body is not
 * reported as a bad request.
 * Method: the error handler around a reply that records what is sent.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import type { Reply, Request } from '../../../../../src/server/calls/fastify-types.ts'
import type { RawReply } from '../../../../../src/server/http/raw-http.ts'
import type { ErrorParts } from '../../../../../src/server/responses/error-reply.ts'
import { answerError, asApiError } from '../../../../../src/server/responses/error-reply.ts'

function errorParts(logged: string[] = []): ErrorParts {
  return {
    log: {
      info: () => undefined,
      warn: () => undefined,
      error: (_: object, text: string) => void logged.push(text),
    },
    requestBytesMax: 1,
    crash: assert.fail,
    noRoute: { refusal: assert.fail },
  } as unknown as ErrorParts
}

type Sent = { codes: number[]; body: string; destroyed: boolean }

/** @param refuse how many times writing the head throws, as for a header that Node rejects */
function reply(refuse: number): { readonly reply: Reply; readonly sent: Sent } {
  const sent: Sent = { codes: [], body: '', destroyed: false }
  let left = refuse
  const raw = {
    headersSent: false,
    destroyed: false,
    writeHead: (code: number) => {
      if (left-- > 0) throw new TypeError('Invalid character in header content')
      sent.codes.push(code)
    },
    end: (bytes: Buffer) => {
      sent.body = bytes.toString()
    },
    destroy: () => {
      sent.destroyed = true
    },
  } as unknown as RawReply
  return { reply: { raw, hijack: () => undefined } as unknown as Reply, sent }
}

const request = { method: 'POST' } as unknown as Request

void test('an error that cannot be sent is logged, and a fixed 500 is sent instead', () => {
  const logged: string[] = []
  const { reply: to, sent } = reply(1)
  answerError(new ApiError('BadRequest', 'wrong'), request, to, errorParts(logged))
  assert.deepEqual(sent.codes, [500])
  const status = JSON.parse(sent.body) as Record<string, unknown>
  assert.deepEqual([status['kind'], status['code'], status['reason']], ['Status', 500, 'InternalError'])
  assert.deepEqual(logged, ['an error could not be sent'])
})

void test('a connection on which nothing can be sent is closed', () => {
  const { reply: to, sent } = reply(2)
  answerError(new ApiError('BadRequest', 'wrong'), request, to, errorParts())
  assert.deepEqual([sent.codes, sent.destroyed], [[], true])
})

void test('a body that did not arrive completely is a request timeout, a malformed one is a bad request', () => {
  const codes = [
    'ERR_HTTP_REQUEST_TIMEOUT',
    'ECONNRESET',
    'ERR_STREAM_PREMATURE_CLOSE',
    'ERR_HTTP2_STREAM_ERROR',
  ]
  for (const code of [...codes, undefined]) {
    const error = Object.assign(new Error('aborted'), { code, statusCode: 400 })
    assert.equal(asApiError(error, null, errorParts()).code, 'RequestTimeout')
  }
  const malformed = Object.assign(new Error('why'), { code: 'FST_ERR_OTHER', statusCode: 400 })
  assert.equal(asApiError(malformed, null, errorParts()).code, 'BadRequest')
})
