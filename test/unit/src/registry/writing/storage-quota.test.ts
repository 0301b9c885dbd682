/*
 * Goal: a full storage refuses writes that grow it with a Status that names the remedy, without
 * appending them to the log, and allows deletions with everything they need; an object over the
 * size limit is always 413.
 * Method: the verbs over a real store with a small quota.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Settings } from '../../../../../src/store/command.ts'
import type { ObjectStore } from '../../../../../src/store/object-store.ts'
import { Fixture, causes, details, refused } from '../fixture.ts'

const filler = { data: { x: 'x'.repeat(1000) } }

/** @param lift distance of the quota above the current usage */
async function open(t: TestContext, lift: number): Promise<{ api: Fixture; commands: () => number }> {
  let commands = 0
  const counted = (store: ObjectStore): ObjectStore =>
    new Proxy(store, {
      get: (target, name) => {
        if (name === 'write') commands++
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
  const api = await Fixture.open({ wrap: counted })
  t.after(() => api.close())
  await change(api, { storageBytesMax: api.store.storage.usedBytes + lift })
  return { api, commands: () => commands }
}

function change(api: Fixture, change: Partial<Settings>): Promise<unknown> {
  const settings = { ...api.store.settings, ...change }
  return api.store.write({ kind: 'change-settings', settings }, api.clock.monotonicMs() + 1000)
}

async function fill(api: Fixture): Promise<number> {
  for (let made = 0; made < 50; made++) {
    if (api.store.storage.alarm) return made - 1
    await api.configMap(`fill-${made}`, filler).catch(() => undefined)
  }
  return assert.fail('the quota is never met')
}

void test('a create that does not fit is 403, names the largest resources and the remedies, and is not proposed', async (t) => {
  const { api, commands } = await open(t, 10_000)
  const made = await fill(api)
  const before = commands()
  const seen = await refused(api.configMap('one-more', filler))
  assert.equal(seen.code, 403)
  assert.equal(seen.reason, 'Forbidden')
  assert.match(
    seen.message,
    new RegExp(
      '^configmaps "one-more" is forbidden: exceeded storage quota: \\d+\\.\\d KiB of \\d+\\.\\d KiB used, ' +
        `most of it, history included, by configmaps \\(\\d\\.\\d KiB, ${made} objects\\), ` +
        'namespaces \\(\\d\\.\\d KiB, 4 objects\\), members\\.cluster\\.orch\\.io \\(\\d+ B, 1 object\\), ' +
        `and in namespace default by configmaps \\(\\d\\.\\d KiB, ${made} objects\\); ` +
        'delete objects and wait until their history expires \\(300 s\\), ' +
        'or raise the quota: orchctl settings set --storage-quota$',
    ),
  )
  assert.ok(!seen.message.includes('\n'))
  assert.deepEqual(causes(seen), ['StorageQuotaExceeded '])
  assert.equal(commands(), before, 'what is known to be refused costs the log nothing')
})

void test('an update that grows is refused, one that shrinks is not', async (t) => {
  const { api } = await open(t, 10_000)
  await fill(api)
  const update = (x: string): Promise<unknown> =>
    api.update({ name: 'fill-0', body: { metadata: { name: 'fill-0' }, data: { x } } })
  assert.equal((await refused(update('y'.repeat(1000)))).code, 403)
  assert.equal((await refused(api.patch({ name: 'fill-0', body: { data: { y: 'y' } } }))).code, 403)
  await update('short')
})

void test('a deletion completes in a full storage: marked, finalizer removed, object removed, history trimmed, space freed', async (t) => {
  const { api } = await open(t, 13_000)
  const finalizers = ['example.com/holds']
  await api.configMap('held', { ...filler, metadata: { finalizers } })
  const made = await fill(api)
  const marked = await api.delete({ name: 'held' })
  assert.equal(marked.code, 202)
  assert.equal(api.store.storage.alarm, true)
  await api.patch({ name: 'held', body: { metadata: { finalizers: null } } })
  assert.equal((await refused(api.get({ name: 'held' }))).code, 404)
  for (let at = 0; at < made; at++) await api.delete({ name: `fill-${at}` })
  assert.equal((await refused(api.configMap('early', filler))).code, 403, 'history counts as usage too')
  await api.store.write({ kind: 'trim', upTo: api.store.view().revision }, api.clock.monotonicMs() + 1000)
  assert.equal(api.store.storage.alarm, false)
  await api.configMap('late', filler)
})

void test('a terminating namespace can record its progress and be finalized in a full storage', async (t) => {
  const { api } = await open(t, 10_000)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'going' } } })
  await fill(api)
  const { object } = await api.delete({ kind: 'Namespace', name: 'going' })
  const conditions = [
    {
      type: 'NamespaceDeletionContentFailure',
      status: 'False',
      lastTransitionTime: '2026-01-02T03:04:05Z',
      reason: 'ContentDeleted',
      message: 'm'.repeat(1000),
    },
  ]
  const reported = { ...object, status: { phase: 'Terminating', conditions } }
  const call = { kind: 'Namespace', name: 'going' }
  const after = await api.update({ ...call, subresource: 'status', body: reported })
  await api.update({ ...call, subresource: 'finalize', body: { ...after.object, spec: { finalizers: [] } } })
  assert.equal((await refused(api.get(call))).code, 404)
})

