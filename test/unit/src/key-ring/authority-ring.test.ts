/*
 * Goal: members share the authority that signs certificate signing requests; its key is not stored
 * in clear text, and the authority follows joins, lost keys and its own expiry. Method: several
 * members over one store, with a wall clock of the test.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Clock } from '../../../../base/clock.ts'
import { SeededRandom } from '../../../../base/random.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import type { MemoryStore } from '../../../../fixtures/memory-store.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { emptyConfiguration, nodeId } from '../../../../raft/index.ts'
import { AuthorityRing } from '../../../../src/key-ring/authority-ring.ts'
import { phaseOf } from '../../../../src/key-ring/authority-stages.ts'
import { SharedAuthorities } from '../../../../src/key-ring/shared-authorities.ts'
import { authoritiesKey } from '../../../../src/key-ring/stored-authorities.ts'
import { putMemberKey, writeKeys } from '../../../../src/key-ring/stored-keys.ts'
import { readCertificate } from '../../../../src/pki/certificate.ts'
import { generateKeyPair } from '../../../../src/pki/keys.ts'
import type { KeyPair } from '../../../../src/pki/keys.ts'
import { readTrustBundle } from '../../../../src/pki/trust-bundle.ts'
import { nextAuthorityLevel } from '../../../../src/store/machine/feature-level.ts'
import { featureLevelMax } from '../../../../src/version.ts'

const deadlineMs = 1e12
const dayMs = 86_400_000

type Member = { readonly ring: AuthorityRing; readonly shared: SharedAuthorities }

class Cluster {
  readonly #memory: MemoryStore
  readonly #t: TestContext
  readonly #members: Member[] = []
  readonly errors: unknown[] = []
  aheadMs = 0

  constructor(memory: MemoryStore, t: TestContext) {
    this.#memory = memory
    this.#t = t
  }

  static async open(t: TestContext, featureLevel = featureLevelMax): Promise<Cluster> {
    const memory = await openMemoryStore()
    t.after(memory.close)
    const { store } = memory
    const identity = { clusterId: 'c', apiDomain: 'orch.io', continueTokenKey: Buffer.alloc(32) } as const
    const founded = { identity: { ...identity, keyFingerprints: {} }, settings: store.settings }
    const level = { operations: [], featureLevel }
    await store.write({ kind: 'bootstrap', ...founded, ...level }, deadlineMs)
    return new Cluster(memory, t)
  }

  get stored(): string {
    const stored = this.#memory.store.view().get(authoritiesKey)
    return stored === null ? '' : Buffer.from(stored.bytes).toString()
  }

  /** Publishes the key of a member and starts to follow the authorities. */
  async member(id: number, memberKey: KeyPair = generateKeyPair()): Promise<Member> {
    const { store } = this.#memory
    const published = store.view().get(putMemberKey(String(id), memberKey.publicKey, null).key)
    const put = putMemberKey(String(id), memberKey.publicKey, published?.revision ?? null)
    assert.ok(await writeKeys(store, [put], deadlineMs))
    const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + this.aheadMs }
    const parts = { store, clock, member: String(id) }
    const log = { error: (...line: readonly unknown[]) => void this.errors.push(line) }
    const shared = new SharedAuthorities({ ...parts, memberKey, log })
    const configuration = () => ({ ...emptyConfiguration, voters: [1, 2].map(nodeId) })
    const ring = new AuthorityRing({ ...parts, random: new SeededRandom(id), shared, configuration })
    shared.start()
    this.#t.after(() => shared.close())
    const member = { ring, shared }
    this.#members.push(member)
    await this.settled()
    return member
  }

  async settled(): Promise<void> {
    for (const { shared } of this.#members) await shared.untilCurrent()
  }

  async maintained({ ring }: Member): Promise<void> {
    for (let step = 0; step < 10; step++) if (await ring.maintain()) return this.settled()
    assert.fail('there is always more to do')
  }
}

const signerOf = ({ shared }: Member): string | null => shared.signer?.certificate.fingerprint ?? null
const trustedBy = ({ shared }: Member): ReadonlySet<string> =>
  readTrustBundle(shared.certificates).fingerprints

