/**
 * Goal: a client that requests a table gets rows of cells, on get, list and watch, under the name
 * of either domain.
 * Method: requests over HTTP on the shipped verbs and machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../src/api/metadata/names.ts'
import { customKinds } from '../../src/resources/crd/custom-kind.ts'
import type { AnyObject } from '../../src/registry/kinds/definition.ts'
import { customDefinition } from '../support/fixtures/custom-definition.ts'
import { KINDS, SpecServer, objectOf } from '../support/fixtures/spec-server.ts'
import type { Doc } from '../support/fixtures/spec-server.ts'

const CM = '/api/v1/namespaces/default/configmaps'
const TABLE = 'application/json;as=Table;v=v1;g=meta.orch.io'
/** The Accept header that kubectl sends. */
const TABLE_OR_JSON =
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json'

type Row = { readonly cells: readonly unknown[]; readonly object: Doc | null }
const rowsOf = (doc: Doc): readonly Row[] => doc['rows'] as readonly Row[]
const columnsOf = (doc: Doc): readonly string[] =>
  (doc['columnDefinitions'] as readonly { readonly name: string }[]).map(({ name }) => name)

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: ['Name', 'Data', 'Age'],
  Secret: ['Name', 'Type', 'Data', 'Age'],
  Namespace: ['Name', 'Status', 'Age'],
}
const CELLS: Readonly<Record<string, readonly unknown[]>> = {
  ConfigMap: ['a', 0],
  Secret: ['a', 'Opaque', 0],
  Namespace: ['a', 'Active'],
}

for (const { kind, collection } of KINDS) {
  void test(`spec 4.7: create, get and list return a ${kind} as a table where one is requested`, async (t) => {
    const api = await SpecServer.start(t)
    const created = await api.ask('POST', collection, {
      body: objectOf(kind, 'a'),
      headers: { accept: TABLE },
    })
    assert.deepEqual([created.status, created.doc.kind], [201, 'Table'])
    for (const [accept, group] of [
      [TABLE, 'meta.orch.io'],
      [TABLE_OR_JSON, 'meta.k8s.io'],
    ] as const) {
      for (const path of [`${collection}/a`, `${collection}?fieldSelector=metadata.name%3Da`]) {
        const { status, doc, headers } = await api.ask('GET', path, { headers: { accept } })
        assert.deepEqual([status, doc.kind, doc.apiVersion], [200, 'Table', `${group}/v1`])
        assert.equal(headers.get('content-type'), 'application/json')
        assert.deepEqual(columnsOf(doc), COLUMNS[kind])
        const [row, ...others] = rowsOf(doc)
        assert.ok(row !== undefined && others.length === 0)
        assert.deepEqual(row.cells.slice(0, -1), CELLS[kind])
        assert.match(String(row.cells.at(-1)), /^\d+s$/)
        assert.deepEqual([row.object?.kind, row.object?.apiVersion], ['PartialObjectMetadata', `${group}/v1`])
        assert.deepEqual(Object.keys(row.object ?? {}).sort(), ['apiVersion', 'kind', 'metadata'])
        assert.equal(row.object?.metadata?.name, 'a')
        assert.match(String(doc.metadata?.resourceVersion), /^[1-9][0-9]*$/)
      }
    }
  })
}

void test('spec 4.7: includeObject decides how much of its object a row carries', async (t) => {
  const api = await SpecServer.start(t)
  await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a', { data: { k: '"}]' } }) })
  const plain = await api.ask('GET', `${CM}/a`)
  for (const path of [CM, `${CM}/a`]) {
    const ask = async (query: string) =>
      await api.ask('GET', `${path}?includeObject=${query}`, { headers: { accept: TABLE } })
    assert.equal(rowsOf((await ask('None')).doc)[0]?.object, null)
    assert.deepEqual(rowsOf((await ask('Object')).doc)[0]?.object, plain.doc)
    assert.equal(rowsOf((await ask('Metadata')).doc)[0]?.object?.kind, 'PartialObjectMetadata')
    assert.deepEqual([(await ask('All')).status, (await ask('All')).doc.reason], [400, 'BadRequest'])
    // Without a table `includeObject` is ignored.
    assert.equal((await api.ask('GET', `${path}?includeObject=All`)).status, 200)
  }
})

void test('spec 4.7, 4.8: pages of a table follow each other, and a table without a limit has all rows', async (t) => {
  const api = await SpecServer.start(t)
  const names = Array.from({ length: 40 }, (_, at) => `m${String(at).padStart(2, '0')}`)
  const data = { text: 'x'.repeat(20_000) }
  for (const name of names) await api.ask('POST', CM, { body: objectOf('ConfigMap', name, { data }) })
  const first = await api.ask('GET', `${CM}?limit=25`, { headers: { accept: TABLE } })
  assert.equal(first.doc.metadata?.remainingItemCount, 15)
  const token = encodeURIComponent(first.doc.metadata?.continue ?? '')
  const second = await api.ask('GET', `${CM}?limit=25&continue=${token}`, { headers: { accept: TABLE } })
  const cells = [...rowsOf(first.doc), ...rowsOf(second.doc)].map((row) => row.cells.slice(0, 2))
  assert.deepEqual(
    cells,
    names.map((name) => [name, 1]),
  )
  const whole = await api.ask('GET', `${CM}?includeObject=Object`, { headers: { accept: TABLE } })
  assert.equal(rowsOf(whole.doc).length, 40)
  const none = await api.ask('GET', '/api/v1/secrets', { headers: { accept: TABLE } })
  assert.deepEqual([rowsOf(none.doc), columnsOf(none.doc)], [[], COLUMNS['Secret']])
})

