/*
 * Goal: Secrets are encrypted in the replicated state and plain for every reader; what cannot be
 * decrypted is an error that names the key, and everything else is served.
 * Method: the shipped verbs on the real state machine, through the store that encrypts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { EncryptedStore } from '../../../../src/encryption/encrypted-store.ts'
import { parseEncryptionFile } from '../../../../src/encryption/encryption-file.ts'
import { keysOfRules } from '../../../../src/encryption/keys-of-rules.ts'
import { lossesOf, survey } from '../../../../src/encryption/survey.ts'
import type { EncryptionKeys } from '../../../../src/encryption/resource-keys.ts'
import { encode, parseStored } from '../../../../src/registry/kinds/encode.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { SealedObjectError } from '../../../../src/registry/shared/sealed-object-error.ts'
import { definitionsFor } from '../../../../src/resources/index.ts'
import { keyOf, prefixOf } from '../../../../src/store/key.ts'
import type { Command } from '../../../../src/store/command.ts'
import type { KeyPrefix } from '../../../../src/store/key.ts'
import type { StoredObject, View } from '../../../../src/store/object-store.ts'
import type { Store } from '../../../../src/store/store.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import { freshRandom, systemClock } from '../../../../fixtures/system.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const names = namesOf('k8s.io')
const builtIn = definitionsFor(names)
const place = { group: '', plural: 'secrets', namespace: 'default' }
const prefix = prefixOf({ ...place, namespace: null })
const soon = (): number => systemClock.monotonicMs() + 5000

function keysWith(...providers: readonly string[]): EncryptionKeys {
  const content = `{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: [
    {resources: [secrets], providers: [${providers.join(', ')}]}]}`
  const random = freshRandom()
  return keysOfRules(parseEncryptionFile(content, { names, builtIn }), {
    random,
    kms: () => assert.fail('no kms is configured'),
  })
}

function providerOf(kind: string, name: string, fill: number): string {
  return `{${kind}: {keys: [{name: ${name}, secret: ${Buffer.alloc(32, fill).toString('base64')}}]}}`
}

const one = providerOf('aesgcm', 'one', 1)
const two = providerOf('secretbox', 'two', 2)

/** Returns the same state with objects of its own. */
function copyOf(store: Store): Store {
  return new Proxy(store, {
    get: (_, name) => {
      if (name !== 'view') {
        const member: unknown = Reflect.get(store, name)
        return typeof member === 'function' ? (member.bind(store) as unknown) : member
      }
      return () => {
        const view = store.view()
        const copied = (one: StoredObject): StoredObject => ({
          ...{ key: one.key, revision: one.revision, uid: one.uid, terminating: one.terminating },
          ...{ labels: one.labels, bytes: one.bytes, byteLength: one.byteLength },
          ...{ itemOffset: one.itemOffset, beginning: one.beginning },
          copyTo: (target, to, from) => one.copyTo(target, to, from),
        })
        const list: View['list'] = (under, options) => {
          const { objects, more } = view.list(under, options)
          return { objects: objects.map(copied), more }
        }
        const get: View['get'] = (key) => {
          const stored = view.get(key)
          return stored === null ? null : copied(stored)
        }
        return { revision: view.revision, get, list, count: (under: KeyPrefix) => view.count(under) }
      }
    },
  })
}

async function opened(t: TestContext, keys: EncryptionKeys) {
  const { store, close } = await openMemoryStore()
  t.after(close)
  const encrypted = new EncryptedStore(store, { cacheBytesMax: 1024 * 1024, onSealed: () => undefined })
  encrypted.use(keys)
  return { store, encrypted }
}

function putOf(name: string, password: string, plural = 'secrets'): Command {
  const object = {
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', uid: `uid-${name}`, labels: { hidden: `label-${password}` } },
    data: { password },
  }
  return {
    kind: 'write',
    operations: [
      { kind: 'put', key: keyOf({ ...place, plural, name }), conditions: [], object: encode(object) },
    ],
  }
}

