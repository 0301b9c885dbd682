/*
 * Goal: only a recipient opens what is sealed, and only in the context of the sealing. Method: real
 * keys.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSealedFor, seal, sealedOf, unseal } from '../../../../src/key-ring/sealing.ts'
import type { Sealed } from '../../../../src/key-ring/sealing.ts'
import { generateKeyPair } from '../../../../src/pki/keys.ts'

const [one, two, other] = [generateKeyPair(), generateKeyPair(), generateKeyPair()]
const recipients = [
  { member: '1', publicKey: one.publicKey },
  { member: '2', publicKey: two.publicKey },
]
const secret = Buffer.from('a private key')

const open = async (sealed: Sealed, member: string, { privateKey } = one, context = 'test') => {
  const bytes = await unseal(sealed, { member, privateKey, context })
  return bytes === null ? null : Buffer.from(bytes).toString()
}

void test('each recipient opens what is sealed, with its own key only', async () => {
  for (const count of [1, 2]) {
    const sealed = await seal(secret, recipients.slice(0, count), 'test')
    assert.equal(JSON.stringify(sealed).includes(secret.toString('base64url')), false)
    assert.equal(await open(sealed, '1'), 'a private key')
    assert.equal(await open(sealed, '2', two), count === 2 ? 'a private key' : null)
    assert.equal(await open(sealed, '1', other), null)
    assert.equal(await open(sealed, '3', other), null)
  }
})

void test('what is sealed cannot be opened in another context, nor when its ciphertext has changed', async () => {
  const sealed = await seal(secret, recipients, 'test')
  assert.equal(await open(sealed, '1', one, 'other'), null)
  const { jwe } = sealed
  const aad = Buffer.from('test').toString('base64url')
  const renamed = { ...sealed, jwe: jwe.replace(aad, Buffer.from('evil').toString('base64url')) }
  assert.equal(await open(renamed, '1', one, 'evil'), null)
  const parsed = JSON.parse(jwe) as { ciphertext: string }
  const flipped = parsed.ciphertext.startsWith('A') ? 'B' : 'A'
  const changed = { ...parsed, ciphertext: flipped + parsed.ciphertext.slice(1) }
  assert.equal(await open({ ...sealed, jwe: JSON.stringify(changed) }, '1'), null)
})

void test('a secret counts as sealed for exactly its recipients with exactly their keys', async () => {
  const sealed = await seal(secret, recipients, 'test')
  assert.equal(isSealedFor(sealed, recipients), true)
  assert.equal(isSealedFor(sealed, recipients.slice(1)), false)
  assert.equal(isSealedFor(sealed, [...recipients, { member: '3', publicKey: other.publicKey }]), false)
  const [, second] = recipients
  assert.ok(second)
  assert.equal(isSealedFor(sealed, [{ member: '1', publicKey: other.publicKey }, second]), false)
})

void test('the stored form is parsed, and anything else refused', async () => {
  const sealed = await seal(secret, recipients, 'test')
  assert.deepEqual(sealedOf({ ...sealed, recipients: { ...sealed.recipients } }), sealed)
  for (const wrong of [null, 'x', {}, { jwe: 1, recipients: {} }, { jwe: 'x' }]) {
    assert.equal(sealedOf(wrong), null)
  }
})
