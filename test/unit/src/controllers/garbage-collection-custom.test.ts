/*
 * Goal: dependents and owners of custom kinds are collected as those of built-in ones, while their
 * definitions change, are deleted and come back. Method: the shipped controllers and verbs on one
 * store in memory, with a manual clock.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { garbageCollection } from '../../../../src/controllers/garbage-collection.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { prefixOf } from '../../../../src/store/key.ts'
import { parseStored } from '../../../../src/registry/kinds/encode.ts'
import type { AnyObject } from '../../../../src/registry/kinds/definition.ts'
import { customVersion } from '../../../support/fixtures/custom-definition.ts'
import type { DefinitionWords } from '../../../support/fixtures/custom-definition.ts'
import type { Obj } from '../registry/fixture.ts'
import { defined, kind, name } from './definition-member.ts'
import type { Member } from './definition-member.ts'

/** Starts the collector of a member that leads. */
function collect(t: TestContext, member: Member): unknown[] {
  const { clock, catalog, registry, store } = member.api
  const errors: unknown[] = []
  const user = { name: 'system:controller', uid: '', groups: [], extra: {} }
  const { controller, informer } = garbageCollection({
    ...{ clock, catalog, store, timeoutMs: 10_000 },
    client: new LocalClient({ registry, clock, user, timeoutMs: 10_000 }),
    kindsApplied: () => member.untilCurrent(),
    onError: (key, cause) => void errors.push([key, cause]),
  })
  informer.start()
  controller.start()
  t.after(() => {
    controller.stop()
    informer.close()
  })
  return errors
}

async function opened(t: TestContext, words: DefinitionWords = {}): Promise<Member> {
  const member = await defined(words)
  t.after(() => member.close())
  return member
}

async function settle({ api }: Member): Promise<void> {
  for (let at = 0; at < 30; at++) {
    for (let one = 0; one < 20; one++) await turn()
    api.clock.advance(500)
  }
}

const referenceTo = ({ apiVersion, kind: of, metadata }: Obj) => ({
  ...{ apiVersion, kind: of, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true },
})

async function widgetNamed({ api }: Member, at: string, version = 'v1'): Promise<Obj> {
  return (await api.get({ kind: `example.com/${version}/Widget`, name: at })).object
}

async function owned({ api }: Member, at: string, owner: Obj): Promise<void> {
  await api.create({ body: { metadata: { name: at, ownerReferences: [referenceTo(owner)] } as never } })
}

/** Returns the names of the ConfigMaps. */
async function left({ api }: Member): Promise<readonly string[]> {
  return (await api.list({ namespace: null })).items.map(({ metadata }) => metadata.name).sort()
}

/** Returns the widgets as they are stored. */
function stored(store: ObjectStore): readonly AnyObject[] {
  const prefix = prefixOf({ group: 'example.com', plural: 'widgets', namespace: null })
  return store.view().list(prefix, { after: null, limit: null }).objects.map(parseStored)
}

/** Replaces the versions of the definition and waits until they are in force. */
async function serve(member: Member, versions: readonly object[]): Promise<void> {
  const body = { spec: { versions } } as never
  await member.api.patch({ kind, name, body })
  await member.untilCurrent()
}

for (const propagationPolicy of ['Foreground', 'Orphan']) {
  void test(`a ${propagationPolicy} deletion ends although no version of the kind is served any more`, async (t) => {
    const member = await opened(t, { versions: [customVersion('v1'), other('v2', true)] })
    await member.widget('owner', { spec: { size: 3 } })
    const owner = await widgetNamed(member, 'owner')
    await owned(member, 'child', owner)
    await member.api.delete({ kind: 'Widget', name: 'owner', query: { propagationPolicy } })
    await serve(member, [{ ...customVersion('v1'), served: false }, other('v2', false)])
    assert.equal(member.api.catalog.find('example.com', 'v1', 'widgets'), null)
    const errors = collect(t, member)
    await settle(member)
    assert.equal(member.left, 0)
    assert.deepEqual(await left(member), propagationPolicy === 'Orphan' ? ['child'] : [])
    assert.deepEqual(errors, [])
  })
}

