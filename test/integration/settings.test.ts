/*
 * Goal: only an administrator reads and changes the replicated settings; invalid values are refused
 * with one line; an exceeded quota shows in the Status of a write.
 * Method: HTTP against the shipped server over a real store.
 */
import assert from 'node:assert/strict'
import { openMemoryStore } from '../../fixtures/memory-store.ts'
import { bootstrapOf } from '../../fixtures/store-commands.ts'
import type { SettingsStore } from '../../src/server/routes/settings.ts'
import { test } from 'node:test'
import { featureLevelMax } from '../../src/version.ts'
import { NOBODY } from '../../fixtures/server-fixture.ts'
import { objectOf, SpecServer } from '../support/fixtures/spec-server.ts'
import type { Reply } from '../support/fixtures/spec-server.ts'

const path = '/cluster/v1/settings'
const mebibyte = 1024 * 1024

type SettingsDocument = {
  readonly settings: Readonly<Record<string, number>>
  readonly version: string
  readonly featureLevel: number
  readonly storage: { readonly usedBytes: number; readonly alarm: boolean; readonly resources: unknown[] }
}

function settingsOf(reply: Reply): SettingsDocument {
  assert.equal(reply.status, 200, reply.text)
  return JSON.parse(reply.text) as SettingsDocument
}

void test('settings are read and changed, and omitted ones stay', async (t) => {
  const server = await SpecServer.start(t)
  const before = settingsOf(await server.ask('GET', path))
  assert.equal(before.featureLevel, featureLevelMax)
  assert.equal(before.storage.alarm, false)
  assert.ok(before.storage.usedBytes > 0 && before.storage.resources.length > 0)
  const change = { storageBytesMax: 32 * mebibyte, historyEventsMin: 7 }
  const after = settingsOf(await server.ask('POST', path, { body: change }))
  assert.deepEqual(after.settings, { ...before.settings, ...change })
  assert.deepEqual(settingsOf(await server.ask('GET', path)).settings, after.settings)
})

void test('a change under a version that is not the current one is 409 and changes nothing', async (t) => {
  const server = await SpecServer.start(t)
  const { version } = settingsOf(await server.ask('GET', path))
  const change = (value: number, more: object = {}): Promise<Reply> =>
    server.ask('POST', path, { body: { ...more, historyEventsMin: value } })
  const first = settingsOf(await change(1, { version }))
  assert.notEqual(first.version, version)
  const late = await change(2, { version })
  assert.deepEqual([late.status, late.doc.reason], [409, 'Conflict'])
  assert.match(
    late.doc.message ?? '',
    /settings not changed: there was a concurrent change, read them again$/,
  )
  assert.equal(settingsOf(await server.ask('GET', path)).settings['historyEventsMin'], 1)
  assert.equal(settingsOf(await change(3, { version: first.version })).settings['historyEventsMin'], 3)
})

void test('concurrent changes of different settings all succeed; of two with one version one does', async (t) => {
  const server = await SpecServer.start(t)
  const { version } = settingsOf(await server.ask('GET', path))
  const post = (body: object): Promise<Reply> => server.ask('POST', path, { body })
  const racing = [post({ version, historyEventsMin: 1 }), post({ version, historyEventsMin: 2 })]
  const codes = (await Promise.all(racing)).map(({ status }) => status)
  assert.deepEqual(codes.sort(), [200, 409])
  const changes = [{ historyEventsMin: 7 }, { historyWindowMs: 7000 }, { storageBytesMax: 77 * mebibyte }]
  for (const reply of await Promise.all(changes.map(post))) assert.equal(reply.status, 200)
  const { settings } = settingsOf(await server.ask('GET', path))
  assert.deepEqual(settings, { ...settings, ...Object.assign({}, ...changes) })
})

void test('only administrators may access the settings', async (t) => {
  const server = await SpecServer.start(t)
  for (const [headers, code] of [
    [NOBODY, 403],
    [{ authorization: '' }, 403],
  ] as const) {
    for (const method of ['GET', 'POST'] as const) {
      const asking = method === 'GET' ? { headers } : { headers, body: { historyEventsMin: 1 } }
      assert.equal((await server.ask(method, path, asking)).status, code)
    }
  }
})

const nonsense: readonly (readonly [unknown, RegExp])[] = [
  ['no json', /not JSON/],
  [{ version: 'v' }, /must be an object of settings/],
  [{ version: 1, historyEventsMin: 1 }, /version must be the text that was read/],
  [[1], /must be an object of settings: storageBytesMax, /],
  [{}, /must be an object of settings/],
  [{ storageQuota: 1 }, /no setting storageQuota: there are storageBytesMax, objectBytesMax, /],
  [{ constructor: 1 }, /no setting constructor/],
  [{ storageBytesMax: 1 }, /storageBytesMax must be a whole number from 16777216 to \d+ \(16Mi to 16Ti\)$/],
  [{ storageBytesMax: null }, /must be a whole number/],
  [{ storageBytesMax: 2 ** 60 }, /must be a whole number/],
  [{ historyWindowMs: 999 }, /historyWindowMs must be a whole number from 1000 to 86400000 \(1s to 24h\)$/],
  [{ historyEventsMin: 1.5 }, /must be a whole number/],
  [{ objectBytesMax: 4 * mebibyte }, /objectBytesMax must be a whole number from 16384 to 3145728/],
  [{ historyEventsMin: 1, objectBytesMax: '1' }, /must be a whole number/],
]