void test('raising the quota ends the alarm at once', async (t) => {
  const { api } = await open(t, 10_000)
  await fill(api)
  await change(api, { storageBytesMax: 1_000_000 })
  await api.configMap('fits', filler)
})

void test('a patch that grows an object over the limit is 413, also if only the apply of the command finds that', async (t) => {
  const { api } = await open(t, 1_000_000)
  await change(api, { objectBytesMax: 2000 })
  await api.configMap('a', filler)
  const seen = await refused(api.patch({ name: 'a', body: { data: { y: 'y'.repeat(1000) } } }))
  assert.equal(seen.code, 413)
  assert.equal(seen.reason, 'RequestEntityTooLarge')

  // The verb reads older settings than those under which the command is applied.
  const behind = new Proxy(api.store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (name === 'settings') return { ...(value as Settings), objectBytesMax: 1_000_000 }
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const racing = new Fixture({
    names: api.names,
    clock: api.clock,
    memory: api.memory,
    options: { wrap: () => behind },
  })
  const lost = await refused(racing.patch({ name: 'a', body: { data: { y: 'y'.repeat(1000) } } }))
  assert.equal(lost.code, 413)
  assert.match(lost.message, /^Request entity is too large: limit of an object is 2000: configmaps "a" has /)
})

void test('the error of an object that is too large names the object and its largest field', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const settings = { ...api.store.settings, objectBytesMax: 2000 }
    await api.store.write({ kind: 'change-settings', settings }, api.clock.monotonicMs() + 1000)
    const seen = await refused(api.configMap('a', { data: { small: 'x', 'big.one': 'y'.repeat(3000) } }))
    assert.equal(seen.code, 413)
    assert.match(
      seen.message,
      /limit of an object is 2000: configmaps "a" has \d+ bytes, 3002 of them in data\[big\.one\]$/,
    )
    const { name, kind } = details(seen)
    assert.deepEqual([name, kind, causes(seen)], ['a', 'configmaps', ['FieldValueTooLong data[big.one]']])
    // No single field makes it large.
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`k${at}`, 'v']))
    assert.match((await refused(api.configMap('b', { data: many }))).message, /bytes, \d+ of them in data$/)
    // The message stays short, however long the name of the field is.
    const long = await refused(api.configMap('c', { data: { ['k'.repeat(2500)]: '' } }))
    assert.ok([413, 422].includes(long.code) && long.message.length < 2000)
  }
})

