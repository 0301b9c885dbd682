/**
 * Goal: every verb answers in each representation of spec 4.7, streams and errors too, in both
 * domains.
 * Method: requests over HTTP on the shipped verbs and machine; what comes back is compared with the
 * JSON of the same.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { namesOf } from '../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../src/api/metadata/names.ts'
import type { Encoding } from '../../src/api/codec/document.ts'
import { encodeDocument } from '../../src/api/codec/document.ts'
import { textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { discoverySchemas } from '../../src/api/schema/discovery.ts'
import { partialObjectMetadataSchema, statusSchema, wholeObject } from '../../src/api/schema/shared.ts'
import type { ObjectSchema } from '../../src/api/schema/schema.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { representationWanted } from '../../src/server/http/accept.ts'
import { eventsAs, listSchema, readAs } from '../support/drivers/representations.ts'
import { KINDS, SpecServer, objectOf } from '../support/fixtures/spec-server.ts'
import type { Reply } from '../support/fixtures/spec-server.ts'

const CM = '/api/v1/namespaces/default/configmaps'
const DOMAINS = ['orch.io', 'k8s.io'] as const
const ENCODINGS = ['json', 'yaml', 'protobuf'] as const

function mediaType(encoding: Encoding, domain: ApiDomain): string {
  return encoding === 'protobuf' ? namesOf(domain).protobufMediaType : `application/${encoding}`
}

function schemaOf(kind: string): ObjectSchema {
  if (kind === 'Status') return statusSchema
  if (kind.startsWith('PartialObjectMetadata')) return partialObjectMetadataSchema
  const found = definitionsFor(namesOf('orch.io')).find((definition) => definition.kind === kind)
  return wholeObject((found ?? assert.fail(`no kind ${kind}`)).schema)
}

function read(reply: Reply, encoding: Encoding, type: string, schema: ObjectSchema): JsonObject {
  assert.equal(reply.headers.get('content-type'), type, reply.text)
  return readAs(encoding, schema, reply.bytes)
}

async function eachForm(
  t: TestContext,
  check: (api: SpecServer, form: { readonly encoding: Encoding; readonly type: string }) => Promise<void>,
): Promise<void> {
  for (const domain of DOMAINS) {
    const api = await SpecServer.start(t, { domain })
    for (const encoding of ENCODINGS) {
      // Clients of the other domain use another media type for protobuf.
      for (const named of encoding === 'protobuf' ? DOMAINS : [domain]) {
        await check(api, { encoding, type: mediaType(encoding, named) })
      }
    }
  }
}

for (const { kind, collection, change, deletedKind } of KINDS) {
  void test(`spec 4.7: a ${kind} in every encoding, by create, get, update, patch, list and delete`, async (t) => {
    let round = 0
    await eachForm(t, async (api, { encoding, type }) => {
      const name = `r${round++}`
      const path = `${collection}/${name}`
      const headers = { accept: type }
      const schema = schemaOf(kind)
      const labels = { l: 'yes' }
      const sent = { ...objectOf(kind, name, { metadata: { labels } }), ...change } as JsonObject
      const body = encodeDocument(encoding, schema, sent)
      const plain = async (): Promise<unknown> => (await api.ask('GET', path)).doc
      const same = async (reply: Reply, status: number): Promise<JsonObject> => {
        assert.equal(reply.status, status, reply.text)
        const object = read(reply, encoding, type, schema)
        assert.deepEqual(object, await plain())
        return object
      }
      const created = await same(await api.ask('POST', collection, { body, type, headers }), 201)
      const { labels: kept } = created['metadata'] as { readonly labels: { readonly l: string } }
      assert.equal(kept.l, labels.l)
      for (const [member, value] of Object.entries(change ?? {})) assert.deepEqual(created[member], value)
      await same(await api.ask('GET', path, { headers }), 200)
      await same(
        await api.ask('PUT', path, { body: encodeDocument(encoding, schema, created), type, headers }),
        200,
      )
      const patch = {
        body: { metadata: { labels: { l: '1' } } },
        type: 'application/merge-patch+json',
        headers,
      }
      await same(await api.ask('PATCH', path, patch), 200)
      const list = await api.ask('GET', `${collection}?labelSelector=l%3D1`, { headers })
      const { doc } = await api.ask('GET', `${collection}?labelSelector=l%3D1`)
      const shown = read(list, encoding, type, listSchema(schema))
      const items = (shown['items'] as readonly JsonObject[]).map((item) => ({
        ...item,
        kind: '',
        apiVersion: '',
      }))
      assert.equal(shown['kind'], `${kind}List`)
      assert.deepEqual(shown['metadata'], doc.metadata)
      assert.deepEqual(
        items,
        doc.items?.map((item) => ({ ...item, kind: '', apiVersion: '' })),
      )
      const deleted = await api.ask('DELETE', path, { headers })
      const last = read(deleted, encoding, type, schemaOf(deletedKind))
      assert.deepEqual([deleted.status, last['kind']], [kind === 'Namespace' ? 202 : 200, deletedKind])
    })
  })
}

void test('spec 4.7, 4.8: pages and empty lists in every encoding', async (t) => {
  await eachForm(t, async (api, { encoding, type }) => {
    for (const name of ['a', 'b', 'c']) await api.ask('POST', CM, { body: objectOf('ConfigMap', name) })
    const schema = listSchema(schemaOf('ConfigMap'))
    const names: unknown[] = []
    let token = ''
    do {
      const path = `${CM}?limit=2&continue=${encodeURIComponent(token)}`
      const page = read(await api.ask('GET', path, { headers: { accept: type } }), encoding, type, schema)
      const { continue: next = '', remainingItemCount } = page['metadata'] as JsonObject
      for (const item of page['items'] as readonly JsonObject[])
        names.push((item['metadata'] as JsonObject)['name'])
      assert.equal(remainingItemCount, next === '' ? undefined : 1)
      token = textMember({ next }, 'next')
    } while (token !== '')
    assert.deepEqual(names, ['a', 'b', 'c'])
    const none = await api.ask('GET', '/api/v1/secrets?labelSelector=none', { headers: { accept: type } })
    const empty = read(none, encoding, type, listSchema(schemaOf('Secret')))
    assert.deepEqual(empty['items'] ?? [], [])
  })
})

void test('spec 4.7: metadata alone, of one object and of a list, got, written and watched', async (t) => {
  await eachForm(t, async (api, { encoding, type }) => {
    for (const meta of ['meta.orch.io', 'meta.k8s.io']) {
      const one = { accept: `${type};as=PartialObjectMetadata;g=${meta};v=v1` }
      const many = { accept: `${type};as=PartialObjectMetadataList;g=${meta};v=v1` }
      const created = await api.ask('POST', CM, {
        body: objectOf('ConfigMap', 'a', { data: { k: 'v' } }),
        headers: one,
      })
      assert.equal(created.status, 201)
      const { doc } = await api.ask('GET', `${CM}/a`)
      const wanted = { kind: 'PartialObjectMetadata', apiVersion: `${meta}/v1`, metadata: doc.metadata }
      assert.deepEqual(read(created, encoding, type, partialObjectMetadataSchema), wanted)
      const got = await api.ask('GET', `${CM}/a`, { headers: one })
      assert.deepEqual(read(got, encoding, type, partialObjectMetadataSchema), wanted)
      const listed = await api.ask('GET', CM, { headers: many })
      const list = read(listed, encoding, type, listSchema(partialObjectMetadataSchema))
      assert.deepEqual([list['kind'], list['apiVersion']], ['PartialObjectMetadataList', `${meta}/v1`])
      assert.deepEqual((list['items'] as readonly JsonObject[])[0]?.['metadata'], doc.metadata)
      // As upstream: a list is not served as a single object, nor a single object as a list.
      assert.equal((await api.ask('GET', CM, { headers: one })).status, 406)
      assert.equal((await api.ask('GET', `${CM}/a`, { headers: many })).status, 406)
      await api.ask('DELETE', `${CM}/a`)
    }
  })
})

void test('spec 4.7: a watch in every encoding, with bookmarks, whole and as metadata', async (t) => {
  for (const domain of DOMAINS) {
    const api = await SpecServer.start(t, { domain })
    const { doc } = await api.ask('GET', CM)
    await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a', { metadata: { labels: { x: 'y' } } }) })
    await api.ask('PUT', `${CM}/a`, { body: objectOf('ConfigMap', 'a', { data: { k: 'v' } }) })
    await api.ask('DELETE', `${CM}/a`)
    const query = `watch=true&timeoutSeconds=1&allowWatchBookmarks=true&resourceVersion=${doc.metadata?.resourceVersion}`
    const plain = eventsAs('json', schemaOf, (await api.ask('GET', `${CM}?${query}`)).bytes)
    assert.deepEqual(
      plain.map(({ type }) => type),
      ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'],
    )
    const checks = ENCODINGS.map(async (encoding) => {
      const type = mediaType(encoding, domain)
      const answered = encoding === 'json' ? type : `${type};stream=watch`
      const whole = await api.ask('GET', `${CM}?${query}`, { headers: { accept: `${type};stream=watch` } })
      assert.equal(whole.headers.get('content-type'), answered)
      const events = eventsAs(encoding, schemaOf, whole.bytes)
      assert.deepEqual(events.slice(0, 3), plain.slice(0, 3))
      const [bookmark] = events.slice(3)
      assert.deepEqual(
        [bookmark?.type, (bookmark?.object['metadata'] as JsonObject)['resourceVersion']],
        ['BOOKMARK', (plain[3]?.object['metadata'] as JsonObject)['resourceVersion']],
      )
      const accept = `${type};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`
      const partial = await api.ask('GET', `${CM}?${query}`, { headers: { accept } })
      const seen = eventsAs(encoding, schemaOf, partial.bytes).slice(0, 3)
      assert.deepEqual(
        seen.map(({ type: event, object: { kind, metadata } }) => [event, kind, metadata]),
        plain
          .slice(0, 3)
          .map(({ type: event, object }) => [event, 'PartialObjectMetadata', object['metadata']]),
      )
    })
    await Promise.all(checks)
  }
})

void test('spec 4.7: tables in YAML are those in JSON', async (t) => {
  const api = await SpecServer.start(t)
  await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a', { data: { k: 'v' } }) })
  const table = (encoding: string): string => `application/${encoding};as=Table;v=v1;g=meta.orch.io`
  for (const path of [CM, `${CM}/a`, `${CM}?includeObject=Object`, '/api/v1/namespaces/none/secrets']) {
    const yaml = await api.ask('GET', path, { headers: { accept: table('yaml') } })
    const json = await api.ask('GET', path, { headers: { accept: table('json') } })
    const ageless = (text: string): string => text.replace(/"\d+s"/g, '"age"')
    const parsed = read(yaml, 'yaml', 'application/yaml', statusSchema)
    assert.deepEqual(
      JSON.parse(ageless(JSON.stringify(parsed))),
      JSON.parse(ageless(JSON.stringify(json.doc))),
    )
  }
  const query = 'watch=true&timeoutSeconds=1'
  const watched = await api.ask('GET', `${CM}?${query}`, { headers: { accept: table('yaml') } })
  const [event] = eventsAs('yaml', schemaOf, watched.bytes)
  assert.deepEqual([event?.type, event?.object['kind']], ['ADDED', 'Table'])
  for (const domain of DOMAINS) {
    const accept = `${namesOf(domain).protobufMediaType};as=Table;v=v1;g=meta.k8s.io`
    assert.equal((await api.ask('GET', CM, { headers: { accept } })).status, 406)
    const both = await api.ask('GET', CM, { headers: { accept: `${accept}, ${table('json')}` } })
    assert.equal(both.doc.kind, 'Table')
  }
})

void test('spec 4.7: errors use the accepted encoding, else JSON', async (t) => {
  await eachForm(t, async (api, { encoding, type }) => {
    const headers = { accept: type }
    for (const [path, code, reason] of [
      [`${CM}/none`, 404, 'NotFound'],
      [`${CM}?limit=x`, 400, 'BadRequest'],
      [`${CM}?watch=true&resourceVersion=x`, 400, 'BadRequest'],
      ['/apis/none.io/v1/things', 404, 'NotFound'],
    ] as const) {
      const reply = await api.ask('GET', path, { headers })
      const status = read(reply, encoding, type, statusSchema)
      assert.deepEqual([reply.status, status['code'], status['reason']], [code, code, reason])
      assert.deepEqual([status['kind'], status['apiVersion']], ['Status', 'v1'])
    }
    const invalid = await api.ask('POST', CM, { body: objectOf('ConfigMap', 'A B'), headers })
    const { details } = read(invalid, encoding, type, statusSchema)
    const [cause] = (details as JsonObject)['causes'] as readonly JsonObject[]
    assert.equal(cause?.['field'], 'metadata.name')
    assert.equal(
      (await api.ask('GET', `${CM}/none`, { headers: { accept: 'text/html' } })).doc.reason,
      'NotAcceptable',
    )
  })
})

void test('spec 4.7: Accept is taken by quality, then in order, with fallbacks; 406 and 415 name the alternatives', async (t) => {
  const api = await SpecServer.start(t)
  for (const [accept, type] of [
    ['application/vnd.orch.protobuf, application/json', 'application/vnd.orch.protobuf'],
    ['application/vnd.kubernetes.protobuf,application/json', 'application/vnd.kubernetes.protobuf'],
    ['application/json;q=0.5, application/yaml;q=0.8', 'application/yaml'],
    ['text/html, application/xhtml+xml, */*;q=0.8', 'application/json'],
    ['application/*', 'application/json'],
    ['application/cbor, application/yaml;q=0.1', 'application/yaml'],
    ['application/json;q=0, */*', 'application/yaml'],
  ] as const) {
    for (const path of [CM, '/api/v1/namespaces/default', `${CM}?watch=true&timeoutSeconds=1`]) {
      if (path.includes('watch') && type !== 'application/yaml') continue
      const reply = await api.ask('GET', path, { headers: { accept } })
      assert.equal(reply.status, 200, accept)
      assert.equal(reply.headers.get('content-type')?.split(';')[0], type, accept)
    }
  }
  const names = [
    'application/json',
    'application/yaml',
    'application/vnd.orch.protobuf',
    'application/vnd.kubernetes.protobuf',
  ]
  for (const method of ['GET', 'DELETE']) {
    const { status, doc } = await api.ask(method, `${CM}/none`, { headers: { accept: 'application/cbor' } })
    assert.deepEqual([status, doc.reason], [406, 'NotAcceptable'])
    for (const name of names) assert.ok(doc.message?.includes(name), doc.message)
  }
  const sent = await api.ask('POST', CM, { body: 'a', type: 'application/cbor' })
  assert.deepEqual([sent.status, sent.doc.reason], [415, 'UnsupportedMediaType'])
  for (const name of names) assert.ok(sent.doc.message?.includes(name), sent.doc.message)
})

