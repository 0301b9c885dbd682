/*
 * Goal: a changed file is taken as a whole or not at all, with one log line each.
 * Method: a real file, the real state machine in memory, and the clock of the system, or a manual
 * one.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { Registry as MetricsRegistry } from 'prom-client'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { ConfigError } from '../../../../src/config/errors.ts'
import { Encryption } from '../../../../src/encryption/encryption.ts'
import type { EncryptionOptions } from '../../../../src/encryption/encryption.ts'
import { parseEncryptionFile } from '../../../../src/encryption/encryption-file.ts'
import { encode } from '../../../../src/registry/kinds/encode.ts'
import { definitionsFor } from '../../../../src/resources/index.ts'
import { keyOf } from '../../../../src/store/key.ts'
import type { Key } from '../../../../src/store/key.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import type { Store } from '../../../../src/store/store.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import { freshRandom, systemClock as clock } from '../../../../fixtures/system.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { until } from '../../../support/tools/until.ts'

const names = namesOf('k8s.io')
const builtIn = definitionsFor(names)

function provider(name: string, fill: number): string {
  return `{aesgcm: {keys: [{name: ${name}, secret: ${Buffer.alloc(32, fill).toString('base64')}}]}}`
}

async function opened(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'encryption-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, 'file.yaml')
  const { store, close } = await openMemoryStore()
  t.after(close)
  const lines: string[] = []
  const note = (fields: object, text?: string): void => {
    lines.push(`${text ?? ''} ${JSON.stringify(fields)}`)
  }
  const record = { read: () => [], write: () => undefined }
  const member = (options: Partial<EncryptionOptions> = {}): Encryption => {
    const encryption = new Encryption({
      ...{ store, clock, path, random: freshRandom(), cacheBytesMax: 0 },
      log: { info: note, warn: note },
      parse: (content) => parseEncryptionFile(content, { names, builtIn }),
      files: { trimmed: () => null, removeTrimmed: async () => true, trimLog: async () => true, record },
      ignoresLostKeys: false,
      ...options,
    })
    t.after(() => encryption.close())
    return encryption
  }
  const configure = (...providers: readonly string[]): void => {
    const rule = `{resources: [secrets], providers: [${providers.join(', ')}]}`
    writeFileSync(
      path,
      `{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: [${rule}]}`,
    )
  }
  const change = async (write: () => void, line: RegExp): Promise<void> => {
    lines.length = 0
    write()
    await until('one line', () => lines.length > 0)
    assert.equal(lines.length, 1, lines.join('\n'))
    assert.match(lines[0] ?? '', line)
  }
  return { path, store, member, lines, configure, change }
}

function secretKey(name: string): Key {
  return keyOf({ group: '', plural: 'secrets', namespace: 'default', name })
}

async function write({ store }: Encryption, name: string): Promise<void> {
  const object = encode({
    kind: 'Secret',
    apiVersion: 'v1',
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
  })
  const put = { kind: 'put', key: secretKey(name), conditions: [], object } as const
  await store.write({ kind: 'write', operations: [put] }, clock.monotonicMs() + 5000)
}

void test('a changed file is used as a whole, and an invalid one or one that loses a key changes nothing', async (t) => {
  const { path, member, change, configure } = await opened(t)
  configure(provider('one', 1))
  const encryption = member()
  await encryption.start()
  await write(encryption, 'a')
  const present = encryption.store.keys

  await change(() => writeFileSync(path, 'kind: Wrong'), /is refused.*kind and apiVersion must be/)
  assert.equal(encryption.store.keys, present)
  await change(
    () => configure(provider('two', 2)),
    /is refused.*1 object of secrets with the aesgcm key \\"one/,
  )
  assert.equal(encryption.store.keys, present)
  await change(() => configure(provider('two', 2), provider('one', 1)), /it is in use/)
  assert.deepEqual(
    encryption.store.keys.all.map(({ writer, readers }) => [writer?.name, readers.length]),
    [['two', 2]],
  )

  configure(provider('two', 2))
  await assert.rejects(
    member().start(),
    (cause) =>
      cause instanceof ConfigError &&
      /lacks keys in use, so this member could not read 1 object of secrets.*put the keys back/.test(
        cause.message,
      ),
  )
})

void test('a file that is removed is reported at once, and again when it is back', async (t) => {
  const { path, member, change, configure } = await opened(t)
  configure(provider('one', 1))
  const encryption = member()
  const metrics = new MetricsRegistry()
  encryption.register(metrics)
  await encryption.start()
  const present = encryption.store.keys
  const usable = async (): Promise<string> =>
    /^orch_encryption_config_usable.*$/m.exec(await metrics.metrics())?.[0] ?? ''
  assert.equal(await usable(), 'orch_encryption_config_usable 1')

  await change(
    () => rmSync(path),
    /is refused.*and a start would fail .*file\.yaml cannot be read .*it does not exist/,
  )
  assert.equal(encryption.store.keys, present)
  assert.equal(await usable(), 'orch_encryption_config_usable 0')
  assert.match(await metrics.metrics(), /^orch_encryption_config_reloads_total\{result="refused"\} 1$/m)

  await change(() => configure(provider('one', 1)), /it is in use/)
  assert.equal(await usable(), 'orch_encryption_config_usable 1')
})

void test('without a configuration there is no metric of its file', async (t) => {
  const { member } = await opened(t)
  const metrics = new MetricsRegistry()
  const encryption = member({ path: '' })
  encryption.register(metrics)
  await encryption.start()
  assert.doesNotMatch(await metrics.metrics(), /^orch_encryption_config_usable /m)
})

void test('a member that gives up lost keys starts without them, and still refuses to lose others', async (t) => {
  const { member, lines, configure, change } = await opened(t)
  configure(provider('one', 1))
  const first = member()
  await first.start()
  await write(first, 'a')
  await write(first, 'b')
  first.close()

  configure(provider('two', 2))
  await assert.rejects(member().start(), /start with --encryption-ignore-lost-keys/)
  lines.length = 0
  const second = member({ ignoresLostKeys: true })
  await second.start()
  assert.match(lines.join('\n'), /cannot be decrypted.*2 objects of secrets with the aesgcm key \\"one\\"/)
  assert.throws(() => second.store.view().get(secretKey('a'))?.bytes, /which this member lacks/)
  await write(second, 'c')
  await change(
    () => configure(provider('three', 3)),
    /is refused.*1 object of secrets with the aesgcm key \\"two\\"/,
  )
  const remove = { kind: 'delete', key: secretKey('a'), conditions: [] } as const
  await second.store.write({ kind: 'write', operations: [remove] }, clock.monotonicMs() + 5000)
  await change(() => configure(provider('three', 3), provider('two', 2)), /it is in use/)
})

void test('plain text that another member writes is noticed, although it is gone when objects are counted', async (t) => {
  const { store, member, configure } = await opened(t)
  configure(provider('one', 1))
  let recorded: readonly string[] = []
  const record = {
    read: () => recorded,
    write: (resources: readonly string[]) => void (recorded = resources),
  }
  const files = {
    ...{ record, trimmed: () => store.view().revision },
    ...{ removeTrimmed: async () => true, trimLog: async () => true },
  }
  const encryption = member({ files })
  await encryption.start()
  await until('it is recorded', () => recorded.length > 0)
  await write(encryption, 'a')
  const object = encode({ kind: 'Secret', apiVersion: 'v1', metadata: { name: 'b', uid: 'uid-b' } })
  const key = secretKey('b')
  const soon = clock.monotonicMs() + 5000
  await store.write({ kind: 'write', operations: [{ kind: 'put', key, conditions: [], object }] }, soon)
  await store.write({ kind: 'write', operations: [{ kind: 'delete', key, conditions: [] }] }, soon)
  await until('the record is void', () => recorded.length === 0)
  assert.equal(encryption.isPlainTextRemoved, false)
})

void test('an object whose stored envelope was changed is not plain text: the removal does not wait for it', async (t) => {
  const { store, member, configure } = await opened(t)
  configure(provider('one', 1))
  const bytes = Buffer.from('orch:enc:something else')
  const object = {
    ...{ bytes, itemOffset: 0, revisionOffset: bytes.byteLength, labels: null },
    ...{ uid: 'uid-a', terminating: false },
  }
  const put = { kind: 'put', key: secretKey('a'), conditions: [], object } as const
  await store.write({ kind: 'write', operations: [put] }, clock.monotonicMs() + 5000)
  const recorded: string[] = []
  const files = {
    record: { read: () => [], write: (resources: readonly string[]) => void recorded.push(...resources) },
    ...{ trimmed: () => store.view().revision, removeTrimmed: async () => true, trimLog: async () => true },
  }
  await member({ files, ignoresLostKeys: true }).start()
  await until('it is recorded', () => recorded.length > 0)
})

/** Returns the store of a member whose state may be quarantined: then nothing can be listed. */
function quarantinable(store: Store, isQuarantined: () => boolean): Store {
  return new Proxy(store, {
    get: (_, name) => {
      const found: unknown = Reflect.get(store, name)
      if (name !== 'view') return typeof found === 'function' ? (found.bind(store) as unknown) : found
      const list = (): never => {
        throw new StoreError('quarantined', 'the state is not trusted')
      }
      return () =>
        isQuarantined() ? { ...store.view(), revision: store.view().revision, list } : store.view()
    },
  })
}

