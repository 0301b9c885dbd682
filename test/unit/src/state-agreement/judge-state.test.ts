/*
 * Goal: a state is outvoted exactly where a majority of the voters has one other state, at one
 * index and under one feature level; and undecided where members differ and no majority is known
 * to have either state.
 * Method: samples as members report them, small enough to be judged by hand; then random samples
 * with seeds, against a slow evaluation of the definition.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { emptyConfiguration, logIndex, nodeId } from '../../../../raft/index.ts'
import type { Configuration, NodeId } from '../../../../raft/index.ts'
import type {
  DigestReport,
  DigestSample,
  ReportedState,
} from '../../../../src/state-agreement/member-report.ts'
import { judgeState } from '../../../../src/state-agreement/state-agreement.ts'
import type { StateVerdict } from '../../../../src/state-agreement/state-agreement.ts'

const digestOf = (letter: string): string => letter.repeat(32)

function sample(index: number, letter: string, featureLevel = 1): DigestSample {
  return { index: logIndex(index), featureLevel, digest: digestOf(letter) }
}

function votersOf(...ids: readonly number[]): Configuration {
  return { ...emptyConfiguration, voters: ids.map((id) => nodeId(id)) }
}

type Reports = Readonly<Record<number, readonly DigestSample[]>>

/** Returns the verdict of member 1. */
function verdict(
  own: readonly DigestSample[],
  reported: Reports,
  configuration = votersOf(1, 2, 3),
  states: Readonly<Record<number, ReportedState>> = {},
): StateVerdict {
  const others = new Map<NodeId, DigestReport>()
  for (const [id, samples] of Object.entries(reported))
    others.set(nodeId(Number(id)), { samples, state: states[Number(id)] ?? 'healthy' })
  return judgeState({ self: nodeId(1), configuration, own, others })
}

void test('two of three agree on another state: this one is outvoted', () => {
  const seen = verdict([sample(10, 'a')], { 2: [sample(10, 'b')], 3: [sample(10, 'b')] })
  const expected = { kind: 'outvoted', agreedUpTo: null, index: 10, digest: digestOf('a'), members: [2, 3] }
  assert.deepEqual(seen, expected)
})

void test('with a majority on its side a member knows which member differs', () => {
  const seen = verdict([sample(10, 'a')], { 2: [sample(10, 'a')], 3: [sample(10, 'b')] })
  const expected = { kind: 'majority', agreedUpTo: 10, index: 10, digest: digestOf('a'), members: [3] }
  assert.deepEqual(seen, expected)
})

void test('without a majority nothing is decided', () => {
  const own = [sample(10, 'a')]
  assert.equal(verdict(own, { 2: [sample(10, 'b')] }).kind, 'undecided')
  assert.equal(verdict(own, { 2: [sample(10, 'b')], 3: [sample(10, 'c')] }).kind, 'undecided')
  const two = { 2: [sample(10, 'b')], 3: [sample(10, 'b')] }
  assert.equal(verdict(own, two, votersOf(1, 2, 3, 4, 5)).kind, 'undecided', 'two of five are no majority')
})

void test('digests at other indexes or feature levels prove nothing', () => {
  const others = { 2: [sample(11, 'b'), sample(10, 'b', 2)], 3: [sample(9, 'b'), sample(10, 'b', 2)] }
  assert.deepEqual(verdict([sample(10, 'a')], others), { kind: 'agree', agreedUpTo: null })
  assert.deepEqual(verdict([], others), { kind: 'agree', agreedUpTo: null })
})

void test('only voters make a majority, and a joint configuration needs two', () => {
  const learners = { 2: [sample(10, 'b')], 7: [sample(10, 'b')] }
  assert.equal(verdict([sample(10, 'a')], learners).kind, 'undecided')
  assert.equal(verdict([sample(10, 'a')], { 7: [sample(10, 'b')] }, votersOf(1)).kind, 'majority')
  assert.equal(
    verdict([sample(10, 'a')], { 7: [sample(10, 'b')] }, votersOf(7)).kind,
    'outvoted',
    'of a learner',
  )
  const joint = { ...votersOf(1, 2, 3), votersOutgoing: [1, 4, 5].map((id) => nodeId(id)) }
  const both = { 2: [sample(1, 'b')], 3: [sample(1, 'b')] }
  assert.equal(verdict([sample(1, 'a')], both, joint).kind, 'undecided')
  const all = { ...both, 4: [sample(1, 'b')], 5: [sample(1, 'b')] }
  assert.equal(verdict([sample(1, 'a')], all, joint).kind, 'outvoted')
})

