/*
 * Goal: mark and version of each event are found wherever the stream is split, and errors and
 * bookmarks are distinguished from changes.
 * Method: a stream by hand, split at every position.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { markText, parseMark } from '../../../bench/tool/generator/mark.ts'
import { WatchEvents } from '../../../bench/tool/generator/watch-events.ts'

const object = (mark: string, version: number): string =>
  `{"type":"MODIFIED","object":{"kind":"ConfigMap","metadata":{"name":"w0","resourceVersion":"${version}"},"data":{"mark":"${mark}","payload":"xxx"}}}\n`

const stream = [
  object('1 5.000', 11),
  object('2 6.500', 12),
  '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"13"}}}\n',
  '{"type":"ERROR","object":{"kind":"Status","metadata":{"resourceVersion":""},"code":410}}\n',
].join('')

function read(pieces: readonly Buffer[]): readonly string[] {
  const found: string[] = []
  const events = new WatchEvents({
    event: (mark, version) => found.push(`${mark} at ${version}`),
    bookmark: (version) => found.push(`bookmark ${version}`),
    error: (line) => found.push(`error ${line.includes('410')}`),
  })
  for (const piece of pieces)
    events.take(Buffer.concat([Buffer.from('<<'), piece, Buffer.from('>>')]), 2, piece.length + 2)
  return found
}

void test('events are found wherever the stream is split', () => {
  const whole = Buffer.from(stream)
  const reported = ['1 5.000 at 11', '2 6.500 at 12', 'bookmark 13', 'error true']
  assert.deepEqual(read([whole]), reported)
  for (let at = 1; at < whole.length; at++) {
    assert.deepEqual(read([whole.subarray(0, at), whole.subarray(at)]), reported, `cut at ${at}`)
  }
  assert.deepEqual(read([...whole].map((byte) => Buffer.of(byte))), reported)
})

void test('an event without an end is not kept for ever', () => {
  assert.throws(() => read([Buffer.alloc(5 * 1024 * 1024, 'x')]), /too long/)
})

void test('a mark is read as it was written, and nothing else is a mark', () => {
  assert.deepEqual(parseMark(markText({ number: 17, atMs: 123456.789 })), { number: 17, atMs: 123456.789 })
  for (const text of ['', '1', '1 2', 'x 1.000', '1 2.000 3', '-1 2.000'])
    assert.equal(parseMark(text), null, text)
})
