/*
 * Goal: a data key is used for as long as its key management service vouches for it, and a little
 * longer; then writes are refused until the service is healthy again. Reads are not affected.
 * Method: the shipped key on a manual clock, and a service whose behavior changes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KmsService } from '../../../../src/encryption/kms-client.ts'
import { KmsKey } from '../../../../src/encryption/kms-key.ts'
import { KmsError } from '../../../../src/encryption/kms-messages.ts'
import type { Sealing } from '../../../../src/encryption/sealing-key.ts'
import { freshRandom } from '../../../../fixtures/system.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const minuteMs = 60_000

class Service implements KmsService {
  keyId = 'key-1'
  /** The key id in responses to Encrypt; null: that of Status. */
  encryptKeyId: string | null = null
  failing: ReadonlySet<string> = new Set()
  readonly calls: string[] = []

  async status() {
    this.#call('Status')
    return { version: 'v2', healthz: 'ok', keyId: this.keyId }
  }

  async encrypt(plaintext: Uint8Array) {
    this.#call('Encrypt')
    const keyId = this.encryptKeyId ?? this.keyId
    return { ciphertext: plaintext, keyId, annotations: new Map<string, Uint8Array>() }
  }

  async decrypt({ ciphertext }: { readonly ciphertext: Uint8Array }) {
    this.#call('Decrypt')
    return ciphertext
  }

  close(): void {
    this.calls.push('close')
  }

  #call(method: string): void {
    this.calls.push(method)
    if (this.failing.has(method)) throw new KmsError('unavailable', `${method} failed`)
  }
}

function started() {
  const clock = new ManualClock()
  const service = new Service()
  const key = new KmsKey({ name: 'vault', service, clock, random: freshRandom(), onHealth: () => undefined })
  key.start()
  const sealing = async (): Promise<Sealing> => key.sealing(clock.monotonicMs() + minuteMs)
  return { clock, service, key, sealing }
}

void test('while the service fails, its data key encrypts for three minutes and no longer', async () => {
  const { clock, service, key, sealing } = started()
  await clock.advance(1)
  const first = await sealing()
  service.failing = new Set(['Status', 'Encrypt', 'Decrypt'])
  await clock.advance(2.5 * minuteMs)
  assert.equal(await sealing(), first)
  await clock.advance(minuteMs)
  await assert.rejects(sealing(), (cause: Error) => {
    assert.match(cause.message, /the kms key "vault" cannot encrypt: Status failed/)
    assert.match(
      cause.message,
      /its data key expired, as the service was last healthy with its key_id 210 seconds ago/,
    )
    return true
  })
  assert.ok(key.cipherIfKnown(first.wrapped) !== null, 'objects stay readable')
  service.failing = new Set()
  await clock.advance(10_000)
  assert.equal(await sealing(), first, 'the service vouches for the key again')
  key.close()
  assert.equal(clock.pending, 0)
})

void test('a service that is not healthy encrypts no new data key, although it could', async () => {
  const { clock, service, key, sealing } = started()
  service.failing = new Set(['Status'])
  await clock.advance(10_000)
  await assert.rejects(sealing(), /cannot encrypt: Status failed/)
  assert.ok(!service.calls.includes('Encrypt'))
  service.failing = new Set()
  await sealing()
  key.close()
})

void test('after a change of the key id the earlier data key encrypts for three minutes if there is no new one', async () => {
  const { clock, service, key, sealing } = started()
  await clock.advance(1)
  const first = await sealing()
  service.keyId = 'key-2'
  service.failing = new Set(['Encrypt'])
  await clock.advance(2.5 * minuteMs)
  assert.equal(await sealing(), first)
  assert.match(key.unhealthy ?? '', /Encrypt failed/)
  await clock.advance(minuteMs)
  await assert.rejects(sealing(), /cannot encrypt: Encrypt failed/)
  service.failing = new Set()
  const second = await sealing()
  assert.notEqual(second, first)
  assert.deepEqual([key.isCurrent(first.wrapped), key.isCurrent(second.wrapped)], [false, true])
  assert.equal(key.unhealthy, null)
  key.close()
})

void test('an Encrypt that uses another key id than Status reports is an error, and no endless rotation', async () => {
  const { clock, service, key, sealing } = started()
  await clock.advance(1)
  service.encryptKeyId = 'key-9'
  await assert.rejects(sealing(), /Encrypt used another key_id than Status reports/)
  service.encryptKeyId = null
  await sealing()
  key.close()
})

void test('a key id that changes between Status and Encrypt is used at once', async () => {
  const { clock, service, key, sealing } = started()
  await clock.advance(1)
  service.keyId = 'key-2'
  const { wrapped } = await sealing()
  assert.equal(key.isCurrent(wrapped), true)
  key.close()
})

void test('the service is unhealthy by its status, not by one data key that it cannot open', async () => {
  const { clock, service, key } = started()
  await clock.advance(1)
  assert.equal(key.unhealthy, null)
  service.failing = new Set(['Decrypt'])
  const opening = key.prepare(Uint8Array.from([10, 1, 1, 18, 1, 75]))
  await clock.advance(1000)
  await opening
  assert.match(key.failure ?? '', /Decrypt failed/)
  assert.equal(key.unhealthy, null)
  service.failing = new Set(['Status'])
  await clock.advance(10_000)
  assert.match(key.unhealthy ?? '', /Status failed/)
  assert.equal(key.healthyAgeMs, 11_001)
  key.close()
})