void test('a past difference counts until the two are known to be equal at a later index', () => {
  const own = [sample(10, 'a'), sample(20, 'c')]
  const wrong = [sample(10, 'b')]
  assert.equal(verdict(own, { 2: wrong, 3: wrong }).kind, 'outvoted', 'nothing after it can be compared')
  const forgotten = [sample(10, 'b'), sample(20, 'c')]
  assert.deepEqual(verdict(own, { 2: forgotten, 3: forgotten }), { kind: 'agree', agreedUpTo: 20 })
  assert.equal(
    verdict(own, { 2: forgotten }).kind,
    'agree',
    'a difference that has left both states decides nothing',
  )
})

void test('a majority with this state settles every difference before it', () => {
  const own = [sample(10, 'a'), sample(30, 'e')]
  const behind = [sample(10, 'b')]
  const seen = verdict(own, { 2: [sample(30, 'e')], 3: behind })
  assert.deepEqual([seen.kind, 'members' in seen && seen.members], ['majority', [3]])
  assert.equal(verdict(own, { 2: [sample(20, 'c')], 3: behind }).kind, 'undecided', 'no majority')
  const before = [sample(5, 'e'), sample(10, 'a')]
  assert.equal(verdict(before, { 2: [sample(5, 'e')], 3: behind }).kind, 'undecided', 'it agreed before')
})

void test('a member that a majority contradicted decides nothing against another', () => {
  const [own, reported] = [[sample(10, 'a')], { 3: [sample(10, 'b')] }]
  const judged = (state: ReportedState) => verdict(own, reported, votersOf(1, 2, 3), { 3: state }).kind
  assert.equal(judged('outvoted'), 'majority')
  assert.equal(judged('undecided'), 'undecided')
  const more = { ...reported, 2: [sample(10, 'c')] }
  assert.equal(verdict(own, more, votersOf(1, 2, 3), { 3: 'outvoted' }).kind, 'undecided', 'another does')
  const outvoted = { 2: [sample(10, 'b')], 3: [sample(10, 'b')] }
  assert.equal(
    verdict(own, outvoted, votersOf(1, 2, 3), { 3: 'outvoted' }).kind,
    'outvoted',
    'its digest still counts',
  )
})

/** Returns the verdict for voters 1 to 3 by a literal evaluation of the definition. */
function expectedOf(own: readonly DigestSample[], reported: Reports): StateVerdict['kind'] {
  const at = (samples: readonly DigestSample[], index: number): string | undefined =>
    samples.find((one) => one.index === index)?.digest
  const indexes = own.map(({ index }) => index).sort((a, b) => b - a)
  const others = Object.values(reported)
  const agreed = indexes.find((index) => others.some((one) => at(one, index) === at(own, index))) ?? -1
  const newest = others.flatMap((samples) => {
    const index = indexes.find((one) => at(samples, one) !== undefined)
    return index !== undefined && at(samples, index) !== at(own, index) ? [{ index, samples }] : []
  })
  const isOutvoted = indexes.some((index) => {
    const [one, two] = newest.map(({ samples }) => at(samples, index))
    return index > agreed && one !== undefined && one === two && one !== at(own, index)
  })
  if (isOutvoted) return 'outvoted'
  if (newest.some(({ index }) => index > agreed)) return 'undecided'
  return newest.length > 0 ? 'majority' : 'agree'
}

void test('random samples of three members are judged according to the definition', () => {
  const counts = { agree: 0, majority: 0, outvoted: 0, undecided: 0 }
  for (let seed = 1; seed <= 3000; seed++) {
    const random = new SeededRandom(seed)
    const drawn = (): readonly DigestSample[] =>
      [10, 20, 30, 40].flatMap((index) =>
        random.chance(0.6) ? [sample(index, random.pick(['a', 'b']))] : [],
      )
    const [own, reported] = [drawn(), { 2: drawn(), 3: drawn() }]
    const { kind } = verdict(own, reported)
    assert.equal(kind, expectedOf(own, reported), `seed ${seed}`)
    counts[kind]++
  }
  for (const [kind, count] of Object.entries(counts)) assert.ok(count > 50, `${count} ${kind}`)
})

void test('members that compare at one index never outvote a majority of them', () => {
  let outvoted = 0
  for (let seed = 1; seed <= 500; seed++) {
    const random = new SeededRandom(seed)
    const count = 1 + random.below(5)
    const voters = Array.from({ length: count }, (_, at) => nodeId(at + 1))
    const reported = voters.map(() => [sample(7, random.pick(['a', 'b', 'c']))])
    const configuration = { ...emptyConfiguration, voters }
    const kinds = voters.map((self, at) => {
      const others = new Map(
        voters.flatMap((id, other) =>
          other === at ? [] : [[id, { samples: reported[other] ?? [], state: 'healthy' as const }] as const],
        ),
      )
      return judgeState({ self, configuration, own: reported[at] ?? [], others }).kind
    })
    const fewer = kinds.filter((kind) => kind === 'outvoted').length
    assert.ok(2 * fewer < count, `seed ${seed}`)
    outvoted += fewer
  }
  assert.ok(outvoted > 50, `${outvoted} outvoted`)
})
