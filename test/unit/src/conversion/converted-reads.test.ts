/*
 * Goal: a version that a webhook converts is read as any other: gets, lists, pages, field selectors
 * and watches; in few calls, in order, and without the webhook where none is needed.
 * Method: the verbs in memory with a real HTTPS webhook whose calls are counted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectsMember } from '../../../../src/api/json.ts'
import { ApiError } from '../../../../src/api/errors/api-error.ts'
import { Deferred } from '../../../../base/deferred.ts'
import {
  conversionOf,
  converts,
  convertsWith,
  hostPortVersions,
  specText,
} from '../../../support/fixtures/conversion-hook.ts'
import { causes, refused } from '../registry/fixture.ts'
import type { AnyObject } from '../../../../src/registry/kinds/definition.ts'
import type { Event, List } from '../registry/fixture.ts'
import { ConversionKit, gadget, gadget2, v1, v2 } from './conversion-kit.ts'

void test('objects of another version are converted by ConversionReview in both domains and both review versions', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    for (const version of ['v1', 'v1beta1']) {
      const kit = await ConversionKit.open(t, {
        domain,
        webhook: { conversionReviewVersions: ['v2', version] },
      })
      await kit.api.create({ kind: v1, body: gadget('a', 'host:80') })
      assert.equal(kit.calls(), 0)
      const { object } = await kit.api.get({ kind: v2, name: 'a' })
      assert.deepEqual([object.apiVersion, object['spec']], ['test.example/v2', { host: 'host', port: '80' }])
      const [call] = kit.hook.calls
      assert.ok(call !== undefined)
      const review = JSON.parse(call.body) as { readonly request: object }
      assert.deepEqual(
        [call.method, call.path, Object.entries(review).slice(0, 2), Object.keys(review.request)],
        [
          'POST',
          '/hook?timeout=30s',
          [
            ['kind', 'ConversionReview'],
            ['apiVersion', `apiextensions.${domain}/${version}`],
          ],
          ['uid', 'desiredAPIVersion', 'objects'],
        ],
      )
      assert.equal(conversionOf(call)['desiredAPIVersion'], 'test.example/v2')
    }
  }
})

void test('an object is converted once for each of its resourceVersions, and never if it is stored in the requested version', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  assert.deepEqual((await api.list({ kind: v2 })).items, [])
  await api.create({ kind: v1, body: gadget('a') })
  for (let at = 0; at < 3; at++) await api.get({ kind: v2, name: 'a' })
  await api.list({ kind: v2 })
  assert.equal(kit.calls(), 1)
  await api.patch({ kind: v1, name: 'a', body: { spec: { hostPort: 'h:2' } } })
  assert.deepEqual((await api.get({ kind: v2, name: 'a' })).object['spec'], { host: 'h', port: '2' })
  assert.equal(kit.calls(), 1)
  // The storage version changes, and the object stays as it is stored.
  await kit.redefine({ versions: hostPortVersions('v2') })
  await api.create({ kind: v2, body: gadget2('b') })
  await api.get({ kind: v1, name: 'a' })
  await api.get({ kind: v2, name: 'b' })
  assert.equal(kit.calls(), 0)
  const { items } = await api.list({ kind: v2 })
  assert.deepEqual(
    items.map((item) => specText(item, 'port')),
    ['2', '1'],
  )
  const [call] = kit.hook.calls
  assert.ok(call !== undefined)
  assert.equal(objectsMember(conversionOf(call), 'objects').length, 1)
})

void test('objects that are larger than a piece of a list are composed once, whatever version they are stored in', async (t) => {
  const kit = await ConversionKit.open(t, { limits: { pieceBytes: 200 } })
  const { api } = kit
  for (const name of ['a', 'b', 'c']) await api.create({ kind: v1, body: gadget(name, 'x'.repeat(300)) })
  await kit.redefine({ versions: hostPortVersions('v2') })
  for (const name of ['d', 'e']) await api.create({ kind: v2, body: gadget2(name, 'y'.repeat(300)) })
  const definition = api.definition(v1)
  const { storedAs } = definition
  assert.ok(storedAs?.conversion !== undefined)
  const shaped: string[] = []
  const { fromStored } = storedAs.conversion
  const counting = (object: AnyObject): AnyObject => {
    shaped.push(object.metadata.name ?? '')
    return { ...fromStored(object) }
  }
  const conversion = { ...storedAs.conversion, fromStored: counting }
  const request = { ...api.request({}), definition: { ...definition, storedAs: { ...storedAs, conversion } } }
  const answer = await api.registry.list(request)
  assert.ok(answer.kind === 'pieces')
  const pieces: Uint8Array[] = []
  for await (const piece of answer.pieces as AsyncIterable<Uint8Array>) pieces.push(piece)
  const { items } = JSON.parse(Buffer.concat(pieces).toString()) as List
  const single = ['a', 'b', 'c', 'd', 'e'].map((name) => api.get({ kind: v1, name }))
  assert.deepEqual(
    items,
    (await Promise.all(single)).map(({ object }) => object),
  )
  assert.deepEqual(shaped.toSorted(), ['a', 'b', 'c', 'd', 'e'])
})

void test('a list is converted in batches bounded in objects and bytes, and pages in one call each', async (t) => {
  const kit = await ConversionKit.open(t, {
    limits: { conversionBatchObjects: 4, conversionBatchBytes: 4096 },
  })
  const { api } = kit
  for (let at = 0; at < 10; at++) await api.create({ kind: v1, body: gadget(`a${at}`, `h:${at}`) })
  const sizes = (): readonly number[] =>
    kit.hook.calls.splice(0).map((call) => objectsMember(conversionOf(call), 'objects').length)
  const { items } = await api.list({ kind: v2 })
  assert.deepEqual(
    items.map((item) => specText(item, 'port')),
    [...'0123456789'],
  )
  assert.deepEqual(sizes(), [4, 4, 2])
  const large = gadget('b', 'x'.repeat(5000))
  await api.create({ kind: v1, body: large })
  await api.create({ kind: v1, body: gadget('c') })
  await api.list({ kind: v2 })
  assert.deepEqual(sizes(), [1, 1])
  await kit.redefine({ versions: hostPortVersions('v1', { v1: {}, v2: { deprecated: true } }) })
  let token = ''
  const seen: string[] = []
  do {
    const page = await api.list({ kind: v2, query: { limit: '3', continue: token } })
    seen.push(...page.items.map(({ metadata }) => metadata.name))
    token = page.metadata.continue ?? ''
  } while (token !== '')
  assert.equal(seen.length, 12)
  assert.deepEqual(sizes().slice(0, 3), [3, 3, 3])
})

void test('objects with many values are converted in calls whose responses may have as many', async (t) => {
  const kit = await ConversionKit.open(t, { limits: { conversionBatchValues: 50 } })
  const { api } = kit
  // An object has some 25 values with its metadata.
  for (const name of ['a', 'b', 'c', 'd', 'e']) await api.create({ kind: v1, body: gadget(name, 'h:1') })
  const { items } = await api.list({ kind: v2 })
  assert.equal(items.length, 5)
  const sizes = kit.hook.calls.map((call) => objectsMember(conversionOf(call), 'objects').length)
  assert.ok(sizes.length > 1, `calls of ${sizes.join(', ')} objects`)
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    5,
  )
})

void test('without the webhook, the stored version is served, others are refused before the first byte', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a') })
  kit.answer = () => ({ status: 503, body: '' })
  assert.equal((await api.list({ kind: v1 })).items.length, 1)
  const watch = await api.watch({ kind: v1 })
  assert.deepEqual(
    (await watch.now()).map(({ type }) => type),
    ['ADDED'],
  )
  await assert.rejects(
    api.registry.list(api.request({ kind: v2 })),
    (error) => error instanceof ApiError && error.code === 'InternalError',
  )
  const seen = await refused(api.watch({ kind: v2 }))
  assert.deepEqual([seen.code, causes(seen)], [500, ['ConversionWebhookFailed spec.conversion.webhook']])
})

void test('a list whose later part cannot be converted ends the response with an error, never short', async (t) => {
  const kit = await ConversionKit.open(t, { limits: { conversionBatchObjects: 2, convertedFirstBytes: 1 } })
  const { api } = kit
  for (let at = 0; at < 6; at++) await api.create({ kind: v1, body: gadget(`a${at}`) })
  let calls = 0
  kit.answer = (call) => (++calls === 2 ? { status: 500, body: '' } : converts(call))
  const response = await api.registry.list(api.request({ kind: v2 }))
  assert.ok(response.kind === 'pieces')
  await assert.rejects(async () => {
    const read: unknown[] = []
    for await (const piece of response.pieces) read.push(piece)
  }, ApiError)
})

void test('field selectors compare the values of the requested version', async (t) => {
  const v2Fields = { selectableFields: [{ jsonPath: '.spec.host' }] }
  const kit = await ConversionKit.open(t, { versions: hostPortVersions('v1', { v1: {}, v2: v2Fields }) })
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a', 'x:1') })
  await api.create({ kind: v1, body: gadget('b', 'y:1') })
  const query = { fieldSelector: 'spec.host=x' }
  const { items, metadata } = await api.list({ kind: v2, query })
  assert.deepEqual(
    items.map((item) => item.metadata.name),
    ['a'],
  )
  const watch = await api.watch({ kind: v2, query: { ...query, resourceVersion: metadata.resourceVersion } })
  await api.patch({ kind: v1, name: 'b', body: { spec: { hostPort: 'x:2' } } })
  await api.patch({ kind: v1, name: 'a', body: { spec: { hostPort: 'z:2' } } })
  const events = await settled(watch.now())
  assert.deepEqual(
    events.map(({ type, object }) => `${type} ${object.metadata.name} ${specText(object, 'host')}`),
    ['ADDED b x', 'DELETED a x'],
  )
  await api.deleteCollection({ kind: v2, query })
  assert.deepEqual(
    (await api.list({ kind: v1 })).items.map((item) => item.metadata.name),
    ['a'],
  )
})

async function settled(events: Promise<readonly Event[]>): Promise<readonly Event[]> {
  return events
}

void test('a thousand watches get every event in the requested version, in order, with at most two calls', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a', 'h:0') })
  const resourceVersion = (await api.list({ kind: v1 })).metadata.resourceVersion
  const watches = []
  for (let at = 0; at < 1000; at++) watches.push(await api.watch({ kind: v2, query: { resourceVersion } }))
  kit.calls()
  // The first call takes longer than the later ones.
  const first = new Deferred<void>()
  let isFirst = true
  kit.answer = async (call) => {
    if (isFirst) {
      isFirst = false
      await first.promise
    }
    return converts(call)
  }
  await api.patch({ kind: v1, name: 'a', body: { spec: { hostPort: 'h:1' } } })
  const reads = watches.map((watch) => watch.now())
  await api.patch({ kind: v1, name: 'a', body: { spec: { hostPort: 'h:2' } } })
  await api.delete({ kind: v1, name: 'a' })
  first.resolve()
  for (const events of await Promise.all(reads)) {
    assert.deepEqual(
      events.map(({ type, object }) => `${type} ${specText(object, 'port')} ${object.apiVersion}`),
      ['MODIFIED 1 test.example/v2', 'MODIFIED 2 test.example/v2', 'DELETED 2 test.example/v2'],
    )
  }
  assert.ok(kit.calls() <= 2)
})

void test('a watch whose event cannot be converted ends with an ERROR event, and its client goes on from where it was', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  const { metadata } = await api.list({ kind: v1 })
  const query = { resourceVersion: metadata.resourceVersion }
  const watch = await api.watch({ kind: v2, query })
  await api.create({ kind: v1, body: gadget('a', 'h:1') })
  assert.deepEqual(
    (await watch.now()).map(({ type }) => type),
    ['ADDED'],
  )
  kit.answer = () => 'reset'
  await api.patch({ kind: v1, name: 'a', body: { spec: { hostPort: 'h:2' } } })
  const [error, none] = await watch.now()
  assert.equal(none, undefined)
  assert.equal(error?.type, 'ERROR')
  const status = error.object as unknown as {
    readonly code: number
    readonly reason: string
    readonly message: string
  }
  assert.deepEqual([status.code, status.reason], [500, 'InternalError'])
  assert.match(status.message, /^conversion webhook for test\.example\/v1, Kind=Gadget failed: /)
  kit.answer = converts
  const again = await api.watch({ kind: v2, query })
  assert.deepEqual(
    (await again.now()).map(({ type, object }) => `${type} ${specText(object, 'port')}`),
    ['ADDED 1', 'MODIFIED 2'],
  )
})

void test('events that a watch does not select are not converted', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  const { metadata } = await api.list({ kind: v1 })
  const { resourceVersion } = metadata
  const one = await api.watch({ kind: v2, query: { fieldSelector: 'metadata.name=a', resourceVersion } })
  const labelled = await api.watch({ kind: v2, query: { labelSelector: 'in=yes', resourceVersion } })
  kit.answer = (call) => convertsWith(call, (object) => object)
  await api.create({ kind: v1, body: gadget('b') })
  await api.create({ kind: v1, body: gadget('a', 'h:1', { labels: { in: 'yes' } }) })
  assert.deepEqual(
    (await one.now()).map(({ object }) => object.metadata.name),
    ['a'],
  )
  await api.patch({ kind: v1, name: 'a', body: { metadata: { labels: { in: null } } } })
  const events = await labelled.now()
  assert.deepEqual(
    events.map(({ type }) => type),
    ['ADDED', 'DELETED'],
  )
  assert.equal(events[1]?.object.metadata.labels?.['in'], 'yes')
  assert.equal(kit.calls(), 1)
})

void test('when another webhook is configured, watches end and the new one is called', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  const { metadata } = await api.list({ kind: v1 })
  const watch = await api.watch({ kind: v2, query: { resourceVersion: metadata.resourceVersion } })
  const stored = await api.watch({ kind: v1, query: { resourceVersion: metadata.resourceVersion } })
  await kit.redefine({ versions: hostPortVersions('v1', { v1: { deprecated: true }, v2: {} }) })
  await watch.now()
  assert.equal(await isOpen(watch), true, 'another change of the definition ends no watch')
  await kit.redefine({ conversion: kit.conversion({ conversionReviewVersions: ['v1beta1'] }) })
  await watch.now()
  assert.deepEqual([await isOpen(watch), await isOpen(stored)], [false, false])
  await api.create({ kind: v1, body: gadget('a') })
  await api.get({ kind: v2, name: 'a' })
  assert.match(kit.hook.calls[0]?.body ?? '', /apiextensions\.orch\.io\/v1beta1/)
})

async function isOpen({ stream }: Awaited<ReturnType<ConversionKit['api']['watch']>>): Promise<boolean> {
  return (await stream.next()) !== null
}
