/**
 * Goal: custom kinds can change at run time, and built-in kinds stay.
 * Method: a catalog of small made-up kinds, and one that was narrowed from it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Catalog } from '../../../../../src/registry/kinds/catalog.ts'
import { storedKinds } from '../../../../../src/registry/kinds/stored-kinds.ts'
import { customKind } from '../../../../support/fixtures/custom-kind.ts'

const pods = customKind({ group: '', plural: 'pods', kind: 'Pod' })
const jobs = customKind({ group: 'batch', plural: 'jobs', kind: 'Job' })
const widgets = customKind({ group: 'example.com', plural: 'widgets', kind: 'Widget' })

void test('custom kinds are found together with built-in ones, and replaced as a whole', () => {
  const catalog = new Catalog([pods, jobs])
  assert.equal(catalog.version, 0)
  assert.deepEqual(catalog.setCustom([widgets]), [])
  assert.equal(catalog.find('example.com', 'v1', 'widgets'), widgets)
  assert.deepEqual(catalog.all(), [pods, jobs, widgets])
  assert.equal(catalog.version, 1)
  const gadgets = customKind({ group: 'example.com', plural: 'gadgets', kind: 'Gadget' })
  catalog.setCustom([gadgets])
  assert.equal(catalog.find('example.com', 'v1', 'widgets'), null)
  assert.deepEqual(catalog.all(), [pods, jobs, gadgets])
  assert.deepEqual(catalog.builtIn(), [pods, jobs])
  assert.equal(catalog.version, 2)
})

void test('setting the same custom kinds again is no change', () => {
  const catalog = new Catalog([pods])
  let changes = 0
  const stop = catalog.onChange(() => changes++)
  catalog.setCustom([widgets])
  catalog.setCustom([widgets])
  assert.deepEqual([catalog.version, changes], [1, 1])
  // An equal but distinct value counts as a change.
  catalog.setCustom([{ ...widgets }])
  assert.deepEqual([catalog.version, changes], [2, 2])
  stop()
  catalog.setCustom([])
  assert.deepEqual([catalog.version, changes], [3, 2])
})

void test('a narrowed catalog has all custom kinds, and only the built-in ones it was given', () => {
  const catalog = new Catalog([pods, jobs])
  const served = catalog.narrowed([pods])
  let reported = 0
  served.onChange(() => reported++)
  catalog.setCustom([widgets])
  assert.deepEqual(served.all(), [pods, widgets])
  assert.deepEqual([served.version, reported], [1, 1])
  assert.equal(served.find('batch', 'v1', 'jobs'), null)
})

void test('a custom kind can neither hide a built-in kind nor share its objects, whether that is served or not', () => {
  const catalog = new Catalog([pods, jobs])
  const served = catalog.narrowed([pods])
  const samePath = customKind({ group: 'batch', plural: 'jobs', kind: 'Job' })
  const samePlace = customKind({ group: 'batch', version: 'v2', plural: 'jobs', kind: 'Job' })
  const elsewhere = {
    ...customKind({ group: 'example.com', plural: 'jobs', kind: 'Job' }),
    storedAs: { name: 'v1', group: 'batch' },
  }
  const core = customKind({ group: '', plural: 'widgets', kind: 'Widget' })
  const twice = { ...widgets }
  const requested = [samePath, samePlace, elsewhere, core, widgets, twice]
  assert.deepEqual(served.setCustom(requested), [samePath, samePlace, elsewhere, core, twice])
  assert.equal(catalog.find('batch', 'v1', 'jobs'), jobs)
  assert.equal(catalog.find('example.com', 'v1', 'widgets'), widgets)
  assert.deepEqual(served.all(), [pods, widgets])
})

void test('the index of kinds follows their changes, also those of kinds that are not served', () => {
  const catalog = new Catalog([pods, jobs])
  assert.equal(catalog.index().ofKind('batch', 'Job'), jobs)
  assert.equal(catalog.index().ofKind('example.com', 'Widget'), null)
  catalog.setCustom([widgets])
  assert.equal(catalog.index().ofKind('example.com', 'Widget'), widgets)
  assert.equal(catalog.index().at('example.com', 'widgets'), widgets)
  const index = catalog.index()
  assert.equal(catalog.index(), index, 'it is made once')
  const hidden = customKind({ group: 'example.com', plural: 'gadgets', kind: 'Gadget' })
  catalog.setCustom([widgets], [hidden])
  assert.equal(catalog.index().at('example.com', 'gadgets'), hidden)
  assert.equal(catalog.listed('example.com', 'v1', 'gadgets'), null)
  assert.equal(catalog.listed('example.com', 'v1', 'widgets'), widgets)
})

void test('each storage location has one kind, in its storage version if that is served', () => {
  const v1 = widgets
  const v2 = { ...customKind({ group: 'example.com', version: 'v2', plural: 'widgets', kind: 'Widget' }) }
  const other = { ...v2, storedAs: { name: 'v1' } }
  assert.deepEqual(storedKinds([pods, other, v1]), [pods, v1])
  assert.deepEqual(storedKinds([v1, other]), [v1])
  // Custom kinds always declare a storage version.
  const own = { ...v1, storedAs: { name: 'v1' } }
  assert.deepEqual(storedKinds([other, own]), [own])
  const stored = { ...v2, storedAs: { name: 'v3' } }
  const older = { ...v1, storedAs: { name: 'v3' } }
  assert.deepEqual(storedKinds([stored, older]), [stored])
})

void test('an alias is found by its path, is not listed, and exists as long as its kind', () => {
  const alias = customKind({ group: 'upstream.example', plural: 'jobs', kind: 'Job' })
  const withAlias = { ...jobs, aliases: [{ ...alias, storedAs: { name: 'v1', group: 'batch' } }] }
  const catalog = new Catalog([pods, withAlias])
  const [requested] = withAlias.aliases
  assert.equal(catalog.find('upstream.example', 'v1', 'jobs'), requested)
  assert.deepEqual(catalog.all(), [pods, withAlias])
  assert.deepEqual(catalog.builtIn(), [pods, withAlias])
  assert.equal(catalog.narrowed([pods]).find('upstream.example', 'v1', 'jobs'), null)
  assert.equal(catalog.narrowed([withAlias]).find('upstream.example', 'v1', 'jobs'), requested)
  // A custom kind cannot take its path.
  assert.deepEqual(catalog.setCustom([alias]), [alias])
  assert.throws(() => new Catalog([alias, withAlias]), /declared once/)
})
