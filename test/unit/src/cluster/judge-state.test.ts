/*
 * Goal: whose state is wrong is told by a majority at one index and under one level of rules, or by nobody.
 * Method: samples as members report them, small enough to be judged by hand; then at random with seeds, against a
 * slow definition.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../raft/base/random.ts'
import { logIndex, nodeId } from '../../../../raft/index.ts'
import type { NodeId } from '../../../../raft/index.ts'
import type { DigestSample } from '../../../../src/cluster/member-report.ts'
import { isConfirmedAgainst, judgeState } from '../../../../src/cluster/state-agreement.ts'
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

void test('a difference of the past counts until the two are known to be equal behind it', () => {
  const own = [sample(10, 'a'), sample(20, 'c')]
  const wrong = [sample(10, 'b')]
  assert.equal(verdict(own, { 2: wrong, 3: wrong }).kind, 'minority', 'behind it nothing can be compared')
  const forgotten = [sample(10, 'b'), sample(20, 'c')]
  assert.deepEqual(verdict(own, { 2: forgotten, 3: forgotten }), { kind: 'agree', upTo: 20, provenUpTo: 20 })
  assert.equal(verdict(own, { 2: forgotten }).kind, 'agree', 'no split by what is gone from both')
})

void test('each other member is forgiven by itself, and what differs last counts', () => {
  const own = [sample(10, 'a'), sample(20, 'c'), sample(30, 'e')]
  const equal = [sample(10, 'b'), sample(20, 'c')]
  const seen = verdict(own, { 2: [sample(10, 'a'), sample(20, 'd')], 3: [sample(10, 'b'), sample(20, 'c')] })
  assert.deepEqual([seen.kind, 'members' in seen && seen.members], ['majority', [2]])
  const again = [...equal, sample(30, 'f')]
  assert.equal(verdict(own, { 2: again, 3: again }).kind, 'minority', 'equal once, and not since')
  const right = [sample(20, 'c'), sample(30, 'e')]
  const one = verdict(own, { 2: right, 3: again })
  assert.deepEqual([one.kind, 'members' in one && one.members], ['majority', [3]])
})

void test('a state that is proven later is right, and whoever stays behind with another gets it', () => {
  const own = [sample(10, 'a'), sample(30, 'e')]
  const behind = [sample(10, 'b')]
  const seen = verdict(own, { 2: [sample(30, 'e')], 3: behind })
  assert.deepEqual([seen.kind, 'members' in seen && seen.members], ['majority', [3]])
  assert.equal(verdict(own, { 2: [sample(20, 'c')], 3: behind }).kind, 'split', 'nothing is proven')
  assert.equal(verdict(own, { 2: [sample(30, 'e')], 3: behind }, [1, 2, 3, 4]).kind, 'split', 'two of four')
  const before = [sample(5, 'e'), sample(10, 'a')]
  assert.equal(verdict(before, { 2: [sample(5, 'e')], 3: behind }).kind, 'split', 'proven before it differed')
})

void test('states are compared under one level of rules, whichever it is', () => {
  const own = [sample(10, 'a'), sample(20, 'c', 2)]
  assert.equal(verdict(own, { 2: [sample(10, 'b'), sample(20, 'c', 2)] }).kind, 'agree', 'newest of all')
  assert.equal(verdict(own, { 2: [sample(10, 'b'), sample(20, 'c', 1)] }).kind, 'split', 'not comparable')
})

const copyOf = (by: number, after: number, upTo: number) => ({
  by: nodeId(by),
  after: logIndex(after),
  upTo: logIndex(upTo),
})

/** Member 1 judges, itself a copy of 2 from the beginning; 7 learns. */
function evidenceOfCopies(seven: readonly DigestSample[]) {
  const samples = [sample(8, 'a'), sample(20, 'b')]
  const others = new Map<NodeId, Testimony>([
    [nodeId(2), { samples, copied: [] }],
    [nodeId(3), { samples, copied: [] }],
    [nodeId(7), { samples: seven, copied: [] }],
  ])
  const own = { samples, copied: [copyOf(2, 0, 2)] }
  return { self: nodeId(1), configuration: cluster([1, 2, 3, 4, 5]), own, others }
}

void test('what was copied before both were equal last makes nobody less of a witness', () => {
  const since = judgeState(evidenceOfCopies([sample(8, 'a'), sample(20, 'x')]))
  assert.deepEqual([since.kind, 'members' in since && since.members], ['majority', [7]])
  const never = judgeState(evidenceOfCopies([sample(20, 'x')]))
  assert.equal(never.kind, 'split', 'the mistake may be in what was copied')
})