void test('members share one authority, whose key is not stored in clear text', async (t) => {
  const cluster = await Cluster.open(t)
  const [one, two] = [await cluster.member(1), await cluster.member(2)]
  assert.equal(one.shared.certificates, '')
  await cluster.maintained(one)
  const id = signerOf(one)
  assert.notEqual(id, null)
  assert.equal(signerOf(two), id)
  assert.deepEqual([...trustedBy(two)], [id])
  const der = one.shared.signer?.privateKey.export({ type: 'pkcs8', format: 'der' }) ?? assert.fail()
  for (const form of ['base64', 'base64url', 'hex'] as const) {
    // The bytes of the private number, wherever in the structure they are.
    assert.equal(cluster.stored.includes(der.subarray(36, 66).toString(form)), false)
  }
  assert.deepEqual(cluster.errors, [])
})

void test('a member that joins later signs with the same authority', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await cluster.maintained(one)
  const two = await cluster.member(2)
  assert.equal(signerOf(two), null)
  assert.equal(trustedBy(two).size, 1)
  await cluster.maintained(one)
  assert.equal(signerOf(two), signerOf(one))
})

void test('a leader without the key adds an authority, and certificates of the earlier one stay valid', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await cluster.maintained(one)
  const first = signerOf(one) ?? assert.fail()
  const two = await cluster.member(2)
  await cluster.maintained(two)
  const second = signerOf(two) ?? assert.fail()
  assert.notEqual(second, first)
  assert.equal(signerOf(one), second)
  assert.deepEqual([...trustedBy(one)], [first, second])
})

void test('an authority is replaced long before it expires', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await cluster.maintained(one)
  const first = signerOf(one) ?? assert.fail()
  cluster.aheadMs = 2540 * dayMs
  await cluster.maintained(one)
  assert.equal(signerOf(one), first)
  cluster.aheadMs = 2560 * dayMs
  await cluster.maintained(one)
  const second = signerOf(one) ?? assert.fail()
  assert.notEqual(second, first)
  assert.ok(trustedBy(one).has(first))
})

void test('no clock of a leader ends the trust in an authority, but a sixteenth later one does', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await cluster.maintained(one)
  const made = [signerOf(one) ?? assert.fail()]
  // Certificates of the authority in force are valid again once the clock is set right.
  cluster.aheadMs = 5000 * dayMs
  await cluster.maintained(one)
  made.push(signerOf(one) ?? assert.fail())
  assert.deepEqual([...trustedBy(one)], made)
  while (made.length < 18) {
    cluster.aheadMs += 5000 * dayMs
    await cluster.maintained(one)
    made.push(signerOf(one) ?? assert.fail())
  }
  assert.equal(new Set(made).size, 18)
  assert.deepEqual([...trustedBy(one)], made.slice(-16))
})

void test('an authority of a leader whose clock was years ahead is replaced by one that is valid now', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  cluster.aheadMs = 1000 * dayMs
  await cluster.maintained(one)
  const first = signerOf(one) ?? assert.fail()
  cluster.aheadMs = 0
  await cluster.maintained(one)
  const { certificate } = one.shared.signer ?? assert.fail()
  assert.ok(certificate.notBeforeMs <= systemClock.wallMs(), 'what it signs is accepted')
  assert.deepEqual([...trustedBy(one)], [first, certificate.fingerprint])
})

void test('an authority is replaced in three steps, and its certificates are trusted until the last one', async (t) => {
  const cluster = await Cluster.open(t)
  const [one, two] = [await cluster.member(1), await cluster.member(2)]
  await assert.rejects(one.ring.rotate('announce', deadlineMs), { code: 'no-keys' })
  await cluster.maintained(one)
  const first = signerOf(one) ?? assert.fail()
  for (const step of ['promote', 'finish'] as const) {
    await assert.rejects(two.ring.rotate(step, deadlineMs), { code: 'wrong-phase' })
  }
  assert.equal(phaseOf(await two.ring.rotate('announce', deadlineMs)), 'announced')
  await cluster.maintained(one)
  const [, next] = [...trustedBy(two)]
  for (const member of [one, two]) {
    assert.deepEqual([...trustedBy(member)], [first, next])
    assert.equal(signerOf(member), first, 'the next authority does not sign yet')
    assert.equal(readCertificate(member.shared.signingCertificate).fingerprint, first)
  }
  for (const step of ['announce', 'finish'] as const) {
    await assert.rejects(two.ring.rotate(step, deadlineMs), { code: 'wrong-phase' })
  }
  assert.equal(phaseOf(await two.ring.rotate('promote', deadlineMs)), 'issuing')
  await cluster.maintained(one)
  for (const member of [one, two]) {
    assert.deepEqual([...trustedBy(member)], [first, next])
    assert.equal(signerOf(member), next)
  }
  for (const step of ['announce', 'promote'] as const) {
    await assert.rejects(one.ring.rotate(step, deadlineMs), { code: 'wrong-phase' })
  }
  assert.equal(phaseOf(await one.ring.rotate('finish', deadlineMs)), 'steady')
  await cluster.maintained(one)
  for (const member of [one, two]) {
    assert.deepEqual([...trustedBy(member)], [next])
    assert.equal(signerOf(member), next)
  }
  assert.equal(phaseOf(await one.ring.read(deadlineMs)), 'steady')
  assert.equal(phaseOf(await one.ring.rotate('announce', deadlineMs)), 'announced', 'and again')
  assert.deepEqual(cluster.errors, [])
})

