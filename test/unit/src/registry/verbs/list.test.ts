/*
 * Goal: get and list follow spec 4.8 for versions, pages and selectors.
 * Method: each row of its table; pages with random limits and selectors, compared with the whole
 * list.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { textMember } from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'
import { Fixture, causes, details, refused } from '../fixture.ts'
import type { Call, List } from '../fixture.ts'

async function filled(count: number, options?: Parameters<typeof Fixture.open>[0]): Promise<Fixture> {
  const api = await Fixture.open(options)
  for (let at = 0; at < count; at++) {
    const name = `c${String(at).padStart(3, '0')}`
    await api.configMap(name, { metadata: { name, labels: { odd: String(at % 2 === 1) } } })
  }
  return api
}

function names(list: List): readonly string[] {
  return list.items.map(({ metadata }) => metadata.name)
}

void test('spec 2.1: a list has its kind, a version and items without kind and apiVersion', async (t) => {
  const api = await filled(2)
  t.after(() => api.close())
  const list = await api.list({})
  assert.equal(list.kind, 'ConfigMapList')
  assert.equal(list.apiVersion, 'v1')
  assert.deepEqual(names(list), ['c000', 'c001'])
  assert.deepEqual(Object.keys(list.metadata), ['resourceVersion'])
  assert.equal(list.metadata.resourceVersion, String(api.store.view().revision))
  assert.deepEqual(Object.keys(list.items[0] ?? {}), ['metadata'])
  const empty = await api.list({ kind: 'Secret' })
  assert.deepEqual(empty.items, [])
})

void test('items of a custom kind have kind and apiVersion, as its list kind is arbitrary', async (t) => {
  const custom = { uid: 'uid-1', listKind: 'Rodents', published: null }
  const mice = customKind({ group: 'stable.example.com', plural: 'mice', kind: 'Mouse', custom })
  const api = await Fixture.open({ extra: [mice], limits: { pieceBytes: 200 } })
  t.after(() => api.close())
  for (const name of ['a', 'b', 'c']) await api.create({ kind: 'Mouse', body: { metadata: { name } } })
  const list = await api.list({ kind: 'Mouse' })
  assert.equal(list.kind, 'Rodents')
  const types = list.items.map((item) => ({ ...item, metadata: item.metadata.name }))
  const type = { kind: 'Mouse', apiVersion: 'stable.example.com/v1' }
  assert.deepEqual(types, [
    { ...type, metadata: 'a' },
    { ...type, metadata: 'b' },
    { ...type, metadata: 'c' },
  ])
})

void test('a list is sent in pieces of about the configured size, and is complete', async (t) => {
  const api = await filled(20, { limits: { pieceBytes: 1000 } })
  t.after(() => api.close())
  await api.configMap('zz', { data: { big: 'x'.repeat(5000) } })
  const answer = await api.registry.list(api.request({}))
  assert.ok(answer.kind === 'pieces')
  const pieces: Uint8Array[] = []
  for await (const piece of answer.pieces as AsyncIterable<Uint8Array>) pieces.push(piece)
  assert.ok(pieces.length > 5)
  for (const piece of pieces) assert.ok(piece.length <= 5500)
  assert.equal((JSON.parse(Buffer.concat(pieces).toString()) as List).items.length, 21)
})

void test('spec 4.8.3: each combination of version parameters selects the version in its row of the table, or is 400', async (t) => {
  const api = await filled(3)
  t.after(() => api.close())
  const now = api.store.view().revision
  const old = now - 1
  const token = (await api.list({ query: { limit: '1' } })).metadata.continue ?? ''
  await api.configMap('late')
  const all = ['c000', 'c001', 'c002', 'late']
  const rows: readonly (readonly [Record<string, string>, readonly string[] | RegExp])[] = [
    [{}, all],
    [{ resourceVersion: '0' }, all],
    [{ resourceVersion: String(old) }, all],
    [{ limit: '9' }, all],
    [{ limit: '9', resourceVersion: '0' }, all],
    [{ limit: '9', resourceVersion: String(old) }, ['c000', 'c001']],
    [{ limit: '9', continue: token }, ['c001', 'c002']],
    [{ limit: '9', continue: token, resourceVersion: '0' }, ['c001', 'c002']],
    [{ limit: '9', continue: token, resourceVersion: String(old) }, /not allowed when using continue/],
    [{ resourceVersionMatch: 'Exact' }, /forbidden unless resourceVersion is provided/],
    [{ resourceVersionMatch: 'Exact', resourceVersion: '0' }, /forbidden for resourceVersion "0"/],
    [{ resourceVersionMatch: 'Exact', resourceVersion: String(old) }, ['c000', 'c001']],
    [{ resourceVersionMatch: 'Exact', resourceVersion: String(now), limit: '9' }, ['c000', 'c001', 'c002']],
    [{ resourceVersionMatch: 'NotOlderThan' }, /forbidden unless resourceVersion is provided/],
    [{ resourceVersionMatch: 'NotOlderThan', resourceVersion: '0' }, all],
    [{ resourceVersionMatch: 'NotOlderThan', resourceVersion: String(old), limit: '9' }, all],
    [{ resourceVersionMatch: 'NotOlderThan', continue: token }, /forbidden when continue is provided/],
    [{ resourceVersionMatch: 'Other', resourceVersion: '1' }, /Unsupported value: "Other"/],
    [{ resourceVersion: 'x' }, /^resourceVersion: Invalid value: "x"/],
    [{ resourceVersion: '-1' }, /^resourceVersion: Invalid value: "-1"/],
    [{ limit: 'many' }, /^limit: Invalid value: "many"/],
    [{ continue: 'made-up' }, /continue key is not valid/],
    [{ sendInitialEvents: 'true' }, /sendInitialEvents is forbidden for list/],
  ]
  for (const [query, wanted] of rows) {
    const given = JSON.stringify(query)
    if (wanted instanceof RegExp) {
      const seen = await refused(api.list({ query }))
      assert.equal(seen.code, 400, given)
      assert.match(seen.message, wanted, given)
      continue
    }
    assert.deepEqual(names(await api.list({ query })), wanted, given)
  }
  const exact = await api.list({ query: { resourceVersionMatch: 'Exact', resourceVersion: String(old) } })
  assert.equal(exact.metadata.resourceVersion, String(old))
})

void test('spec 4.8.1: pages show one version whatever is written between them', async (t) => {
  const api = await filled(7)
  t.after(() => api.close())
  const before = await api.list({})
  const pages: List[] = [await api.list({ query: { limit: '3' } })]
  assert.equal(pages[0]?.metadata.remainingItemCount, 4)
  await api.delete({ name: 'c004' })
  await api.configMap('c0035')
  await api.patch({ name: 'c006', body: { data: { changed: 'yes' } } })
  for (
    let token = pages[0]?.metadata.continue;
    token !== undefined;
    token = pages.at(-1)?.metadata.continue
  ) {
    pages.push(await api.list({ query: { limit: '3', continue: token } }))
  }
  assert.equal(pages.length, 3)
  assert.equal(pages[1]?.metadata.remainingItemCount, 1)
  assert.deepEqual(Object.keys(pages[2]?.metadata ?? {}), ['resourceVersion'])
  for (const page of pages) assert.equal(page.metadata.resourceVersion, before.metadata.resourceVersion)
  assert.deepEqual(
    pages.flatMap(({ items }) => items),
    before.items,
  )
})

void test('spec 2.1: remainingItemCount at a past version counts the objects at that version', async (t) => {
  const api = await filled(7)
  t.after(() => api.close())
  const then = String(api.store.view().revision)
  await api.delete({ name: 'c000' })
  await api.delete({ name: 'c006' })
  await api.configMap('c006')
  await api.patch({ name: 'c003', body: { data: { changed: 'yes' } } })
  for (const late of ['d1', 'd2', 'd3']) await api.configMap(late)
  await api.delete({ name: 'd2' })
  const exact = { resourceVersion: then, resourceVersionMatch: 'Exact' }
  for (const query of [exact, { resourceVersion: then }]) {
    const first = await api.list({ query: { ...query, limit: '3' } })
    assert.deepEqual([names(first), first.metadata.remainingItemCount], [['c000', 'c001', 'c002'], 4])
    const token = first.metadata.continue ?? ''
    const second = await api.list({ query: { continue: token, limit: '3' } })
    assert.deepEqual([names(second), second.metadata.remainingItemCount], [['c003', 'c004', 'c005'], 1])
  }
  const odd = await api.list({ query: { ...exact, limit: '1', labelSelector: 'odd=true' } })
  assert.deepEqual([names(odd), odd.metadata.remainingItemCount], [['c001'], undefined])
})

void test('a token without a limit returns all remaining objects', async (t) => {
  const api = await filled(5)
  t.after(() => api.close())
  const token = (await api.list({ query: { limit: '2' } })).metadata.continue ?? ''
  assert.deepEqual(names(await api.list({ query: { continue: token } })), ['c002', 'c003', 'c004'])
  await api.configMap('late')
  assert.deepEqual(names(await api.list({ query: { continue: token } })), ['c002', 'c003', 'c004'])
})

void test('spec 4.8.1: all pages together are the whole list, for any limit, selector and size', async (t) => {
  const seed = 20261
  const random = new SeededRandom(seed)
  const api = await filled(40, { limits: { sliceObjectsMax: 7 } })
  t.after(() => api.close())
  for (let round = 0; round < 40; round++) {
    const limit = String(1 + random.below(12))
    const query = random.chance(0.5) ? { labelSelector: random.pick(['odd=true', 'odd', '!odd']) } : {}
    const whole = await api.list({ query })
    const found: string[] = []
    let token: string | undefined
    do {
      const more: Record<string, string> = token === undefined ? {} : { continue: token }
      const page = await api.list({ query: { ...query, limit, ...more } })
      assert.ok(page.items.length <= Number(limit))
      found.push(...names(page))
      token = page.metadata.continue
      const remaining = page.metadata.remainingItemCount
      const left = whole.items.length - found.length
      if ('labelSelector' in query) assert.equal(remaining, undefined)
      else assert.equal(remaining, left === 0 ? undefined : left)
    } while (token !== undefined)
    assert.deepEqual(
      found,
      names(whole),
      `seed ${seed}, round ${round}, limit ${limit} ${JSON.stringify(query)}`,
    )
  }
})

void test('a token is valid only for the list it was made for, and cannot be altered', async (t) => {
  const api = await filled(3)
  t.after(() => api.close())
  const query = { limit: '1', labelSelector: 'odd' }
  const token = (await api.list({ query })).metadata.continue ?? ''
  const others: readonly Call[] = [
    { kind: 'Secret', query },
    { namespace: 'other', query },
    { namespace: null, query },
    { namespace: null, query: { ...query, fieldSelector: 'metadata.namespace=default' } },
    { query: { limit: '1' } },
    { query: { ...query, labelSelector: 'odd=true' } },
    { query: { ...query, fieldSelector: 'metadata.namespace=default' } },
    { query: { limit: '1', fieldSelector: 'odd' } },
  ]
  for (const call of others) {
    const seen = await refused(api.list({ ...call, query: { ...call.query, continue: token } }))
    assert.equal(seen.code, 400, JSON.stringify(call))
  }
  for (let at = 0; at < token.length; at++) {
    const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'z' : 'A'}${token.slice(at + 1)}`
    const why = `changed at ${at} of ${token.length}`
    assert.equal((await refused(api.list({ query: { ...query, continue: changed } }))).code, 400, why)
    const cut = token.slice(0, at)
    if (at > 0) assert.equal((await refused(api.list({ query: { ...query, continue: cut } }))).code, 400, why)
  }
  const long = await refused(api.list({ query: { continue: 'A'.repeat(5000) } }))
  assert.equal(long.code, 400)
  const twice = await refused(api.list({ query: { ...query, continue: token + token } }))
  assert.equal(twice.code, 400)
  assert.deepEqual(names(await api.list({ query: { ...query, continue: token } })), ['c001'])
})

void test('spec 7: an expired token and an unavailable exact version are 410', async (t) => {
  const api = await filled(3)
  t.after(() => api.close())
  const old = String(api.store.view().revision)
  const token = (await api.list({ query: { limit: '1' } })).metadata.continue ?? ''
  await api.configMap('late')
  await api.configMap('later')
  await api.trim()
  const page = await refused(api.list({ query: { limit: '1', continue: token } }))
  assert.deepEqual([page.code, page.reason], [410, 'Expired'])
  assert.match(
    page.message,
    /^The provided continue parameter is too old to display a consistent list result\./,
  )
  const query = { resourceVersionMatch: 'Exact', resourceVersion: old }
  const exact = await refused(api.list({ query }))
  assert.deepEqual([exact.code, exact.reason], [410, 'Expired'])
})

void test('spec 7: an expired token comes with a new one, which continues at the newest version', async (t) => {
  const api = await filled(4)
  t.after(() => api.close())
  const first = await api.list({ query: { limit: '1' } })
  await api.delete({ name: 'c002' })
  await api.configMap('late')
  await api.trim()
  const expired = { limit: '1', continue: first.metadata.continue ?? '' }
  const { metadata } = (await refused(api.list({ query: expired }))).status
  const instead = textMember(metadata as JsonObject, 'continue')
  const second = await api.list({ query: { limit: '1', continue: instead } })
  assert.deepEqual([names(second), second.metadata.remainingItemCount], [['c001'], 2])
  const now = String(api.store.view().revision)
  assert.equal(second.metadata.resourceVersion, now)
  await api.configMap('later')
  const last = await api.list({ query: { continue: second.metadata.continue ?? '' } })
  assert.deepEqual([names(last), last.metadata.resourceVersion], [['c003', 'late'], now])
  const other = await refused(api.list({ kind: 'Secret', query: { continue: instead } }))
  assert.equal(other.code, 400)
})

void test('spec 4.8.5: a version that is not reached in three seconds is 504 with a cause and Retry-After', async (t) => {
  const api = await filled(1)
  t.after(() => api.close())
  const future = String(api.store.view().revision + 5)
  const calls: readonly Promise<unknown>[] = [
    api.list({ query: { resourceVersion: future } }),
    api.get({ name: 'c000', query: { resourceVersion: future } }),
  ]
  for (const call of calls) {
    setImmediate(() => api.clock.advance(3000))
    const seen = await refused(call)
    assert.equal(seen.code, 504)
    assert.match(seen.message, /Too large resource version/)
    assert.deepEqual(causes(seen), ['ResourceVersionTooLarge '])
    assert.equal(details(seen)['retryAfterSeconds'], 1)
  }
})

void test('spec 4.8.3: get waits for a future version that is reached in time', async (t) => {
  const api = await filled(1)
  t.after(() => api.close())
  const future = String(api.store.view().revision + 1)
  const call = api.get({ name: 'next', query: { resourceVersion: future } })
  await api.configMap('next')
  assert.equal((await call).object.metadata.resourceVersion, future)
})

void test('spec 4.2: labelSelector and fieldSelector select objects', async (t) => {
  const api = await filled(4)
  t.after(() => api.close())
  const rows: readonly (readonly [Call, readonly string[]])[] = [
    [{ query: { labelSelector: 'odd=true' } }, ['c001', 'c003']],
    [{ query: { labelSelector: 'odd in (false), odd' } }, ['c000', 'c002']],
    [{ query: { labelSelector: '!odd' } }, []],
    [{ query: { fieldSelector: 'metadata.name=c002' } }, ['c002']],
    [{ query: { fieldSelector: 'metadata.name=c002', labelSelector: 'odd=true' } }, []],
    [{ query: { fieldSelector: 'metadata.name!=c002' } }, ['c000', 'c001', 'c003']],
    [
      { namespace: null, query: { fieldSelector: 'metadata.namespace=default', limit: '9' } },
      ['c000', 'c001', 'c002', 'c003'],
    ],
    [{ namespace: null, query: { fieldSelector: 'metadata.namespace=other' } }, []],
    [{ namespace: null, query: { fieldSelector: 'metadata.name=c001' } }, ['c001']],
    [{ query: { fieldSelector: 'metadata.name=a/b' } }, []],
    [{ kind: 'Namespace', query: { fieldSelector: 'status.phase=Terminating' } }, []],
  ]
  for (const [call, wanted] of rows)
    assert.deepEqual(names(await api.list(call)), wanted, JSON.stringify(call))
  for (const query of [
    { labelSelector: 'a=b=c' },
    { fieldSelector: 'data.k=v' },
    { labelSelector: 'a in b' },
  ]) {
    assert.equal((await refused(api.list({ query }))).code, 400)
  }
})

void test('spec 4.1: a list has the objects of one namespace, or of all', async (t) => {
  const api = await filled(1)
  t.after(() => api.close())
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'another' } } })
  await api.create({ namespace: 'another', body: { metadata: { name: 'x' } } })
  assert.deepEqual(names(await api.list({ namespace: null })), ['x', 'c000'])
  assert.deepEqual(names(await api.list({ namespace: 'another' })), ['x'])
  assert.deepEqual(names(await api.list({ namespace: 'nowhere' })), [])
})

void test('a missing object is 404 with upstream’s message and details', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const seen = await refused(api.get({ name: 'a' }))
  assert.equal(seen.code, 404)
  assert.deepEqual(seen.status, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'configmaps "a" not found',
    reason: 'NotFound',
    details: { name: 'a', kind: 'configmaps' },
    code: 404,
  })
  assert.equal((await refused(api.get({ name: 'a/b' }))).code, 404)
  assert.equal((await refused(api.get({ name: 'a', query: { resourceVersion: '0' } }))).code, 404)
  assert.equal((await refused(api.get({ name: 'a', subresource: 'status' }))).code, 404)
  assert.equal(
    (await refused(api.get({ kind: 'Namespace', name: 'default', subresource: 'finalize' }))).code,
    405,
  )
})