void test('a member that lost its state is answered by a majority that counts in the same way', () => {
  const evidence = evidenceOfCopies([])
  const at = logIndex(20)
  const word = (...samples: readonly DigestSample[]): Testimony => ({ samples, copied: [] })
  assert.ok(isConfirmedAgainst(word(sample(8, 'a'), sample(20, 'x')), at, evidence))
  assert.ok(
    !isConfirmedAgainst(word(sample(20, 'x')), at, evidence),
    'nothing says that they were ever equal',
  )
  assert.ok(!isConfirmedAgainst(word(sample(8, 'a')), logIndex(21), evidence), 'nobody was compared there')
})

void test('whoever was copied from the same member has its mistakes too, and is told apart by later ones', () => {
  const right = (copied: Testimony['copied']): Testimony => ({ samples: [sample(50, 'a')], copied })
  const others = new Map<NodeId, Testimony>([
    [nodeId(2), right([copyOf(3, 0, 20)])],
    [nodeId(3), right([])],
    [nodeId(4), right([copyOf(3, 0, 10)])],
    [nodeId(5), right([])],
  ])
  const configuration = cluster([1, 2, 3, 4, 5])
  const wrong = (copied: Testimony['copied']): Testimony => ({ samples: [sample(50, 'x')], copied })
  const one = { self: nodeId(1), configuration, own: wrong([copyOf(3, 10, 25)]), others }
  assert.equal(judgeState(one).kind, 'minority')
  const early = judgeState({ ...one, own: wrong([copyOf(3, 5, 9)]) })
  assert.equal(early.kind, 'split', 'it may be what 3 did since')
  assert.equal(judgeState({ ...one, own: wrong([]) }).kind, 'split', 'it may be the mistake of 3')
  const against = new Map([...others, [nodeId(1), one.own] as const])
  against.delete(nodeId(3))
  const seen = judgeState({ self: nodeId(3), configuration, own: right([]), others: against })
  assert.deepEqual([seen.kind, 'members' in seen && seen.members], ['majority', [1]])
})

void test('a member that stays behind is answered by another that was with it and is equal since', () => {
  const own = [sample(10, 'a'), sample(30, 'e')]
  const behind = [sample(10, 'b')]
  const cameFrom = [sample(10, 'b'), sample(30, 'e')]
  const four = [1, 2, 3, 4]
  assert.equal(verdict(own, { 2: cameFrom, 3: behind }, four).kind, 'agree')
  assert.equal(
    verdict(own, { 2: [sample(10, 'c'), sample(30, 'e')], 3: behind }, four).kind,
    'split',
    'not with it',
  )
  assert.equal(
    verdict(own, { 2: [sample(10, 'b'), sample(30, 'f')], 3: behind }, four).kind,
    'split',
    'not equal',
  )
  const others = new Map<NodeId, Testimony>([
    [nodeId(2), { samples: cameFrom, copied: [copyOf(1, 10, 20)] }],
    [nodeId(3), { samples: behind, copied: [] }],
  ])
  const copy = judgeState({
    ...{ self: nodeId(1), configuration: cluster(four), own: { samples: own, copied: [] }, others },
  })
  assert.equal(copy.kind, 'split', 'it is equal because it was sent this state')
})

/** By the words of the definition: no copies, voters 1 to 3. */
function isOutvoted(
  own: readonly DigestSample[],
  others: Readonly<Record<number, readonly DigestSample[]>>,
): boolean {
  const at = (samples: readonly DigestSample[], index: number): string | undefined =>
    samples.find((one) => one.index === index)?.digest
  const indexes = own.map(({ index }) => index).sort((a, b) => b - a)
  const against = Object.values(others).filter((samples) => {
    const newest = indexes.find((index) => at(samples, index) !== undefined)
    return newest !== undefined && at(samples, newest) !== at(own, newest)
  })
  return indexes.some((index) => {
    const [one, two] = against.map((samples) => at(samples, index))
    return one !== undefined && one === two && one !== at(own, index)
  })
}

void test('who is outvoted is told by those alone that differ where they were compared last', () => {
  let outvoted = 0
  for (let seed = 1; seed <= 2000; seed++) {
    const random = new SeededRandom(seed)
    const drawn = (): readonly DigestSample[] =>
      [10, 20, 30, 40].flatMap((index) =>
        random.chance(0.6) ? [sample(index, random.pick(['a', 'b']))] : [],
      )
    const [own, others] = [drawn(), { 2: drawn(), 3: drawn() }]
    const isExpected = isOutvoted(own, others)
    if (isExpected) outvoted++
    assert.equal(verdict(own, others).kind === 'minority', isExpected, `seed ${seed}`)
  }
  assert.ok(outvoted > 50, `${outvoted} were outvoted`)
})
