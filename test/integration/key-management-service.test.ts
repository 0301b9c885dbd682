/*
 * Goal: keys of a key management service encrypt, rotate and survive a service that is slow, fails,
 * gives wrong answers, or is gone for a while; no call is unbounded.
 * Method: the shipped client and store, and a service on a unix socket whose behavior changes.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Registry as MetricsRegistry } from 'prom-client'
import { namesOf } from '../../src/api/metadata/names.ts'
import { EncryptedStore } from '../../src/encryption/encrypted-store.ts'
import { parseEncryptionFile } from '../../src/encryption/encryption-file.ts'
import { KmsClient } from '../../src/encryption/kms-client.ts'
import { KmsKey } from '../../src/encryption/kms-key.ts'
import { KmsKeys } from '../../src/encryption/kms-keys.ts'
import { registerEncryptionMetrics } from '../../src/encryption/encryption-metrics.ts'
import { keysOfRules } from '../../src/encryption/keys-of-rules.ts'
import { encode, parseStored } from '../../src/registry/kinds/encode.ts'
import { SealedObjectError } from '../../src/registry/shared/sealed-object-error.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { keyOf } from '../../src/store/key.ts'
import type { Store } from '../../src/store/store.ts'
import { openMemoryStore } from '../../fixtures/memory-store.ts'
import { freshRandom, systemClock as clock } from '../../fixtures/system.ts'
import { FakeKmsService } from '../support/fakes/kms-service.ts'
import { until } from '../support/tools/until.ts'

const names = namesOf('k8s.io')
const builtIn = definitionsFor(names)
const place = { group: '', plural: 'secrets', namespace: 'default' }
const soon = (): number => clock.monotonicMs() + 20_000

type Member = { readonly store: EncryptedStore; readonly key: KmsKey; readonly health: (string | null)[] }

async function started(t: TestContext): Promise<{ readonly kms: FakeKmsService; readonly store: Store }> {
  const kms = new FakeKmsService()
  await kms.start()
  t.after(() => kms.remove())
  const { store, close } = await openMemoryStore()
  t.after(close)
  return { kms, store }
}

/** Returns a new member over the same replicated state, which has opened no data key yet. */
function memberOf(t: TestContext, kms: FakeKmsService, store: Store, timeout = '1s'): Member {
  const content = `{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: [
    {resources: [secrets], providers: [
      {kms: {apiVersion: v2, name: vault, endpoint: 'unix://${kms.socket}', timeout: ${timeout}}}]}]}`
  const random = freshRandom()
  const made: KmsKey[] = []
  const health: (string | null)[] = []
  const keys = keysOfRules(parseEncryptionFile(content, { names, builtIn }), {
    random,
    kms: ({ name, socket, timeoutMs }) => {
      const service = new KmsClient({ clock, random, socket, timeoutMs })
      const key = new KmsKey({ name, service, clock, random, onHealth: (failure) => health.push(failure) })
      made.push(key)
      t.after(() => key.close())
      return key
    },
  })
  const encrypted = new EncryptedStore(store, { cacheBytesMax: 0, onSealed: () => undefined })
  encrypted.use(keys)
  return { store: encrypted, key: made[0] ?? assert.fail('one key'), health }
}

async function write({ store }: Member, name: string, password: string, deadlineMs = soon()): Promise<void> {
  const metadata = { name, namespace: 'default', uid: `uid-${name}` }
  const object = encode({ kind: 'Secret', apiVersion: 'v1', metadata, data: { password } })
  const put = { kind: 'put', key: keyOf({ ...place, name }), conditions: [], object } as const
  const outcome = await store.write({ kind: 'write', operations: [put] }, deadlineMs)
  assert.equal(outcome.kind, 'done')
}

/** Reads once, without a retry. @throws SealedObjectError */
function readNow({ store }: Member, name: string): unknown {
  return parseStored(store.view().get(keyOf({ ...place, name })) ?? assert.fail('it exists'))['data']
}

/** Reads as a request does: it retries once the service has answered. */
async function read(member: Member, name: string): Promise<unknown> {
  for (let attempt = 1; ; attempt++) {
    try {
      return readNow(member, name)
    } catch (cause) {
      if (!(cause instanceof SealedObjectError) || cause.opening === null || attempt === 20) throw cause
      await cause.opening
    }
  }
}

