/*
 * Goal: a configuration of webhooks is in force on every member within a second of its acceptance,
 * also on one that is behind and does not know it.
 * Method: the verbs in memory with a recording HTTPS server; a store whose read barrier applies
 * what another member has stored. Time advances only by the test.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Freshness } from '../../../../../src/admission/webhooks/freshness.ts'
import { encode } from '../../../../../src/registry/kinds/encode.ts'
import { keyOf } from '../../../../../src/store/key.ts'
import type { ObjectStore } from '../../../../../src/store/object-store.ts'
import { deny } from '../../../../support/fixtures/webhook-answers.ts'
import { refused } from '../../registry/fixture.ts'
import { LaggingStore } from '../../registry/lagging-store.ts'
import { WebhookKit } from './webhook-kit.ts'

/** The store of a member that applies the writes of other members only during a barrier. */
class BehindStore extends LaggingStore {
  /** Makes the write that the next barrier applies. */
  arrive: () => Promise<unknown> = () => Promise.resolve()

  override async barrier(deadlineMs: number): Promise<void> {
    const { arrive } = this
    this.arrive = () => Promise.resolve()
    await arrive()
    await super.barrier(deadlineMs)
  }
}

void test('spec 4.6.3: a configuration is in force on every member within a second of its acceptance', async (t) => {
  let provenMs = 0
  let behind: BehindStore | null = null
  const kit: WebhookKit = await WebhookKit.open(t, {
    answer: (call) => deny(call),
    proofAgeMs: (): number => kit.api.clock.monotonicMs() - provenMs,
    wrap: (store: ObjectStore) => (behind = new BehindStore(store)),
  })
  const { api } = kit
  const store = (behind as BehindStore | null) ?? assert.fail('the store is wrapped')
  provenMs = api.clock.monotonicMs()
  // Accepted by another member right after the last proof.
  store.arrive = () =>
    api.store.write(
      { kind: 'write', operations: [{ kind: 'put', ...stored(kit) }] },
      api.clock.monotonicMs() + 1000,
    )
  api.clock.advance(1000)
  await api.configMap('within-a-second')
  assert.deepEqual([store.barriers, kit.server.calls.length], [0, 0])
  api.clock.advance(1)
  const { message } = await refused(api.configMap('later'))
  assert.match(message, /"behind\.example\.com" denied the request/)
  assert.ok(store.barriers > 0)
})

void test('the read barrier of a write is a proof for those that follow within a second', async () => {
  let nowMs = 5000
  let barriers = 0
  let asOfMs: number | null = null
  const freshness = new Freshness({
    clock: { monotonicMs: () => nowMs },
    source: { takeIn: () => Promise.resolve() },
    store: {
      barrier: () => {
        barriers++
        asOfMs = nowMs
        return Promise.resolve()
      },
      reads: {
        get freshness() {
          return asOfMs === null ? null : { asOfMs, confirmedMs: asOfMs }
        },
      },
    },
  })
  const request = { context: { request: { deadlineMs: 1e9 } } } as Parameters<Freshness['refresh']>[0]
  const afterMs = async (ms: number): Promise<number> => {
    nowMs += ms
    // A write checks it for its mutating webhooks and again for its validating ones.
    for (let plugin = 0; plugin < 2; plugin++) await freshness.refresh(request)
    return barriers
  }
  assert.deepEqual([await afterMs(0), await afterMs(500), await afterMs(500)], [1, 1, 1])
  assert.deepEqual([await afterMs(1), await afterMs(1000)], [2, 2])
})

function stored(kit: WebhookKit) {
  const group = 'admissionregistration.orch.io'
  const object = {
    kind: 'ValidatingWebhookConfiguration',
    apiVersion: `${group}/v1`,
    metadata: { name: 'behind', uid: 'u' },
    webhooks: [kit.webhook('behind.example.com')],
  }
  const key = keyOf({ group, plural: 'validatingwebhookconfigurations', namespace: '', name: 'behind' })
  return { key, conditions: [], object: encode(object) }
}

void test('spec 4.6.3: a member uses a configuration in the turn after it has applied the entry, without a timer', async (t) => {
  const kit = await WebhookKit.open(t, { answer: (call) => deny(call) })
  const { api } = kit
  const kind = 'ValidatingWebhookConfiguration'
  const body = { metadata: { name: 'now' }, webhooks: [kit.webhook('now.example.com')] }
  await api.create({ kind, body })
  await turn()
  assert.match((await refused(api.configMap('a'))).message, /"now\.example\.com" denied the request/)
  await api.delete({ kind, name: 'now' })
  await turn()
  await api.configMap('a')
  assert.equal(kit.server.calls.length, 1)
})