void test('a file that changes while the state is quarantined is checked once the state is trusted again', async (t) => {
  const { store, member, lines, configure } = await opened(t)
  configure(provider('one', 1))
  let counted = 0
  let isQuarantined = false
  const guarded = quarantinable(store, () => {
    if (isQuarantined) counted++
    return isQuarantined
  })
  const encryption = member({ store: guarded })
  await encryption.start()
  await write(encryption, 'a')
  const present = encryption.store.keys
  isQuarantined = true
  configure(provider('two', 2))
  await until('the objects were counted in vain', () => counted > 2)
  isQuarantined = false
  await until('one line', () => lines.length > 0)
  assert.match(lines.join('\n'), /is refused.*1 object of secrets with the aesgcm key \\"one/)
  assert.equal(encryption.store.keys, present)
})

void test('objects that cannot be counted, as the state is quarantined, do not count as encrypted', async (t) => {
  const { store, member, configure } = await opened(t)
  configure('{identity: {}}')
  const plain = member()
  await plain.start()
  await write(plain, 'a')
  plain.close()
  configure(provider('one', 1), '{identity: {}}')
  let isQuarantined = false
  const recorded: string[] = []
  // It is read after the count of the start.
  const read = (): readonly string[] => {
    isQuarantined = true
    return []
  }
  const files = {
    record: { read, write: (resources: readonly string[]) => void recorded.push(...resources) },
    ...{ trimmed: () => store.view().revision, removeTrimmed: async () => true, trimLog: async () => true },
  }
  const manual = new ManualClock()
  const guarded = quarantinable(store, () => isQuarantined)
  const encryption = member({ store: guarded, clock: manual, files })
  await encryption.start()
  await manual.advance(5000)
  assert.deepEqual([recorded, encryption.isPlainTextRemoved], [[], false])
})
