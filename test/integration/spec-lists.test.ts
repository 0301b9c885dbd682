/**
 * Goal: versions, pages and watches, by the specification's parts 4.8, 6.1 and 7.
 * Method: each cell of its table over HTTP, on the shipped verbs and machine, for ConfigMaps,
 * Secrets and Namespaces. `long/version-table` asks members of a cluster.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KINDS, SpecServer, namesIn, objectOf } from '../support/fixtures/spec-server.ts'
import type { Doc, Kind, Watching } from '../support/fixtures/spec-server.ts'
import { assertTable, tableFacts } from '../support/runs/version-table.ts'

/**
 * Creates the objects `p1`, `p2`, `p3`, then `p4`. They are selected by a label, because a new
 * cluster is not empty.
 */
async function filled(api: SpecServer, { kind, collection }: Kind) {
  const metadata = { labels: { of: 'test' } }
  const make = async (name: string): Promise<Doc> =>
    (await api.ask('POST', collection, { body: objectOf(kind, name, { metadata }) })).doc
  for (const name of ['p1', 'p2', 'p3']) await make(name)
  const url = `${collection}?labelSelector=of%3Dtest`
  const first = (await api.ask('GET', `${url}&limit=1`)).doc
  const then = first.metadata?.resourceVersion ?? ''
  const token = encodeURIComponent(first.metadata?.continue ?? '')
  const last = await make('p4')
  return { url, then, token, now: last.metadata?.resourceVersion ?? '', make }
}

const all = ['p1', 'p2', 'p3', 'p4']

for (const of of KINDS) {
  void test(`spec 4.8.3, 4.8.4: each cell of the table, of lists, gets and watches of ${of.kind}`, async (t) => {
    const api = await SpecServer.start(t)
    const metadata = { labels: { of: 'table' } }
    const facts = await tableFacts(api.asked, {
      ...{ url: `${of.collection}?labelSelector=of%3Dtable`, collection: of.collection, first: 't' },
      make: async (name) => {
        const { doc } = await api.ask('POST', of.collection, { body: objectOf(of.kind, name, { metadata }) })
        return doc.metadata?.resourceVersion ?? ''
      },
      compact: () => api.trim(),
    })
    await assertTable(api.asked, facts)
  })

  void test(`spec 4.8.1: pages of ${of.kind} show one version, and an empty continue ends them`, async (t) => {
    const api = await SpecServer.start(t)
    const { url, make } = await filled(api, of)
    const pages = [(await api.ask('GET', `${url}&limit=2`)).doc]
    await make('p11')
    await api.ask('DELETE', `${of.collection}/p3`)
    for (let token = pages[0]?.metadata?.continue; token; token = pages.at(-1)?.metadata?.continue) {
      pages.push((await api.ask('GET', `${url}&limit=2&continue=${encodeURIComponent(token)}`)).doc)
    }
    for (const page of pages) assert.ok(namesIn(page).length <= 2)
    assert.deepEqual(pages.flatMap(namesIn), ['p1', 'p2', 'p3', 'p4'])
    assert.equal(new Set(pages.map(({ metadata }) => metadata?.resourceVersion)).size, 1)
  })

  void test(`spec 4.8.4, 6.1: a ${of.kind} watch begins with the state, or after a version`, async (t) => {
    const api = await SpecServer.start(t)
    const { url, then, now, make } = await filled(api, of)
    const state = all.map((name) => `ADDED ${name}`)
    const begun: Watching[] = []
    for (const [query, begin] of [
      ['&watch=1', state],
      ['&watch=true&resourceVersion=0', state],
      [`&watch=1&resourceVersion=${then}`, ['ADDED p4']],
      [`&watch=1&resourceVersion=${now}`, []],
    ] as const) {
      const watch = await api.watch(url + query)
      assert.equal(watch.response.status, 200)
      assert.equal(watch.response.headers.get('transfer-encoding'), 'chunked')
      assert.deepEqual(await watch.words(begin.length), begin, query)
      begun.push(watch)
    }
    await make('late')
    for (const watch of begun) {
      assert.deepEqual(await watch.words(1), ['ADDED late'])
      watch.leave()
    }
  })

  void test(`spec 6.1: a ${of.kind} is ADDED, MODIFIED and DELETED, and readers resume anywhere`, async (t) => {
    const api = await SpecServer.start(t)
    const { collection, kind } = of
    const path = `${collection}/a`
    const watch = await api.watch(`${collection}?watch=1&fieldSelector=metadata.name%3Da`)
    const metadata = { finalizers: ['x.io/hold'] }
    const made = await api.ask('POST', collection, { body: objectOf(kind, 'a', { metadata }) })
    const type = 'application/merge-patch+json'
    const changed = await api.ask('PATCH', path, { body: { metadata: { labels: { x: 'y' } } }, type })
    const marked = await api.ask('DELETE', path)
    const wanted = [
      ['ADDED', made.doc],
      ['MODIFIED', changed.doc],
      ['MODIFIED', marked.doc],
    ] as const
    const reported = await watch.take(3)
    assert.deepEqual(
      reported.map(({ type: what, object }) => [what, object]),
      wanted,
    )
    for (const [at, { object }] of reported.slice(0, 2).entries()) {
      const one = `${collection}?watch=1&fieldSelector=metadata.name%3Da`
      const from = `${one}&resourceVersion=${object.metadata?.resourceVersion}`
      const again = await api.watch(from)
      assert.deepEqual(await again.take(2 - at), reported.slice(at + 1))
      again.leave()
    }
    if (kind === 'Namespace') {
      const body = { ...objectOf(kind, 'a', { metadata }), spec: {} }
      await api.ask('PUT', `${path}/finalize`, { body })
      assert.deepEqual((await watch.take(1))[0]?.type, 'MODIFIED')
    }
    await api.ask('PATCH', path, { body: { metadata: { finalizers: null } }, type })
    const [gone] = await watch.take(1)
    assert.deepEqual([gone?.type, gone?.object.metadata?.name], ['DELETED', 'a'])
    watch.leave()
  })

  void test(`spec 4.8.6, 7: an exact ${of.kind} list names its version, and is 410 without history`, async (t) => {
    const api = await SpecServer.start(t)
    const { url, then, token } = await filled(api, of)
    const exact = `${url}&resourceVersionMatch=Exact&resourceVersion=${then}`
    assert.equal((await api.ask('GET', exact)).doc.metadata?.resourceVersion, then)
    await api.trim()
    const gone = [exact, `${url}&limit=1&continue=${token}`, `${url}&watch=1&resourceVersion=${then}`]
    for (const path of gone) {
      const { status, doc } = await api.ask('GET', path)
      assert.deepEqual([status, doc.kind, doc.reason, doc.code], [410, 'Status', 'Expired', 410], path)
    }
    const instead = (await api.ask('GET', gone[1] ?? '')).doc.metadata?.continue ?? ''
    const rest = await api.ask('GET', `${url}&continue=${encodeURIComponent(instead)}`)
    assert.deepEqual(namesIn(rest.doc), ['p2', 'p3', 'p4'])
  })
}

