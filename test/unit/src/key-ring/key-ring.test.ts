/*
 * Goal: members share signing keys through the replicated state and nothing else; what is stored
 * shows no private key; keys follow joins, removals, rotation, revocation and restored backups.
 * Method: the key rings of several members over one store, with a clock of the test.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Clock } from '../../../../base/clock.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import type { MemoryStore } from '../../../../fixtures/memory-store.ts'
import { emptyConfiguration, nodeId } from '../../../../raft/index.ts'
import { featureLevelMax } from '../../../../src/version.ts'
import { limits } from '../../../../src/config/limits.ts'
import { KeyRing } from '../../../../src/key-ring/key-ring.ts'
import { SharedTokenKeys } from '../../../../src/key-ring/shared-token-keys.ts'
import type { SharedKey } from '../../../../src/key-ring/signing-keys.ts'
import {
  memberKeysIn,
  putSigningKeys,
  signingKeysKey,
  signingKeysPrefix,
  storedSigningKeys,
  writeKeys,
} from '../../../../src/key-ring/stored-keys.ts'
import { generateKeyPair, publicKeyPem, samePublicKey } from '../../../../src/pki/keys.ts'
import type { KeyPair } from '../../../../src/pki/keys.ts'
import type { Settings } from '../../../../src/store/command.ts'
import { until } from '../../../support/tools/until.ts'

const deadlineMs = 1e12

class Cluster {
  readonly #memory: MemoryStore
  #aheadMs = 0
  /** IDs in the configuration. */
  voters: readonly number[] = [1, 2]
  readonly errors: unknown[] = []
  readonly #members: Member[] = []

  constructor(memory: MemoryStore) {
    this.#memory = memory
  }

  static async open(t: TestContext, changed: Partial<Settings> = {}): Promise<Cluster> {
    const memory = await openMemoryStore()
    t.after(memory.close)
    const { store } = memory
    const identity = { clusterId: 'c', apiDomain: 'orch.io', continueTokenKey: Buffer.alloc(32) } as const
    const settings = { ...store.settings, ...changed }
    const founded = { identity: { ...identity, keyFingerprints: {} }, settings }
    await store.write(
      { kind: 'bootstrap', ...founded, operations: [], featureLevel: featureLevelMax },
      deadlineMs,
    )
    const cluster = new Cluster(memory)
    t.after(() => cluster.close())
    return cluster
  }

  /** Moves the wall clock forward by `ms`; the monotonic clock is not changed. */
  pass(ms: number): void {
    this.#aheadMs += ms
  }

  close(): void {
    for (const { ring, shared } of this.#members) {
      ring.close()
      shared.close()
    }
  }

  /** Waits until every member has the keys that are stored. */
  async settled(): Promise<void> {
    for (const { shared } of this.#members) await shared.untilCurrent()
  }

  get stored(): string {
    const { objects } = this.#memory.store.view().list(signingKeysPrefix, { after: null, limit: null })
    return objects.map(({ bytes }) => Buffer.from(bytes).toString()).join()
  }

  get published(): readonly string[] {
    return memberKeysIn(this.#memory.store.view()).map(({ member }) => member)
  }

  /** Adds a key, as another program would. */
  async add(key: Pick<SharedKey, 'id' | 'publicKey'>): Promise<void> {
    const { store } = this.#memory
    const stored = store.view().get(signingKeysKey)
    assert.ok(stored)
    const all = storedSigningKeys(stored)
    const added = { ...key, createdMs: 0, signsFromMs: 0, sealed: null }
    const keys = { ...all, keys: [added, ...all.keys] }
    assert.equal(await writeKeys(store, [putSigningKeys(keys, stored.revision)], deadlineMs), true)
    await this.settled()
  }

  #hasPublished(id: number, { publicKey }: KeyPair): boolean {
    const published = memberKeysIn(this.#memory.store.view())
    return published.some((one) => one.member === String(id) && samePublicKey(one.publicKey, publicKey))
  }

  /** Starts the key ring of a member. */
  async member(id: number, memberKey: KeyPair = generateKeyPair()): Promise<Member> {
    const wallMs = (): number => systemClock.wallMs() + this.#aheadMs
    const clock: Clock = { ...systemClock, wallMs }
    const { store } = this.#memory
    const parts = { store, clock, member: String(id), memberKey }
    const log = { error: (...line: readonly unknown[]) => void this.errors.push(line) }
    const shared = new SharedTokenKeys({ ...parts, log })
    const ring = new KeyRing({
      ...{ ...parts, shared },
      configuration: () => ({ ...emptyConfiguration, voters: this.voters.map(nodeId) }),
      onFailure: (cause) => void this.errors.push(cause),
    })
    shared.start()
    ring.start()
    const member = { ring, shared, memberKey }
    this.#members.push(member)
    const isMember = this.voters.includes(id)
    await until('it has published its key', () => !isMember || this.#hasPublished(id, memberKey))
    await this.settled()
    return member
  }
}

type Member = { readonly ring: KeyRing; readonly shared: SharedTokenKeys; readonly memberKey: KeyPair }

/** Lets the leader work until nothing is left to do. */
async function maintained(cluster: Cluster, { ring }: Member): Promise<void> {
  for (let step = 0; step < 10; step++) {
    if (await ring.maintain()) return cluster.settled()
  }
  assert.fail('there is always more to do')
}

const signerOf = ({ shared }: Member): string | null => shared.signer()?.verification.id ?? null
const verifiedBy = ({ shared }: Member): readonly string[] => shared.verification.map(({ id }) => id)

void test('the first key reaches every member, and its private key is not stored in plain text', async (t) => {
  const cluster = await Cluster.open(t)
  const [one, two] = [await cluster.member(1), await cluster.member(2)]
  assert.equal(signerOf(one), null)
  await maintained(cluster, one)
  const id = signerOf(one)
  assert.notEqual(id, null)
  assert.equal(signerOf(two), id)
  assert.deepEqual([verifiedBy(one), verifiedBy(two)], [[id], [id]])
  for (const member of [one, two]) {
    const der = member.shared.signer()?.privateKey.export({ type: 'pkcs8', format: 'der' })
    assert.ok(der)
    const { stored } = cluster
    for (const form of ['base64', 'base64url', 'hex'] as const) {
      // Most of the private scalar, wherever in the stored object it is.
      assert.equal(stored.includes(der.subarray(36, 66).toString(form)), false)
    }
  }
  assert.deepEqual(cluster.errors, [])
})

void test('a member that joins later gets the key; a removed member cannot open it, and publishes nothing', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await maintained(cluster, one)
  const first = signerOf(one)
  const two = await cluster.member(2)
  assert.equal(signerOf(two), null)
  await maintained(cluster, one)
  assert.equal(signerOf(two), first)
  cluster.voters = [1]
  await maintained(cluster, one)
  assert.deepEqual(cluster.published, ['1'])
  const restarted = await cluster.member(2, two.memberKey)
  assert.equal(signerOf(restarted), null)
  assert.deepEqual(cluster.published, ['1'], 'a member that was removed publishes nothing')
})

void test('a new leader keeps the signing key, also after a restart', async (t) => {
  const cluster = await Cluster.open(t)
  const [one, two] = [await cluster.member(1), await cluster.member(2)]
  await maintained(cluster, one)
  const id = signerOf(one)
  await maintained(cluster, two)
  const again = await cluster.member(1, one.memberKey)
  await maintained(cluster, again)
  assert.deepEqual([signerOf(again), signerOf(two)], [id, id])
})

void test('a new key signs after its publication time, and earlier keys still verify', async (t) => {
  const cluster = await Cluster.open(t)
  const [one, two] = [await cluster.member(1), await cluster.member(2)]
  await maintained(cluster, one)
  const first = signerOf(one)
  const keys = await two.ring.rotate(deadlineMs)
  await cluster.settled()
  const second = keys.keys.at(-1)?.id
  assert.deepEqual([signerOf(one), signerOf(two)], [first, first])
  assert.deepEqual(verifiedBy(one), [second, first])
  cluster.pass(limits.signingKeyPublicationMs)
  assert.deepEqual([signerOf(one), signerOf(two)], [second, second])
  cluster.pass(limits.tokenClockSkewMs)
  await cluster.settled()
  await maintained(cluster, one)
  assert.equal(one.shared.canOpen(first ?? ''), false, 'its private key is dropped')
  assert.deepEqual(verifiedBy(two), [second, first])
})

void test('a revoked key verifies nothing, and the newest one is replaced at once', async (t) => {
  const cluster = await Cluster.open(t)
  const [one, two] = [await cluster.member(1), await cluster.member(2)]
  await maintained(cluster, one)
  const first = signerOf(one) ?? ''
  const versions = [one.shared.version, two.shared.version]
  const keys = await two.ring.revoke(first, deadlineMs)
  await cluster.settled()
  const [second] = keys.keys.map(({ id }) => id)
  assert.notEqual(second, first)
  assert.deepEqual([verifiedBy(one), verifiedBy(two)], [[second], [second]])
  assert.deepEqual([signerOf(one), signerOf(two)], [second, second])
  assert.ok(one.shared.version > (versions[0] ?? 0) && two.shared.version > (versions[1] ?? 0))
  await assert.rejects(one.ring.revoke(first, deadlineMs), { code: 'unknown-key' })
})

void test('keys rotate by age, as set by an operator', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await maintained(cluster, one)
  const first = signerOf(one)
  await one.ring.setRotation(24 * 3_600_000, deadlineMs)
  cluster.pass(24 * 3_600_000)
  await cluster.settled()
  await maintained(cluster, one)
  assert.equal(verifiedBy(one).length, 2)
  cluster.pass(limits.signingKeyPublicationMs)
  assert.notEqual(signerOf(one), first)
})