void test('spec 4.7: long lists are compressed in every encoding', async (t) => {
  const api = await SpecServer.start(t)
  const data = { text: 'x'.repeat(20_000) }
  for (let at = 0; at < 20; at++)
    await api.ask('POST', CM, { body: objectOf('ConfigMap', `m${at}`, { data }) })
  for (const encoding of ENCODINGS) {
    const type = mediaType(encoding, 'k8s.io')
    const headers = { accept: type, 'accept-encoding': 'gzip' }
    const reply = await api.ask('GET', CM, { headers })
    assert.equal(reply.headers.get('content-encoding'), 'gzip')
    const { items } = read(reply, encoding, type, listSchema(schemaOf('ConfigMap')))
    const kept = (items as readonly { readonly data: unknown }[]).map((item) => item.data)
    assert.deepEqual(
      kept,
      Array.from({ length: 20 }, () => data),
    )
  }
})

void test('spec 4.2: pretty indents JSON and leaves other encodings alone', async (t) => {
  const api = await SpecServer.start(t)
  await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a') })
  for (const path of [CM, `${CM}/a`, `${CM}/none`]) {
    for (const type of ['application/yaml', 'application/vnd.orch.protobuf']) {
      const headers = { accept: type }
      const pretty = await api.ask('GET', `${path}?pretty=true`, { headers })
      assert.deepEqual(pretty.bytes, (await api.ask('GET', path, { headers })).bytes)
    }
    const json = await api.ask('GET', `${path}?pretty=true`)
    for (const accept of [
      'application/json;pretty=1',
      'text/x, application/json; pretty="1";q=0.5, */*;q=0.1',
    ]) {
      const reported = await api.ask('GET', path, { headers: { accept } })
      assert.deepEqual([reported.text, reported.headers.get('content-type')], [json.text, 'application/json'])
    }
    for (const accept of ['application/json;pretty=0', 'application/json;pretty=10;foo=bar']) {
      const reported = await api.ask('GET', path, { headers: { accept } })
      assert.equal(reported.text, (await api.ask('GET', path)).text)
    }
    assert.ok(json.text.startsWith('{\n  "kind"'))
  }
})

