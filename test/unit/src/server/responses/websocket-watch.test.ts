/*
 * Goal: for a WebSocket client that sends pings and reads nothing, no pongs accumulate.
 * Method: a connection whose client never reads, and a fake watch.
 */
import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { requestInfo } from '../../../../../src/server/http/request-info.ts'
import { Call } from '../../../../../src/server/calls/call.ts'
import type { ErrorParts } from '../../../../../src/server/responses/error-reply.ts'
import { answerWebSocket } from '../../../../../src/server/responses/websocket-watch.ts'
import { clientFrame } from '../../../../support/drivers/websocket-client.ts'
import { FakeWatch } from '../../../../support/fakes/fake-registry.ts'
import { ManualClock } from '../../../../support/fakes/manual-clock.ts'

/** Takes nothing that is written to it. */
class UnreadSocket extends Duplex {
  constructor() {
    super({ highWaterMark: 1000 })
  }

  override _read(): void {
    // The test pushes the bytes of the client.
  }

  override _write(): void {
    // The write never completes.
  }
}

async function received(socket: Duplex, pings: number): Promise<void> {
  for (let at = 0; at < pings; at++) socket.push(clientFrame(9, `beat ${at}`))
  await setImmediate()
}

void test('pings are answered until the write buffer is full, and skipped then', async () => {
  const raw = new IncomingMessage(new Socket())
  const reply = new ServerResponse(raw)
  const info = requestInfo('GET', '/api/v1/configmaps?watch=1')
  const call = new Call({
    id: 'a',
    member: 'n1',
    info,
    clock: new ManualClock(),
    allowedMs: 1000,
    raw,
    reply,
  })
  const socket = new UnreadSocket()
  const watch = new FakeWatch()
  answerWebSocket(
    watch,
    call,
    {
      ...{ representation: { as: 'object', encoding: 'json' }, contentType: 'application/json' },
      ...{ upgrade: { socket, head: new Uint8Array(0) }, accept: '', protocol: null },
    },
    {} as ErrorParts,
  )
  await received(socket, 1)
  const answered = socket.writableLength
  assert.ok(answered > 0, 'there is a pong while the buffer has space')
  watch.push(`{"a":"${'x'.repeat(2000)}"}\n`)
  assert.ok(socket.writableNeedDrain)
  const before = socket.writableLength
  await received(socket, 100)
  assert.equal(socket.readableLength, 0)
  assert.equal(socket.writableLength, before)
  socket.destroy()
  await received(socket, 0)
})