for (const [body, message] of nonsense) {
  void test(`an invalid body changes nothing: ${JSON.stringify(body)}`, async (t) => {
    const server = await SpecServer.start(t)
    const before = settingsOf(await server.ask('GET', path)).settings
    const reply = await server.ask('POST', path, { body })
    assert.equal(reply.status, 400)
    assert.match(reply.doc.message ?? '', message)
    assert.ok(!(reply.doc.message ?? '').includes('\n'))
    assert.deepEqual(settingsOf(await server.ask('GET', path)).settings, before)
  })
}

void test('the settings cannot be deleted', async (t) => {
  const server = await SpecServer.start(t)
  assert.equal((await server.ask('DELETE', path)).status, 405)
})

void test('a full storage refuses writes with 403, allows deletions, and accepts writes after compaction', async (t) => {
  const server = await SpecServer.start(t)
  await server.ask('POST', path, { body: { storageBytesMax: 16 * mebibyte } })
  const collection = '/api/v1/namespaces/default/configmaps'
  const create = (name: string): Promise<Reply> =>
    server.ask('POST', collection, {
      body: objectOf('ConfigMap', name, { data: { x: 'x'.repeat(900_000) } }),
    })
  let full: Reply | null = null
  let made = 0
  for (; full === null && made < 30; made++) {
    const reply = await create(`big-${made}`)
    if (reply.status !== 201) full = reply
  }
  assert.equal(full?.status, 403, full?.text)
  assert.equal(full.doc.reason, 'Forbidden')
  assert.match(
    full.doc.message ?? '',
    /exceeded storage quota: 15\.\d MiB of 16\.0 MiB used, most of it, history included, by configmaps .*, and in namespace default by configmaps/,
  )
  assert.equal(full.headers.get('retry-after'), null, 'clients must not retry by themselves')
  const { storage } = settingsOf(await server.ask('GET', path))
  assert.equal(storage.alarm, true)
  assert.equal((await server.ask('DELETE', collection)).status, 200)
  assert.equal((await create('early')).status, 403)
  await server.trim()
  assert.equal((await create('late')).status, 201)
  assert.equal(settingsOf(await server.ask('GET', path)).storage.alarm, false)
})

void test('a change of any setting changes the version of the settings', async (t) => {
  const server = await SpecServer.start(t)
  const versions = [settingsOf(await server.ask('GET', path)).version]
  for (const body of [
    { storageBytesMax: 64 * mebibyte },
    { objectBytesMax: 100_000 },
    { historyWindowMs: 61_000 },
    { historyEventsMin: 3 },
    { leaseReads: 1 },
    { staleAccessMs: 9000 },
  ]) {
    versions.push(settingsOf(await server.ask('POST', path, { body })).version)
  }
  assert.equal(new Set(versions).size, versions.length, versions.join(' '))
})

void test('lease reads are off by default, and changing them changes the version of the settings', async (t) => {
  const server = await SpecServer.start(t)
  const before = settingsOf(await server.ask('GET', path))
  assert.equal(before.settings['leaseReads'], 0)
  const on = settingsOf(await server.ask('POST', path, { body: { leaseReads: 1 } }))
  assert.deepEqual(on.settings, { ...before.settings, leaseReads: 1 })
  assert.notEqual(on.version, before.version)
  const off = settingsOf(await server.ask('POST', path, { body: { leaseReads: 0, version: on.version } }))
  assert.deepEqual([off.settings, off.version], [before.settings, before.version])
  const odd = await server.ask('POST', path, { body: { leaseReads: 2 } })
  assert.equal(odd.status, 400)
  assert.match(odd.doc.message ?? '', /leaseReads must be a whole number from 0 to 1 \(off to on\)$/)
})

void test('the time of decisions without a quorum is 30 s until it is changed, and other changes keep it', async (t) => {
  const server = await SpecServer.start(t)
  const before = settingsOf(await server.ask('GET', path))
  assert.equal(before.settings['staleAccessMs'], 30_000)
  const changed = settingsOf(await server.ask('POST', path, { body: { staleAccessMs: 5000 } }))
  assert.deepEqual(changed.settings, { ...before.settings, staleAccessMs: 5000 })
  assert.notEqual(changed.version, before.version)
  const leased = settingsOf(await server.ask('POST', path, { body: { leaseReads: 1 } }))
  assert.equal(leased.settings['staleAccessMs'], 5000)
  assert.equal((await server.ask('POST', path, { body: { staleAccessMs: 4999 } })).status, 400)
})

void test('a change on a lagging member keeps the settings that the member sees only after a barrier', async (t) => {
  const { store, close } = await openMemoryStore()
  t.after(close)
  await store.write(bootstrapOf('c', { featureLevel: featureLevelMax }), 0)
  const before = store.settings
  let isBehind = true
  const lagging: SettingsStore = {
    ...{ featureLevel: featureLevelMax, storage: store.storage },
    get settings() {
      return isBehind ? before : store.settings
    },
    barrier: async (deadlineMs) => {
      await store.barrier(deadlineMs)
      // A change that did not wait would use up all its attempts in fewer turns.
      for (let turns = 0; turns < 1000; turns++) await new Promise((resolve) => setImmediate(resolve))
      isBehind = false
    },
    write: (command, deadlineMs) => store.write(command, deadlineMs),
  }
  const server = await SpecServer.start(t, { dependencies: { store: lagging } })
  const changed = { ...before, historyEventsMin: before.historyEventsMin + 5 }
  const condition = before.storageBytesMax === null ? {} : { expected: before }
  await store.write({ kind: 'change-settings', settings: changed, ...condition }, 0)
  const after = settingsOf(
    await server.ask('POST', path, { body: { historyWindowMs: before.historyWindowMs + 1000 } }),
  )
  assert.equal(after.settings['historyEventsMin'], changed.historyEventsMin)
  isBehind = true
  assert.deepEqual(settingsOf(await server.ask('GET', path)).settings, after.settings)
})
