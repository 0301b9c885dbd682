/**
 * Goal: the verbs, their parameters and answers, by the numbers of the specification's part 4.
 * Method: tables of requests for ConfigMaps, Secrets and Namespaces, over HTTP on the shipped verbs
 * and machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KINDS, SpecServer, namesIn, objectOf } from '../support/fixtures/spec-server.ts'
import type { Asking, Reply } from '../support/fixtures/spec-server.ts'

const CM = '/api/v1/namespaces/default/configmaps'
const MERGE = 'application/merge-patch+json'

void test('spec 4.1: cluster-scoped and namespaced paths, and lists over all namespaces', async (t) => {
  const api = await SpecServer.start(t)
  await api.ask('POST', '/api/v1/namespaces', { body: objectOf('Namespace', 'other') })
  for (const namespace of ['default', 'other']) {
    const body = objectOf('ConfigMap', `in-${namespace}`)
    await api.ask('POST', `/api/v1/namespaces/${namespace}/configmaps`, { body })
  }
  const rows: readonly (readonly [string, number, readonly string[]])[] = [
    ['/api/v1/configmaps', 200, ['in-default', 'in-other']],
    ['/api/v1/namespaces/other/configmaps', 200, ['in-other']],
    ['/api/v1/namespaces', 200, ['default', 'node-lease-ns', 'other', 'public-ns', 'system-ns']],
    ['/api/v1/namespaces/other', 200, []],
    ['/api/v1/namespaces/other/configmaps/in-other', 200, []],
    ['/api/v1/namespaces/default/configmaps/in-other', 404, []],
    ['/api/v1/configmaps/in-other', 404, []],
    ['/api/v1/namespaces/default/namespaces', 404, []],
    ['/apis/v1/configmaps', 404, []],
    ['/api/v1/namespaces/other/status', 200, []],
    [`${CM}/in-default/status`, 404, []],
  ]
  for (const [path, status, names] of rows) {
    const reply = await api.ask('GET', path)
    assert.equal(reply.status, status, path)
    assert.deepEqual(namesIn(reply.doc), names, path)
  }
  assert.equal(
    (await api.ask('POST', '/api/v1/configmaps', { body: objectOf('ConfigMap', 'x') })).status,
    405,
  )
})

for (const { kind, collection, deletesCollections, deletedKind } of KINDS) {
  void test(`spec 4.2, 4.4: get, list, create, update, patch and delete of a ${kind}`, async (t) => {
    const api = await SpecServer.start(t)
    const path = `${collection}/a`
    const body = objectOf(kind, 'a')
    const labelled = objectOf(kind, 'a', { metadata: { labels: { x: 'y' } } })
    const rows: readonly (readonly [string, string, Asking, number, string])[] = [
      ['GET', path, {}, 404, 'Status'],
      ['POST', collection, { body }, 201, kind],
      ['POST', collection, { body }, 409, 'Status'],
      ['GET', path, {}, 200, kind],
      ['GET', collection, {}, 200, `${kind}List`],
      ['PUT', path, { body: labelled }, 200, kind],
      ['PUT', `${collection}/b`, { body: objectOf(kind, 'b') }, 201, kind],
      ['PATCH', path, { body: { metadata: { labels: { x: 'z' } } }, type: MERGE }, 200, kind],
      ['PATCH', `${collection}/none`, { body: {}, type: MERGE }, 404, 'Status'],
      ['DELETE', `${collection}/none`, {}, 404, 'Status'],
      ['DELETE', path, {}, deletedKind === 'Status' ? 200 : 202, deletedKind],
      ['GET', path, {}, deletedKind === 'Status' ? 404 : 200, deletedKind],
    ]
    for (const [method, at, asking, status, answered] of rows) {
      const reply = await api.ask(method, at, asking)
      assert.deepEqual([reply.status, reply.doc.kind], [status, answered], `${method} ${at}: ${reply.text}`)
    }
  })

  void test(`spec 4.2, 4.4: deletecollection of ${kind} answers with a Status, or is not supported`, async (t) => {
    const api = await SpecServer.start(t)
    for (const name of ['d1', 'd2', 'd3', 'd4']) {
      const metadata = { labels: { odd: String(name === 'd1' || name === 'd3') } }
      await api.ask('POST', collection, { body: objectOf(kind, name, { metadata }) })
    }
    const reply = await api.ask('DELETE', `${collection}?labelSelector=odd%3Dtrue`)
    if (!deletesCollections) {
      assert.deepEqual([reply.status, reply.doc.reason], [405, 'MethodNotAllowed'])
      return
    }
    assert.deepEqual([reply.status, reply.doc.kind, reply.doc.status], [200, 'Status', 'Success'])
    assert.deepEqual(namesIn((await api.ask('GET', collection)).doc), ['d2', 'd4'])
    const options = { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] }
    assert.equal((await api.ask('DELETE', collection, { body: options })).status, 200)
    await api.ask('DELETE', `${collection}?fieldSelector=metadata.name%3Dd4`)
    assert.deepEqual(namesIn((await api.ask('GET', collection)).doc), ['d2'])
    for (const query of ['labelSelector=%3D', 'limit=x', 'resourceVersionMatch=Exact']) {
      assert.equal((await api.ask('DELETE', `${collection}?${query}`)).status, 400, query)
    }
    assert.equal((await api.ask('DELETE', `${collection}?dryRun=Some`)).status, 422)
  })

  void test(`spec 4.4: the operations of ${kind} are exactly the documented ones`, async (t) => {
    const api = await SpecServer.start(t)
    const { doc } = await api.ask('GET', '/api/v1')
    const resources = doc['resources'] as readonly {
      readonly name: string
      readonly verbs: readonly string[]
    }[]
    const found = resources.find(({ name }) => name === collection.split('/').at(-1))
    const all = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
    assert.deepEqual(
      found?.verbs,
      all.filter((verb) => deletesCollections || verb !== 'deletecollection'),
    )
    for (const [method, path] of [
      ['PUT', collection],
      ['PATCH', collection],
      ['POST', `${collection}/a`],
    ] as const) {
      const reply = await api.ask(method, path, { body: {} })
      assert.deepEqual([reply.status, reply.doc.reason], [405, 'MethodNotAllowed'], `${method} ${path}`)
    }
  })

  void test(`spec 4.9: a dry create, update, patch and deletion of a ${kind} change nothing`, async (t) => {
    const api = await SpecServer.start(t)
    await api.ask('POST', collection, { body: objectOf(kind, 'a') })
    const before = (await api.ask('GET', collection)).doc
    const labels = { x: 'y' }
    const path = `${collection}/a?dryRun=All`
    const created = await api.ask('POST', `${collection}?dryRun=All`, { body: objectOf(kind, 'b') })
    assert.deepEqual([created.status, created.doc.metadata?.name], [201, 'b'])
    assert.ok(created.doc.metadata?.uid)
    const whole = objectOf(kind, 'a', { metadata: { labels } })
    const updated = await api.ask('PUT', path, { body: whole })
    assert.deepEqual([updated.status, updated.doc.metadata?.labels?.['x']], [200, 'y'])
    const patched = await api.ask('PATCH', path, { body: { metadata: { labels } }, type: MERGE })
    assert.deepEqual([patched.status, patched.doc.metadata?.labels?.['x']], [200, 'y'])
    const deleted = await api.ask('DELETE', path)
    assert.ok(deleted.status === 200 || deleted.status === 202)
    assert.deepEqual((await api.ask('GET', collection)).doc, before)
  })

  void test(`spec 4.9: validation and admission judge a dry run of a ${kind} like a real one`, async (t) => {
    const api = await SpecServer.start(t)
    await api.ask('POST', collection, { body: objectOf(kind, 'a') })
    const rows: readonly (readonly [string, string, Asking, number])[] = [
      ['POST', collection, { body: objectOf(kind, 'a') }, 409],
      ['POST', collection, { body: objectOf(kind, 'Not_A_Name') }, 422],
      ['POST', collection, { body: objectOf('Pod', 'b') }, 400],
      ['PUT', `${collection}/a`, { body: objectOf(kind, 'b') }, 400],
      ['PATCH', `${collection}/a`, { body: { metadata: { labels: { 'a b': '' } } }, type: MERGE }, 422],
      ['DELETE', `${collection}/none`, {}, 404],
      ['POST', '/api/v1/namespaces/nowhere/configmaps', { body: objectOf('ConfigMap', 'a') }, 404],
      ['DELETE', '/api/v1/namespaces/default', {}, 403],
    ]
    for (const [method, at, asking, status] of rows) {
      for (const suffix of ['?dryRun=All', '']) {
        const reply = await api.ask(method, at + suffix, asking)
        assert.equal(reply.status, status, `${method} ${at}${suffix}: ${reply.text}`)
      }
    }
  })
}

void test('spec 4.2: unsupported dryRun, fieldManager, fieldValidation and propagationPolicy are 422, malformed gracePeriodSeconds 400', async (t) => {
  const api = await SpecServer.start(t)
  await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a') })
  const body = objectOf('ConfigMap', 'a')
  const writes = (query: string): Promise<readonly Reply[]> =>
    Promise.all([
      api.ask('POST', `${CM}?${query}`, { body: objectOf('ConfigMap', 'b') }),
      api.ask('PUT', `${CM}/a?${query}`, { body }),
      api.ask('PATCH', `${CM}/a?${query}`, { body: {}, type: MERGE }),
    ])
  const deletes = (query: string): Promise<readonly Reply[]> =>
    Promise.all([api.ask('DELETE', `${CM}/a?${query}`), api.ask('DELETE', `${CM}?${query}`)])
  const long = 'm'.repeat(129)
  const notAll = (values: string): string =>
    `dryRun: Unsupported value: []string{${values}}: supported values: "All"`
  const loud = 'fieldValidation: Unsupported value: "Loud": supported values: "", "Ignore", "Strict", "Warn"'
  const bell = 'fieldManager: Invalid value: "é\\u0007": invalid character U+0007 (at position 2)'
  const tooLong = 'fieldManager: Too long: must have at most 128 bytes'
  for (const [query, words] of [
    ['dryRun=true', notAll('"true"')],
    ['dryRun=All&dryRun=x', notAll('"All", "x"')],
    ['fieldValidation=Loud', loud],
    [`fieldManager=${long}`, tooLong],
    ['fieldManager=%C3%A9%07', bell],
    [`fieldValidation=Loud&dryRun=x&fieldManager=${long}`, `[${tooLong}, ${notAll('"x"')}, ${loud}]`],
  ] as const) {
    for (const [at, { status, doc }] of (await writes(query)).entries()) {
      const kind = ['CreateOptions', 'UpdateOptions', 'PatchOptions'][at]
      const message = `${kind}.meta.orch.io "" is invalid: ${words}`
      assert.deepEqual([status, doc.reason, doc.message], [422, 'Invalid', message])
    }
  }
  for (const [query, status] of [
    ['dryRun=all', 422],
    ['gracePeriodSeconds=soon', 400],
    ['propagationPolicy=None', 422],
  ] as const) {
    for (const reply of await deletes(query))
      assert.deepEqual([reply.status, reply.doc.kind], [status, 'Status'])
  }
  for (const reply of await writes('dryRun=&fieldManager=me&fieldValidation=Strict&pretty=')) {
    assert.ok(reply.status < 300, reply.text)
  }
  for (const reply of await deletes('dryRun=All&gracePeriodSeconds=0&propagationPolicy=Background')) {
    assert.equal(reply.status, 200)
  }
})

void test('spec 4.2: fieldValidation ignores, warns of or refuses fields that a kind does not have', async (t) => {
  const api = await SpecServer.start(t)
  const rows = [
    ['Strict', 400, null],
    ['Warn', 201, '299 - "unknown field \\"extra\\""'],
    ['', 201, '299 - "unknown field \\"extra\\""'],
    ['Ignore', 201, null],
  ] as const
  for (const [mode, status, warning] of rows) {
    const body = objectOf('ConfigMap', `a${mode.toLowerCase()}`, { extra: 1 })
    const reply = await api.ask('POST', `${CM}?fieldValidation=${mode}`, { body })
    assert.equal(reply.status, status, mode)
    assert.equal(reply.headers.get('warning'), warning, mode)
    assert.equal(reply.doc['extra'], undefined)
  }
})

void test('spec 4.2: pretty prints documents, lists and errors on several lines', async (t) => {
  const api = await SpecServer.start(t)
  await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a', { data: { k: '{"x": [1,\n2]}' } }) })
  for (const path of [`${CM}/a`, CM, `${CM}/none`, '/api/v1', '/version']) {
    const plain = await api.ask('GET', path)
    assert.equal(plain.text.trimEnd().split('\n').length, 1, path)
    const laidOut = `${JSON.stringify(plain.doc, null, 2)}\n`
    assert.equal((await api.ask('GET', `${path}?pretty=true`)).text, laidOut)
    const headers = { 'user-agent': 'curl/8.5.0' }
    assert.equal((await api.ask('GET', path, { headers })).text, laidOut)
    assert.equal((await api.ask('GET', `${path}?pretty=false`, { headers })).text, plain.text)
  }
})

void test('spec 4.5: health can be requested whole, by single checks, verbose, and with some checks excluded', async (t) => {
  const api = await SpecServer.start(t)
  for (const set of ['healthz', 'livez', 'readyz']) {
    const whole = await api.ask('GET', `/${set}`)
    assert.deepEqual([whole.status, whole.text], [200, 'ok'])
    const { text } = await api.ask('GET', `/${set}?verbose`)
    const checks = [...text.matchAll(/^\[\+\](\S+) ok$/gm)].map(([, name]) => name ?? '')
    assert.ok(checks.length > 0)
    assert.ok(text.endsWith('healthz check passed\n'))
    for (const check of checks) {
      const single = await api.ask('GET', `/${set}/${check}`)
      assert.deepEqual([single.status, single.text], [200, 'ok'], check)
    }
    const excluded = await api.ask('GET', `/${set}?verbose&exclude=${checks[0]}`)
    assert.equal(excluded.status, 200)
    assert.ok(excluded.text.includes(`[+]${checks[0]} excluded: ok\n`))
    assert.equal((await api.ask('GET', `/${set}/nothing`)).status, 404)
    assert.equal((await api.ask('POST', `/${set}`, { body: {} })).status, 405)
  }
})

void test('spec 4.7: the default is JSON; another Accept is 406, another Content-Type 415', async (t) => {
  const api = await SpecServer.start(t)
  await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a') })
  const table = 'application/json;as=Table;g=meta.orch.io;v=v2'
  const accepts = [
    ['', 200],
    ['*/*', 200],
    ['application/json', 200],
    ['application/cbor, application/json', 200],
    [`${table}, application/json`, 200],
    [table, 406],
    ['application/cbor', 406],
    ['text/html', 406],
  ] as const
  for (const [accept, status] of accepts) {
    for (const path of [CM, `${CM}/a`]) {
      const reply = await api.ask('GET', path, { headers: { accept } })
      assert.equal(reply.status, status, `${path} as ${accept}`)
      assert.equal(reply.headers.get('content-type'), 'application/json')
      if (status === 406) assert.deepEqual([reply.doc.kind, reply.doc.reason], ['Status', 'NotAcceptable'])
    }
  }
  const types = [
    ['POST', CM, 'text/plain'],
    ['PUT', `${CM}/a`, 'application/xml'],
    ['PATCH', `${CM}/a`, 'application/json'],
    ['PATCH', `${CM}/a`, 'text/plain'],
    ['DELETE', `${CM}/a`, 'text/plain'],
  ] as const
  for (const [method, path, type] of types) {
    const reply = await api.ask(method, path, { body: '{}', type })
    assert.deepEqual([reply.status, reply.doc.reason], [415, 'UnsupportedMediaType'], `${method} as ${type}`)
  }
})
