/*
 * Goal: clients do not see that Secrets are encrypted, in any verb; a key that the member lacks is
 * an error with a Status, never a part of a list.
 * Method: requests over HTTP to the shipped server, verbs and state machine, whose keys change.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  SECRETS,
  createSecret,
  encryptedServer,
  keysWith,
  providerOf,
  secretOf,
  textOf,
  versionOf,
} from '../support/fixtures/encrypted-server.ts'
import type { Reply } from '../support/fixtures/spec-server.ts'

const MERGE = 'application/merge-patch+json'

const [one, two] = [providerOf('one', 1), providerOf('two', 2)]

function assertMissingKey(reply: Reply, name: string): void {
  assert.equal(reply.status, 500, reply.text.slice(0, 300))
  const { doc } = reply
  assert.deepEqual([doc.kind, doc.reason, doc.code], ['Status', 'InternalError', 500])
  assert.match(doc.message ?? '', new RegExp(`aesgcm key "${name}", which this member lacks: add it`))
}

void test('an update without changes writes nothing, unless the object is not encrypted as configured', async (t) => {
  const { api, use } = await encryptedServer(t, keysWith(one))
  const first = versionOf(await createSecret(api, 'a', 'text'))
  const again = (): Promise<Reply> => api.ask('PUT', `${SECRETS}/a`, { body: secretOf('a', 'text') })
  assert.equal(versionOf(await again()), first)
  use(keysWith(two, one))
  const second = versionOf(await again())
  assert.notEqual(second, first)
  assert.equal(versionOf(await again()), second)
  use(keysWith(two))
  assert.equal(textOf(await api.ask('GET', `${SECRETS}/a`)), 'text')
})

void test('patches, preconditions and dry runs see the plain object', async (t) => {
  const { api } = await encryptedServer(t, keysWith(one))
  const first = versionOf(await createSecret(api, 'a', 'text'))
  const patch = (body: object, query = ''): Promise<Reply> =>
    api.ask('PATCH', `${SECRETS}/a${query}`, { body, type: MERGE })
  const data = { text: Buffer.from('patched').toString('base64') }
  const dry = await patch({ data }, '?dryRun=All')
  assert.deepEqual([dry.status, textOf(dry)], [200, 'patched'])
  const kept = await api.ask('GET', `${SECRETS}/a`)
  assert.deepEqual([textOf(kept), versionOf(kept)], ['text', first])
  const patched = await patch({ data, metadata: { resourceVersion: first } })
  assert.deepEqual([patched.status, textOf(patched)], [200, 'patched'])
  assert.equal((await patch({ data: { more: 'eA==' }, metadata: { resourceVersion: first } })).status, 409)
  const conflict = await api.ask('PUT', `${SECRETS}/a`, {
    body: secretOf('a', 'x', { resourceVersion: first }),
  })
  assert.equal(conflict.status, 409)
  const applied = await api.ask('PATCH', `${SECRETS}/a?fieldManager=m&force=true`, {
    body: secretOf('a', 'applied'),
    type: 'application/apply-patch+yaml',
  })
  assert.deepEqual([applied.status, textOf(applied)], [200, 'applied'])
})

void test('lists by label, pages, tables, exact lists and watches return encrypted objects decrypted', async (t) => {
  const { api } = await encryptedServer(t, keysWith(one))
  const first = await createSecret(api, 'a', 'first')
  for (const name of ['b', 'c']) await createSecret(api, name, `text of ${name}`)
  const listed = await api.ask('GET', `${SECRETS}?labelSelector=app%3Db`)
  assert.deepEqual(
    listed.doc.items?.map(({ metadata }) => metadata?.name),
    ['b'],
  )
  const page = await api.ask('GET', `${SECRETS}?limit=1`)
  const next = await api.ask('GET', `${SECRETS}?limit=1&continue=${page.doc.metadata?.continue ?? ''}`)
  assert.deepEqual(
    next.doc.items?.map(({ data }) => data),
    [{ text: Buffer.from('text of b').toString('base64') }],
  )
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
  assert.equal((await api.ask('GET', SECRETS, { headers: { accept } })).status, 200)
  await api.ask('PUT', `${SECRETS}/a`, { body: secretOf('a', 'second') })
  const past = await api.ask(
    'GET',
    `${SECRETS}?resourceVersion=${versionOf(first)}&resourceVersionMatch=Exact`,
  )
  assert.deepEqual(
    past.doc.items?.map(({ data }) => data),
    [{ text: Buffer.from('first').toString('base64') }],
  )
  assert.equal((await api.ask('DELETE', `${SECRETS}/c`)).status, 200)
  const watched = await api.ask(
    'GET',
    `${SECRETS}?watch=true&resourceVersion=${versionOf(first)}&timeoutSeconds=1&labelSelector=app%3Dc`,
  )
  const events = watched.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; object: object })
  assert.deepEqual(
    events.map(({ type }) => type),
    ['ADDED', 'DELETED'],
  )
  assert.ok(
    events.every(({ object }) =>
      JSON.stringify(object).includes(Buffer.from('text of c').toString('base64')),
    ),
  )
})

void test('a list that reaches an object whose key is missing is an error, in JSON, YAML and protobuf', async (t) => {
  const { api, use } = await encryptedServer(t, keysWith(one))
  for (let at = 10; at < 40; at++) await createSecret(api, `s-${at}`, 'x'.repeat(150_000))
  use(keysWith(two, one))
  await createSecret(api, 's-99', 'the last one')
  use(keysWith(one))
  for (const query of ['', '?limit=100', '?labelSelector=app'])
    assertMissingKey(await api.ask('GET', SECRETS + query), 'two')
  for (const accept of ['application/yaml', 'application/vnd.kubernetes.protobuf']) {
    assert.equal((await api.ask('GET', SECRETS, { headers: { accept } })).status, 500)
  }
  assert.equal((await api.ask('GET', `${SECRETS}?limit=20`)).status, 200)
  assertMissingKey(await api.ask('GET', `${SECRETS}/s-99`), 'two')
  assertMissingKey(await api.ask('PUT', `${SECRETS}/s-99`, { body: secretOf('s-99', 'x') }), 'two')
  assertMissingKey(await api.ask('DELETE', `${SECRETS}/s-99`), 'two')
  assert.equal((await api.ask('GET', '/api/v1/namespaces/default/configmaps')).status, 200)
  use(keysWith(two, one))
  assert.equal((await api.ask('DELETE', `${SECRETS}/s-99`)).status, 200)
})

void test('lists by type show encrypted objects, and are errors without their key, whatever was listed before', async (t) => {
  const { api, use } = await encryptedServer(t, keysWith(one))
  for (const [name, type] of [
    ['a', 'Opaque'],
    ['b', 'example.com/other'],
  ] as const) {
    await api.ask('POST', SECRETS, { body: { ...secretOf(name, 'text'), type } })
  }
  const byType = (type: string): Promise<Reply> =>
    api.ask('GET', `${SECRETS}?fieldSelector=type%3D${encodeURIComponent(type)}`)
  for (const keys of [keysWith(one), keysWith(one), keysWith(two, one)]) {
    use(keys)
    for (const [name, type] of [
      ['a', 'Opaque'],
      ['b', 'example.com/other'],
    ] as const) {
      const { items } = (await byType(type)).doc
      assert.deepEqual(
        items?.map(({ metadata }) => metadata?.name),
        [name],
      )
    }
  }
  use(keysWith(two))
  for (const type of ['Opaque', 'nothing']) assertMissingKey(await byType(type), 'one')
})

void test('a watch that meets an object whose key is missing ends with an error that names the key', async (t) => {
  const { api, use } = await encryptedServer(t, keysWith(two, one))
  const since = versionOf(await createSecret(api, 'a', 'first'))
  await createSecret(api, 'b', 'second')
  use(keysWith(one))
  const watched = await api.ask('GET', `${SECRETS}?watch=true&resourceVersion=${since}&timeoutSeconds=2`)
  assert.match(watched.text, /^\{"type":"ERROR","object":\{"kind":"Status".*aesgcm key \\"two\\"/)
})