void test('a key management service encrypts one data key per process, and opens it once for others', async (t) => {
  const { kms, store } = await started(t)
  const writer = memberOf(t, kms, store)
  await write(writer, 'a', 'first')
  await write(writer, 'b', 'second')
  const raw = Buffer.from(store.view().get(keyOf({ ...place, name: 'a' }))?.bytes ?? [])
  assert.ok(raw.includes('orch:enc:kms:v1:vault:') && !raw.includes('first'))
  assert.deepEqual([kms.countOf('Encrypt'), kms.countOf('Decrypt')], [1, 1], 'the answer is verified')
  const reader = memberOf(t, kms, store)
  assert.throws(() => readNow(reader, 'a'), /the kms key "vault" is being opened/)
  assert.deepEqual(await read(reader, 'a'), { password: 'first' })
  assert.deepEqual(await read(reader, 'b'), { password: 'second' })
  assert.deepEqual([kms.countOf('Encrypt'), kms.countOf('Decrypt')], [1, 2])
})

void test('after the service changes its key id, writes use a new data key and earlier objects are stale', async (t) => {
  const { kms, store } = await started(t)
  const member = memberOf(t, kms, store)
  await member.key.look()
  await write(member, 'a', 'first')
  kms.keyId = 'key-2'
  const isStale = (name: string): boolean => {
    const stored = member.store.view().get(keyOf({ ...place, name }))
    return stored !== null && member.store.isStale(stored)
  }
  assert.equal(isStale('a'), false)
  await member.key.look()
  assert.equal(isStale('a'), true)
  await write(member, 'b', 'second')
  assert.deepEqual([isStale('b'), kms.countOf('Encrypt')], [false, 2])
  const reader = memberOf(t, kms, store)
  assert.deepEqual(await read(reader, 'a'), { password: 'first' })
  assert.deepEqual(await read(reader, 'b'), { password: 'second' })
})

void test('a slow service delays nothing beyond its timeout and the deadline of the request', async (t) => {
  const { kms, store } = await started(t)
  const member = memberOf(t, kms, store, '300ms')
  kms.delayMs = 3_600_000
  await assert.rejects(write(member, 'a', 'x'), /the kms key "vault" cannot encrypt: Encrypt .*gRPC code 4/)
  await assert.rejects(write(member, 'a', 'x', clock.monotonicMs() + 50), /cannot encrypt: no response/)
  await member.key.look()
  assert.match(member.key.failure ?? '', /Status of the key management service failed: gRPC code 4/)
  kms.delayMs = 0
  await member.key.look()
  await until('it has a data key', () => member.key.failure === null)
  await write(member, 'a', 'x')
  assert.equal(member.health.at(-1), null)
})

void test('a service that refuses is named without its details, and a thousand reads make one call to it', async (t) => {
  const { kms, store } = await started(t)
  await write(memberOf(t, kms, store), 'a', 'x')
  const member = memberOf(t, kms, store)
  kms.refuses = true
  await assert.rejects(write(member, 'b', 'x'), (cause: Error) => {
    assert.match(cause.message, /cannot encrypt: Encrypt of the key management service failed: gRPC code 7$/)
    return true
  })
  const before = kms.countOf('Decrypt')
  for (let at = 0; at < 1000; at++) assert.throws(() => readNow(member, 'a'), SealedObjectError)
  await until('the service was asked', () => kms.countOf('Decrypt') > before)
  await until('the failure is known', () => /code 7/.test(member.key.failure ?? ''))
  assert.throws(() => readNow(member, 'a'), /cannot be opened now \(Decrypt .* gRPC code 7\): try again/)
  assert.equal(kms.countOf('Decrypt'), before + 1, 'a thousand reads made one call')
  kms.refuses = false
  assert.deepEqual(await read(member, 'a'), { password: 'x' })
  await until('the service is known to be healthy', () => member.key.failure === null)
})

const text = (field: number, value: string): readonly number[] => [
  ...[(field << 3) | 2, value.length],
  ...Buffer.from(value),
]

