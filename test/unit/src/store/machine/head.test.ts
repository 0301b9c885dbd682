/*
 * Goal: the head of the state (its single values) is decoded as it was encoded, and equal heads
 * have equal bytes.
 * Method: heads encoded and decoded, with a joint configuration and without one.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { emptyConfiguration, logIndex, nodeId, term } from '../../../../../raft/index.ts'
import type { Configuration } from '../../../../../raft/index.ts'
import { decodeStoredHead, encodeStoredHead } from '../../../../../src/store/disk/stored-head.ts'
import { DatabaseError } from '../../../../../src/store/store-errors.ts'
import { hash128, newHash, sameHash } from '../../../../../src/store/machine/hash.ts'
import { decodeHead, encodeHead } from '../../../../../src/store/machine/head.ts'
import type { Head } from '../../../../../src/store/machine/head.ts'
import { revision } from '../../../../../src/store/revision.ts'
import { memberInfo } from '../../../../../fixtures/fake-consensus.ts'
import { identityOf, smallSettings } from '../../../../../fixtures/store-commands.ts'

const joint: Configuration = {
  voters: [nodeId(1), nodeId(2 ** 52)],
  votersOutgoing: [nodeId(1)],
  learners: [nodeId(4)],
  learnersNext: [],
  autoLeave: true,
  members: [memberInfo(1, 'n1'), { ...memberInfo(4, 'n4'), role: 'learner' }],
}

const head: Head = {
  appliedIndex: logIndex(2 ** 45),
  appliedTerm: term(7),
  configuration: joint,
  revision: revision(99),
  trimmed: revision(3),
  identity: identityOf('c'),
  settings: smallSettings,
  featureLevel: 1,
  usedBytes: 0,
  storageAlarm: false,
}

void test('a head decodes to what was encoded', () => {
  assert.deepEqual(decodeHead(encodeHead(head)), head)
  const young: Head = { ...head, identity: null, configuration: emptyConfiguration }
  assert.deepEqual(decodeHead(encodeHead(young)), young)
  const settings = { ...smallSettings, storageBytesMax: 2 ** 40 }
  const level2: Head = { ...head, settings, featureLevel: 2, usedBytes: 2 ** 33, storageAlarm: true }
  assert.deepEqual(decodeHead(encodeHead(level2)), level2)
  assert.deepEqual(decodeHead(encodeHead({ ...level2, storageAlarm: false })).storageAlarm, false)
  for (const storageAlarm of [true, false]) {
    const leased: Head = { ...level2, storageAlarm, settings: { ...settings, leaseReads: 1 } }
    assert.deepEqual(decodeHead(encodeHead(leased)), leased)
    const timed: Head = { ...leased, settings: { ...settings, staleAccessMs: 2 ** 33 } }
    assert.deepEqual(decodeHead(encodeHead(timed)), timed)
  }
})

void test('settings of a newer program are not decoded without their new fields', () => {
  const settings = { ...smallSettings, storageBytesMax: 2 ** 40 }
  const bytes = encodeHead({ ...head, settings, featureLevel: 2 })
  bytes[bytes.length - 1] = 8
  assert.throws(() => decodeHead(bytes), { code: 'unsupported' })
})

void test('heads that differ only in the order of their properties have equal bytes', () => {
  const identity = { ...identityOf('c'), keyFingerprints: { a: 'one', b: 'two' } }
  assert.deepEqual(encodeHead({ ...head, identity }), encodeHead(head))
})

void test('a configuration without added members has its original bytes', () => {
  const bytes = encodeHead(head)
  assert.equal(
    createHash('sha256').update(bytes).digest('hex'),
    '6ca9113ff2ef34ac6c80d4266ba9867a3b062d99b0ac6ad5ed9d5dfda20d6096',
  )
  assert.deepEqual(decodeHead(bytes), head)
})

void test('details of added members are part of the head', () => {
  const [first, second] = joint.members
  assert.ok(first && second)
  const added = { ...second, replaces: nodeId(1), addedMs: 1_790_000_000_000 }
  for (const members of [
    [first, added],
    [first, { ...added, replaces: null }],
    [first, { ...added, addedMs: 0 }],
  ]) {
    const young: Head = { ...head, configuration: { ...joint, members } }
    assert.deepEqual(decodeHead(encodeHead(young)), young)
    assert.notDeepEqual(encodeHead(young), encodeHead(head))
    const simple: Head = { ...head, configuration: { ...joint, autoLeave: false, members } }
    assert.deepEqual(decodeHead(encodeHead(simple)), simple)
  }
})

void test('a head of another format is distinguished from a damaged one', () => {
  const bytes = encodeHead(head)
  bytes[0] = 3
  assert.throws(() => decodeHead(bytes), { code: 'unsupported' })
  assert.throws(() => decodeHead(encodeHead(head).subarray(0, 30)), { code: 'damaged' })
})

void test('a stored head has a hash and carries the digest', () => {
  const digest = hash128(Uint8Array.of(1), 0, newHash())
  const stored = encodeStoredHead(encodeHead(head), digest)
  const read = decodeStoredHead(stored)
  assert.deepEqual(read.head, head)
  assert.ok(sameHash(read.digest, digest))
  for (let at = 0; at < stored.byteLength; at++) {
    const damaged = Uint8Array.from(stored)
    damaged[at] = (damaged[at] ?? 0) ^ 4
    assert.throws(() => decodeStoredHead(damaged), DatabaseError)
  }
})
