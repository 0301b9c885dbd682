/*
 * Goal: mutating webhooks run one after another, then validating ones in parallel; each request
 * calls a webhook once, and again only by its reinvocation policy or after a conflict.
 * Method: the verbs in memory with a recording HTTPS server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { Deferred } from '../../../../../base/deferred.ts'
import type { AdmissionPlugin } from '../../../../../src/admission/chain.ts'
import { objectMember, textMember } from '../../../../../src/api/json.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import type { SeenCall } from '../../../../support/fixtures/outward-server.ts'
import { allow, deny, patch, reviewOf } from '../../../../support/fixtures/webhook-answers.ts'
import { until } from '../../../../support/tools/until.ts'
import { refused } from '../../registry/fixture.ts'
import { LaggingStore } from '../../registry/lagging-store.ts'
import { WebhookKit } from './webhook-kit.ts'

/** Returns a webhook whose calls have its own path. */
function named(kit: WebhookKit, name: string, more: JsonObject = {}): JsonObject {
  const webhook = kit.webhook(`${name}.example.com`, more)
  const clientConfig = {
    ...objectMember(webhook, 'clientConfig'),
    url: new URL(`/${name}`, kit.server.url).href,
  }
  return { ...webhook, clientConfig }
}

function pathOf({ path }: SeenCall): string {
  return path.slice(1).replace(/\?.*/, '')
}

function labelsIn(call: SeenCall): JsonObject {
  return objectMember(objectMember(objectMember(reviewOf(call), 'object'), 'metadata'), 'labels')
}

/** Adds a label with the name of the webhook, unless it is there. */
function label(call: SeenCall) {
  const name = pathOf(call)
  const labels = labelsIn(call)
  if (name in labels) return allow(call)
  return patch(call, [{ op: 'add', path: '/metadata/labels', value: { ...labels, [name]: 'x' } }])
}

void test('spec 4.6.3: mutating webhooks run first in order of configurations, each with the object that the previous one returned', async (t) => {
  const kit = await WebhookKit.open(t)
  await kit.configure('validating', 'a', [named(kit, 'v')])
  await kit.configure('mutating', 'c', [named(kit, 'm3')])
  await kit.configure('mutating', 'b', [named(kit, 'm2'), named(kit, 'm1')])
  kit.answer = (call) => (pathOf(call) === 'v' ? allow(call) : label(call))
  await kit.api.configMap('x')
  assert.deepEqual(
    kit.server.calls.map((call) => [pathOf(call), Object.keys(labelsIn(call))]),
    [
      ['m2', []],
      ['m1', ['m2']],
      ['m3', ['m2', 'm1']],
      ['v', ['m2', 'm1', 'm3']],
    ],
  )
})

void test('spec 4.6.3: validating webhooks run in parallel, and any denial fails the request', async (t) => {
  const kit = await WebhookKit.open(t)
  const names = ['v1', 'v2', 'v3']
  await kit.configure(
    'validating',
    'all',
    names.map((name) => named(kit, name)),
  )
  const arrived = new Deferred<null>()
  kit.answer = async (call) => {
    if (kit.server.calls.length === names.length) arrived.resolve(null)
    // Each waits for the others.
    await arrived.promise
    return pathOf(call) === 'v1' ? allow(call) : deny(call, { message: pathOf(call) })
  }
  const { message } = await refused(kit.api.configMap('x'))
  assert.equal(message, 'admission webhook "v2.example.com" denied the request: v2')
  assert.equal(kit.server.calls.length, names.length)
})