void test('a member that joins during a rotation signs with the next authority, too', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await cluster.maintained(one)
  await one.ring.rotate('announce', deadlineMs)
  const two = await cluster.member(2)
  await cluster.maintained(one)
  assert.equal(signerOf(two), signerOf(one))
  await two.ring.rotate('promote', deadlineMs)
  await cluster.settled()
  assert.notEqual(signerOf(two), null)
  assert.equal(signerOf(two), signerOf(one))
})

void test('a leader that cannot open the next authority withdraws it, and the current one goes on', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await cluster.maintained(one)
  const first = signerOf(one) ?? assert.fail()
  await one.ring.rotate('announce', deadlineMs)
  const two = await cluster.member(2)
  // The leader changes between two steps: after the current one was sealed for the new member.
  assert.equal(await one.ring.maintain(), false)
  await cluster.settled()
  assert.deepEqual([signerOf(two), trustedBy(two).size], [first, 2])
  await cluster.maintained(two)
  assert.deepEqual([...trustedBy(one)], [first])
  assert.equal(signerOf(two), first)
  assert.equal(phaseOf(await one.ring.read(deadlineMs)), 'steady')
})

void test('a leader whose authority cannot be used any longer signs with the next one', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await cluster.maintained(one)
  const first = signerOf(one) ?? assert.fail()
  cluster.aheadMs = 2540 * dayMs
  await one.ring.rotate('announce', deadlineMs)
  cluster.aheadMs = 2560 * dayMs
  await cluster.maintained(one)
  const [, next] = [...trustedBy(one)]
  assert.deepEqual([...trustedBy(one)], [first, next])
  assert.equal(signerOf(one), next)
  assert.equal(phaseOf(await one.ring.rotate('finish', deadlineMs)), 'steady')
})

void test('a leader that can open neither authority creates one, and does not trust the next one', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await cluster.maintained(one)
  const first = signerOf(one) ?? assert.fail()
  await one.ring.rotate('announce', deadlineMs)
  // As after a restored backup: the key of the member is another one.
  const two = await cluster.member(2)
  await cluster.maintained(two)
  const created = signerOf(two) ?? assert.fail()
  assert.deepEqual([...trustedBy(two)], [first, created])
  assert.equal(phaseOf(await two.ring.read(deadlineMs)), 'steady')
})

void test('a step that two operators take at once, while the leader seals a key, is taken once', async (t) => {
  const cluster = await Cluster.open(t)
  const one = await cluster.member(1)
  await cluster.maintained(one)
  const first = signerOf(one) ?? assert.fail()
  const two = await cluster.member(2)
  for (const [step, trusted] of [
    ['announce', 2],
    ['promote', 2],
    ['finish', 1],
  ] as const) {
    const taken = await Promise.allSettled([
      one.ring.rotate(step, deadlineMs),
      one.ring.maintain(),
      two.ring.rotate(step, deadlineMs),
    ])
    await cluster.maintained(one)
    const results = [taken[0], taken[2]].map(({ status }) => status).sort()
    assert.deepEqual(results, ['fulfilled', 'rejected'], step)
    for (const member of [one, two]) assert.equal(trustedBy(member).size, trusted, step)
  }
  assert.notEqual(signerOf(one), first)
  assert.equal(signerOf(two), signerOf(one))
})

void test('the next authority is not announced while a member may not know that it does not sign yet', async (t) => {
  const cluster = await Cluster.open(t, nextAuthorityLevel - 1)
  const one = await cluster.member(1)
  await cluster.maintained(one)
  await assert.rejects(one.ring.rotate('announce', deadlineMs), { code: 'feature-level' })
  assert.equal(trustedBy(one).size, 1)
})
