/*
 * Goal: whose state is wrong is told by a majority at one index and under one level of rules, or by nobody.
 * Method: samples as members report them, small enough to be judged by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId } from '../../../../raft/index.ts'
import type { NodeId } from '../../../../raft/index.ts'
import type { DigestSample } from '../../../../src/cluster/member-report.ts'
import { judgeState } from '../../../../src/cluster/state-agreement.ts'
import type { StateVerdict, Testimony } from '../../../../src/cluster/state-agreement.ts'
import { cluster } from '../../../scenario/people.ts'

const digestOf = (letter: string): string => letter.repeat(32)

function sample(index: number, letter: string, featureLevel = 1): DigestSample {
  return { index: logIndex(index), featureLevel, digest: digestOf(letter) }
}

/** Member 1 judges, of the voters named. */
function verdict(
  own: readonly DigestSample[],
  others: Readonly<Record<number, readonly DigestSample[]>>,
  voters: readonly number[] = [1, 2, 3],
): StateVerdict {
  const reported = new Map<NodeId, Testimony>()
  for (const [id, samples] of Object.entries(others))
    reported.set(nodeId(Number(id)), { samples, copied: [] })
  const configuration = cluster([...voters])
  return judgeState({ self: nodeId(1), configuration, own: { samples: own, copied: [] }, others: reported })
}

void test('two of three agree on another state: this one is wrong', () => {
  const seen = verdict([sample(10, 'a')], { 2: [sample(10, 'b')], 3: [sample(10, 'b')] })
  assert.deepEqual(seen, { kind: 'minority', index: 10, digest: digestOf('a'), members: [2, 3] })
})

void test('with a majority on its side this one is right, and knows who is not', () => {
  const seen = verdict([sample(10, 'a')], { 2: [sample(10, 'a')], 3: [sample(10, 'b')] })
  assert.deepEqual(seen, {
    kind: 'majority',
    upTo: 10,
    provenUpTo: 10,
    index: 10,
    digest: digestOf('a'),
    members: [3],
  })
})

void test('without a majority nobody is right', () => {
  assert.equal(verdict([sample(10, 'a')], { 2: [sample(10, 'b')] }).kind, 'split')
  assert.equal(verdict([sample(10, 'a')], { 2: [sample(10, 'b')], 3: [sample(10, 'c')] }).kind, 'split')
  const two = verdict([sample(10, 'a')], { 2: [sample(10, 'b')], 3: [sample(10, 'b')] }, [1, 2, 3, 4, 5])
  assert.equal(two.kind, 'split', 'two of five are no majority')
})

void test('other indexes and other levels of rules say nothing', () => {
  const others = { 2: [sample(11, 'b'), sample(10, 'b', 2)], 3: [sample(9, 'b'), sample(10, 'b', 2)] }
  assert.deepEqual(verdict([sample(10, 'a')], others), { kind: 'agree', upTo: null, provenUpTo: null })
})

void test('a learner proves nothing', () => {
  const seen = verdict([sample(10, 'a')], { 2: [sample(10, 'b')], 7: [sample(10, 'b')] })
  assert.equal(seen.kind, 'split')
})

void test('a difference of the past counts, however much agrees since', () => {
  const own = [sample(10, 'a'), sample(20, 'c')]
  const theirs = [sample(10, 'b'), sample(20, 'c')]
  assert.equal(verdict(own, { 2: theirs, 3: theirs }).kind, 'minority')
})