void test('after a restore, members with new keys verify earlier tokens and sign with a new key', async (t) => {
  const cluster = await Cluster.open(t)
  cluster.voters = [1]
  await maintained(cluster, await cluster.member(1))
  cluster.voters = [7]
  const restored = await cluster.member(7)
  const [earlier] = verifiedBy(restored)
  assert.equal(signerOf(restored), null)
  await maintained(cluster, restored)
  cluster.pass(limits.signingKeyPublicationMs)
  assert.equal(verifiedBy(restored).length, 2)
  assert.ok(earlier !== undefined && verifiedBy(restored).includes(earlier))
  assert.notEqual(signerOf(restored), null)
  assert.deepEqual(cluster.published, ['7'])
})

void test('a member that lost its key file publishes a new key and gets the signing key again', async (t) => {
  const cluster = await Cluster.open(t)
  const [one, two] = [await cluster.member(1), await cluster.member(2)]
  await maintained(cluster, one)
  two.ring.close()
  const replaced = await cluster.member(2)
  assert.equal(signerOf(replaced), null)
  await maintained(cluster, one)
  assert.equal(signerOf(replaced), signerOf(one))
})

void test('a key of a type that this program does not support is skipped; the others stay in use', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await maintained(cluster, one)
  const [id] = verifiedBy(one)
  const { publicKey } = generateKeyPairSync('ed25519')
  await cluster.add({ id: 'newer', publicKey: publicKeyPem(publicKey) })
  assert.deepEqual(verifiedBy(one), [id])
  assert.equal(signerOf(one), id)
  assert.equal(cluster.errors.length, 1)
})

