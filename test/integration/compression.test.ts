/**
 * Goal: responses are compressed on request where it pays, within bounds, and with equal content.
 * Method: real sockets of both protocols against the real server around a recording registry.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import * as https from 'node:https'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { SeededRandom } from '../../base/random.ts'
import { limits } from '../../src/config/limits.ts'
import { StoreError } from '../../src/store/store-errors.ts'
import { FakeWatch } from '../support/fakes/fake-registry.ts'
import { CM, admin, session, start, trusted, until } from '../support/fixtures/tls-server.ts'

type Reply = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly bytes: Buffer }

function open(url: string, encoding: string | null, method = 'GET'): Promise<IncomingMessage> {
  const headers = encoding === null ? {} : { 'accept-encoding': encoding }
  return new Promise((resolve, reject) => {
    const options = { ca: trusted.pem, agent: false, ...admin, headers, method }
    https.request(url, options, resolve).on('error', reject).end()
  })
}

async function ask(url: string, encoding: string | null, method?: string): Promise<Reply> {
  const response = await open(url, encoding, method)
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks) }
}

/** Returns a list of about this many KiB of random text, in pieces of 64 KiB. */
function listOf(kibibytes: number): Buffer[] {
  const random = new SeededRandom(kibibytes)
  const pieces = [Buffer.from('{"items":["')]
  for (let left = kibibytes; left > 0; left -= 64) {
    const bytes = Buffer.from(random.bytes(Math.min(64, left) * 768))
    pieces.push(Buffer.from(bytes.toString('base64')))
  }
  return [...pieces, Buffer.from('"]}')]
}

async function serving(t: TestContext, kibibytes: number) {
  const started = await start(t)
  const pieces = listOf(kibibytes)
  started.fake.answer = () => ({ kind: 'pieces', code: 200, pieces })
  return { ...started, list: `${started.url}${CM}`, whole: Buffer.concat(pieces) }
}

void test('a long list is compressed on request and decompresses to the same list', async (t) => {
  const { list, whole } = await serving(t, 900)
  const plain = await ask(list, null)
  assert.equal(plain.headers['content-encoding'], undefined)
  assert.ok(plain.bytes.equals(whole))
  for (const requested of ['gzip', 'deflate, gzip;q=0.5', '*', 'gzip, identity;q=0']) {
    const { headers, bytes } = await ask(list, requested)
    assert.equal(headers['content-encoding'], 'gzip', requested)
    assert.equal(headers['vary'], 'Accept-Encoding')
    assert.equal(headers['content-type'], 'application/json')
    assert.ok(gunzipSync(bytes).equals(whole), requested)
  }
  for (const requested of ['identity', 'br', 'gzip;q=0', 'gzip;q=0.1, identity']) {
    const { headers, bytes } = await ask(list, requested)
    assert.equal(headers['content-encoding'], undefined, requested)
    assert.equal(headers['vary'], 'Accept-Encoding', requested)
    assert.ok(bytes.equals(whole))
  }
})

void test('a long list is compressed over HTTP/2, too', async (t) => {
  const { url, whole } = await serving(t, 900)
  const client = await session(t, url, admin)
  const stream = client.request({ ':path': CM, 'accept-encoding': 'gzip' })
  const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  assert.equal(head['content-encoding'], 'gzip')
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  assert.ok(gunzipSync(Buffer.concat(chunks)).equals(whole))
})

void test('a short response is compressed only for clients that accept nothing else', async (t) => {
  const { list, whole } = await serving(t, 100)
  const plain = await ask(list, 'gzip')
  assert.equal(plain.headers['content-encoding'], undefined)
  assert.ok(plain.bytes.equals(whole))
  const compressed = await ask(list, 'gzip, identity;q=0')
  assert.ok(gunzipSync(compressed.bytes).equals(whole))
  const refused = await ask(list, 'br, *;q=0')
  assert.equal(refused.status, 406)
  assert.match(refused.bytes.toString(), /only the following content codings are offered: gzip, identity/)
})

void test('one large object is compressed like a list, and the response to its deletion is not', async (t) => {
  const { fake, list } = await serving(t, 1)
  const bytes = Buffer.concat(listOf(300))
  fake.answer = (verb) => ({ kind: 'document', code: verb === 'create' ? 201 : 200, bytes })
  const got = await ask(`${list}/a`, 'gzip')
  assert.equal(got.headers['content-encoding'], 'gzip')
  assert.ok(gunzipSync(got.bytes).equals(bytes))
  const head = await ask(`${list}/a`, 'gzip', 'HEAD')
  assert.deepEqual([head.headers['content-encoding'], head.bytes.length], ['gzip', 0])
  const deleted = await ask(`${list}/a`, 'gzip', 'DELETE')
  assert.equal(deleted.headers['content-encoding'], undefined)
  fake.answer = () => ({ kind: 'document', code: 200, bytes: Buffer.from('{}') })
  assert.equal((await ask(`${list}/a`, 'gzip')).headers['content-encoding'], undefined)
  assert.equal((await ask(`${list}/a`, '*;q=0')).status, 406)
})

