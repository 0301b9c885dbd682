/*
 * Goal: a value that is written as stringData has an owner, so that no apply removes it.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { objectMember, textMember } from '../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../src/api/json.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'
import type { Got } from '../registry/fixture.ts'

const kind = 'Secret'
const name = 's'
const b64 = (text: string) => Buffer.from(text).toString('base64')

async function open(t: TestContext): Promise<Fixture> {
  const api = await Fixture.open()
  t.after(() => api.close())
  return api
}

function bodyOf(more: JsonObject): JsonObject {
  return { apiVersion: 'v1', kind, metadata: { name }, ...more }
}

function apply(api: Fixture, more: JsonObject, query: { readonly [name: string]: string }): Promise<Got> {
  const contentType = 'application/apply-patch+yaml'
  return api.patch({
    kind,
    name,
    contentType,
    query: { fieldManager: 'applier', ...query },
    body: bodyOf(more),
  })
}

/** Returns the owned paths below `data`, as `MANAGER KEY`. */
function owners({ object }: Got): readonly string[] {
  return (object.metadata.managedFields ?? []).flatMap((entry) => {
    const data = objectMember(objectMember(entry, 'fieldsV1'), 'f:data')
    return Object.keys(data)
      .filter((step) => step !== '.')
      .map((step) => `${textMember(entry, 'manager')} ${step}`)
  })
}

const query = { fieldManager: 'writer' }

type Write = (api: Fixture) => Promise<Got>

function patched(format: string, body: Json): Write {
  return (api) => api.patch({ kind, name, contentType: `application/${format}+json`, query, body })
}

const text = { stringData: { k: 'v' } }
const writes: { readonly [way: string]: Write } = {
  PUT: (api) => api.update({ kind, name, query, body: bodyOf({ data: { a: b64('1') }, ...text }) }),
  'a merge patch': patched('merge-patch', text),
  'a strategic merge patch': patched('strategic-merge-patch', text),
  'a JSON patch': patched('json-patch', [{ op: 'add', path: '/stringData', value: text.stringData }]),
}

void test('a Secret created with stringData alone has an owner of each key', async (t) => {
  const api = await open(t)
  const made = await api.create({ kind, query, body: bodyOf(text) })
  assert.deepEqual(owners(made), ['writer f:k'])
  assert.ok(!made.text.includes('f:stringData'))
  const seen = await refused(apply(api, { data: { k: b64('other') } }, {}))
  assert.deepEqual([seen.code, ...causes(seen)], [409, 'FieldManagerConflict .data.k'])
})

for (const [way, write] of Object.entries(writes)) {
  void test(`an apply of another manager keeps a value that ${way} wrote as stringData`, async (t) => {
    const api = await open(t)
    await apply(api, { data: { a: b64('1'), k: b64('old') } }, {})
    assert.deepEqual(owners(await write(api)), ['applier f:a', 'writer f:k'])
    const applied = await apply(api, { data: { a: b64('1') } }, {})
    assert.deepEqual(applied.object['data'], { a: b64('1'), k: b64('v') })
  })
}

void test('spec 2.3: stringData that is applied twice is owned as data and written once', async (t) => {
  const api = await open(t)
  const first = await apply(api, { data: { k: b64('hidden'), a: b64('1') }, ...text }, {})
  assert.deepEqual(first.object['data'], { a: b64('1'), k: b64('v') })
  assert.deepEqual([...owners(first)].sort(), ['applier f:a', 'applier f:k'])
  api.clock.advance(5000)
  const second = await apply(api, { data: { a: b64('1') }, ...text }, {})
  assert.equal(second.text, first.text)
  const changed = await apply(api, { stringData: { k: 'new' } }, {})
  assert.deepEqual(changed.object['data'], { k: b64('new') })
  const removed = await apply(api, { stringData: {} }, {})
  assert.equal(removed.object['data'], undefined)
})

void test('applied stringData conflicts with the value of another manager', async (t) => {
  const api = await open(t)
  await api.create({ kind, query, body: bodyOf({ data: { k: b64('theirs') } }) })
  const seen = await refused(apply(api, text, {}))
  assert.deepEqual([seen.code, ...causes(seen)], [409, 'FieldManagerConflict .data.k'])
  assert.ok(!seen.message.includes('before-first-apply'))
  const forced = await apply(api, text, { force: 'true' })
  assert.deepEqual([forced.object['data'], ...owners(forced)], [{ k: b64('v') }, 'applier f:k'])
})

void test('a reset of the owners makes the writer of stringData own its keys', async (t) => {
  const api = await open(t)
  await api.create({ kind, body: bodyOf(text) })
  const body = { metadata: { managedFields: [{}] }, ...text }
  assert.deepEqual(owners(await api.patch({ kind, name, query, body })), ['writer f:k'])
})

void test('kubectl takes over what it wrote as stringData by client-side apply', async (t) => {
  const api = await open(t)
  const last = JSON.stringify(bodyOf({ stringData: { pw: 'one' } }))
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': last }
  const body = { ...bodyOf({ stringData: { pw: 'one' } }), metadata: { name, annotations } }
  await api.create({ kind, body, query: { fieldManager: 'kubectl-client-side-apply' } })
  const got = await apply(api, { stringData: { pw: 'two' } }, { fieldManager: 'kubectl' })
  assert.equal(got.code, 200)
  assert.deepEqual(got.object['data'], { pw: b64('two') })
  const other = await refused(apply(api, { stringData: { pw: 'three' } }, { fieldManager: 'flux' }))
  assert.deepEqual(causes(other), ['FieldManagerConflict .data.pw'])
})