void test('spec 4.6: reinvocation IfNeeded calls a webhook again if a later one changed the object, Never does not', async (t) => {
  const kit = await WebhookKit.open(t)
  await kit.configure('mutating', 'all', [
    named(kit, 'never'),
    named(kit, 'needed', { reinvocationPolicy: 'IfNeeded' }),
    named(kit, 'last', { reinvocationPolicy: 'IfNeeded' }),
  ])
  const called = async (name: string): Promise<readonly string[]> => {
    kit.clear()
    await kit.api.configMap(name)
    return kit.server.calls.map(pathOf)
  }
  kit.answer = label
  // `last` changed the object after `needed`, and nothing changed it after `last`.
  assert.deepEqual(await called('a'), ['never', 'needed', 'last', 'needed'])
  kit.answer = (call) => (pathOf(call) === 'last' ? allow(call) : label(call))
  assert.deepEqual(await called('b'), ['never', 'needed', 'last'])
  kit.answer = (call) => allow(call)
  assert.deepEqual(await called('c'), ['never', 'needed', 'last'])
  // Each webhook is called at most twice, however often it changes the object.
  let count = 0
  kit.answer = (call) => patch(call, [{ op: 'add', path: '/data', value: { count: String(++count) } }])
  assert.deepEqual(await called('d'), ['never', 'needed', 'last', 'needed', 'last'])
})

void test('other plugins complete what a mutating webhook added, and webhooks with IfNeeded see that', async (t) => {
  const completing: AdmissionPlugin = {
    name: 'Completing',
    mutate: ({ object }) => {
      if (object === null || object.metadata.labels?.['web'] === undefined) return object
      return {
        ...object,
        metadata: { ...object.metadata, labels: { ...object.metadata.labels, plugin: 'x' } },
      }
    },
  }
  const kit = await WebhookKit.open(t, { plugins: [completing] })
  await kit.configure('mutating', 'all', [named(kit, 'web', { reinvocationPolicy: 'IfNeeded' })])
  kit.answer = label
  const { object } = await kit.api.configMap('a')
  assert.deepEqual(object.metadata.labels, { web: 'x', plugin: 'x' })
  assert.deepEqual(
    kit.server.calls.map((call) => Object.keys(labelsIn(call))),
    [[], ['web', 'plugin']],
  )
})

void test('the webhooks of a request are called once, although a refusal is evaluated again after a read barrier', async (t) => {
  const stores: LaggingStore[] = []
  const kit = await WebhookKit.open(t, {
    wrap: (store) => {
      const lagging = new LaggingStore(store)
      stores.push(lagging)
      return lagging
    },
  })
  const { api } = kit
  await kit.configure('mutating', 'm', [named(kit, 'm')])
  await kit.configure('validating', 'v', [named(kit, 'v')])
  kit.answer = (call) => (pathOf(call) === 'm' ? label(call) : allow(call))
  await api.configMap('a')
  assert.deepEqual(kit.server.calls.map(pathOf), ['m', 'v'])
  assert.equal(stores[0]?.barriers, 0)

  // A refusal is confirmed after a read barrier.
  kit.clear()
  kit.answer = (call) => (pathOf(call) === 'm' ? label(call) : deny(call))
  await refused(api.configMap('b'))
  assert.deepEqual(kit.server.calls.map(pathOf), ['m', 'v'])
  assert.equal(stores[0].barriers, 1)
})

void test('a change by another request during a call makes the webhooks decide about the new object', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  await api.configMap('a', { data: { k: 'v' } })
  await kit.configure('validating', 'v', [named(kit, 'v', { failurePolicy: 'Fail' })])
  const [begun, finish] = [new Deferred<null>(), new Deferred<null>()]
  kit.answer = async (call) => {
    if (kit.server.calls.length === 1) {
      begun.resolve(null)
      await finish.promise
    }
    return allow(call)
  }
  const slow = api.patch({ name: 'a', body: { data: { slow: 'x' } } })
  await begun.promise
  await api.patch({ name: 'a', body: { data: { fast: 'x' } } })
  finish.resolve(null)
  const { object } = await slow
  assert.deepEqual(object['data'], { k: 'v', slow: 'x', fast: 'x' })
  const seen = kit
    .reviews()
    .map((review) => Object.keys(objectMember(objectMember(review, 'object'), 'data')).sort())
  assert.deepEqual(seen, [
    ['k', 'slow'],
    ['fast', 'k'],
    ['fast', 'k', 'slow'],
  ])
})

void test('each object of a deleted collection is a request of its own', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  for (const name of ['a', 'b', 'c']) await api.configMap(name)
  await kit.configure('validating', 'v', [named(kit, 'v')])
  await api.deleteCollection({})
  assert.deepEqual(
    kit
      .reviews()
      .map((review) => `${textMember(review, 'operation')} ${textMember(review, 'name')}`)
      .sort(),
    ['DELETE a', 'DELETE b', 'DELETE c'],
  )
})

