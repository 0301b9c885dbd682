import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isQuorum, quorumValue, voteResult } from '../../../../raft/core/quorum.ts'
import type { Electorate } from '../../../../raft/core/quorum.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import type { NodeId } from '../../../../raft/core/types.ts'
import { fc } from '../../../support/generators/fast-check.ts'

/*
 * Goal: votes and values are counted correctly for every electorate.
 * Method: examples, and properties against naive counting.
 */

const ids = fc
  .uniqueArray(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 7 })
  .map((list) => list.sort((a, b) => a - b).map((id) => nodeId(id)))
const electorates: fc.Arbitrary<Electorate> = fc.record({ voters: ids, votersOutgoing: fc.option(ids) })

function naiveMajority(voters: readonly NodeId[], isIn: (id: NodeId) => boolean): boolean {
  return voters.filter(isIn).length * 2 > voters.length
}

function naiveQuorum({ voters, votersOutgoing }: Electorate, isIn: (id: NodeId) => boolean): boolean {
  return naiveMajority(voters, isIn) && (votersOutgoing === null || naiveMajority(votersOutgoing, isIn))
}

void test('three voters commit what two have, five what three have, and four what three have', () => {
  const value = (reached: readonly number[]): number =>
    quorumValue(
      { voters: reached.map((_, at) => nodeId(at + 1)), votersOutgoing: null },
      (id) => reached[id - 1] ?? 0,
    )
  assert.equal(value([7]), 7)
  assert.equal(value([7, 3]), 3)
  assert.equal(value([7, 3, 5]), 5)
  assert.equal(value([7, 3, 5, 4]), 4)
  assert.equal(value([1, 9, 2, 8, 3]), 3)
})

void test('a configuration without voters elects no leader and commits nothing', () => {
  const noVoters = { voters: [], votersOutgoing: null }
  assert.equal(
    quorumValue(noVoters, () => 9),
    0,
  )
  assert.equal(
    voteResult(noVoters, () => true),
    'lost',
  )
})

void test('quorumValue returns the same as naive counting', () => {
  fc.assert(
    fc.property(electorates, fc.array(fc.nat(20), { minLength: 10, maxLength: 10 }), (electorate, values) => {
      const reached = (id: NodeId): number => values[id] ?? 0
      const naive = Math.max(
        0,
        ...values.filter((value) => naiveQuorum(electorate, (id) => reached(id) >= value)),
      )
      assert.equal(quorumValue(electorate, reached), naive)
    }),
  )
})

void test('voteResult returns the same as naive counting', () => {
  const votes = fc.array(fc.constantFrom(true, false, undefined), { minLength: 10, maxLength: 10 })
  fc.assert(
    fc.property(electorates, votes, (electorate, cast) => {
      const won = naiveQuorum(electorate, (id) => cast[id] === true)
      const possible = naiveQuorum(electorate, (id) => cast[id] !== false)
      const expected = won ? 'won' : possible ? 'pending' : 'lost'
      assert.equal(
        voteResult(electorate, (id) => cast[id]),
        expected,
      )
    }),
  )
})

void test('any two quorums of one electorate overlap', () => {
  const sets = fc.array(fc.boolean(), { minLength: 10, maxLength: 10 })
  fc.assert(
    fc.property(electorates, sets, sets, (electorate, a, b) => {
      fc.pre(isQuorum(electorate, (id) => a[id] === true))
      fc.pre(isQuorum(electorate, (id) => b[id] === true))
      assert.ok(electorate.voters.some((id) => a[id] === true && b[id] === true))
    }),
  )
})