for (const kind of ['aesgcm', 'aescbc', 'secretbox']) {
  void test(`an object encrypted with ${kind} is opaque in the state, and plain for readers`, async (t) => {
    const { store, encrypted } = await opened(t, keysWith(providerOf(kind, 'one', 1)))
    const cursor = encrypted.watch(prefix, encrypted.view().revision)
    await encrypted.write(putOf('a', 'correct-horse'), soon())
    const key = keyOf({ ...place, name: 'a' })
    const raw = Buffer.from(store.view().get(key)?.bytes ?? [])
    assert.ok(raw.includes(`orch:enc:${kind}:v1:one:`))
    assert.ok(!raw.includes('correct-horse'))
    assert.equal(store.view().get(key)?.labels, null)
    // New keys discard the content that the write kept, so that the object is decrypted.
    encrypted.use(keysWith(providerOf(kind, 'one', 1)))
    const stored = encrypted.view().get(key)
    assert.ok(stored !== null)
    const object = parseStored(stored)
    assert.deepEqual(object['data'], { password: 'correct-horse' })
    assert.equal(object.metadata.resourceVersion, String(stored.revision))
    assert.deepEqual(stored.labels, { hidden: 'label-correct-horse' })
    assert.equal(stored.byteLength, stored.bytes.byteLength)
    const [event] = await cursor.next(10)
    assert.ok(event !== undefined)
    assert.deepEqual(Buffer.from(event.object.bytes), Buffer.from(stored.bytes))
    const [listed] = encrypted.view().list(prefix, { after: null, limit: null }).objects
    assert.equal(listed, stored, 'readers share one object')
  })
}

void test('a deleted object and its predecessor can be read from events', async (t) => {
  const { encrypted } = await opened(t, keysWith(one))
  await encrypted.write(putOf('a', 'first'), soon())
  const cursor = encrypted.watch(prefix, encrypted.view().revision)
  const key = keyOf({ ...place, name: 'a' })
  await encrypted.write({ kind: 'write', operations: [{ kind: 'delete', key, conditions: [] }] }, soon())
  const [event] = await cursor.next(10)
  assert.ok(event !== undefined && event.previous !== null)
  const { metadata } = parseStored(event.object)
  assert.equal(metadata.resourceVersion, String(event.revision))
  assert.deepEqual(parseStored(event.previous)['data'], { password: 'first' })
})

void test('an event whose previous object could not be decrypted can be read after a change of the keys', async (t) => {
  const { store, encrypted } = await opened(t, keysWith(one))
  await store.write(putOf('a', 'in-plain-text'), soon())
  const { revision } = encrypted.view()
  await encrypted.write(putOf('a', 'sealed'), soon())
  const previous = async (): Promise<StoredObject> => {
    const cursor = encrypted.watch(prefix, revision)
    const [event] = await cursor.next(10)
    cursor.close()
    return event?.previous ?? assert.fail('the update has a previous object')
  }
  const unread = await previous()
  assert.throws(() => unread.bytes, SealedObjectError)
  encrypted.use(keysWith(one, '{identity: {}}'))
  assert.deepEqual(parseStored(await previous())['data'], { password: 'in-plain-text' })
})

void test('resources that are not configured are stored as they are', async (t) => {
  const { store, encrypted } = await opened(t, keysWith(one))
  await encrypted.write(putOf('a', 'plain-text', 'configmaps'), soon())
  const key = keyOf({ ...place, plural: 'configmaps', name: 'a' })
  assert.equal(encrypted.view().get(key), store.view().get(key))
  assert.ok(Buffer.from(store.view().get(key)?.bytes ?? []).includes('plain-text'))
})