for (const [answer, method, bytes, why] of [
  ['an empty response', 'Encrypt', [], /Encrypt has no key_id/],
  ['bytes that are not a message', 'Encrypt', [10, 255, 255], /the response to Encrypt cannot be read/],
  ['no ciphertext', 'Encrypt', text(2, 'key-1'), /Encrypt has no ciphertext/],
  ['a ciphertext that it cannot open', 'Encrypt', [...text(1, 'x'), ...text(2, 'key-1')], /another data key/],
  ['another data key', 'Decrypt', text(1, 'y'.repeat(32)), /another data key/],
] as const) {
  void test(`a service whose answer to ${method} is ${answer} loses no object: the write is refused`, async (t) => {
    const { kms, store } = await started(t)
    const member = memberOf(t, kms, store)
    kms.answers.set(method, Uint8Array.from(bytes))
    await assert.rejects(write(member, 'a', 'x'), why)
    assert.equal(store.view().get(keyOf({ ...place, name: 'a' })), null)
    assert.match(member.key.failure ?? '', why)
    kms.answers.clear()
    await write(member, 'a', 'x')
    assert.deepEqual(await read(memberOf(t, kms, store), 'a'), { password: 'x' })
  })
}

for (const [answer, bytes, why] of [
  ['another version', [...text(1, 'v3'), ...text(2, 'ok'), ...text(3, 'k')], /does not support version v2/],
  ['unhealthy', [...text(1, 'v2'), ...text(2, 'sealed'), ...text(3, 'k')], /is not healthy/],
  ['without a key id', [...text(1, 'v2'), ...text(2, 'ok')], /no key_id/],
] as const) {
  void test(`a service whose status is ${answer} is reported as failing`, async (t) => {
    const { kms, store } = await started(t)
    const member = memberOf(t, kms, store)
    kms.answers.set('Status', Uint8Array.from(bytes))
    await member.key.look()
    assert.match(member.key.failure ?? '', why)
    kms.answers.clear()
    await member.key.look()
    assert.equal(member.health.at(-1), null)
  })
}

void test('of services whose keys have the same name, the failing one is reported', async (t) => {
  const { kms } = await started(t)
  const sockets = [kms.socket, join(kms.directory, 'nowhere.sock')]
  for (const order of [sockets, sockets.toReversed()]) {
    const log = { info: () => undefined, warn: () => undefined }
    const keys = new KmsKeys({ clock, random: freshRandom(), log, onHealthy: () => undefined })
    t.after(() => keys.retain([]))
    for (const socket of order) await keys.of({ kind: 'kms', name: 'vault', socket, timeoutMs: 1000 }).look()
    assert.match(keys.unhealthy ?? '', /^kms key "vault": Status of the key management service failed/)
    const metrics = new MetricsRegistry()
    registerEncryptionMetrics(metrics, () => ({
      ...{ entries: [], sealedReads: 0, reloads: { taken: 0, refused: 0 } },
      ...{ kms: keys.health, plainTextRemoved: null, isFileUsable: null },
    }))
    assert.match(await metrics.metrics(), /^orch_encryption_kms_healthy\{key="vault"\} 0$/m)
  }
})

void test('while the service is gone, opened keys are used and others wait for it to come back', async (t) => {
  const { kms, store } = await started(t)
  const [member, other] = [memberOf(t, kms, store), memberOf(t, kms, store)]
  await member.key.look()
  await write(member, 'a', 'first')
  kms.stop()
  await member.key.look()
  assert.match(member.key.failure ?? '', /Status of the key management service failed: gRPC code 14/)
  await write(member, 'b', 'second')
  assert.deepEqual(readNow(member, 'a'), { password: 'first' })
  await assert.rejects(write(other, 'c', 'x'), /cannot encrypt/)
  assert.throws(() => readNow(other, 'a'), SealedObjectError)
  await kms.start()
  await until('the service is back', async () => {
    await member.key.look()
    return member.key.failure === null
  })
  assert.deepEqual(await read(other, 'a'), { password: 'first' })
  assert.deepEqual(await read(other, 'b'), { password: 'second' })
})

void test('readers are notified once a service that failed is healthy again', async (t) => {
  const { kms } = await started(t)
  let notified = 0
  const log = { info: () => undefined, warn: () => undefined }
  const keys = new KmsKeys({ clock, random: freshRandom(), log, onHealthy: () => notified++ })
  t.after(() => keys.retain([]))
  kms.refuses = true
  const key = keys.of({ kind: 'kms', name: 'vault', socket: kms.socket, timeoutMs: 1000 })
  await key.look()
  assert.deepEqual([key.failure !== null, notified], [true, 0])
  kms.refuses = false
  await key.look()
  assert.deepEqual([key.failure, notified], [null, 1])
})
