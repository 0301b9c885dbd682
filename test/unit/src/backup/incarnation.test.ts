/*
 * Goal: incarnations of a cluster that began in different seconds never issue the same revision.
 * Everything that members must agree on follows from the ID of the incarnation, which is valid for
 * one snapshot only.
 * Method: properties over times and revisions; IDs created, parsed and damaged.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { initialConfiguration } from '../../../../raft/index.ts'
import {
  clusterIdOf,
  firstRevision,
  headOfIncarnation,
  isMadeFrom,
  newIncarnation,
  parseIncarnation,
  sourceFingerprint,
} from '../../../../src/backup/incarnation.ts'
import { headOf } from '../../../../src/store/machine/digest.ts'
import { emptyState } from '../../../../src/store/machine/state.ts'
import { revision } from '../../../../src/store/revision.ts'
import { memberInfo } from '../../../../fixtures/fake-consensus.ts'
import { fc } from '../../../support/generators/fast-check.ts'

const fingerprint = sourceFingerprint('copy')

void test('the id of an incarnation contains its time, a random part and the fingerprint of its snapshot', () => {
  const incarnation = newIncarnation(Date.UTC(2026, 10, 21, 20, 5, 1, 750), new SeededRandom(1), fingerprint)
  assert.match(incarnation.id, /^20261121T200501Z-[0-9a-f]{12}-[0-9a-f]{12}$/)
  assert.equal(incarnation.createdMs, Date.UTC(2026, 10, 21, 20, 5, 1))
  assert.deepEqual(parseIncarnation(incarnation.id), incarnation)
  assert.notEqual(newIncarnation(incarnation.createdMs, new SeededRandom(2), fingerprint).id, incarnation.id)
  assert.ok(isMadeFrom(incarnation, fingerprint))
  for (const other of [['Copy'], ['copy', ''], ['co', 'py'], []])
    assert.ok(!isMadeFrom(incarnation, sourceFingerprint(...other)))
  for (const wrong of [
    '',
    'x',
    incarnation.id.slice(1),
    `${incarnation.id}0`,
    incarnation.id.slice(0, -13),
    incarnation.id.replace(/-[0-9a-f]+/, ''),
    incarnation.id.replace('11', '19'),
    incarnation.id.toUpperCase(),
  ])
    assert.equal(parseIncarnation(wrong), null, wrong)
})

void test('each incarnation begins above all revisions of the earlier ones, however often one snapshot is restored', () => {
  const step = fc.record({
    pauseSeconds: fc.integer({ min: 1, max: 10_000_000 }),
    load: fc.double({ min: 0, max: 1, noNaN: true }),
    objects: fc.double({ min: 0, max: 1, noNaN: true }),
    copy: fc.nat(5),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 2, maxLength: 8 }), (steps) => {
      // A founded cluster, then incarnations that begin with a snapshot of any earlier one.
      const copies = [revision(5000)]
      let [seconds, highest] = [1_795_000_000, 5000]
      for (const { pauseSeconds, load, objects, copy } of steps) {
        seconds += pauseSeconds
        const from = copies[copy % copies.length] ?? revision(0)
        const first = firstRevision(from, { id: '', createdMs: seconds * 1000 })
        assert.ok(first > highest, `${first} is not above ${highest}`)
        // The objects get new revisions, and one second of load follows before the loss.
        highest = first + Math.floor(objects * 500_000) + Math.floor(load * 500_000)
        copies.push(revision(highest))
      }
    }),
  )
})

void test('with an impossible clock the first revision is far above that of the snapshot, and below 2^53', () => {
  assert.equal(firstRevision(revision(5000), { id: '', createdMs: 0 }), 5000 + 2 ** 40)
  const late = firstRevision(revision(0), { id: '', createdMs: Date.UTC(2208, 0, 1) })
  assert.ok(late > 2 ** 52 && late < 2 ** 53 - 2 ** 50)
  assert.equal(firstRevision(revision(7), { id: '', createdMs: Date.UTC(2300, 0, 1) }), 7 + 2 ** 40)
})

void test('the cluster ID differs for another incarnation, another snapshot and another cluster', () => {
  const incarnation = newIncarnation(0, new SeededRandom(1), fingerprint)
  const ids = [
    clusterIdOf('c1', 'd1', incarnation),
    clusterIdOf('c2', 'd1', incarnation),
    clusterIdOf('c1', 'd2', incarnation),
    clusterIdOf('c1', 'd1', newIncarnation(0, new SeededRandom(2), fingerprint)),
  ]
  assert.equal(new Set(ids).size, 4)
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/)
})

void test('from feature level 3 on, members count as added when the incarnation began', () => {
  const incarnation = newIncarnation(Date.UTC(2026, 10, 21), new SeededRandom(1), fingerprint)
  const configuration = initialConfiguration([memberInfo(1, 'n1'), memberInfo(2, 'n2')])
  for (const featureLevel of [2, 3]) {
    const settings = { ...emptyState().settings, storageBytesMax: 1 }
    const old = { ...headOf(emptyState()), settings, featureLevel }
    const counts = { usedBytes: 0, objects: 3 }
    const head = headOfIncarnation(old, {
      incarnation,
      digest: 'd',
      configuration,
      newKeys: false,
      ...counts,
    })
    assert.equal(head.revision, firstRevision(old.revision, incarnation) + 3)
    const since = head.configuration.members.map(({ addedMs }) => addedMs)
    assert.deepEqual(since, featureLevel === 3 ? [incarnation.createdMs, incarnation.createdMs] : [0, 0])
  }
})