void test('the bytes of another object under a key are detected, not served', async (t) => {
  for (const provider of [one, two, providerOf('aescbc', 'three', 3)]) {
    const { store, encrypted } = await opened(t, keysWith(provider))
    await encrypted.write(putOf('a', 'of-a'), soon())
    const stored = store.view().get(keyOf({ ...place, name: 'a' }))
    assert.ok(stored !== null)
    const bytes = stored.bytes.slice(0, stored.bytes.byteLength - String(stored.revision).length)
    const object = { bytes, itemOffset: 0, revisionOffset: bytes.byteLength, labels: null }
    const key = keyOf({ ...place, name: 'b' })
    const put = {
      kind: 'put',
      key,
      conditions: [],
      object: { ...object, uid: stored.uid, terminating: false },
    } as const
    await store.write({ kind: 'write', operations: [put] }, soon())
    assert.throws(
      () => encrypted.view().get(key)?.bytes,
      (cause) =>
        cause instanceof SealedObjectError && cause.message.includes('its stored bytes were changed'),
    )
  }
})

void test('a member without the key names it, and serves the other objects', async (t) => {
  const { encrypted } = await opened(t, keysWith(one))
  await encrypted.write(putOf('a', 'with-one'), soon())
  encrypted.use(keysWith(two, one))
  await encrypted.write(putOf('b', 'with-two'), soon())
  encrypted.use(keysWith(two))
  assert.throws(
    () => encrypted.view().get(keyOf({ ...place, name: 'a' }))?.bytes,
    /secrets "default\/a" is encrypted with the aesgcm key "one", which this member lacks/,
  )
  const other = encrypted.view().get(keyOf({ ...place, name: 'b' }))
  assert.ok(other !== null)
  assert.deepEqual(parseStored(other)['data'], { password: 'with-two' })
})

void test('an informer leaves out what it cannot read, and has it once the key is there', async (t) => {
  const { encrypted } = await opened(t, keysWith(one))
  await encrypted.write(putOf('a', 'with-one'), soon())
  encrypted.use(keysWith(two))
  await encrypted.write(putOf('b', 'with-two'), soon())
  const informer = new Informer({ store: encrypted, clock: systemClock, prefix, parse: parseStored })
  t.after(() => informer.close())
  informer.start()
  assert.deepEqual(
    [...informer.entries()].map(([key]) => key),
    [keyOf({ ...place, name: 'b' })],
  )
  encrypted.use(keysWith(two, one))
  const found = new Promise<string>((resolve) => informer.subscribe(({ key }) => resolve(key)))
  assert.equal(await found, keyOf({ ...place, name: 'a' }))
})

void test('an informer reads again as soon as the key is there, however often it failed before', async (t) => {
  const { encrypted } = await opened(t, keysWith(one))
  await encrypted.write(putOf('a', 'with-one'), soon())
  encrypted.use(keysWith(two))
  const clock = new ManualClock()
  const informer = new Informer({ store: encrypted, clock, prefix, parse: parseStored })
  t.after(() => informer.close())
  informer.start()
  for (let minute = 0; minute < 10; minute++) await clock.advance(60_000)
  assert.equal(informer.lacksObjectsIn('default'), true)
  encrypted.use(keysWith(two, one))
  await clock.settle()
  assert.deepEqual([informer.size, informer.lacksObjectsIn('default')], [1, false])
})

void test('an informer survives a list of a replaced state whose objects it cannot decrypt any longer', async (t) => {
  const { store, encrypted } = await opened(t, keysWith(one))
  await encrypted.write(putOf('a', 'with-one'), soon())
  // Each replaced state has objects of its own, and a watch of the earlier one ends.
  let [current, isReplaced] = [encrypted, false]
  const replaced = new Proxy(encrypted, {
    get: (_, name) => {
      if (name === 'view') return () => current.view()
      if (name !== 'watch') {
        const member: unknown = Reflect.get(current, name)
        return typeof member === 'function' ? (member.bind(current) as unknown) : member
      }
      return (...given: Parameters<EncryptedStore['watch']>) => {
        const cursor = current.watch(...given)
        const next = cursor.next.bind(cursor)
        cursor.next = (limit) => {
          if (!isReplaced) return next(limit)
          isReplaced = false
          throw new StoreError('compacted', 'the state was replaced')
        }
        return cursor
      }
    },
  })
  const informer = new Informer({ store: replaced, clock: systemClock, prefix, parse: parseStored })
  t.after(() => informer.close())
  informer.start()
  assert.equal(informer.size, 1)
  const other = new EncryptedStore(copyOf(store), { cacheBytesMax: 0, onSealed: () => undefined })
  other.use(keysWith(two))
  const removed = new Promise<string>((resolve) => informer.subscribe(({ kind }) => resolve(kind)))
  isReplaced = true
  current = other
  await encrypted.write(putOf('b', 'wakes the informer', 'secrets'), soon())
  assert.equal(await removed, 'removed')
})

