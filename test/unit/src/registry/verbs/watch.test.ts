/*
 * Goal: a watch sends every change once and in order, as in spec 4.8 and 6.1.
 * Method: streams over the shipped machine, read as a connection reads them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Fixture, refused } from '../fixture.ts'

void test('spec 4.8.4: without a version a watch begins with the existing objects, then follows', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a')
  for (const query of [{ watch: '1' }, { watch: '1', resourceVersion: '0' }]) {
    const events = await api.watch({ query })
    assert.deepEqual(await events.words(), ['ADDED a'])
    await api.configMap('b')
    await api.patch({ name: 'b', body: { data: { k: 'v' } } })
    await api.delete({ name: 'b' })
    const reported = await events.now()
    assert.deepEqual(
      reported.map(({ type, object }) => [type, object.metadata.name, object['data']]),
      [
        ['ADDED', 'b', undefined],
        ['MODIFIED', 'b', { k: 'v' }],
        ['DELETED', 'b', { k: 'v' }],
      ],
    )
    const versions = reported.map(({ object }) => Number(object.metadata.resourceVersion))
    assert.deepEqual(
      versions,
      [...new Set(versions)].sort((x, y) => x - y),
    )
    events.stream.close()
  }
})

void test('spec 4.8.4: with a version a watch begins after it', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  await api.configMap('b')
  const events = await api.watch({ query: { resourceVersion: object.metadata.resourceVersion } })
  assert.deepEqual(await events.words(), ['ADDED b'])
  events.stream.close()
})

void test('existing objects are sent in order of revision, so that an interrupted watch can resume there', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  for (const name of ['c', 'a', 'b']) await api.configMap(name)
  const { object } = await api.patch({ name: 'c', body: { data: { k: 'v' } } })
  const events = await api.watch({})
  const reported = await events.now()
  assert.deepEqual(
    reported.map(({ object }) => object.metadata.name),
    ['a', 'b', 'c'],
  )
  events.stream.close()
  const [first] = reported
  const resumed = await api.watch({
    query: { resourceVersion: first?.object.metadata.resourceVersion ?? '' },
  })
  const rest = await resumed.now()
  assert.deepEqual(
    rest.map(({ object }) => object.metadata.name),
    ['b', 'c'],
  )
  assert.equal(rest.at(-1)?.object.metadata.resourceVersion, object.metadata.resourceVersion)
  resumed.stream.close()
})

void test('onMore wakes a watch when there is an event', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const events = await api.watch({})
  assert.deepEqual(await events.words(), [])
  const more = events.more()
  await api.configMap('a')
  await more
  assert.deepEqual(await events.words(), ['ADDED a'])
  events.stream.close()
})

void test('an object that stops matching is DELETED, one that starts to match is ADDED', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a', { metadata: { labels: { on: 'yes' } } })
  const events = await api.watch({ query: { labelSelector: 'on=yes' } })
  assert.deepEqual(await events.words(), ['ADDED a'])
  const left = await api.patch({ name: 'a', body: { metadata: { labels: { on: 'no' } } } })
  const [gone, ...none] = await events.now()
  assert.equal(gone?.type, 'DELETED')
  assert.deepEqual(gone?.object.metadata.labels, { on: 'yes' }, 'as it last belonged')
  assert.equal(gone?.object.metadata.resourceVersion, left.object.metadata.resourceVersion, 'when it left')
  assert.deepEqual(none, [])
  await api.patch({ name: 'a', body: { data: { k: '1' } } })
  assert.deepEqual(await events.words(), [])
  await api.patch({ name: 'a', body: { metadata: { labels: { on: 'yes' } } } })
  await api.patch({ name: 'a', body: { data: { k: '2' } } })
  await api.patch({ name: 'a', body: { metadata: { labels: { on: 'no' } } } })
  await api.delete({ name: 'a' })
  assert.deepEqual(await events.words(), ['ADDED a', 'MODIFIED a', 'DELETED a'])
  events.stream.close()
})

void test('spec 4.2: a watch of one name, by path or selector, gets no events of others', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const selected = { query: { fieldSelector: 'metadata.name=a' } }
  const following = [await api.watch(selected), await api.watch({ name: 'a' })]
  await api.configMap('b')
  await api.configMap('a')
  await api.create({ kind: 'Secret', body: { metadata: { name: 'a' } } })
  for (const events of [...following, await api.watch(selected), await api.watch({ name: 'a' })]) {
    assert.deepEqual(await events.words(), ['ADDED a'])
    events.stream.close()
  }
  const everywhere = await api.watch({
    namespace: null,
    query: { fieldSelector: 'metadata.namespace=other' },
  })
  await api.configMap('c')
  assert.deepEqual(await everywhere.words(), [])
  everywhere.stream.close()
})

void test('an event is encoded once and shared by all watches', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const one = await api.watch({})
  const two = await api.watch({ query: { labelSelector: 'a=b' } })
  assert.deepEqual([await one.words(), await two.words()], [[], []])
  await api.configMap('x', { metadata: { labels: { a: 'b' } } })
  assert.equal(await one.stream.next(), await two.stream.next())
  one.stream.close()
  two.stream.close()
})

void test('spec 6.1: bookmarks are sent about once a minute if allowed, and at the end', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const silent = await api.watch({ query: { timeoutSeconds: '90' } })
  const events = await api.watch({ query: { allowWatchBookmarks: 'true', timeoutSeconds: '90' } })
  await api.create({ kind: 'Secret', body: { metadata: { name: 's' } } })
  assert.deepEqual(await events.now(), [])
  const more = events.more()
  api.clock.advance(60_000)
  await more
  const [bookmark] = await events.now()
  assert.equal(bookmark?.type, 'BOOKMARK')
  assert.equal(bookmark?.object.kind, 'ConfigMap')
  assert.equal(bookmark?.object.metadata.resourceVersion, String(api.store.view().revision))
  assert.deepEqual(await silent.now(), [])
  api.clock.advance(30_000)
  assert.deepEqual(
    (await events.now()).map(({ type }) => type),
    ['BOOKMARK'],
  )
  assert.equal(await events.ended(), true)
  assert.equal(await silent.ended(), true)
})

void test('a watch without a timeout ends after half an hour to an hour', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const events = await api.watch({})
  api.clock.advance(30 * 60_000 - 1)
  assert.equal(await events.ended(), false)
  api.clock.advance(30 * 60_000 + 1)
  assert.equal(await events.ended(), true)
})

void test('spec 4.2: timeoutSeconds ends a watch, although an event follows', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const events = await api.watch({ query: { timeoutSeconds: '10' } })
  assert.deepEqual(await events.now(), [])
  api.clock.advance(10_000)
  await api.configMap('a')
  assert.equal(await events.ended(), true)
})

void test('a watch that times out before its reader calls onMore wakes the reader, and ends', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { stream } = await api.watch({ query: { timeoutSeconds: '10' } })
  assert.equal((await stream.next())?.length, 0)
  api.clock.advance(10_000)
  let isAwake = false
  stream.onMore(() => (isAwake = true))
  for (let turn = 0; turn < 3; turn++) await setImmediate()
  assert.ok(isAwake)
  assert.equal(await stream.next(), null)
})

void test('spec 6.1: a bookmark marks the end of the initial events when sendInitialEvents requests it', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    await api.configMap('a')
    const query = {
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
    }
    const events = await api.watch({ query })
    const [added, mark] = await events.now()
    assert.equal(added?.type, 'ADDED')
    assert.equal(mark?.type, 'BOOKMARK')
    const { metadata } = mark?.object ?? {}
    assert.deepEqual((metadata as { annotations?: unknown } | undefined)?.annotations, {
      [`${domain}/initial-events-end`]: 'true',
    })
    events.stream.close()
  }
})

void test('sendInitialEvents=false begins after the existing objects, at any start', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  const query = { sendInitialEvents: 'false', resourceVersionMatch: 'NotOlderThan' }
  const unset = await api.watch({ query })
  const any = await api.watch({ query: { ...query, resourceVersion: '0' } })
  const { resourceVersion } = object.metadata
  const then = await api.watch({ query: { ...query, resourceVersion } })
  for (const events of [unset, any, then]) assert.deepEqual(await events.words(), [])
  await api.configMap('b')
  for (const events of [unset, any, then]) {
    assert.deepEqual(await events.words(), ['ADDED b'])
    events.stream.close()
  }
})

void test('malformed and forbidden parameters of a watch are 400', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rows: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ resourceVersion: 'x' }, /^resourceVersion: /],
    [{ timeoutSeconds: 'x' }, /^timeoutSeconds: /],
    [{ resourceVersionMatch: 'Exact', resourceVersion: '1' }, /forbidden for watch/],
    [{ sendInitialEvents: 'true' }, /requires setting resourceVersionMatch/],
    [{ continue: 'x' }, /continue is forbidden for watch/],
    [{ labelSelector: '=' }, /unable to parse/],
  ]
  for (const [query, words] of rows) {
    const seen = await refused(api.watch({ query }))
    assert.equal(seen.code, 400)
    assert.match(seen.message, words)
  }
})

void test('spec 6.1, 7: a compacted start is 410 before anything is sent', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a')
  await api.configMap('b')
  await api.configMap('c')
  await api.trim()
  const seen = await refused(api.watch({ query: { resourceVersion: object.metadata.resourceVersion } }))
  assert.deepEqual([seen.code, seen.reason], [410, 'Expired'])
  assert.match(seen.message, /^too old resource version/)
})

void test('spec 6.1: a watch behind the history window ends with an ERROR event of 410', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const events = await api.watch({})
  assert.deepEqual(await events.now(), [])
  await api.configMap('a')
  await api.configMap('b')
  await api.trim()
  const [error, ...none] = await events.now()
  assert.equal(error?.type, 'ERROR')
  assert.equal(error?.object['code'], 410)
  assert.equal(error?.object['reason'], 'Expired')
  assert.deepEqual(none, [])
  assert.equal(await events.ended(), true)
})

void test('spec 4.8.5: a watch at a future version waits for it, or until it times out', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const now = api.store.view().revision
  const events = await api.watch({ query: { resourceVersion: String(now + 1) } })
  const never = await api.watch({ query: { resourceVersion: String(now + 1000), timeoutSeconds: '5' } })
  assert.deepEqual(await events.now(), [])
  const more = events.more()
  await api.configMap('a')
  await api.configMap('b')
  await more
  assert.deepEqual(await events.words(), ['ADDED b'], 'events up to that version are not sent')
  api.clock.advance(5000)
  assert.equal(await never.ended(), true)
  events.stream.close()
})

void test('many events are sent in pieces of about the configured size, none lost', async (t) => {
  const api = await Fixture.open({ limits: { pieceBytes: 1000, watchEventsPerPull: 4 } })
  t.after(() => api.close())
  for (let at = 0; at < 30; at++) await api.configMap(`a${at}`)
  const events = await api.watch({})
  for (let at = 0; at < 30; at++) await api.configMap(`b${at}`)
  const pieces: number[] = []
  const reported: string[] = []
  for (;;) {
    const piece = await events.stream.next()
    if (piece === null || piece.length === 0) break
    pieces.push(piece.length)
    const lines = Buffer.from(piece).toString().trimEnd().split('\n')
    reported.push(
      ...lines.map(
        (line) => (JSON.parse(line) as { object: { metadata: { name: string } } }).object.metadata.name,
      ),
    )
  }
  assert.equal(new Set(reported).size, 60)
  assert.equal(reported.length, 60)
  for (const bytes of pieces) assert.ok(bytes < 1500)
  events.stream.close()
})

void test('a watch that the client closes has ended', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const events = await api.watch({})
  events.stream.close()
  assert.equal(await events.ended(), true)
})
