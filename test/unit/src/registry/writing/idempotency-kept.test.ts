/*
 * Goal: a repeated removal of the last finalizer gets the first response, although no stored
 * version has it. The response that is kept for this is encrypted like the object, and may be as
 * large. Method: the shipped verbs over the shipped machine, with a store that encrypts.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { EncryptedStore } from '../../../../../src/encryption/encrypted-store.ts'
import { lossesOf, survey } from '../../../../../src/encryption/survey.ts'
import { keptResponsesPrefix } from '../../../../../src/registry/shared/kept-response.ts'
import { recordsPrefix } from '../../../../../src/registry/writing/idempotency.ts'
import { ALL_OBJECTS } from '../../../../../src/store/key.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'
import { keysWith, providerOf } from '../../../../support/fixtures/encrypted-server.ts'
import { lead, rest } from '../../app/leading-member.ts'
import { Fixture, refused } from '../fixture.ts'
import type { Call } from '../fixture.ts'

const one = providerOf('one', 1)
const password = Buffer.from('correct-horse').toString('base64')
const idempotencyKey = 'k-1'

async function encryptedFixture(t: TestContext) {
  const stores: EncryptedStore[] = []
  const api = await Fixture.open({
    wrap: (store) => {
      const encrypted = new EncryptedStore(store, { cacheBytesMax: 0, onSealed: () => undefined })
      encrypted.use(keysWith(one))
      stores.push(encrypted)
      return encrypted
    },
  })
  t.after(() => api.close())
  return { api, raw: api.memory.store, encrypted: stores[0] as EncryptedStore }
}

/** Makes a Secret whose last finalizer keeps it. */
async function terminating(api: Fixture): Promise<JsonObject> {
  const kind = 'Secret'
  const metadata = { name: 's', finalizers: ['x.io/a'] }
  await api.create({ kind, body: { metadata, data: { password } } })
  return (await api.delete({ kind, name: 's' })).object
}

const removal: Call = { kind: 'Secret', name: 's', body: { metadata: { finalizers: null } }, idempotencyKey }

for (const verb of ['patch', 'update'] as const) {
  void test(`a keyed ${verb} that removes the last finalizer of a Secret stores nothing of it in plain text`, async (t) => {
    const { api, raw } = await encryptedFixture(t)
    const object = await terminating(api)
    const metadata = { ...(object['metadata'] as JsonObject), finalizers: [] }
    const send = () =>
      verb === 'patch' ? api.patch(removal) : api.update({ ...removal, body: { ...object, metadata } })
    const first = await send()
    assert.deepEqual(first.object['data'], { password })
    const { objects } = raw.view().list(ALL_OBJECTS, { after: null, limit: null })
    assert.ok(raw.view().count(keptResponsesPrefix) === 1 && raw.view().count(recordsPrefix) === 1)
    for (const { key, bytes } of objects) assert.ok(!Buffer.from(bytes).includes(password), key)
    assert.deepEqual(await send(), first)
    assert.equal(api.replays, 1)
  })
}

void test('a kept response needs the key of its Secret: a survey counts it, a repetition without it fails', async (t) => {
  const { api, raw, encrypted } = await encryptedFixture(t)
  await terminating(api)
  await api.patch(removal)
  const others = keysWith(providerOf('two', 2))
  const counted = await survey({ store: raw, clock: api.clock }, others, false)
  assert.deepEqual(lossesOf(counted), ['1 object of secrets with the aesgcm key "one"'])
  encrypted.use(others)
  const seen = await refused(api.patch(removal))
  assert.equal(seen.code, 500)
  assert.match(seen.message, /is encrypted with the aesgcm key "one", which this member lacks/)
})

void test('the digest in a record does not follow from the request without its key', async (t) => {
  const { api, raw } = await encryptedFixture(t)
  const contentType = 'application/merge-patch+json'
  const body = JSON.stringify({ data: { password } })
  await api.create({ kind: 'Secret', body: { metadata: { name: 's' } } })
  await api.patch({ ...removal, rawBody: body, contentType })
  const guess = createHash('sha256')
    .update(JSON.stringify([contentType, []]))
    .update(body)
    .digest('hex')
  const [record] = raw.view().list(recordsPrefix, { after: null, limit: null }).objects
  const text = Buffer.from(record?.bytes ?? []).toString('utf8')
  assert.match(text, /"digest":"[0-9a-f]{64}"/)
  assert.ok(!text.includes(guess))
})

void test('a record does not reduce the size limit of an object whose last finalizer is removed', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const max = api.store.settings.objectBytesMax
  const kind = 'Tab'
  api.catalog.setCustom([customKind({ group: 'example.com', plural: 'tabs', kind })])
  const metadata = { name: 's', finalizers: ['x.io/a'] }
  const create = (length: number) =>
    api.create({ kind, body: { metadata, spec: { text: 'x'.repeat(length) } } })
  const { object } = await create(1)
  await api.patch({ kind, name: 's', body: { metadata: { finalizers: null } } })
  await api.delete({ kind, name: 's' })
  // 120 bytes are left for the deletionTimestamp that the deletion adds.
  await create(max - JSON.stringify(object).length - 120)
  await api.delete({ kind, name: 's' })
  const call: Call = { kind, name: 's', body: { metadata: { finalizers: null } }, idempotencyKey }
  const first = await api.patch(call)
  assert.equal(first.code, 200)
  assert.ok(JSON.stringify(first.object).length > max - 300)
  assert.deepEqual(await api.patch(call), first)
})

void test('a kept response is deleted after the history window', async (t) => {
  const api = await lead(t, { domain: 'orch.io', enabled: [] })
  await terminating(api)
  await api.patch(removal)
  const kept = (): number => api.store.view().count(keptResponsesPrefix)
  assert.equal(kept(), 1)
  for (let passed = 0; passed < api.store.settings.historyWindowMs + 60_000; passed += 10_000) await rest(api)
  assert.equal(kept(), 0)
})
