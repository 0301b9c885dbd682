/*
 * Goal: a member that cannot decrypt a configuration of webhooks accepts no write that the webhooks
 * may have to decide.
 * Method: the verbs in memory on the store that encrypts; another member writes with a later key.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { EncryptedStore } from '../../../../../src/encryption/encrypted-store.ts'
import { encode, parseStored } from '../../../../../src/registry/kinds/encode.ts'
import { keyOf } from '../../../../../src/store/key.ts'
import type { ObjectStore } from '../../../../../src/store/object-store.ts'
import { keysOf, providerOf } from '../../../../support/fixtures/encrypted-server.ts'
import { deny } from '../../../../support/fixtures/webhook-answers.ts'
import { refused } from '../../registry/fixture.ts'
import { WebhookKit } from './webhook-kit.ts'

const [one, two] = [providerOf('one', 1), providerOf('two', 2)]
const group = namesOf('orch.io').group('admissionregistration')

for (const type of ['mutating', 'validating'] as const) {
  void test(`a write is refused while a ${type} webhook configuration cannot be decrypted`, async (t) => {
    const plural = `${type}webhookconfigurations`
    const both = keysOf(`${plural}.${group}`, two, one)
    const stores: { readonly own: EncryptedStore; readonly other: EncryptedStore }[] = []
    const wrap = (store: ObjectStore): ObjectStore => {
      const made = (): EncryptedStore =>
        new EncryptedStore(store, { cacheBytesMax: 0, onSealed: () => undefined })
      const [own, other] = [made(), made()]
      own.use(keysOf(`${plural}.${group}`, one))
      other.use(both)
      stores.push({ own, other })
      return own
    }
    const kit = await WebhookKit.open(t, { wrap })
    const { api } = kit
    kit.answer = (call) => deny(call, { message: 'the policy forbids it' })
    await kit.configure(type, 'policy', [kit.webhook('policy.example.com')])
    assert.match((await refused(api.configMap('a'))).message, /the policy forbids it$/)
    const [{ own, other }] = stores as [(typeof stores)[0]]
    const key = keyOf({ group, plural, namespace: '', name: 'policy' })
    const object = encode(parseStored(own.view().get(key) ?? assert.fail('it is stored')))
    const put = { kind: 'put', key, conditions: [], object } as const
    await other.write({ kind: 'write', operations: [put] }, api.clock.monotonicMs() + 5000)
    await kit.source.takeIn()
    const seen = await refused(api.configMap('a'))
    assert.equal(seen.code, 503)
    assert.match(seen.message, new RegExp(`some of the ${plural} cannot be decrypted`))
    const lease = { metadata: { name: 'l', namespace: 'system-ns' } }
    assert.equal((await api.create({ kind: 'Lease', namespace: 'system-ns', body: lease })).code, 201)
    own.use(both)
    api.clock.advance(2000)
    assert.match((await refused(api.configMap('a'))).message, /the policy forbids it$/)
  })
}
