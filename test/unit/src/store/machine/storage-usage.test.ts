/*
 * Goal: the usage of resources is exact, whatever was made, replaced, deleted and trimmed.
 * Method: seeded random versions in many namespaces, against sums over all that is kept.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { encoded } from '../../../../../fixtures/store-kit.ts'
import type { Key } from '../../../../../src/store/key.ts'
import { deletedVersion, putVersion, recordBytes } from '../../../../../src/store/machine/object-version.ts'
import type { Version } from '../../../../../src/store/machine/object-version.ts'
import { StorageUsage } from '../../../../../src/store/machine/storage-usage.ts'
import { noRevision, revision } from '../../../../../src/store/revision.ts'

const resources = ['/pods', '/configmaps', 'apps/deployments', 'coordination.k8s.io/leases']
const names = ['pods', 'configmaps', 'deployments.apps', 'leases.coordination.k8s.io']

for (const seed of [1, 2, 3, 4, 5]) {
  void test(`usage by resource equals the sum over all versions (seed ${seed})`, () => {
    const random = new SeededRandom(seed)
    const usage = new StorageUsage()
    const live = new Map<Key, Version>()
    let kept: Version[] = []
    for (let at = 1; at <= 400; at++) {
      const key = `${random.pick(resources)}/ns${random.below(20)}/o${random.below(4)}` as Key
      const old = live.get(key) ?? null
      const place = {
        key,
        revision: revision(at),
        previous: old?.revision ?? noRevision,
        lastOfCommand: true,
      }
      const made =
        old !== null && random.below(2) === 0
          ? deletedVersion(place, old)
          : putVersion(place, encoded('x'.repeat(random.below(300))))
      usage.put(made, old)
      if (made.kind === 'deleted') live.delete(key)
      else live.set(key, made)
      kept.push(made)
      if (random.below(4) === 0) kept = trimmed(usage, kept, live)
      assertEqualSums(usage, kept, live)
    }
    for (const [key, old] of live) {
      const place = { key, revision: revision(9999), previous: old.revision, lastOfCommand: true }
      const made = deletedVersion(place, old)
      usage.put(made, old)
      kept.push(made)
    }
    for (const version of kept) usage.freed(version.key, recordBytes(version))
    assert.deepEqual(usage.largest(10), [])
    assert.deepEqual(usage.largestPlaces(), [])
    assert.equal(usage.bytes, 0)
  })
}

/** Frees all versions that are not current. */
function trimmed(usage: StorageUsage, kept: readonly Version[], live: ReadonlyMap<Key, Version>): Version[] {
  const isCurrent = (version: Version): boolean => live.get(version.key) === version
  for (const version of kept) {
    if (!isCurrent(version)) usage.freed(version.key, recordBytes(version))
  }
  return kept.filter(isCurrent)
}

function assertEqualSums(
  usage: StorageUsage,
  kept: readonly Version[],
  live: ReadonlyMap<Key, Version>,
): void {
  const found = new Map(usage.largest(10).map(({ resource, ...amount }) => [resource, amount]))
  resources.forEach((resource, place) => {
    const isOfIt = (key: Key): boolean => key.startsWith(`${resource}/`)
    const bytes = kept
      .filter(({ key }) => isOfIt(key))
      .reduce((sum, version) => sum + recordBytes(version), 0)
    const objects = [...live.keys()].filter(isOfIt).length
    const expected = bytes === 0 ? undefined : { bytes, objects }
    assert.deepEqual(found.get(names[place] ?? ''), expected, resource)
  })
  const ordered = usage.largest(10).map(({ bytes }) => bytes)
  assert.deepEqual(
    ordered,
    [...ordered].sort((a, b) => b - a),
  )
}
