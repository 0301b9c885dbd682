/*
 * Goal: many watches are ended some per turn, each once, even those that end in between; the 504 of
 * a write has the cause `OutcomeUnknown`.
 * Method: calls without sockets; a clock whose turns are counted.
 */
import assert from 'node:assert/strict'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { Call } from '../../../../../src/server/calls/call.ts'
import { InFlight } from '../../../../../src/server/plugins/in-flight.ts'
import { OutgoingBytes } from '../../../../../src/server/load/outgoing-bytes.ts'
import { requestInfo } from '../../../../../src/server/http/request-info.ts'
import { RequestMetrics } from '../../../../../src/server/metrics/request-metrics.ts'
import { ManualClock } from '../../../../support/fakes/manual-clock.ts'

class TurnClock extends ManualClock {
  readonly turns: (() => void)[] = []

  override soon(action: () => void): void {
    this.turns.push(action)
  }
}

function inFlightWith(clock: ManualClock): InFlight {
  const load = {
    ...{ reading: 0, writing: 0, watching: 0, uploading: 0, bodyBytes: 0, outgoingBytes: 0, cutOff: 0 },
  }
  const metrics = new RequestMetrics(new Registry(), { has: () => true }, () => load)
  const outgoing = new OutgoingBytes({ bytesMax: 1, perUserMax: 1, perConnectionMax: 1, slowMsMin: 1 })
  return new InFlight(clock, metrics, outgoing)
}

function watchOn(clock: ManualClock, inFlight: InFlight): Call {
  return callOn(clock, inFlight, { method: 'GET', path: '/api/v1/configmaps?watch=1' })
}

type Asked = { readonly method: string; readonly path: string }

function callOn(clock: ManualClock, inFlight: InFlight, { method, path }: Asked): Call {
  const raw = new IncomingMessage(new Socket())
  raw.method = method
  const reply = new ServerResponse(raw)
  const info = requestInfo(method, path)
  const call = new Call({ id: 'a', member: 'n1', info, clock, allowedMs: 1000, raw, reply })
  inFlight.begin(call)
  return call
}

for (const how of ['endStreams', 'drain'] as const) {
  void test(`${how} of 950 watches takes ten turns, and each ends once`, () => {
    const clock = new TurnClock()
    const inFlight = inFlightWith(clock)
    const ended = new Map<Call, number>()
    const calls = Array.from({ length: 950 }, () => watchOn(clock, inFlight))
    for (const call of calls) call.endStream = () => void ended.set(call, (ended.get(call) ?? 0) + 1)
    // This watch still waits for its authorization.
    watchOn(clock, inFlight)
    inFlight[how]()
    assert.equal(ended.size, 100)
    const left = calls.at(-1) ?? assert.fail('there are calls')
    left.reply.emit('close')
    assert.equal(ended.get(left), 1)
    let turns = 1
    for (let turn = clock.turns.shift(); turn !== undefined; turn = clock.turns.shift()) {
      turn()
      turns++
    }
    assert.equal(turns, 10)
    assert.equal(ended.size, 950)
    assert.ok([...ended.values()].every((times) => times === 1))
    assert.equal(calls[500]?.lastOnConnection, how === 'drain')
    inFlight.close()
  })
}

for (const [method, causes] of [
  ['GET', []],
  ['POST', ['OutcomeUnknown']],
  ['PATCH', ['OutcomeUnknown']],
] as const) {
  void test(`the 504 of a ${method} that takes too long has the causes [${causes.join()}]`, async () => {
    const clock = new ManualClock()
    const inFlight = inFlightWith(clock)
    const call = callOn(clock, inFlight, { method, path: '/api/v1/namespaces/a/configmaps' })
    let sent = ''
    const reply = call.reply as ServerResponse
    reply.end = (chunk?: unknown): ServerResponse => {
      sent += Buffer.isBuffer(chunk) ? chunk.toString() : String(chunk)
      return reply
    }
    await clock.advance(60_000)
    assert.equal(call.reply.statusCode, 504)
    const { details } = JSON.parse(sent) as {
      readonly details?: { readonly causes?: readonly { readonly reason: string }[] }
    }
    assert.deepEqual(
      (details?.causes ?? []).map(({ reason }) => reason),
      causes,
    )
    inFlight.close()
  })
}
