/*
 * Goal: responses are parsed the same however the network splits them, and other data is refused.
 * Method: responses of several kinds in a row, split at every position and at random ones.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../base/random.ts'
import { ResponseReader } from '../../../bench/tool/generator/response-reader.ts'

const answers = [
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nOrch-Consistency: log; member=n1\r\n\r\nhello',
  'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\ncontent-length:0\r\n\r\n',
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;note=x\r\n world\r\n0\r\nTrailer: x\r\n\r\n',
  'HTTP/1.1 204 No Content\r\n\r\n',
  'HTTP/1.1 429 Too Many Requests\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno',
].join('')

const reported = ['200 hello log; member=n1', '201 ', '200 hello world', '204 ', '429 no last']

function read(pieces: readonly Buffer[], isClosed = false): readonly string[] {
  const found: string[] = []
  let [head, body] = ['', '']
  const reader = new ResponseReader({
    head: ({ status, consistency, isLast }) => {
      head = [`${status} `, consistency === null ? '' : ` ${consistency}`, isLast ? ' last' : ''].join('|')
    },
    body: (data, from, to) => (body += data.toString('latin1', from, to)),
    end: () => {
      const [status = '', ...rest] = head.split('|')
      found.push(status + body + rest.join(''))
      body = ''
    },
  })
  for (const piece of pieces) reader.feed(piece)
  if (isClosed) reader.close()
  return found
}

void test('responses are parsed the same wherever they are split', () => {
  const whole = Buffer.from(answers)
  assert.deepEqual(read([whole]), reported)
  for (let at = 1; at < whole.length; at++) {
    assert.deepEqual(read([whole.subarray(0, at), whole.subarray(at)]), reported, `cut at ${at}`)
  }
  assert.deepEqual(read([...whole].map((byte) => Buffer.of(byte))), reported, 'byte by byte')
  for (let seed = 1; seed <= 300; seed++) {
    const random = new SeededRandom(seed)
    const pieces: Buffer[] = []
    for (let at = 0; at < whole.length;) {
      const to = Math.min(whole.length, at + 1 + random.below(40))
      pieces.push(whole.subarray(at, to))
      at = to
    }
    assert.deepEqual(read(pieces), reported, `seed ${seed}`)
  }
})

void test('a response without a length ends with its connection', () => {
  const answer = Buffer.from('HTTP/1.1 200 OK\r\n\r\nall of it')
  assert.deepEqual(read([answer]), [])
  assert.deepEqual(read([answer], true), ['200 all of it'])
  assert.deepEqual(read([Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')], true), [])
})

void test('data that is not a response is refused', () => {
  const wrong = [
    'SSH-2.0-OpenSSH\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nlong\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n',
    `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}`,
  ]
  for (const text of wrong) assert.throws(() => read([Buffer.from(text)]), Error, text.slice(0, 60))
})
