/*
 * Goal: a snapshot that is being sent uses little memory and frees its slot: it is read at the
 * speed of its client, few are sent at once, and a disconnect, a shutdown or a failure ends it.
 * Method: the shipped server over sources that count the pieces read, and clients that read slowly,
 * disconnect or wait.
 */
import assert from 'node:assert/strict'
import { get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { emptyConfiguration, logIndex, term } from '../../raft/index.ts'
import type { SnapshotSource } from '../../raft/index.ts'
import { limits } from '../../src/config/limits.ts'
import type { SnapshotProvider } from '../../src/server/routes/snapshot-provider.ts'
import { DatabaseError, StoreError } from '../../src/store/store-errors.ts'
import { ADMIN, serverAround } from '../../fixtures/server-fixture.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'

const pieceBytes = 256 * 1024

/** A source that returns `count` pieces, then ends or fails. */
class CountedSource implements SnapshotSource {
  readonly snapshot = { index: logIndex(1), term: term(1), configuration: emptyConfiguration }
  readonly #count: number
  readonly #fails: boolean
  pulled = 0
  closed = 0

  constructor(count: number, fails = false) {
    this.#count = count
    this.#fails = fails
  }

  async next(): Promise<Uint8Array | null> {
    if (this.pulled < this.#count) {
      this.pulled++
      return Buffer.alloc(pieceBytes, this.pulled)
    }
    if (this.#fails) throw new DatabaseError('damaged', 'a value does not pass its check')
    return null
  }

  async close(): Promise<void> {
    this.closed++
  }
}

async function serving(
  t: TestContext,
  states: SnapshotProvider,
): Promise<{ readonly url: string; readonly drain: () => Promise<void> }> {
  const { registry, store, close } = await realRegistry('orch.io')
  const { server } = await serverAround(registry, { store, snapshots: states })
  const { port } = await server.listen('127.0.0.1', 0)
  const drain = (): Promise<void> => server.drain({ shutdownDelayMs: 0, graceMs: 5000 })
  t.after(async () => {
    await drain()
    await close()
  })
  return { url: `http://127.0.0.1:${port}/cluster/v1/snapshot`, drain }
}

function giving(source: SnapshotSource): SnapshotProvider {
  return { open: () => Promise.resolve({ clusterName: 'Rügen', source }) }
}

function asked(url: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { headers: ADMIN, agent: false }, resolve).on('error', reject)
  })
}

/** @returns the number of bytes, and whether the response was complete */
async function readAll(
  incoming: IncomingMessage,
): Promise<{ readonly bytes: number; readonly whole: boolean }> {
  let bytes = 0
  try {
    for await (const piece of incoming as AsyncIterable<Uint8Array>) bytes += piece.byteLength
  } catch {
    // `complete` is false then.
  }
  return { bytes, whole: incoming.complete }
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let attempt = 0; !holds(); attempt++) {
    assert.ok(attempt < 500, what)
    await sleep(20)
  }
}

void test('pieces are read only as the client takes them', async (t) => {
  const source = new CountedSource(400)
  const { url } = await serving(t, giving(source))
  const incoming = await asked(url)
  assert.equal(incoming.statusCode, 200)
  assert.equal(incoming.headers['content-type'], 'application/octet-stream')
  assert.equal(decodeURIComponent(String(incoming.headers['orch-cluster-name'])), 'Rügen')
  let [before, quiet] = [-1, 0]
  // Without a reader the writer stops, too: the bytes in flight fit the socket buffers.
  for (let attempt = 0; quiet < 10; attempt++) {
    assert.ok(attempt < 500, 'the server never paused')
    quiet = source.pulled === before ? quiet + 1 : 0
    before = source.pulled
    await sleep(20)
  }
  assert.ok(source.pulled < 100, `${source.pulled} of 400 pieces were read for a client that took none`)
  assert.deepEqual(await readAll(incoming), { bytes: 400 * pieceBytes, whole: true })
  await until('the source is closed', () => source.closed === 1)
})

void test('a client that disconnects ends the snapshot stream', async (t) => {
  const source = new CountedSource(400)
  const { url } = await serving(t, giving(source))
  const incoming = await asked(url)
  incoming.destroy()
  await until('the source is closed', () => source.closed === 1)
  assert.ok(source.pulled < 400)
})

void test('a failing source cuts the response off', async (t) => {
  const { url } = await serving(t, giving(new CountedSource(3, true)))
  const { whole } = await readAll(await asked(url))
  assert.equal(whole, false)
})

void test('a server that stops does not wait for a slow client', async (t) => {
  const source = new CountedSource(400)
  const { url, drain } = await serving(t, giving(source))
  const incoming = await asked(url)
  const ended = readAll(incoming)
  incoming.pause()
  await drain()
  incoming.resume()
  assert.equal((await ended).whole, false)
  await until('the source is closed', () => source.closed === 1)
})

void test('a limited number of snapshots is sent at once, and each frees its slot', async (t) => {
  const sources: CountedSource[] = []
  const { url } = await serving(t, {
    open: async () => {
      const source = new CountedSource(400)
      sources.push(source)
      return { clusterName: 'test', source }
    },
  })
  for (let round = 0; round < 3; round++) {
    const open = await Promise.all(Array.from({ length: limits.snapshotsMax }, () => asked(url)))
    assert.ok(open.every(({ statusCode }) => statusCode === 200))
    const refused = await asked(url)
    assert.equal(refused.statusCode, 429)
    assert.equal(refused.headers['retry-after'], '5')
    await readAll(refused)
    for (const incoming of open) incoming.destroy()
    await until('all are closed', () => sources.every(({ closed }) => closed === 1))
  }
})

void test('an unavailable state gets a Status and takes no slot', async (t) => {
  let failure: StoreError = new StoreError('quarantined', 'ask another member')
  const { url } = await serving(t, { open: () => Promise.reject(failure) })
  for (let round = 0; round <= limits.snapshotsMax; round++) {
    const quarantined = await asked(url)
    assert.equal(quarantined.statusCode, 503)
    await readAll(quarantined)
  }
  failure = new StoreError('timed-out', 'the database did not reach it')
  assert.equal((await asked(url)).statusCode, 504)
})