void test('issuing a token waits for the first key, or until the member closes its keys', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  const early = one.shared.untilSigner()
  await maintained(cluster, one)
  assert.equal((await early)?.verification.id, signerOf(one))
  const other = await (await Cluster.open(t)).member(1)
  const waiting = other.shared.untilSigner()
  other.shared.close()
  assert.equal(await waiting, null)
})

void test('with the maximum number of keys within a year, no key can be added until one is revoked', async (t) => {
  const cluster = await Cluster.open(t)
  cluster.voters = [1]
  const one = await cluster.member(1)
  await maintained(cluster, one)
  for (let count = 1; count < limits.sharedSigningKeysMax; count++) await one.ring.rotate(deadlineMs)
  await assert.rejects(one.ring.rotate(deadlineMs), { code: 'full' })
  const { keys } = await one.ring.read(deadlineMs)
  await one.ring.revoke(keys[0]?.id ?? '', deadlineMs)
  assert.equal((await one.ring.rotate(deadlineMs)).keys.length, limits.sharedSigningKeysMax)
})

void test('keys that exceed the size limit of objects are refused with that limit, and a full storage with its quota', async (t) => {
  for (const [changed, code, message] of [
    [
      { objectBytesMax: 4096 },
      'too-large',
      /^the keys need an object of \d+ bytes, the limit is 4096: raise the limit \(orchctl settings set --object-size-max\), or revoke signing keys \(orchctl keys\)$/,
    ],
    [{ storageBytesMax: 16_384 }, 'storage', /^the storage is full: .*raise the quota/],
  ] as const) {
    const cluster = await Cluster.open(t, changed)
    cluster.voters = [1]
    const one = await cluster.member(1)
    await maintained(cluster, one)
    const rotations = async (): Promise<void> => {
      for (let count = 1; count < limits.sharedSigningKeysMax; count++) await one.ring.rotate(deadlineMs)
    }
    await assert.rejects(rotations(), { code, message })
  }
})