function other(version: string, served: boolean): JsonObject {
  return { ...customVersion(version), served, storage: false }
}

void test('an object of a kind that is not served loses a reference and nothing else', async (t) => {
  const member = await opened(t)
  const { object: a } = await member.api.configMap('a')
  const { object: b } = await member.api.configMap('b')
  const ownerReferences = [referenceTo(a), referenceTo(b)]
  const labels = { x: 'y' }
  await member.widget('w', { metadata: { name: 'w', labels, ownerReferences }, spec: { size: 3 } })
  // Stored as v1, although another version is the storage version by now.
  await serve(member, [
    { ...customVersion('v1'), served: false, storage: false },
    { ...customVersion('v2', { properties: {} }), served: false },
  ])
  collect(t, member)
  await member.api.delete({ name: 'a' })
  await settle(member)
  const [widget] = stored(member.api.store)
  assert.equal(widget?.apiVersion, 'example.com/v1')
  assert.deepEqual(widget.metadata['ownerReferences'], [referenceTo(b)])
  assert.deepEqual([widget.metadata.labels, widget['spec']], [labels, { size: 3 }])
  await member.api.delete({ name: 'b' })
  await settle(member)
  assert.equal(member.left, 0)
})

for (const scope of ['Namespaced', 'Cluster'] as const) {
  const next = scope === 'Cluster' ? 'Namespaced' : 'Cluster'
  void test(`dependents of a ${scope} kind go with its definition, also when it comes back as ${next}`, async (t) => {
    const member = await opened(t, { scope })
    await member.widget('owner')
    const first = await widgetNamed(member, 'owner')
    await owned(member, 'first', first)
    const errors = collect(t, member)
    await member.api.delete({ kind, name })
    await member.untilGone()
    await settle(member)
    assert.deepEqual(await left(member), [])
    await member.define({ scope: next })
    await member.until('Established', 'True InitialNamesAccepted')
    await member.untilCurrent()
    await member.widget('owner')
    const second = await widgetNamed(member, 'owner')
    await owned(member, 'stale', first)
    await owned(member, 'second', second)
    await settle(member)
    assert.deepEqual(await left(member), ['second'])
    await member.api.delete({ kind: 'Widget', name: 'owner' })
    await settle(member)
    assert.deepEqual(await left(member), [])
    assert.deepEqual(errors, [])
  })
}

void test('a definition that is gone before its dependents are examined leaves none behind', async (t) => {
  const member = await opened(t)
  await member.widget('owner')
  await owned(member, 'child', await widgetNamed(member, 'owner'))
  collect(t, member)
  await settle(member)
  // The collector examines the child once the catalog has forgotten the kind.
  await member.api.delete({ kind: 'Widget', name: 'owner' })
  member.api.catalog.setCustom([])
  await settle(member)
  assert.deepEqual(await left(member), [])
})

void test('a dependent of a kind that has just changed its scope is not taken for one without an owner', async (t) => {
  const member = await opened(t, { scope: 'Cluster' })
  const stale = member.api.catalog.all().filter(({ custom }) => custom !== undefined)
  await member.api.delete({ kind, name })
  await member.untilGone()
  await member.define({ scope: 'Namespaced' })
  await member.until('Established', 'True InitialNamesAccepted')
  await member.untilCurrent()
  const current = member.api.catalog.all().filter(({ custom }) => custom !== undefined)
  await member.widget('owner')
  const owner = await widgetNamed(member, 'owner')
  // The catalog is that of a member that lags behind the definition that the member has applied.
  member.api.catalog.setCustom(stale)
  const applied = member.untilCurrent.bind(member)
  member.untilCurrent = async () => {
    member.api.catalog.setCustom(current)
    await applied()
  }
  collect(t, member)
  await owned(member, 'child', owner)
  await settle(member)
  assert.deepEqual(await left(member), ['child'])
})