void test('spec 4.7: protobuf is not offered for kinds without messages', () => {
  const [kind] = definitionsFor(namesOf('orch.io'))
  const custom = {
    ...(kind ?? assert.fail('there is a kind')),
    schema: { type: 'object', properties: {} },
  } as const
  const wanted = (accept: string) => representationWanted(accept, 'list', custom, new Map())
  const protobuf = 'application/vnd.orch.protobuf'
  assert.throws(
    () => wanted(protobuf),
    /only the following media types are accepted: application\/json, application\/yaml/,
  )
  assert.equal(wanted(`${protobuf}, application/json`).contentType, 'application/json')
  const metadata = wanted(`${protobuf};as=PartialObjectMetadataList;g=meta.orch.io;v=v1`)
  assert.deepEqual([metadata.representation.as, metadata.contentType], ['partial', protobuf])
})

void test('spec 4.1, 4.7: discovery in every encoding', async (t) => {
  await eachForm(t, async (api, { encoding, type }) => {
    const group = (await api.ask('GET', '/apis')).doc['groups'] as readonly { readonly name: string }[]
    const name = group[0]?.name ?? assert.fail('there is a group')
    for (const path of ['/api', '/api/v1', '/apis', `/apis/${name}`, `/apis/${name}/v1`]) {
      const { doc } = await api.ask('GET', path)
      const schema = discoverySchemas.get(String(doc.kind)) ?? assert.fail(doc.kind)
      const reply = await api.ask('GET', path, { headers: { accept: type } })
      const shown = read(reply, encoding, type, schema)
      if (encoding === 'protobuf') {
        // A message omits empty texts.
        assert.deepEqual(shown['kind'], doc.kind)
        assert.deepEqual(namesWithin(shown), namesWithin(doc as JsonObject))
      } else assert.deepEqual(shown, doc)
      assert.notEqual(reply.headers.get('etag'), null)
    }
  })
})

function namesWithin(document: JsonObject): unknown {
  const list = (document['resources'] ??
    document['groups'] ??
    document['versions'] ??
    []) as readonly JsonObject[]
  return list.map((one) => [
    one['name'] ?? one,
    one['verbs'],
    one['kind'],
    one['versions'],
    one['namespaced'] ?? false,
  ])
}