void test('an object is stale while it is in plain text, or not encrypted with the first key', async (t) => {
  const { encrypted } = await opened(t, keysWith('{identity: {}}', one))
  await encrypted.write(putOf('a', 'plain'), soon())
  const key = keyOf({ ...place, name: 'a' })
  const isStale = (): boolean => {
    const stored = encrypted.view().get(key)
    assert.ok(stored !== null)
    return encrypted.isStale(stored)
  }
  assert.equal(isStale(), false)
  encrypted.use(keysWith(one, '{identity: {}}'))
  assert.equal(isStale(), true)
  await encrypted.write(putOf('a', 'plain'), soon())
  assert.equal(isStale(), false)
  encrypted.use(keysWith(two, one))
  assert.equal(isStale(), true)
})

void test('a survey counts the objects that a configuration would lose', async (t) => {
  const { store, encrypted } = await opened(t, keysWith(one))
  await encrypted.write(putOf('a', 'x'), soon())
  await encrypted.write(putOf('b', 'x'), soon())
  const parts = { store, clock: systemClock }
  const losses = async (keys: EncryptionKeys): Promise<readonly string[]> =>
    lossesOf(await survey(parts, keys, true))
  assert.deepEqual(await losses(keysWith(two, one)), [])
  assert.deepEqual(await losses(keysWith(two)), ['2 objects of secrets with the aesgcm key "one"'])
  assert.deepEqual(await losses(keysWith(providerOf('aesgcm', 'one', 9))), [
    '2 objects of secrets with the aesgcm key "one", which has another secret',
  ])
  await store.write(putOf('c', 'plain'), soon())
  assert.deepEqual(await losses(keysWith(one)), ['1 object of secrets in plain text'])
})

void test('one damaged object does not make a survey count the key as lost', async (t) => {
  const { store, encrypted } = await opened(t, keysWith(one))
  for (const name of ['a', 'b', 'c']) await encrypted.write(putOf(name, 'x'), soon())
  const moved = store.view().get(keyOf({ ...place, name: 'b' }))
  assert.ok(moved !== null)
  const { uid, terminating } = moved
  const put = async (name: string, bytes: Uint8Array): Promise<void> => {
    const object = {
      ...{ bytes, itemOffset: 0, revisionOffset: bytes.byteLength, labels: null },
      ...{ uid, terminating },
    }
    const key = keyOf({ ...place, name })
    await store.write({ kind: 'write', operations: [{ kind: 'put', key, conditions: [], object }] }, soon())
  }
  await put('a', moved.bytes.slice(0, moved.bytes.byteLength - String(moved.revision).length))
  const keys = keysWith(one)
  const counted = (): ReturnType<typeof survey> => survey({ store, clock: systemClock }, keys, true)
  assert.deepEqual(
    (await counted()).map(({ objects, state }) => [objects, state]),
    [[3, 'readable']],
  )
  await put('a', Buffer.from('orch:enc:something else'))
  assert.deepEqual(lossesOf(await counted()), ['1 object of secrets, whose stored bytes were changed'])
  const plain = await survey({ store, clock: systemClock }, keysWith('{identity: {}}', one), true)
  assert.deepEqual(
    plain.map(({ objects, state, isCurrent }) => [objects, state, isCurrent]),
    [
      [1, 'wrong', false],
      [2, 'readable', false],
    ],
  )
})