void test('spec 4.7: a watch as table sends a row per event and the columns once', async (t) => {
  const api = await SpecServer.start(t)
  await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a') })
  const query = 'watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
  const watching = await api.watch(`${CM}?${query}`, { accept: TABLE })
  await api.ask('PUT', `${CM}/a`, { body: objectOf('ConfigMap', 'a', { data: { k: 'v' } }) })
  await api.ask('DELETE', `${CM}/a`)
  const events = await watching.take(4)
  const shown = events.map(({ type, object }) => [type, object.kind, rowsOf(object)[0]?.cells.slice(0, 2)])
  assert.deepEqual(shown, [
    ['ADDED', 'Table', ['a', 0]],
    ['BOOKMARK', 'Table', [null, null]],
    ['MODIFIED', 'Table', ['a', 1]],
    ['DELETED', 'Table', ['a', 1]],
  ])
  assert.deepEqual(
    events.map(({ object }) => object['columnDefinitions'] === null),
    [false, true, true, true],
  )
  const revisions = events.map(({ object }) => Number(object.metadata?.resourceVersion))
  assert.ok(Number(revisions[3]) > Number(revisions[2]))
  // The version that a client resumes from is in the row, too.
  for (const [at, { object }] of events.entries()) {
    assert.equal(Number(rowsOf(object)[0]?.object?.metadata?.resourceVersion), revisions[at])
  }
  const end = rowsOf(events[1]?.object ?? {})[0]?.object?.metadata?.annotations
  assert.deepEqual(end, { 'orch.io/initial-events-end': 'true' })
  watching.leave()
})

void test('spec 4.7: what has no rows is a Status, and another version of tables is a 406', async (t) => {
  const api = await SpecServer.start(t)
  const missing = await api.ask('GET', `${CM}/none`, { headers: { accept: TABLE } })
  assert.deepEqual([missing.status, missing.doc.kind], [404, 'Status'])
  for (const accept of [
    TABLE.replace('v=v1', 'v=v2'),
    TABLE.replace('orch.io', 'example.com'),
    'application/json;as=Table',
    'application/json;as=List;v=v1;g=meta.orch.io',
    `${TABLE};q=0`,
  ]) {
    for (const path of [CM, `${CM}?watch=true`]) {
      const reply = await api.ask('GET', path, { headers: { accept } })
      assert.deepEqual([reply.status, reply.doc.reason], [406, 'NotAcceptable'], accept)
    }
  }
  // A delete may answer with the object.
  assert.equal((await api.ask('DELETE', `${CM}/none`, { headers: { accept: TABLE } })).status, 404)
  assert.equal((await api.ask('DELETE', `${CM}/none`, { headers: { accept: TABLE_OR_JSON } })).status, 404)
})

void test('a Scale as a table has the desired and the available replicas, of built-in and custom kinds', async (t) => {
  const api = await SpecServer.start(t)
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  const spec = { replicas: 3, selector: { matchLabels: { a: 'b' } }, template }
  const apps = '/apis/apps/v1/namespaces/default/deployments'
  await api.ask('POST', apps, { body: { metadata: { name: 'web' }, spec } })
  const merge = 'application/merge-patch+json'
  const replicas = { replicas: 2, readyReplicas: 2, availableReplicas: 2 }
  await api.ask('PATCH', `${apps}/web/status`, { body: { status: replicas }, type: merge })

  const names = namesOf('orch.io')
  const definitions = `/apis/${names.group('apiextensions')}/v1/customresourcedefinitions`
  const scale = { specReplicasPath: '.spec.count', statusReplicasPath: '.status.seen' }
  const objectWith = (name: string) => ({ type: 'object', properties: { [name]: { type: 'integer' } } })
  const properties = { spec: objectWith('count'), status: objectWith('seen') }
  const schema = { openAPIV3Schema: { type: 'object', properties } }
  const definition = customDefinition(names, { version: { schema, subresources: { scale } } })
  const made = await api.ask('POST', definitions, { body: definition })
  assert.equal(made.status, 201, made.text)
  const acceptedNames = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' }
  const conditions = [{ type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }]
  const body = { status: { acceptedNames, conditions } }
  const path = `${definitions}/widgets.example.com/status`
  const established = await api.ask('PATCH', path, { body, type: merge })
  api.catalog.setCustom(customKinds(established.doc as unknown as AnyObject, names))
  const widgets = '/apis/example.com/v1/namespaces/default/widgets'
  for (const [name, count] of [
    ['some', 4],
    ['none', 0],
  ] as const) {
    const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name } }
    await api.ask('POST', widgets, { body: { ...widget, spec: { count }, status: { seen: 1 } } })
  }

  for (const [at, cells] of [
    [`${apps}/web/scale`, ['web', 3, 2]],
    [`${widgets}/some/scale`, ['some', 4, 1]],
    // A Scale does not contain a desired count of 0: the columns of custom kinds show nothing.
    [`${widgets}/none/scale`, ['none', null, 1]],
  ] as const) {
    const { doc, text } = await api.ask('GET', at, { headers: { accept: TABLE_OR_JSON } })
    assert.deepEqual(columnsOf(doc), ['Name', 'Desired', 'Available', 'Age'], text)
    const [row] = rowsOf(doc)
    assert.deepEqual(row?.cells.slice(0, -1), cells)
    assert.match(String(row?.cells.at(-1)), /^\d+s$/)
  }
  const scaled = { body: { spec: { replicas: 0 } }, type: merge, headers: { accept: TABLE } }
  const patched = await api.ask('PATCH', `${apps}/web/scale`, scaled)
  assert.deepEqual(rowsOf(patched.doc)[0]?.cells.slice(0, 3), ['web', 0, 2])
})
