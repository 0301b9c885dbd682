/*
 * Goal: the table of objects is a sorted map.
 * Method: random insertions, replacements and removals compared with a plain map that is sorted on
 * demand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { keyOf, prefixOf } from '../../../../../src/store/key.ts'
import type { Key } from '../../../../../src/store/key.ts'
import { ObjectTable } from '../../../../../src/store/machine/object-table.ts'
import { putVersion } from '../../../../../src/store/machine/object-version.ts'
import type { Version } from '../../../../../src/store/machine/object-version.ts'
import { noRevision, revision } from '../../../../../src/store/revision.ts'
import { encoded } from '../../../../../fixtures/store-kit.ts'

function versionOf(key: Key, at: number): Version {
  return putVersion({ key, revision: revision(at), previous: noRevision, lastOfCommand: true }, encoded('x'))
}

function randomKey(random: SeededRandom): Key {
  const plural = random.pick(['configmaps', 'configmaps-b', 'pods'])
  const namespace = random.pick(['a', 'a-b', 'b', ''])
  return keyOf({ group: '', plural, namespace, name: `n${random.below(400)}` })
}

const prefixes = [
  prefixOf({ group: '', plural: 'configmaps', namespace: null }),
  prefixOf({ group: '', plural: 'configmaps', namespace: 'a' }),
  prefixOf({ group: '', plural: 'pods', namespace: 'a-b' }),
  prefixOf({ group: 'apps', plural: 'pods', namespace: null }),
]

void test('random changes leave the table equal to a sorted map', () => {
  const random = new SeededRandom(20_261_121)
  const table = new ObjectTable()
  const model = new Map<Key, Version>()
  for (let step = 1; step <= 20_000; step++) {
    const key = randomKey(random)
    if (random.chance(step < 12_000 ? 0.3 : 0.8) && model.has(key)) {
      table.delete(key)
      model.delete(key)
    } else {
      const version = versionOf(key, step)
      table.set(version)
      model.set(key, version)
    }
    if (step % 500 === 0) compare(table, model, random)
  }
})

function compare(table: ObjectTable, model: ReadonlyMap<Key, Version>, random: SeededRandom): void {
  assert.equal(table.size, model.size)
  const sorted = [...model.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
  for (const prefix of prefixes) {
    const under = sorted.filter(({ key }) => key.startsWith(prefix))
    assert.deepEqual(table.list(prefix, null, null), { objects: under, more: false })
    assert.equal(table.count(prefix), under.length)
    assert.equal(
      table.first(prefix, () => true),
      under[0] ?? null,
    )
    const after = randomKey(random)
    const behind = under.filter(({ key }) => key > after)
    const page = table.list(prefix, after, 3)
    assert.deepEqual(page.objects, behind.slice(0, 3))
    assert.equal(page.more, behind.length > 3)
  }
  for (const version of sorted.slice(0, 20)) assert.equal(table.get(version.key), version)
}

void test('ascending insertions and removals of all leave nothing behind', () => {
  const table = new ObjectTable()
  const keys = Array.from({ length: 3000 }, (_, at) =>
    keyOf({ group: '', plural: 'p', namespace: 'n', name: String(at).padStart(5, '0') }),
  )
  keys.forEach((key, at) => table.set(versionOf(key, at + 1)))
  const prefix = prefixOf({ group: '', plural: 'p', namespace: 'n' })
  assert.equal(table.count(prefix), 3000)
  assert.equal(table.list(prefix, keys[2994] ?? null, 10).objects.length, 5)
  for (const key of keys) table.delete(key)
  assert.deepEqual(table.list('', null, null), { objects: [], more: false })
  assert.equal(table.count(prefix), 0)
})
