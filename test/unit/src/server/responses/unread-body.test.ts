/*
 * Goal: a response to a request whose body was not read completely is delivered, and the rest of
 * the body is discarded up to a limit of bytes.
 * Method: the function that sends, with replies that record calls; the test plays the client.
 */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import { test } from 'node:test'
import type { RawReply } from '../../../../../src/server/http/raw-http.ts'
import { sendBytes } from '../../../../../src/server/responses/wire.ts'

const discardedBytesMax = 16 * 1024 * 1024
const body = Buffer.from('too large')

/** Sends a response over HTTP/1.1 to a request that was not read completely. @returns the calls */
function replyOver(socket: Socket | null) {
  const calls: string[] = []
  const request = Object.assign(new EventEmitter(), { complete: false, resume: () => undefined })
  const reply = {
    ...{ headersSent: false, destroyed: false, req: request, socket },
    writeHead: () => calls.push('head'),
    write: (bytes: Uint8Array) => calls.push(`write ${bytes.byteLength}`),
    end: (bytes?: Uint8Array) => calls.push(bytes === undefined ? 'end' : `end ${bytes.byteLength}`),
  }
  // The reply has only the members that the sender uses.
  sendBytes(reply as unknown as RawReply, null, 'POST', 413, { connection: 'close' }, body)
  return { calls, request }
}

void test('HTTP/1.1: the response is sent at once and ends when the request was read', () => {
  const socket = new Socket()
  const { calls, request } = replyOver(socket)
  assert.deepEqual(calls, ['head', 'write 9'])
  request.emit('end')
  assert.deepEqual(calls, ['head', 'write 9', 'end'])
  socket.destroy()
})

void test('HTTP/1.1: the response ends when the client sends more than the limit of discarded bytes', () => {
  const socket = new Socket()
  const { calls, request } = replyOver(socket)
  request.emit('data', Buffer.alloc(discardedBytesMax))
  assert.deepEqual(calls, ['head', 'write 9'])
  request.emit('data', Buffer.alloc(1))
  assert.deepEqual(calls, ['head', 'write 9', 'end'])
  socket.destroy()
})

void test('HTTP/1.1: the response ends at once when its connection is gone', () => {
  assert.deepEqual(replyOver(null).calls, ['head', 'end 9'])
})

void test('HTTP/2: the stream closes when the client sends more than the limit of discarded bytes', () => {
  const closed: number[] = []
  const stream = Object.assign(new EventEmitter(), {
    ...{ endAfterHeaders: false, readableEnded: false },
    ...{ resume: () => undefined, setTimeout: () => undefined },
    close: (code: number) => closed.push(code),
  })
  const ended: Uint8Array[] = []
  const reply = {
    ...{ headersSent: false, destroyed: false, stream, writeHead: () => undefined },
    end: (bytes: Uint8Array) => ended.push(bytes),
  }
  sendBytes(reply as unknown as RawReply, null, 'POST', 413, {}, body)
  assert.deepEqual(ended, [body])
  stream.emit('finish')
  stream.emit('data', Buffer.alloc(discardedBytesMax))
  assert.deepEqual(closed, [])
  stream.emit('data', Buffer.alloc(1))
  assert.deepEqual(closed, [0])
})
