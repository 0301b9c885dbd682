/**
 * Goal: what every object has, by the numbers of the specification's parts 1, 2 and 9.
 * Method: ConfigMaps, Secrets and Namespaces over HTTP, on the shipped verbs and machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realRegistry } from '../../fixtures/real-registry.ts'
import { KINDS, SpecServer, namesIn, objectOf } from '../support/fixtures/spec-server.ts'

const CM = '/api/v1/namespaces/default/configmaps'
const SECRETS = '/api/v1/namespaces/default/secrets'

for (const { kind, collection, change } of KINDS) {
  void test(`spec 1.5: a name of a ${kind} is taken once, and a namespaced one is reused after deletion`, async (t) => {
    const api = await SpecServer.start(t)
    const body = objectOf(kind, 'a')
    const first = await api.ask('POST', collection, { body })
    const again = await api.ask('POST', collection, { body })
    assert.deepEqual([again.status, again.doc.reason], [409, 'AlreadyExists'])
    if (kind === 'Namespace') return
    await api.ask('POST', '/api/v1/namespaces', { body: objectOf('Namespace', 'other') })
    const elsewhere = await api.ask('POST', collection.replace('/default/', '/other/'), { body })
    assert.equal(elsewhere.status, 201)
    await api.ask('DELETE', `${collection}/a`)
    const second = await api.ask('POST', collection, { body })
    assert.equal(second.status, 201)
    assert.notEqual(second.doc.metadata?.uid, first.doc.metadata?.uid)
  })

  void test(`spec 2.1: uid, namespace, creation and resourceVersion of a ${kind} are set by the server`, async (t) => {
    const api = await SpecServer.start(t)
    const lies = { uid: 'u', creationTimestamp: '2001-01-01T00:00:00Z', selfLink: '/x', generation: 9 }
    const { doc } = await api.ask('POST', collection, { body: objectOf(kind, 'a', { metadata: lies }) })
    const metadata = doc.metadata ?? {}
    assert.match(metadata.uid ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.equal(metadata.namespace, kind === 'Namespace' ? undefined : 'default')
    assert.match(metadata.creationTimestamp ?? '', /^2[0-9]{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.ok(!(metadata.creationTimestamp ?? '').startsWith('2001'))
    const other = await api.ask('POST', collection, { body: objectOf(kind, 'b') })
    assert.notEqual(other.doc.metadata?.uid, metadata.uid)
    const type = 'application/merge-patch+json'
    const body = change ?? { metadata: { labels: { changed: 'yes' } } }
    const changed = await api.ask('PATCH', `${collection}/a`, { body, type })
    assert.equal(changed.doc.metadata?.uid, metadata.uid)
    assert.notEqual(changed.doc.metadata?.resourceVersion, metadata.resourceVersion)
    assert.deepEqual((await api.ask('GET', `${collection}/a`)).doc, changed.doc)
  })

  void test(`spec 2.1: generateName gives each ${kind} another name`, async (t) => {
    const api = await SpecServer.start(t)
    const body = { apiVersion: 'v1', kind, metadata: { generateName: 'made-' } }
    const names = new Set<string>()
    for (let count = 0; count < 5; count++) {
      names.add((await api.ask('POST', collection, { body })).doc.metadata?.name ?? '')
    }
    assert.equal(names.size, 5)
    for (const name of names) assert.match(name, /^made-[a-z0-9]{5}$/)
  })

  void test(`spec 2.1: labels and annotations of a ${kind} are kept as sent`, async (t) => {
    const api = await SpecServer.start(t)
    const metadata = { labels: { 'x.io/a': 'b' }, annotations: { 'x.io/Long': '{"any": "text\\n"}' } }
    const { doc } = await api.ask('POST', collection, { body: objectOf(kind, 'a', { metadata }) })
    assert.equal(doc.metadata?.labels?.['x.io/a'], 'b')
    assert.deepEqual(doc.metadata.annotations, metadata.annotations)
    const body = { metadata: { labels: { 'x.io/a': null }, annotations: null } }
    const type = 'application/merge-patch+json'
    const patched = await api.ask('PATCH', `${collection}/a`, { body, type })
    assert.equal(patched.doc.metadata?.labels?.['x.io/a'], undefined)
    assert.equal(patched.doc.metadata?.annotations, undefined)
  })

  void test(`spec 2.1, 3.1: deletionTimestamp of a ${kind} with finalizers is set once`, async (t) => {
    const api = await SpecServer.start(t)
    const metadata = { finalizers: ['x.io/hold'] }
    const { doc } = await api.ask('POST', collection, { body: objectOf(kind, 'a', { metadata }) })
    assert.equal(doc.metadata?.deletionTimestamp, undefined)
    const marked = await api.ask('DELETE', `${collection}/a`)
    assert.equal(marked.status, 202)
    assert.match(marked.doc.metadata?.deletionTimestamp ?? '', /Z$/)
    const again = await api.ask('DELETE', `${collection}/a`)
    assert.deepEqual([again.status, again.doc], [202, marked.doc])
    assert.deepEqual((await api.ask('GET', `${collection}/a`)).doc, marked.doc)
  })

  void test(`spec 2.1: a ${kind} list has metadata and items; remainingItemCount counts`, async (t) => {
    const api = await SpecServer.start(t)
    const before = namesIn((await api.ask('GET', collection)).doc).length
    for (const name of ['x1', 'x2', 'x3']) await api.ask('POST', collection, { body: objectOf(kind, name) })
    const { doc } = await api.ask('GET', collection)
    assert.deepEqual([doc.kind, doc.apiVersion], [`${kind}List`, 'v1'])
    assert.deepEqual(Object.keys(doc).sort(), ['apiVersion', 'items', 'kind', 'metadata'])
    assert.deepEqual(Object.keys(doc.metadata ?? {}), ['resourceVersion'])
    const page = await api.ask('GET', `${collection}?limit=1`)
    assert.equal(page.doc.metadata?.remainingItemCount, before + 2)
    const selected = await api.ask('GET', `${collection}?limit=1&fieldSelector=metadata.name!%3Dx2`)
    assert.ok(selected.doc.metadata?.continue)
    assert.equal(selected.doc.metadata.remainingItemCount, undefined)
  })

  void test(`spec 9.2: the apiVersion of a ${kind} is v1, and any other is refused`, async (t) => {
    const api = await SpecServer.start(t)
    assert.equal((await api.ask('POST', collection, { body: objectOf(kind, 'a') })).doc.apiVersion, 'v1')
    for (const apiVersion of ['v2', 'apps/v1', 'orch.io/v1']) {
      const refused = await api.ask('POST', collection, { body: { ...objectOf(kind, 'b'), apiVersion } })
      assert.deepEqual([refused.status, refused.doc.reason], [400, 'BadRequest'], apiVersion)
    }
    assert.equal((await api.ask('GET', collection.replace('/api/v1/', '/api/v2/'))).status, 404)
  })
}

void test('spec 2.2, 2.3: ConfigMapList and SecretList have items, even when these are empty', async (t) => {
  const api = await SpecServer.start(t)
  for (const path of [CM, SECRETS, '/api/v1/configmaps', '/api/v1/namespaces/nowhere/secrets']) {
    const { status, doc } = await api.ask('GET', path)
    assert.deepEqual([status, doc.items], [200, []], path)
  }
})

void test('spec 2.2: binaryData holds any bytes, data only text', async (t) => {
  const api = await SpecServer.start(t)
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, at) => at)).toString('base64')
  const made = await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a', { binaryData: { b: bytes } }) })
  assert.deepEqual(made.doc['binaryData'], { b: bytes })
  const text = Buffer.concat([
    Buffer.from('{"metadata":{"name":"b"},"data":{"k":"'),
    Buffer.from([0xff]),
    Buffer.from('"}}'),
  ])
  assert.equal((await api.ask('POST', CM, { body: text })).status, 400)
})

void test('spec 2.2, 2.3: immutable may be set at any time and cannot be unset', async (t) => {
  const api = await SpecServer.start(t)
  const type = 'application/merge-patch+json'
  for (const { kind, collection } of KINDS.filter(({ change }) => change !== null)) {
    const data = { k: 'djE=' }
    const path = `${collection}/a`
    await api.ask('POST', collection, { body: objectOf(kind, 'a', { data }) })
    for (const [body, status] of [
      [{ immutable: false, data: { k: 'djI=' } }, 200],
      [{ immutable: null }, 200],
      [{ immutable: true }, 200],
      [{ data: { k: 'djE=' } }, 422],
      [{ data: { l: 'djE=' } }, 422],
      [{ immutable: null }, 422],
      [{ metadata: { labels: { a: 'b' } } }, 200],
    ] as const) {
      assert.equal((await api.ask('PATCH', path, { body, type })).status, status, JSON.stringify(body))
    }
    const whole = { ...objectOf(kind, 'a', { data: { k: 'djE=' } }), immutable: true }
    assert.equal((await api.ask('PUT', path, { body: whole })).status, 422)
    assert.equal((await api.ask('DELETE', path)).status, 200)
  }
})

void test('spec 2.2, 2.3, 8: more than 1 MiB of data is 422, more than 3 MiB of body 413', async (t) => {
  const api = await SpecServer.start(t)
  const MiB = 1024 * 1024
  for (const [kind, collection, member] of [
    ['ConfigMap', CM, 'data'],
    ['Secret', SECRETS, 'stringData'],
  ] as const) {
    const of = (bytes: number) => ({ body: objectOf(kind, 'a', { [member]: { k: 'x'.repeat(bytes) } }) })
    const over = await api.ask('POST', collection, of(MiB + 1))
    assert.deepEqual([over.status, over.doc.kind, over.doc.reason], [422, 'Status', 'Invalid'])
    const huge = await api.ask('POST', collection, of(3 * MiB))
    assert.deepEqual([huge.status, huge.doc.kind, huge.doc.reason], [413, 'Status', 'RequestEntityTooLarge'])
    assert.equal((await api.ask('POST', collection, of(MiB))).status, 201)
  }
})

void test('spec 2.3: stringData is not returned by create, get, list and watch', async (t) => {
  const api = await SpecServer.start(t)
  const body = objectOf('Secret', 'a', { data: { k: 'b2xk' }, stringData: { k: 'new', l: 'more' } })
  const made = await api.ask('POST', SECRETS, { body })
  assert.deepEqual(made.doc.data, { k: 'bmV3', l: 'bW9yZQ==' })
  const watch = await api.watch(`${SECRETS}?watch=1`)
  const [event] = await watch.take(1)
  watch.leave()
  for (const { text } of [made, await api.ask('GET', `${SECRETS}/a`), await api.ask('GET', SECRETS)]) {
    assert.ok(!text.includes('stringData'))
  }
  assert.ok(!JSON.stringify(event).includes('stringData'))
})

void test('spec 8: a new cluster keeps at least five minutes of history by default', async (t) => {
  const { store, close } = await realRegistry('orch.io')
  t.after(close)
  assert.equal(store.settings.historyWindowMs, 5 * 60_000)
})
