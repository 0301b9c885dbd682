/*
 * Goal: a definition creates a kind, and its deletion deletes the objects, whichever leader runs
 * the controller and whatever clients write at the same time.
 * Method: the shipped controllers and verbs on one store in memory, a manual clock, and a store
 * that can delay a write.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember, objectsMember } from '../../../../src/api/json.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { definitionKey } from '../../../../src/controllers/custom-definition-summary.ts'
import type { Key } from '../../../../src/store/key.ts'
import type { ObjectStore, StoredObject, View } from '../../../../src/store/object-store.ts'
import { customVersion } from '../../../support/fixtures/custom-definition.ts'
import { customKind } from '../../../support/fixtures/custom-kind.ts'
import { refused } from '../registry/fixture.ts'
import { defined, Gate, instead, kind, Member, name, names } from './definition-member.ts'
import { eventsIn } from './recorded-events.ts'

void test('a definition is established, serves its kind, and frees its names for the next one', async (t) => {
  const member = await defined({ names: { shortNames: ['wd'], categories: ['toys'] } })
  t.after(() => member.close())
  await member.widget('a')
  const served = member.api.definition('Widget')
  assert.deepEqual([served.shortNames, served.categories, served.singular], [['wd'], ['toys'], 'widget'])
  const rival = 'gadgets.example.com'
  await member.define({ kind: 'Gadget', names: { shortNames: ['wd'] } })
  await member.until('NamesAccepted', 'False ShortNamesConflict', rival)
  assert.equal(await member.condition('Established', rival), 'False NotAccepted')
  assert.equal(member.api.catalog.find('example.com', 'v1', 'gadgets'), null)
  await member.api.delete({ kind, name })
  await member.untilGone()
  await member.until('Established', 'True InitialNamesAccepted', rival)
  assert.deepEqual(member.errors, [])
})

void test('definitions are established up to the limit', async (t) => {
  const member = await defined()
  t.after(() => member.close())
  for (const other of ['One', 'Two', 'Three'])
    await member.define({ kind: other, group: `${other.toLowerCase()}.org` })
  const waits = 'threes.three.org'
  await member.until('Established', 'False TooManyDefinitions', waits)
  assert.equal(await member.condition('NamesAccepted', waits), 'True NoConflicts')
  await member.api.delete({ kind, name })
  await member.until('Established', 'True InitialNamesAccepted', waits)
})

void test('spec 3.1: a deleted definition goes when its objects are gone, and no objects are created', async (t) => {
  const member = await defined()
  t.after(() => member.close())
  for (let at = 0; at < 70; at++) await member.widget(`w${at}`)
  await member.widget('kept', { metadata: { name: 'kept', finalizers: ['x.io/a'] } })
  await member.api.configMap('other')
  member.follow()
  const gone = await member.api.delete({ kind, name })
  assert.equal(gone.code, 202)
  assert.equal(await member.condition('Terminating'), 'True InstanceDeletionPending')
  const late = await refused(member.widget('late'))
  assert.deepEqual(
    [late.code, late.message],
    [405, 'create not allowed while custom resource definition is terminating'],
  )
  member.lead()
  await member.until('Terminating', 'True InstanceDeletionCheck')
  assert.equal(member.left, 1)
  const { object } = await member.api.get({ kind, name })
  const [, , reported] = objectsMember(objectMember(object, 'status'), 'conditions')
  const words =
    'could not confirm zero CustomResources remaining: there are 1, which have finalizers: x.io/a in 1'
  assert.equal(reported?.['message'], words)
  const byHand = await refused(member.api.patch({ kind, name, body: { metadata: { finalizers: null } } }))
  assert.equal(byHand.code, 409, byHand.message)
  await member.api.patch({ kind: 'Widget', name: 'kept', body: { metadata: { finalizers: null } } })
  await member.untilGone()
  assert.equal(member.left, 0)
  assert.equal(member.api.catalog.find('example.com', 'v1', 'widgets'), null)
  assert.equal((await member.api.list({})).items.length, 1, 'others are left alone')
  assert.deepEqual(member.errors, [])
})

void test('a deleted definition that its objects keep for a minute has one warning', async (t) => {
  const member = await defined()
  t.after(() => member.close())
  await member.widget('kept', { metadata: { name: 'kept', finalizers: ['x.io/a'] } })
  await member.api.delete({ kind, name })
  await member.until('Terminating', 'True InstanceDeletionCheck')
  assert.deepEqual(await eventsIn(member.api), [])
  for (let at = 0; at < 40; at++) {
    member.api.clock.advance(5000)
    await member.next()
  }
  const warning = `default: Warning InstanceDeletionCheck CustomResourceDefinition ${name} x1`
  assert.deepEqual(await eventsIn(member.api), [warning])
})

void test('deleting a definition that was never established deletes no objects', async (t) => {
  const member = await defined()
  t.after(() => member.close())
  await member.widget('a')
  const rival = 'gadgets.example.com'
  await member.define({ kind: 'Gadget', names: { singular: 'widget' } })
  await member.until('NamesAccepted', 'False SingularConflict', rival)
  await member.api.delete({ kind, name: rival })
  for (let at = 0; at < 100; at++) await member.next()
  assert.equal((await refused(member.api.get({ kind, name: rival }))).code, 404)
  assert.equal(member.left, 1)
})

void test('deleting a definition that a built-in kind has replaced leaves the objects of that kind', async (t) => {
  const own = customKind({ group: 'example.com', plural: 'widgets', kind: 'Widget' })
  const member = await Member.open(undefined, [own])
  t.after(() => member.close())
  await member.define()
  // The object as it was before the program had such a kind.
  const { object } = await member.api.get({ kind, name })
  const acceptedNames = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' }
  const since = '2026-01-01T00:00:00Z'
  const conditions = ['NamesAccepted', 'Established'].map((type) => {
    return { type, status: 'True', reason: 'x', message: 'x', lastTransitionTime: since }
  })
  const status = { ...objectMember(object, 'status'), acceptedNames, conditions }
  await member.api.update({ kind, name, subresource: 'status', body: { ...object, status } })
  await member.untilCurrent()
  await member.widget('a')
  member.lead()
  await member.api.delete({ kind, name })
  await member.untilGone()
  assert.equal(member.left, 1)
  assert.deepEqual(member.errors, [])
})

void test('another leader continues wherever the previous one stopped', async (t) => {
  for (let turns = 0; turns < 24; turns += 3) {
    const member = await Member.open()
    t.after(() => member.close())
    const relay = async (): Promise<void> => {
      member.lead()
      for (let at = 0; at < turns; at++) await member.next()
      member.follow()
      member.lead()
    }
    await member.define()
    await relay()
    await member.until('Established', 'True InitialNamesAccepted')
    await member.untilCurrent()
    for (let at = 0; at < 5; at++) await member.widget(`w${at}`)
    await member.api.delete({ kind, name })
    member.follow()
    await relay()
    await member.untilGone()
    assert.equal(member.left, 0, `after ${turns} turns`)
    assert.deepEqual(member.errors, [])
  }
})

void test('a leader that stalled half-way leaves the objects of a later definition of the same name', async (t) => {
  const gate = new Gate()
  const member = await Member.open((store) => gate.before(store))
  t.after(() => member.close())
  member.lead()
  await member.define()
  await member.until('Established', 'True InitialNamesAccepted')
  await member.untilCurrent()
  // These are more objects than are deleted at once.
  for (let at = 0; at < 100; at++) await member.widget(`w${at}`)
  member.follow()
  await member.api.delete({ kind, name })
  const stopStalled = member.leader()
  gate.close((key) => key.startsWith('example.com/widgets/'), 'once')
  await gate.held
  member.lead()
  await member.untilGone()
  await member.define()
  await member.until('Established', 'True InitialNamesAccepted')
  await member.untilCurrent()
  for (let at = 0; at < 100; at++) await member.widget(`w${at}`)
  gate.open()
  for (let at = 0; at < 100; at++) await member.next()
  assert.equal(member.left, 100)
  assert.deepEqual(member.errors, [])
  stopStalled()
})

void test('an object that was evaluated before its definition was deleted is not written afterwards', async (t) => {
  const gate = new Gate()
  const member = await Member.open((store) => gate.before(store))
  t.after(() => member.close())
  member.lead()
  await member.define()
  await member.until('Established', 'True InitialNamesAccepted')
  await member.untilCurrent()
  gate.close((key) => key.startsWith('example.com/widgets/'))
  const late = refused(member.widget('late'))
  await gate.held
  await member.api.delete({ kind, name })
  await member.untilGone()
  gate.open()
  assert.equal((await late).code, 404)
  assert.equal(member.left, 0)
})

void test('an object is written under the current definition, though this member knew an older one', async (t) => {
  const gate = new Gate()
  const member = await Member.open((store) => gate.before(store))
  t.after(() => member.close())
  member.lead()
  await member.define()
  await member.until('Established', 'True InitialNamesAccepted')
  await member.untilCurrent()
  gate.close((key) => key.startsWith('example.com/widgets/'))
  const late = member.widget('late', { spec: { size: 1, color: 'red' } })
  await gate.held
  const properties = { size: { type: 'integer' }, color: { type: 'string', default: 'blue' } }
  const spec = { versions: [customVersion('v1', { properties })] }
  await member.api.patch({ kind, name, body: { spec } })
  gate.open()
  await late
  const { object } = await member.api.get({ kind: 'Widget', name: 'late' })
  assert.deepEqual(object['spec'], { size: 1, color: 'red' })
  // A rejection is that of the new definition, even in the turn in which it was written.
  const older = member.api.definition('Widget')
  const changed = customVersion('v1', { properties: { size: { type: 'string' } } })
  const patched = member.api.patch({ kind, name, body: { spec: { versions: [changed] } } })
  const request = member.api.request({
    kind: 'Widget',
    body: { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'text' }, spec: { size: 'L' } },
  })
  await patched
  assert.equal(request.definition, older)
  await member.api.registry.create(request)
  assert.equal(
    objectMember((await member.api.get({ kind: 'Widget', name: 'text' })).object, 'spec')['size'],
    'L',
  )
})

void test('a request that an outdated definition rejects is evaluated again with the newest one', async (t) => {
  const behind = new Behind()
  const member = await Member.open((store) => behind.before(store))
  t.after(() => member.close())
  member.lead()
  await member.define()
  await member.until('Established', 'True InitialNamesAccepted')
  await member.untilCurrent()
  member.follow()
  const ask = (of: string, spec: JsonObject) => {
    const body = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: of }, spec }
    return member.api.request({ kind: 'Widget', query: { fieldValidation: 'Strict' }, body })
  }
  const change = async (properties: JsonObject): Promise<void> => {
    behind.fallBack(definitionKey(names, name))
    const spec = { versions: [customVersion('v1', { properties })] }
    await member.api.patch({ kind, name, body: { spec } })
  }
  const refusals = [
    // The old definition refuses the first body when it is read, the second when it is validated.
    { spec: { size: 1, color: 'red' }, properties: { size: { type: 'integer' }, color: { type: 'string' } } },
    { spec: { size: 'L' }, properties: { size: { type: 'string' } } },
  ]
  for (const [at, { spec, properties }] of refusals.entries()) {
    const request = ask(`w${at}`, spec)
    await change(properties)
    await member.api.registry.create(request)
    assert.equal(behind.barriers, at + 1, 'the old definition led to a barrier')
    assert.deepEqual((await member.api.get({ kind: 'Widget', name: `w${at}` })).object['spec'], spec)
  }
  // A body that the newest definition refuses too is refused.
  assert.equal((await refused(member.api.registry.create(ask('x', { size: 1 })))).code, 422)
  assert.equal((await refused(member.api.registry.create(ask('x', { color: 'red' })))).code, 400)
})

/** Shows an old version of one object, without events, until a barrier. */
class Behind {
  barriers = 0
  #key: Key | null = null
  #old: StoredObject | null = null
  #isBehind = false
  #newest: ((key: Key) => StoredObject | null) | null = null

  fallBack(key: Key): void {
    this.#key = key
    this.#old = this.#newest?.(key) ?? null
    this.#isBehind = true
  }

  before(store: ObjectStore): ObjectStore {
    this.#newest = (key) => store.view().get(key)
    const view = (): View => {
      const now = store.view()
      const get = (key: Key): StoredObject | null => (this.#isShown(key) ? this.#old : now.get(key))
      return { revision: now.revision, get, list: (...of) => now.list(...of), count: (of) => now.count(of) }
    }
    const barrier = async (deadlineMs: number): Promise<void> => {
      await store.barrier(deadlineMs)
      if (this.#isBehind) this.barriers++
      this.#isBehind = false
    }
    return instead(store, { view, barrier })
  }

  #isShown(key: Key): boolean {
    return this.#isBehind && key === this.#key
  }
}