void test('objects that shrink by a byte at a time are stopped at the ceiling; deletion still works', async (t) => {
  const { api, commands } = await open(t, 10_000)
  const finalizers = ['example.com/holds']
  await api.configMap('held', { metadata: { finalizers }, data: { x: 'x'.repeat(1000) } })
  await fill(api)
  const update = (length: number): Promise<unknown> =>
    api.update({ name: 'fill-0', body: { metadata: { name: 'fill-0' }, data: { x: 'y'.repeat(length) } } })
  let length = 1000
  const shrink = async (): Promise<unknown> => {
    while (length > 900) await update(--length)
    return assert.fail('the history of one object has no end')
  }
  const seen = await refused(shrink())
  const before = commands()
  assert.equal(seen.code, 403)
  assert.match(
    seen.message,
    /KiB used \(up to \d+\.\d KiB for updates that make objects smaller\), most of it, history included, by/,
  )
  assert.equal((await refused(update(length))).code, 403)
  assert.equal(commands(), before, 'what is known to be refused costs the log nothing')
  assert.equal((await api.delete({ name: 'held' })).code, 202)
  await api.patch({ name: 'held', body: { metadata: { finalizers: null } } })
  await api.delete({ name: 'fill-0' })
})

void test('an object that is larger than a new limit may shrink, but not grow', async (t) => {
  const { api } = await open(t, 1_000_000)
  await api.configMap('a', filler)
  await change(api, { objectBytesMax: 500 })
  const patch = (x: string): Promise<unknown> => api.patch({ name: 'a', body: { data: { x } } })
  await patch('x'.repeat(999))
  assert.equal((await refused(patch('y'.repeat(999)))).code, 413)
  assert.equal((await refused(api.configMap('b', filler))).code, 413)
})

void test('a dry run is refused like the write, and its refusal raises no alarm', async (t) => {
  const { api, commands } = await open(t, 10_000)
  await api.create({ kind: 'Namespace', body: { metadata: { name: 'going' } } })
  await change(api, { storageBytesMax: api.store.storage.usedBytes + 100 })
  const query = { dryRun: 'All' }
  const create = (): Promise<unknown> =>
    api.create({ query, body: { metadata: { name: 'one-more' }, ...filler } })
  const before = commands()
  assert.equal((await refused(create())).code, 403)
  assert.equal(commands(), before)
  assert.equal(api.store.storage.alarm, false)
  assert.equal((await refused(api.configMap('one-more', filler))).code, 403)
  assert.equal(api.store.storage.alarm, true)
  assert.equal((await refused(create())).code, 403)
  const patch = (x: string): Promise<unknown> =>
    api.patch({ kind: 'Namespace', name: 'default', query, body: { metadata: { labels: { x } } } })
  assert.equal((await refused(patch('grows'))).code, 403)
  assert.equal((await api.delete({ kind: 'Namespace', name: 'going', query })).code, 202)
  await change(api, { storageBytesMax: 1_000_000, objectBytesMax: 500 })
  assert.equal((await refused(create())).code, 413)
})

void test('a write that is too large for the remaining space is refused without a log entry; smaller ones succeed', async (t) => {
  const { api, commands } = await open(t, 2000)
  const large = { data: { x: 'x'.repeat(3000) } }
  const before = commands()
  const seen = await refused(api.configMap('large', large))
  assert.equal(seen.code, 403)
  assert.deepEqual(causes(seen), ['StorageQuotaExceeded '])
  assert.equal(commands(), before)
  assert.equal(api.store.storage.alarm, false)
  await api.configMap('small', { data: { x: 'x' } })
})

void test('the error of a write in one namespace does not show the usage of another namespace', async (t) => {
  const { api } = await open(t, 10_000)
  await fill(api)
  const seen = await refused(
    api.create({ namespace: api.names.publicNamespace, body: { metadata: { name: 'one' }, ...filler } }),
  )
  assert.equal(seen.code, 403)
  assert.match(seen.message, /exceeded storage quota/)
  assert.doesNotMatch(seen.message, /in namespace/)
})
