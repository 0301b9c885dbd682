/*
 * Goal: RFC 6455 as a server of watches needs it: the handshake, and frames of clients of any kind.
 * Method: tables; frames of a seeded random client, and a reader that gets them in any
 * fragmentation; random bytes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import {
  FrameReader,
  closeFrame,
  eventFrames,
  pongFrame,
} from '../../../../../src/server/http/websocket-frames.ts'
import type { ClientFrame } from '../../../../../src/server/http/websocket-frames.ts'
import {
  acceptWebSocket,
  asksForWebSocket,
  webSocketOffer,
} from '../../../../../src/server/http/websocket-handshake.ts'
import { clientFrame } from '../../../../support/drivers/websocket-client.ts'

const handshake = {
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  host: 'api:6443',
}

void test('a WebSocket request is recognized by two headers', () => {
  const rows: readonly (readonly [
    connection: string | undefined,
    upgrade: string | undefined,
    asks: boolean,
  ])[] = [
    ['Upgrade', 'websocket', true],
    ['keep-alive, Upgrade', 'WebSocket', true],
    ['upgrade', 'h2c, websocket', true],
    ['keep-alive', 'websocket', false],
    ['Upgrade', 'h2c', false],
    ['Upgrade', undefined, false],
    [undefined, 'websocket', false],
    ['Upgraded', 'websocket', false],
  ]
  for (const [connection, upgrade, asks] of rows) {
    const headers = {
      ...(connection === undefined ? {} : { connection }),
      ...(upgrade === undefined ? {} : { upgrade }),
    }
    assert.equal(asksForWebSocket(headers), asks, `${connection} ${upgrade}`)
  }
})

void test('the response to the handshake is that of the example in the RFC', () => {
  assert.equal(acceptWebSocket('GET', handshake, false), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
})

void test('a wrong handshake is rejected with the reason', () => {
  const rows: readonly (readonly [
    method: string,
    headers: Record<string, string | undefined>,
    code: string,
    message: RegExp,
  ])[] = [
    ['POST', {}, 'BadRequest', /needs a GET/],
    ['GET', { 'sec-websocket-version': '8' }, 'BadRequest', /Version: 8: only 13/],
    ['GET', { 'sec-websocket-version': undefined }, 'BadRequest', /Version: missing/],
    ['GET', { 'sec-websocket-key': 'short' }, 'BadRequest', /Key: it must be 16 bytes/],
    ['GET', { 'sec-websocket-key': undefined }, 'BadRequest', /Key/],
    ['GET', { origin: 'https://evil.example' }, 'Forbidden', /another origin/],
    ['GET', { origin: 'null' }, 'Forbidden', /another origin/],
  ]
  for (const [method, changed, code, message] of rows) {
    const refused = (cause: unknown): boolean =>
      cause instanceof ApiError && cause.code === code && message.test(cause.message)
    assert.throws(() => acceptWebSocket(method, { ...handshake, ...changed }, false), refused, message.source)
  }
  acceptWebSocket('GET', { ...handshake, origin: 'https://API:6443' }, false)
  acceptWebSocket('GET', { ...handshake, origin: 'https://evil.example' }, true)
})

void test('a token is a subprotocol that is offered next to another one; a token alone, two tokens and a malformed one are rejected', () => {
  const token = (text: string): string =>
    `base64url.bearer.authorization.k8s.io.${Buffer.from(text).toString('base64url')}`
  const offer = (header?: string) =>
    webSocketOffer(header === undefined ? {} : { 'sec-websocket-protocol': header }, 'k8s.io')
  assert.deepEqual(offer(), { token: null, protocol: null })
  assert.deepEqual(offer('a, b'), { token: null, protocol: 'a' })
  assert.deepEqual(offer(`${token('secret')},json`), { token: 'secret', protocol: 'json' })
  assert.deepEqual(offer(`json , ${token('a.b-c_d~')}`), { token: 'a.b-c_d~', protocol: 'json' })
  // The token protocol of another domain is a protocol like any other.
  assert.equal(webSocketOffer({ 'sec-websocket-protocol': token('x') }, 'orch.io').token, null)
  const wrong = [
    token('alone'),
    `${token('a')}, ${token('b')}, json`,
    `${token('')}, json`,
    `${token('with space')}, json`,
    `${token('é')}, json`,
    `${token('a')}=, json`,
    'base64url.bearer.authorization.k8s.io.!, json',
  ]
  for (const header of wrong) assert.throws(() => offer(header), { code: 'Unauthorized' }, header)
})

function kinds(frames: readonly ClientFrame[]): readonly string[] {
  return frames.map((frame) => {
    if (frame.kind === 'ping') return `ping ${Buffer.from(frame.payload).toString()}`
    return frame.kind === 'broken' ? `broken ${frame.code}` : frame.kind
  })
}

void test('pings and closes of clients are returned, messages are skipped, and invalid frames are rejected', () => {
  const rows: readonly (readonly [what: string, bytes: Buffer, seen: readonly string[]])[] = [
    ['nothing', Buffer.alloc(0), []],
    ['a text', clientFrame(1, 'hello'), []],
    ['an empty one', clientFrame(1, ''), []],
    ['a large one', clientFrame(2, 'x'.repeat(65_536)), []],
    ['a ping', clientFrame(9, 'are you there'), ['ping are you there']],
    ['an empty ping', clientFrame(9, ''), ['ping ']],
    ['a pong', clientFrame(10, 'x'), []],
    ['a close', clientFrame(8, '\x03\xe8'), ['close']],
    ['what follows a close', Buffer.concat([clientFrame(8, ''), clientFrame(9, 'x')]), ['close']],
    [
      'fragments with a ping between',
      Buffer.concat([
        clientFrame(1, 'a', { last: false }),
        clientFrame(9, 'p'),
        clientFrame(0, 'b', { last: false }),
        clientFrame(0, 'c'),
        clientFrame(1, 'd'),
      ]),
      ['ping p'],
    ],
    ['too large', clientFrame(1, 'x'.repeat(65_537)), ['broken 1009']],
    [
      'too large in fragments',
      Buffer.concat([clientFrame(1, 'x'.repeat(65_000), { last: false }), clientFrame(0, 'x'.repeat(600))]),
      ['broken 1009'],
    ],
    [
      'a length beyond every limit',
      Buffer.from([0x82, 0xff, ...new Array<number>(8).fill(0xff), 1, 2, 3, 4]),
      ['broken 1009'],
    ],
    ['a close with half a code', clientFrame(8, '\x03'), ['broken 1002']],
    ['no mask', Buffer.from([0x81, 0x01, 0x61]), ['broken 1002']],
    ['a reserved bit', Buffer.from([0xc1, 0x80, 0, 0, 0, 0]), ['broken 1002']],
    ['an unknown kind', clientFrame(3, ''), ['broken 1002']],
    ['an unknown control', clientFrame(11, ''), ['broken 1002']],
    ['a long ping', clientFrame(9, 'x'.repeat(126)), ['broken 1002']],
    ['a ping in fragments', clientFrame(9, 'x', { last: false }), ['broken 1002']],
    ['a continuation of nothing', clientFrame(0, 'x'), ['broken 1002']],
    [
      'a text message within another one',
      Buffer.concat([clientFrame(1, 'a', { last: false }), clientFrame(1, 'b')]),
      ['broken 1002'],
    ],
  ]
  for (const [what, bytes, seen] of rows) {
    assert.deepEqual(kinds(new FrameReader().read(bytes)), seen, what)
    const slow = new FrameReader()
    const found: ClientFrame[] = []
    for (const byte of bytes) found.push(...slow.read(Buffer.from([byte])))
    assert.deepEqual(kinds(found), seen, `${what}, byte by byte`)
  }
})

void test('any fragmentation gives the same frames, and nothing is returned after a close or a rejected frame', () => {
  for (let seed = 1; seed <= 400; seed++) {
    const random = new SeededRandom(seed)
    const frames = Array.from({ length: 1 + random.below(12) }, () => {
      if (random.chance(0.1)) return Buffer.from(random.bytes(random.below(30)))
      const payload = 'y'.repeat(random.below(random.pick([3, 126, 300])))
      return clientFrame(random.pick([0, 1, 2, 8, 9, 9, 9, 10, 5]), payload, { last: random.chance(0.8) })
    })
    const bytes = Buffer.concat(frames)
    const whole = kinds(new FrameReader().read(bytes))
    const reader = new FrameReader()
    const pieces: ClientFrame[] = []
    for (let at = 0; at < bytes.length;) {
      const length = 1 + random.below(40)
      pieces.push(...reader.read(bytes.subarray(at, at + length)))
      at += length
    }
    assert.deepEqual(kinds(pieces), whole, `seed ${seed}`)
    const end = whole.findIndex((kind) => !kind.startsWith('ping'))
    assert.ok(end === -1 || end === whole.length - 1, `seed ${seed}: ${whole.join(', ')}`)
  }
})

void test('each event is one message of the length in its frame header', () => {
  for (const length of [1, 124, 125, 126, 65_534, 65_535, 65_536, 200_000]) {
    const line = Buffer.from(`${'x'.repeat(length - 1)}\n`)
    const bytes = eventFrames(Buffer.concat([line, line]), 'json')
    const head = length < 126 ? 2 : length < 65_536 ? 4 : 10
    assert.equal(bytes.length, 2 * (head + length))
    const first = Buffer.from(bytes).subarray(0, head)
    assert.equal(first[0], 0x81)
    const reported =
      head === 2 ? first.readUInt8(1) : head === 4 ? first.readUInt16BE(2) : Number(first.readBigUInt64BE(2))
    assert.equal(reported, length)
    assert.ok(
      Buffer.from(bytes)
        .subarray(head, head + length)
        .equals(line),
    )
  }
  const yaml = eventFrames(Buffer.from('---\na: 1\n---\nb: "---"\n'), 'yaml')
  assert.equal(Buffer.from(yaml).toString('latin1'), '\x81\x09---\na: 1\n\x81\x0d---\nb: "---"\n')
  const protobuf = eventFrames(Buffer.from([0, 0, 0, 2, 1, 10, 0, 0, 0, 1, 7]), 'protobuf')
  assert.deepEqual([...protobuf], [0x82, 2, 1, 10, 0x82, 1, 7])
  assert.deepEqual([...closeFrame(1001)], [0x88, 2, 0x03, 0xe9])
  assert.deepEqual([...pongFrame(Buffer.from('a'))], [0x8a, 1, 0x61])
})