void test('a watch is never compressed', async (t) => {
  const { fake, list } = await serving(t, 1)
  const watch = new FakeWatch()
  fake.answer = () => ({ kind: 'watch', stream: watch })
  watch.push(Buffer.alloc(300 * 1024, 0x20))
  watch.push('\n')
  watch.end()
  const { headers, bytes } = await ask(`${list}?watch=1`, 'gzip')
  assert.equal(headers['content-encoding'], undefined)
  assert.equal(bytes.length, 300 * 1024 + 1)
})

void test('a limited number of responses is compressed at once; others are sent plain or refused with 429', async (t) => {
  const { fake, list, whole } = await serving(t, 300)
  const waiting: (() => void)[] = []
  const pieces = listOf(300)
  fake.answer = () => ({
    kind: 'pieces',
    code: 200,
    pieces: (async function* () {
      yield* pieces.slice(0, -1)
      await new Promise<void>((resolve) => waiting.push(resolve))
      yield* pieces.slice(-1)
    })(),
  })
  const first = Array.from({ length: limits.compressionsMax }, () => ask(list, 'gzip'))
  await until(() => waiting.length === limits.compressionsMax)
  const refused = await ask(list, 'gzip, identity;q=0')
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1'])
  const plain = ask(list, 'gzip')
  await until(() => waiting.length > limits.compressionsMax)
  for (const go of waiting) go()
  assert.equal((await plain).headers['content-encoding'], undefined)
  assert.ok((await plain).bytes.equals(whole))
  for (const { headers, bytes } of await Promise.all(first)) {
    assert.equal(headers['content-encoding'], 'gzip')
    assert.ok(gunzipSync(bytes).equals(whole))
  }
  fake.answer = () => ({ kind: 'pieces', code: 200, pieces })
  assert.equal((await ask(list, 'gzip')).headers['content-encoding'], 'gzip')
})

void test('a client that stalls pauses the production of pieces, and one that disconnects ends it and frees its slot', async (t) => {
  const { fake, list } = await serving(t, 300)
  let [pulled, ended] = [0, 0]
  const [piece] = listOf(64).slice(1)
  fake.answer = () => ({
    kind: 'pieces',
    code: 200,
    pieces: (function* () {
      try {
        for (; pulled < 5000; pulled++) yield piece ?? Buffer.alloc(0)
      } finally {
        ended++
      }
    })(),
  })
  for (let round = 1; round <= limits.compressionsMax + 2; round++) {
    pulled = 0
    const response = await open(list, 'gzip')
    assert.equal(response.headers['content-encoding'], 'gzip', `round ${round}`)
    response.on('error', () => undefined)
    let before = -1
    while (before !== pulled) {
      before = pulled
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    assert.ok(pulled < 2000, `${pulled} of 5000 pieces were produced for a client that does not read`)
    response.destroy()
    await until(() => ended === round)
  }
})

void test('a compressed list that fails midway is cut off, so that the client notices', async (t) => {
  const { fake, list } = await serving(t, 300)
  fake.answer = () => ({
    kind: 'pieces',
    code: 200,
    pieces: (async function* () {
      yield* listOf(300)
      await Promise.resolve()
      throw new StoreError('compacted', 'gone')
    })(),
  })
  const response = await open(list, 'gzip')
  await assert.rejects(async () => {
    for await (const chunk of response) assert.ok(chunk)
  }, /aborted/)
})

void test('discovery and OpenAPI have ETags and are not sent again to clients that have them', async (t) => {
  const { url } = await serving(t, 1)
  for (const path of ['/api', '/api/v1', '/apis', '/openapi/v2', '/openapi/v3', '/openapi/v3/api/v1']) {
    const first = await ask(`${url}${path}`, null)
    const etag = first.headers['etag'] ?? ''
    assert.match(etag, /^"[^"]+"$/, path)
    assert.equal(first.headers['vary'], 'Accept, Accept-Encoding')
    const again = (tag: string): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const headers = { 'if-none-match': tag }
        const options = { ca: trusted.pem, agent: false, ...admin, headers }
        https.get(`${url}${path}`, options, resolve).on('error', reject)
      })
    for (const tag of [etag, `"x", W/${etag}`, '*']) {
      const response = await again(tag)
      assert.deepEqual([response.statusCode, response.headers['etag']], [304, etag], `${path} ${tag}`)
      response.resume()
    }
    const other = await again('"x"')
    assert.equal(other.statusCode, 200)
    other.resume()
    const compressed = await ask(`${url}${path}`, 'gzip, identity;q=0')
    assert.equal(compressed.headers['content-encoding'], 'gzip')
    assert.equal(compressed.headers['etag'], etag.replace(/"$/, '-gzip"'))
    assert.ok(gunzipSync(compressed.bytes).equals(first.bytes))
    assert.equal((await again(compressed.headers['etag'] ?? '')).statusCode, 304)
    assert.equal((await ask(`${url}${path}`, '*;q=0')).status, 406)
  }
})
