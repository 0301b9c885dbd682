import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkConfiguration, leaveJoint, transition } from '../../../../raft/core/conf-change.ts'
import { isQuorum } from '../../../../raft/core/quorum.ts'
import { emptyConfiguration, nodeId } from '../../../../raft/core/types.ts'
import type { Configuration } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { fc } from '../../../support/generators/fast-check.ts'

/* Goal: any membership can be changed to any other, with overlapping quorums at every moment. */

const parts = fc.array(fc.constantFrom('voter', 'learner', 'none'), { minLength: 7, maxLength: 7 })
const configurations: fc.Arbitrary<Configuration> = parts
  .map((roles) => {
    const of = (role: string): readonly number[] =>
      roles.flatMap((part, at) => (part === role ? [at + 1] : []))
    return cluster(of('voter'), of('learner'))
  })
  .filter((configuration) => configuration.voters.length > 0)

void test('adding or removing one voter is a direct change, more is a joint change', () => {
  assert.equal(transition(cluster([1, 2, 3]), cluster([1, 2, 3, 4])).votersOutgoing, null)
  assert.equal(transition(cluster([1, 2, 3]), cluster([1, 2], [3])).votersOutgoing, null)
  const joint = transition(cluster([1, 2, 3], [5]), cluster([1, 2, 4], [3, 5, 6]))
  assert.deepEqual(joint.votersOutgoing, [1, 2, 3])
  assert.deepEqual([joint.learners, joint.learnersNext, joint.autoLeave], [[5, 6], [3], true])
})

void test('a membership change ends in the requested membership', () => {
  fc.assert(
    fc.property(configurations, configurations, (from, target) => {
      const first = transition(from, target)
      checkConfiguration(first)
      const last = first.votersOutgoing === null ? first : leaveJoint(first)
      checkConfiguration(last)
      assert.deepEqual(last, target)
    }),
  )
})

void test('quorums before, during and after a change overlap', () => {
  const sets = fc.array(fc.boolean(), { minLength: 8, maxLength: 8 })
  fc.assert(
    fc.property(configurations, configurations, sets, sets, (from, target, a, b) => {
      const first = transition(from, target)
      const steps = first.votersOutgoing === null ? [from, first] : [from, first, leaveJoint(first)]
      for (let at = 1; at < steps.length; at++) {
        const [before, after] = [steps[at - 1] ?? from, steps[at] ?? target]
        if (!isQuorum(before, (id) => a[id] === true)) continue
        if (!isQuorum(after, (id) => b[id] === true)) continue
        assert.ok(a.some((isIn, id) => isIn && b[id] === true))
      }
    }),
    { numRuns: 500 },
  )
})

void test('an invalid configuration is detected', () => {
  const good = cluster([1, 2], [3])
  checkConfiguration(good)
  checkConfiguration(emptyConfiguration)
  const bad: readonly Configuration[] = [
    { ...good, voters: [nodeId(2), nodeId(1)] },
    { ...good, learners: [nodeId(2)] },
    { ...good, members: good.members.slice(1) },
    { ...good, learnersNext: [nodeId(3)] },
    { ...good, autoLeave: true },
  ]
  for (const configuration of bad) {
    assert.throws(() => checkConfiguration(configuration), { name: 'BrokenInvariant' })
  }
})
