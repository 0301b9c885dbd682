/*
 * Goal: writes in a version that a webhook converts are stored in the storage version, or fail and
 * change nothing; deletions never need the webhook; an update without changes migrates an object.
 * Method: the verbs in memory with a real HTTPS webhook, and the objects as they are stored.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { convertsWith, converts, hostPortVersions } from '../../../support/fixtures/conversion-hook.ts'
import { refused } from '../registry/fixture.ts'
import { ConversionKit, gadget, gadget2, v1, v2 } from './conversion-kit.ts'

void test('every write in another version is stored in the storage version, and answered as it is read', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  const made = await api.create({ kind: v2, body: gadget2('a', 'x', '1') })
  const updated = await api.update({
    kind: v2,
    name: 'a',
    body: { ...made.object, spec: { host: 'x', port: '2' } },
  })
  const patched = await api.patch({ kind: v2, name: 'a', body: { spec: { host: 'y' } } })
  const applied = await api.patch({
    ...{ kind: v2, name: 'a', contentType, query: { fieldManager: 'm', force: 'true' } },
    body: { apiVersion: 'test.example/v2', kind: 'Gadget', ...gadget2('a', 'z', '3') },
  })
  assert.deepEqual(
    [made, updated, patched, applied].map(({ code, object }) => [code, object['spec']]),
    [
      [201, { host: 'x', port: '1' }],
      [200, { host: 'x', port: '2' }],
      [200, { host: 'y', port: '2' }],
      [200, { host: 'z', port: '3' }],
    ],
  )
  assert.deepEqual(kit.stored(), ['test.example/v1'])
  assert.deepEqual((await api.get({ kind: v1, name: 'a' })).object['spec'], { hostPort: 'z:3' })
  kit.calls()
  const { object } = await api.get({ kind: v2, name: 'a' })
  assert.deepEqual(object, applied.object)
  assert.equal(kit.calls(), 0, 'what was written is in the cache')
})

void test('the response to a write is what later reads return, where the webhook loses something', async (t) => {
  const kit = await ConversionKit.open(t)
  kit.answer = (call) =>
    convertsWith(call, (object) =>
      object['apiVersion'] === 'test.example/v1' ? { ...object, spec: { hostPort: 'fixed:9' } } : object,
    )
  const { object } = await kit.api.create({ kind: v2, body: gadget2('a', 'x', '1') })
  assert.deepEqual(object['spec'], { host: 'fixed', port: '9' })
  assert.deepEqual((await kit.api.get({ kind: v2, name: 'a' })).object, object)
})

void test('a dry run converts too, and stores nothing', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  const call = { kind: v2, body: gadget2('a'), query: { dryRun: 'All' } }
  assert.equal((await api.create(call)).code, 201)
  assert.equal(kit.calls(), 2)
  kit.answer = () => 'reset'
  assert.equal((await refused(api.create(call))).code, 500)
  assert.deepEqual(kit.stored(), [])
})

void test('of two writes in different versions, the later one is evaluated again on the result of the other', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a', 'x:1') })
  let isRaced = false
  kit.answer = async (call) => {
    if (!isRaced) {
      isRaced = true
      await api.patch({ kind: v1, name: 'a', body: { spec: { hostPort: 'raced:1' } } })
    }
    return converts(call)
  }
  const { object } = await api.patch({ kind: v2, name: 'a', body: { spec: { port: '7' } } })
  assert.deepEqual(object['spec'], { host: 'raced', port: '7' })
  isRaced = false
  const stale = { ...object, spec: { host: 'stale', port: '8' } }
  await kit.redefine({ versions: hostPortVersions('v1', { v1: {}, v2: { deprecated: true } }) })
  assert.equal((await refused(api.update({ kind: v2, name: 'a', body: stale }))).code, 409)
})

void test('deletions do not depend on the webhook, in any version', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  for (const name of ['a', 'b', 'c']) await api.create({ kind: v1, body: gadget(name) })
  await api.create({ kind: v1, body: gadget('held', 'h:1', { finalizers: ['example.com/hold'] }) })
  kit.answer = () => 'reset'
  const gone = await api.delete({ kind: v2, name: 'a' })
  assert.deepEqual([gone.code, gone.object.kind, gone.object['status']], [200, 'Status', 'Success'])
  const marked = await api.delete({ kind: v2, name: 'held' })
  assert.deepEqual([marked.code, marked.object.kind, marked.object['status']], [202, 'Status', 'Success'])
  assert.match(
    api.warnings.join(),
    /the object is being deleted, but cannot be shown: conversion webhook for/,
  )
  const { object } = await api.get({ kind: v1, name: 'held' })
  assert.notEqual(object.metadata.deletionTimestamp, undefined)
  await api.deleteCollection({ kind: v2 })
  assert.deepEqual(kit.stored(), ['test.example/v1'])
  kit.answer = converts
  api.clock.advance(60_000)
  const shown = await api.delete({ kind: v2, name: 'held' })
  assert.deepEqual(
    [shown.code, shown.object.apiVersion, shown.object['spec']],
    [202, 'test.example/v2', { host: 'h', port: '1' }],
  )
  // The last finalizer is removed by a write, which needs the webhook only if it is in v2.
  await api.patch({ kind: v1, name: 'held', body: { metadata: { finalizers: null } } })
  assert.deepEqual(kit.stored(), [])
})

void test('objects of older versions are deleted as they are stored, although their storage version has changed', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  await api.create({ kind: v1, body: gadget('a', 'h:1', { finalizers: ['example.com/hold'] }) })
  await kit.redefine({ versions: hostPortVersions('v2') })
  kit.answer = () => 'reset'
  assert.equal((await api.delete({ kind: v2, name: 'a' })).code, 202)
  assert.deepEqual(kit.stored(), ['test.example/v1'])
})

void test('an update without changes stores an object in the storage version, once', async (t) => {
  for (const strategy of ['Webhook', 'None']) {
    const kit = await ConversionKit.open(t)
    const { api } = kit
    if (strategy === 'None') await kit.redefine({ conversion: { strategy, webhook: null } })
    await api.create({ kind: v1, body: gadget('a', 'h:1') })
    const before = await api.patch({ kind: v1, name: 'a', body: {} })
    await kit.redefine({ versions: hostPortVersions('v2') })
    const dry = await api.patch({ kind: v1, name: 'a', body: {}, query: { dryRun: 'All' } })
    assert.equal(dry.object.metadata.resourceVersion, before.object.metadata.resourceVersion)
    assert.deepEqual(kit.stored(), ['test.example/v1'])
    const migrated = await api.patch({ kind: v1, name: 'a', body: {} })
    assert.deepEqual(kit.stored(), ['test.example/v2'])
    const { resourceVersion, ...metadata } = migrated.object.metadata
    const { resourceVersion: old, ...kept } = before.object.metadata
    assert.notEqual(resourceVersion, old)
    assert.deepEqual(metadata, kept, 'neither the generation nor the owners of fields change')
    const again = await api.patch({ kind: v1, name: 'a', body: {} })
    assert.equal(again.object.metadata.resourceVersion, resourceVersion)
  }
})

const contentType = 'application/apply-patch+yaml'

void test('an apply conflicts with the owner of a field in another version, which the webhook converts', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  const apply = (kind: string, manager: string, body: JsonObject, force = 'false') => {
    const query = { fieldManager: manager, force }
    const apiVersion = kind === v1 ? 'test.example/v1' : 'test.example/v2'
    return api.patch({ kind, name: 'a', contentType, query, body: { ...body, apiVersion, kind: 'Gadget' } })
  }
  await apply(v2, 'first', gadget2('a', 'x', '1'))
  const conflict = await refused(apply(v1, 'second', gadget('a', 'y:1')))
  assert.equal(conflict.code, 409)
  assert.match(conflict.message, /conflict with "first": \.spec\.host/)
  await apply(v1, 'second', gadget('a', 'y:1'), 'true')
  const { object } = await api.get({ kind: v1, name: 'a' })
  const owners = (object.metadata.managedFields ?? []).map(({ manager, apiVersion, fieldsV1 }) => [
    ...[manager, apiVersion, JSON.stringify(fieldsV1)],
  ])
  assert.deepEqual(owners, [
    ['first', 'test.example/v2', '{"f:spec":{"f:port":{}}}'],
    ['second', 'test.example/v1', '{"f:spec":{"f:hostPort":{}}}'],
  ])
  // Without the webhook, fields of other versions keep their owners, and v1 can be written.
  kit.answer = () => ({ status: 500, body: '' })
  await api.patch({ kind: v1, name: 'a', body: { spec: { hostPort: 'z:2' } } })
  const after = await api.get({ kind: v1, name: 'a' })
  assert.deepEqual(
    (after.object.metadata.managedFields ?? []).map(({ manager }) => manager),
    ['first', 'test'],
  )
})

void test('a repeated write with an idempotency key is answered in its version, also when nothing is cached', async (t) => {
  const kit = await ConversionKit.open(t)
  const { api } = kit
  const call = { kind: v2, body: gadget2('a', 'x', '1'), idempotencyKey: 'one' }
  const first = await api.create(call)
  await kit.redefine({ versions: hostPortVersions('v1', { v1: {}, v2: { deprecated: true } }) })
  assert.deepEqual((await api.create(call)).object, first.object)
  assert.equal(api.replays, 1)
})

void test('versions of the storage list stay until the status is changed, and cannot be removed from the definition before', async (t) => {
  const kit = await ConversionKit.open(t)
  await kit.redefine({ versions: hostPortVersions('v2') })
  const only = hostPortVersions('v2').slice(1)
  const body = { spec: { versions: only } }
  const call = { kind: 'CustomResourceDefinition', name: 'gadgets.test.example' }
  const early = await refused(kit.api.patch({ ...call, body }))
  assert.match(
    early.message,
    /status\.storedVersions\[0\]: Invalid value: "v1": must appear in spec\.versions/,
  )
  const wrong = { ...call, subresource: 'status', body: { status: { storedVersions: ['v1'] } } }
  assert.match((await refused(kit.api.patch(wrong))).message, /must have the storage version v2/)
  await kit.api.patch({ ...call, subresource: 'status', body: { status: { storedVersions: ['v2'] } } })
  assert.equal((await kit.api.patch({ ...call, body })).code, 200)
})
