/*
 * Goal: a key signs only once every member can verify with it, every state leads to a usable key,
 * and rotation never removes a key that tokens in use need. Method: pure decisions.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateSigningKey, signingKeyOf } from '../../../../src/auth/service-accounts/token-keys.ts'
import { limits } from '../../../../src/config/limits.ts'
import { fingerprint } from '../../../../src/key-ring/sealing.ts'
import type { Recipient } from '../../../../src/key-ring/sealing.ts'
import { hasPlace, keyWork, signingKeysFields } from '../../../../src/key-ring/signing-keys.ts'
import { signingKeysOf, signingOrder, useOf, withKey } from '../../../../src/key-ring/signing-keys.ts'
import { withSealed, withoutKey, withoutOldPrivateKeys } from '../../../../src/key-ring/signing-keys.ts'
import type { SharedKey, SigningKeys } from '../../../../src/key-ring/signing-keys.ts'
import { generateKeyPair } from '../../../../src/pki/keys.ts'
import type { KeyPair } from '../../../../src/pki/keys.ts'

const dayMs = 24 * 60 * 60 * 1000
const members: readonly Recipient[] = ['1', '2'].map((member) => ({
  member,
  publicKey: generateKeyPair().publicKey,
}))

function sealedFor(recipients: readonly Recipient[]) {
  return {
    recipients: Object.fromEntries(
      recipients.map(({ member, publicKey }) => [member, fingerprint(publicKey)]),
    ),
    jwe: 'x',
  }
}

function key(id: string, createdMs: number, more: Partial<SharedKey> = {}): SharedKey {
  return { id, publicKey: 'PEM', createdMs, signsFromMs: createdMs, sealed: sealedFor(members), ...more }
}

function keys(...all: readonly SharedKey[]): SigningKeys {
  return { rotationMs: 90 * dayMs, keys: all }
}

const workOf = (all: SigningKeys | null, nowMs: number, opened: readonly string[] = ['a', 'b']) =>
  keyWork(all, { recipients: members, canOpen: (id) => opened.includes(id), nowMs })

const order = (all: SigningKeys, nowMs: number) => signingOrder(all, nowMs).map(({ id }) => id)

void test('a new key signs once it is published, the previous key until then', () => {
  const all = keys(key('a', 0), key('b', 1000, { signsFromMs: 11_000 }))
  assert.deepEqual(order(all, 10_999), ['a', 'b'])
  assert.deepEqual(order(all, 11_000), ['b', 'a'])
  const uses = (nowMs: number) => all.keys.map((one) => useOf(one, all, nowMs))
  assert.deepEqual(uses(10_999), ['signing', 'next'])
  assert.deepEqual(uses(11_000), ['verifying', 'signing'])
})

void test('a key that was created in the future, by a wrong clock, signs if there is no other', () => {
  assert.deepEqual(order(keys(key('a', 5000)), 0), ['a'])
  assert.deepEqual(order(keys(key('a', 0, { sealed: null }), key('b', 5000), key('c', 9000)), 0), ['b', 'c'])
})

void test('the leader creates the first key, seals it for new members, and replaces one that it cannot open', () => {
  assert.equal(workOf(null, 0), 'create')
  assert.equal(workOf(keys(), 0), 'create')
  assert.equal(workOf(keys(key('a', 0)), 0), null)
  const forOne = keys(key('a', 0, { sealed: sealedFor(members.slice(1)) }))
  assert.equal(workOf(forOne, 0), 'seal')
  assert.equal(workOf(forOne, 0, []), 'rotate')
  assert.equal(workOf(keys(key('a', 0, { sealed: null })), 0), 'rotate')
  const [one] = members
  assert.ok(one)
  const known = { recipients: [one], canOpen: () => true, nowMs: 0 }
  assert.equal(keyWork(keys(key('a', 0)), known), 'seal', 'the other member is gone')
})

void test('a key is replaced at the age of the rotation, or never', () => {
  const all = keys(key('a', 1000))
  assert.equal(workOf(all, 1000 + 90 * dayMs - 1), null)
  assert.equal(workOf(all, 1000 + 90 * dayMs), 'rotate')
  assert.equal(workOf({ ...all, rotationMs: 0 }, 1e15), null)
})

void test('private keys that sign no longer are dropped, but not before all clocks agree on it', () => {
  const all = keys(key('a', 0), key('b', 1000, { signsFromMs: 11_000 }))
  const agreedMs = 11_000 + limits.tokenClockSkewMs
  assert.equal(workOf(all, agreedMs - 1), null)
  assert.equal(workOf(all, agreedMs), 'drop-private-keys')
  const dropped = withoutOldPrivateKeys(all, agreedMs)
  assert.deepEqual(
    dropped.keys.map(({ sealed }) => sealed !== null),
    [false, true],
  )
  assert.equal(workOf(dropped, agreedMs), null)
})

void test('a key that was replaced within a year is never removed for a new one', () => {
  const max = limits.sharedSigningKeysMax
  const full = keys(...Array.from({ length: max }, (_, at) => key(String(at), at * dayMs)))
  const lastMs = (max - 1) * dayMs
  assert.equal(hasPlace(full, lastMs), false)
  assert.equal(workOf({ ...full, rotationMs: dayMs }, lastMs + dayMs + 1e6), 'drop-private-keys')
  const yearLaterMs = dayMs + 366 * dayMs
  assert.equal(hasPlace(full, yearLaterMs - 1), false)
  assert.equal(hasPlace(full, yearLaterMs), true)
  const next = withKey(full, key('new', yearLaterMs))
  assert.deepEqual([next.keys.length, next.keys[0]?.id, next.keys.at(-1)?.id], [max, '1', 'new'])
  assert.equal(hasPlace(keys(...full.keys.slice(1)), lastMs), true)
})

void test('keys are added, sealed again and removed without a change of the others', () => {
  const first = withKey(null, key('a', 0))
  assert.equal(first.rotationMs, 90 * dayMs)
  const both = withKey({ ...first, rotationMs: dayMs }, key('b', 1))
  assert.equal(both.rotationMs, dayMs)
  const sealed = withSealed(both, 'b', { recipients: {}, jwe: 'new' })
  assert.deepEqual(
    sealed.keys.map((one) => one.sealed?.jwe),
    ['x', 'new'],
  )
  assert.deepEqual(
    withoutKey(both, 'a').keys.map(({ id }) => id),
    ['b'],
  )
})

void test('the stored form is read back, and anything else refused', () => {
  const all = keys(key('a', 0, { sealed: null }), key('b', 1))
  assert.deepEqual(signingKeysOf(signingKeysFields(all)), all)
  const bad = { ...signingKeysFields(all), keys: [{ id: 'a' }] }
  for (const wrong of [undefined, null, {}, { rotationMs: 1, keys: 1 }, bad]) {
    assert.equal(signingKeysOf(wrong), null)
  }
})

void test('the ID of a new key is not an option for a command line', () => {
  const pairs = Array.from({ length: 2_000 }, generateKeyPair)
  const idOf = ({ privateKey }: KeyPair): string => signingKeyOf(privateKey, 'a key').verification.id
  const bad = pairs.find((pair) => idOf(pair).startsWith('-'))
  const good = pairs.find((pair) => !idOf(pair).startsWith('-'))
  assert.ok(bad !== undefined && good !== undefined)
  const drawn = [bad, bad, good]
  const key = generateSigningKey(() => drawn.shift() ?? assert.fail('drawn once too often'))
  assert.equal(key.verification.id, idOf(good))
})
