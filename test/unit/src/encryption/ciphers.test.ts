/*
 * Goal: each cipher of encryption at rest detects changed and exchanged texts, and secretbox is
 * compatible with other libraries.
 * Method: a known vector, every flipped byte, other contexts and keys.
 */
import assert from 'node:assert/strict'
import { createDecipheriv, hkdfSync } from 'node:crypto'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { AesCbcCipher } from '../../../../src/encryption/aes-cbc-cipher.ts'
import { AesGcmCipher } from '../../../../src/encryption/aes-gcm-cipher.ts'
import { SecretboxCipher } from '../../../../src/encryption/secretbox-cipher.ts'
import { xsalsa20poly1305 } from '@noble/ciphers/salsa'

const random = new SeededRandom(5)
const secret = random.bytes(32)
const other = random.bytes(32)
const ciphers = {
  aesgcm: (key: Uint8Array) => new AesGcmCipher(key, random),
  aescbc: (key: Uint8Array) => new AesCbcCipher(key, random),
  secretbox: (key: Uint8Array) => new SecretboxCipher(key, random),
}
const context = Buffer.from('of this object')

for (const [name, make] of Object.entries(ciphers)) {
  void test(`${name} returns what it encrypted, of any length`, () => {
    const cipher = make(secret)
    for (const length of [0, 1, 15, 16, 17, 4096]) {
      const plain = random.bytes(length)
      const sealed = cipher.seal(plain, context)
      assert.deepEqual(Buffer.from(cipher.open(sealed, context) ?? 'none'), Buffer.from(plain))
      assert.ok(length < 16 || !Buffer.from(sealed).includes(Buffer.from(plain)), 'it is not in plain text')
    }
  })

  void test(`${name} detects every changed byte, and every truncation`, () => {
    const cipher = make(secret)
    const sealed = cipher.seal(Buffer.from('a password'), context)
    for (let at = 0; at < sealed.byteLength; at++) {
      const changed = Uint8Array.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      assert.equal(cipher.open(changed, context), null, `byte ${at} was changed`)
      assert.equal(cipher.open(sealed.subarray(0, at), context), null, `${at} bytes are left`)
    }
  })

  void test(`${name} opens nothing of another object, and nothing of another key`, () => {
    const sealed = make(secret).seal(Buffer.from('a password'), context)
    assert.equal(make(secret).open(sealed, Buffer.from('of that object')), null)
    assert.equal(make(other).open(sealed, context), null)
  })

  void test(`${name} encrypts equal texts differently`, () => {
    const cipher = make(secret)
    assert.notDeepEqual(cipher.seal(context, context), cipher.seal(context, context))
  })
}

void test('the library of secretbox passes the vector of NaCl', () => {
  const key = Buffer.from('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389', 'hex')
  const nonce = Buffer.from('69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37', 'hex')
  const plain =
    'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705'
  const sealed =
    'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5'
  const found = xsalsa20poly1305(key, nonce).encrypt(Buffer.from(plain, 'hex'))
  assert.equal(Buffer.from(found).toString('hex'), sealed)
})

void test('aesgcm has the documented format: another program can decrypt it', () => {
  const sealed = new AesGcmCipher(secret, random).seal(Buffer.from('a password'), context)
  const purpose = 'orch encryption at rest aesgcm v1'
  const derived = Buffer.from(hkdfSync('sha256', secret, sealed.subarray(0, 32), purpose, 44))
  const decipher = createDecipheriv('aes-256-gcm', derived.subarray(0, 32), derived.subarray(32))
  decipher.setAAD(context)
  decipher.setAuthTag(sealed.subarray(-16))
  const plain = Buffer.concat([decipher.update(sealed.subarray(32, -16)), decipher.final()])
  assert.equal(plain.toString(), 'a password')
})