const CM = '/api/v1/namespaces/default/configmaps'

void test('spec 4.8.2, 7: invalid combinations of parameters are 400 with the rule in words', async (t) => {
  const api = await SpecServer.start(t)
  const rows: readonly (readonly [string, RegExp])[] = [
    ['resourceVersionMatch=Exact', /forbidden unless resourceVersion is provided/],
    ['resourceVersionMatch=NotOlderThan', /forbidden unless resourceVersion is provided/],
    ['resourceVersionMatch=Newest&resourceVersion=1', /Unsupported value/],
    ['resourceVersionMatch=Exact&resourceVersion=0', /forbidden for resourceVersion "0"/],
    ['resourceVersion=abc', /^resourceVersion: Invalid value: "abc": must be a decimal number up to 2\^53-1/],
    [`resourceVersion=${2 ** 53}`, /: must be a decimal number up to 2\^53-1, as in responses$/],
    ['limit=1.5', /^limit: Invalid value/],
    ['continue=nothing', /continue key is not valid/],
    ['watch=1&continue=x', /forbidden for watch/],
    ['watch=1&timeoutSeconds=soon', /^timeoutSeconds: Invalid value/],
    ['watch=1&resourceVersionMatch=Exact&resourceVersion=1', /forbidden for watch/],
  ]
  for (const [query, words] of rows) {
    const { status, doc } = await api.ask('GET', `${CM}?${query}`)
    assert.deepEqual([status, doc.kind, doc.reason], [400, 'Status', 'BadRequest'], query)
    assert.match(doc.message ?? '', words)
  }
  assert.equal((await api.ask('GET', `${CM}/a?resourceVersion=abc`)).status, 400)
})

void test('spec 4.8.3, 4.8.5, 7: a get of any version returns the object, or is 504 with Retry-After', async (t) => {
  const api = await SpecServer.start(t)
  const { doc } = await api.ask('POST', CM, { body: objectOf('ConfigMap', 'a') })
  const version = doc.metadata?.resourceVersion ?? ''
  for (const query of ['', '?resourceVersion=', '?resourceVersion=0', `?resourceVersion=${version}`]) {
    assert.deepEqual((await api.ask('GET', `${CM}/a${query}`)).doc, doc, query)
  }
  const future = `resourceVersion=${Number(version) + 1000}`
  for (const path of [`${CM}/a?${future}&timeout=10ms`, `${CM}?${future}&timeout=10ms`]) {
    const late = await api.ask('GET', path)
    assert.deepEqual([late.status, late.doc.reason], [504, 'Timeout'], path)
    assert.match(late.doc.message ?? '', /Too large resource version/)
    assert.equal(late.headers.get('retry-after'), '1')
  }
})

void test('spec 4.2, 6.1: timeoutSeconds ends a watch, with a bookmark where they are allowed', async (t) => {
  const api = await SpecServer.start(t)
  const watch = await api.watch(`${CM}?watch=1&allowWatchBookmarks=true&timeoutSeconds=1`)
  const events = await watch.take(9)
  assert.deepEqual(
    events.map(({ type, object }) => [type, object.kind, Object.keys(object.metadata ?? {})]),
    [['BOOKMARK', 'ConfigMap', ['resourceVersion', 'creationTimestamp']]],
  )
})