void test('spec 4.6.3: a configuration is in force on this member as soon as it has applied it, and so is its deletion', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  const kind = 'ValidatingWebhookConfiguration'
  await kit.configure('validating', 'v', [named(kit, 'v')])
  await api.configMap('a')
  assert.equal(kit.clients.size, 1)
  await api.patch({ kind, name: 'v', body: { webhooks: [named(kit, 'w')] } })
  await until('the change is in force', () => kit.source.all()[0]?.name === 'w.example.com')
  await api.configMap('b')
  await api.delete({ kind, name: 'v' })
  await until('the deletion is in force', () => kit.source.all().length === 0)
  await api.configMap('c')
  assert.deepEqual(kit.server.calls.map(pathOf), ['v', 'w'])
})

void test('connections to a webhook server and the statistics of a webhook are kept while a configuration has them', async (t) => {
  const kit = await WebhookKit.open(t)
  const { api } = kit
  const kind = 'ValidatingWebhookConfiguration'
  await kit.configure('validating', 'a', [named(kit, 'v')])
  await kit.configure('validating', 'b', [named(kit, 'w')])
  await api.configMap('a')
  const allowed = (): number[] =>
    kit.source.all().map((webhook) => kit.statistics.of(webhook).summary(0).allowed)
  assert.deepEqual([kit.clients.size, allowed()], [1, [1, 1]])
  await api.patch({ kind, name: 'a', body: { webhooks: [{ ...named(kit, 'v'), timeoutSeconds: 7 }] } })
  await until('the change is in force', () => kit.source.all()[0]?.timeoutSeconds === 7)
  assert.deepEqual([kit.clients.size, allowed()], [1, [1, 1]])
  await api.delete({ kind, name: 'b' })
  await until('the deletion is in force', () => kit.source.all().length === 1)
  assert.deepEqual([kit.clients.size, allowed()], [1, [1]])
  await api.delete({ kind, name: 'a' })
  await until('the deletion is in force', () => kit.source.all().length === 0)
  assert.equal(kit.clients.size, 0)
  await kit.configure('validating', 'a', [named(kit, 'v')])
  assert.deepEqual(allowed(), [0])
})

void test('each change of a configuration is announced once, with its own webhooks only, whatever others there are', async (t) => {
  const kit = await WebhookKit.open(t)
  const random = new SeededRandom(3)
  const seen: string[][] = []
  kit.source.onChange(({ added, removed }) => {
    seen.push([...removed.map(({ id }) => `-${id}`), ...added.map(({ id }) => `+${id}`)])
  })
  const left = new Set<string>()
  for (let step = 0; step < 60; step++) {
    const name = `c${random.below(30)}`
    const id = `mutating/${name}/w.example.com`
    const wanted = left.has(name) ? [`-${id}`] : [`+${id}`]
    if (left.delete(name)) await kit.api.delete({ kind: 'MutatingWebhookConfiguration', name })
    else {
      left.add(name)
      await kit.configure('mutating', name, [named(kit, 'w')])
    }
    await until('the change is announced', () => seen.length === step + 1)
    assert.deepEqual(seen.at(-1), wanted)
    assert.deepEqual(
      kit.source.mutating().webhooks.map(({ configuration }) => configuration),
      [...left].sort(),
    )
  }
})

void test('a member that cannot prove that it is up to date waits for a read barrier before it decides', async (t) => {
  let ageMs = 0
  const stores: LaggingStore[] = []
  const kit = await WebhookKit.open(t, {
    proofAgeMs: () => ageMs,
    wrap: (store) => {
      const lagging = new LaggingStore(store)
      stores.push(lagging)
      return lagging
    },
  })
  const [store] = stores
  const barriers = async (name: string): Promise<number> => {
    const before = store?.barriers ?? 0
    await kit.api.configMap(name)
    return (store?.barriers ?? 0) - before
  }
  assert.equal(await barriers('a'), 0)
  ageMs = 60_000
  assert.ok((await barriers('b')) >= 1)
})
