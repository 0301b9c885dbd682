/*
 * Goal: a member knows its state to be wrong exactly when a majority of the voters has another one, equal, at an index and
 * level where it can be compared; and acts on it once.
 * Method: the decision on evidence made up, also at random with seeds against a slow definition; the guard with a fake
 * consensus, states made up, and a clock by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../raft/base/random.ts'
import { emptyConfiguration, logIndex, nodeId } from '../../../../raft/index.ts'
import type { Configuration, LogIndex, NodeId, PeerReport } from '../../../../raft/index.ts'
import { encodeReport } from '../../../../src/cluster/member-report.ts'
import type { CopiedStretch, DigestSample, MemberReport } from '../../../../src/cluster/member-report.ts'
import { MemberReports } from '../../../../src/cluster/member-reports.ts'
import { judgeState, mayGive } from '../../../../src/cluster/state-agreement.ts'
import { StateGuard } from '../../../../src/cluster/state-guard.ts'
import type { GuardedState } from '../../../../src/cluster/state-guard.ts'
import { FakeConsensus } from '../../../support/fake-consensus.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

function ids(...numbers: readonly number[]): NodeId[] {
  return numbers.map((id) => nodeId(id))
}

const three: Configuration = { ...emptyConfiguration, voters: ids(1, 2, 3) }

function sample(index: number, name: string, featureLevel = 1): DigestSample {
  return { index: logIndex(index), featureLevel, digest: name.padStart(32, '0') }
}

function judge(
  own: readonly DigestSample[],
  others: Readonly<Record<number, readonly DigestSample[]>>,
  configuration = three,
) {
  const evidence = new Map(
    Object.entries(others).map(([id, samples]) => [nodeId(Number(id)), { samples, copied: [] }]),
  )
  return judgeState({ self: nodeId(1), configuration, own: { samples: own, copied: [] }, others: evidence })
}

test('two of three against one: the one knows, and so do the two', () => {
  const others = { 2: [sample(10, 'b')], 3: [sample(10, 'b')] }
  const lost = judge([sample(10, 'a')], others)
  assert.deepEqual([lost.kind, 'members' in lost && lost.members], ['minority', ids(2, 3)])
  const won = judge([sample(10, 'b')], { 2: [sample(10, 'b')], 3: [sample(10, 'a')] })
  assert.deepEqual([won.kind, 'members' in won && won.members], ['majority', ids(3)])
})

test('one against one, or three apart: nobody can tell', () => {
  assert.equal(judge([sample(10, 'a')], { 2: [sample(10, 'b')] }).kind, 'split')
  assert.equal(judge([sample(10, 'a')], { 2: [sample(10, 'b')], 3: [sample(10, 'c')] }).kind, 'split')
})

test('only equal indexes and levels compare', () => {
  const agree = { kind: 'agree', upTo: null, provenUpTo: null }
  assert.deepEqual(judge([sample(10, 'a')], { 2: [sample(11, 'b')], 3: [sample(9, 'b')] }), agree)
  assert.deepEqual(judge([sample(10, 'a')], { 2: [sample(10, 'b', 2)], 3: [sample(10, 'b', 2)] }), agree)
  assert.deepEqual(judge([], { 2: [sample(10, 'b')], 3: [sample(10, 'b')] }), agree)
  const upTo = judge([sample(10, 'a'), sample(20, 'x')], { 2: [sample(10, 'a')] })
  assert.deepEqual(upTo, { kind: 'agree', upTo: 10, provenUpTo: 10 })
})

test('learners are no majority, and a joint configuration needs two', () => {
  const learners = { ...emptyConfiguration, voters: ids(1), learners: ids(2, 3) }
  assert.equal(
    judge([sample(1, 'a')], { 2: [sample(1, 'b')], 3: [sample(1, 'b')] }, learners).kind,
    'majority',
  )
  const joint = { ...three, votersOutgoing: ids(1, 4, 5) }
  const both = { 2: [sample(1, 'b')], 3: [sample(1, 'b')] }
  assert.equal(judge([sample(1, 'a')], both, joint).kind, 'split')
  const all = { ...both, 4: [sample(1, 'b')], 5: [sample(1, 'b')] }
  assert.equal(judge([sample(1, 'a')], all, joint).kind, 'minority')
})

test('one difference is enough, however much agrees, and the worst counts', () => {
  const own = [sample(10, 'a'), sample(20, 'x'), sample(30, 'c')]
  const verdict = judge(own, {
    2: [sample(10, 'a'), sample(20, 'y'), sample(30, 'd')],
    3: [sample(10, 'a'), sample(20, 'y')],
  })
  assert.deepEqual([verdict.kind, 'index' in verdict && verdict.index], ['minority', 20])
})

test('whoever is told to heal differs from a majority that is equal; never a majority is told so', () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = new SeededRandom(seed)
    const count = 1 + random.below(5)
    const voters = ids(...Array.from({ length: count }, (_, at) => at + 1))
    const digests = voters.map(() => `${random.below(3)}`)
    const known = voters.map(() => random.chance(0.7))
    const told = voters.map((self, at) => {
      const others = new Map(
        voters.flatMap((id, other) =>
          other === at || !known[other]
            ? []
            : [[id, { samples: [sample(7, digests[other] ?? '')], copied: [] }] as const],
        ),
      )
      const configuration = { ...emptyConfiguration, voters }
      const own = { samples: [sample(7, digests[at] ?? '')], copied: [] }
      return judgeState({ self, configuration, own, others }).kind
    })
    for (const [at, kind] of told.entries()) {
      const theirs = ['0', '1', '2'].some(
        (digest) =>
          digest !== digests[at] &&
          2 * voters.filter((_, other) => other !== at && known[other] && digests[other] === digest).length >
            count,
      )
      assert.equal(kind === 'minority', theirs, `seed ${seed}`)
    }
    assert.ok(2 * told.filter((kind) => kind === 'minority').length < count || count === 1, `seed ${seed}`)
  }
})

test('a state is given away only where nothing speaks against it, and in a repair once a majority has it', () => {
  const asked = (atLeast: number | null, ...healthy: readonly number[]) => ({
    atLeast: atLeast === null ? null : logIndex(atLeast),
    configuration: three,
    healthy: new Map(healthy.map((id) => [nodeId(id), []])),
  })
  const agree = (upTo: number | null) =>
    ({
      kind: 'agree',
      upTo: upTo === null ? null : logIndex(upTo),
      provenUpTo: upTo === null ? null : logIndex(upTo),
    }) as const
  const differs = { index: logIndex(9), digest: 'a', members: ids(3) }
  assert.equal(mayGive(agree(8), asked(8, 1, 2)), true)
  assert.equal(mayGive(agree(7), asked(8, 1, 2)), false, 'nobody has said so as far as that')
  assert.equal(mayGive(agree(null), asked(8, 1, 2)), false)
  assert.equal(mayGive(agree(null), asked(8, 1)), true, 'nobody could ever say so')
  assert.equal(mayGive(agree(null), asked(null, 1, 2)), true, 'the receiver only lags')
  const known = { upTo: logIndex(9), provenUpTo: logIndex(9), ...differs }
  assert.equal(mayGive({ kind: 'majority', ...known }, asked(8, 1, 2)), true)
  assert.equal(mayGive({ kind: 'majority', ...known }, asked(10, 1, 2)), false)
  for (const kind of ['minority', 'split'] as const) {
    assert.equal(mayGive({ kind, ...differs }, asked(null, 1, 2)), false)
    assert.equal(mayGive({ kind, ...differs }, asked(8, 1)), false)
  }
})

test('copies made behind the place of a repair are no witnesses that it could wait for', () => {
  const copied = [{ by: nodeId(4), after: logIndex(105), upTo: logIndex(119) }]
  const configuration = { ...emptyConfiguration, voters: ids(1, 2, 3, 4, 5) }
  const healthy = new Map<NodeId, readonly CopiedStretch[]>([
    [nodeId(1), copied],
    [nodeId(3), copied],
  ])
  for (const id of ids(2, 4)) healthy.set(id, [])
  const asked = { atLeast: logIndex(105), configuration, healthy }
  const held = (upTo: number) => ({ kind: 'agree', upTo: logIndex(upTo), provenUpTo: null }) as const
  assert.equal(mayGive(held(161), asked), true)
  assert.equal(mayGive(held(104), asked), false, 'nobody has said so as far as that')
  const apart = { ...asked, healthy: new Map(ids(1, 2, 3, 4).map((id) => [id, []])) }
  assert.equal(mayGive(held(161), apart), false, 'these can prove it, so it waits until they have')
})

class FakeState implements GuardedState {
  appliedMemory: LogIndex = logIndex(10)
  samples: DigestSample[] = []
  descent: readonly CopiedStretch[] = []
  wanted: LogIndex | null = null
  provenUpTo: number | null = null
  quarantine: { readonly reason: string } | null = null
  digest = 'a'
  readonly wishes: number[] = []

  sampleNow(): void {
    this.samples.push(sample(this.appliedMemory, this.digest))
  }

  sampleAt(index: LogIndex): void {
    this.wishes.push(index)
  }

  proven(index: LogIndex): void {
    this.provenUpTo = index
  }

  condemn(reason: string): void {
    this.quarantine = { reason }
    this.samples = []
  }
}

class Bench {
  readonly clock = new ManualClock()
  readonly consensus = new FakeConsensus(this.clock)
  readonly state = new FakeState()
  readonly lines: string[] = []
  #tell: (report: PeerReport) => void = () => undefined
  readonly guard: StateGuard

  constructor() {
    const { clock, consensus, state } = this
    const reports = new MemberReports({
      consensus: {
        status: consensus.status,
        onReport: (listener) => {
          this.#tell = listener
          return () => undefined
        },
      },
      clock,
      onUnreadable: (_from, cause) => assert.fail(cause),
    })
    const note = (_fields: object, message: string): void => void this.lines.push(message)
    this.guard = new StateGuard({
      state,
      consensus,
      reports,
      clock,
      log: { info: note, warn: note, error: note },
    })
    this.guard.start()
  }

  hear(from: number, part: Partial<MemberReport>): void {
    const report: MemberReport = {
      ...{ appliedIndex: logIndex(10), sampleAt: logIndex(18), samples: [], copied: [], featureLevelMax: 1 },
      ...{ version: '1', state: 'healthy' as const },
      ...part,
    }
    this.#tell({ from: nodeId(from), bytes: encodeReport(report) })
  }
}

test('a member at rest takes a sample, names an index ahead, and takes samples where others look', async () => {
  const bench = new Bench()
  await bench.clock.advance(2000)
  assert.deepEqual(
    bench.state.samples.map(({ index }) => index),
    [10],
  )
  assert.equal(bench.guard.describe().sampleAt, 18)
  bench.hear(2, { sampleAt: logIndex(33) })
  assert.ok(bench.state.wishes.includes(33))
})

test('a minority does not trust its state any more, says so, and gives leadership to one that does', async () => {
  const bench = new Bench()
  await bench.clock.advance(2000)
  bench.hear(2, { samples: [sample(10, 'b')] })
  assert.match(bench.guard.agreementFailure() ?? '', /at index 10 n2 have another state/)
  assert.equal(bench.guard.quarantineFailure(), null, 'one against one')
  bench.hear(3, { samples: [sample(10, 'b')] })
  assert.match(bench.state.quarantine?.reason ?? '', /at index 10 n2, n3 agree on another state/)
  assert.match(bench.guard.quarantineFailure() ?? '', /n2, n3/)
  assert.equal(bench.guard.describe().state, 'quarantined')
  bench.hear(3, { state: 'quarantined' })
  await bench.clock.advance(1000)
  assert.deepEqual(bench.consensus.transfers, [2], 'n3 has the longer log and no state')
  assert.equal(bench.guard.agreementFailure(), null)
  bench.state.quarantine = null
  await bench.clock.advance(1000)
  assert.equal(bench.lines.at(-1), 'the state is trusted again')
})

test('what a member said long ago, or while it had no state, proves nothing', async () => {
  const bench = new Bench()
  await bench.clock.advance(2000)
  bench.hear(2, { samples: [sample(10, 'b')], state: 'quarantined' })
  assert.equal(bench.guard.agreementFailure(), null)
  bench.hear(2, { samples: [sample(10, 'b')] })
  assert.notEqual(bench.guard.agreementFailure(), null)
  await bench.clock.advance(11_000)
  assert.equal(bench.guard.agreementFailure(), null)
})

test('a member tells whom it copied, judges copies as one, and learns where its own state is proven', async () => {
  const bench = new Bench()
  const stretch = { by: nodeId(2), after: logIndex(0), upTo: logIndex(9) }
  bench.state.descent = [stretch]
  await bench.clock.advance(2000)
  assert.deepEqual(bench.guard.describe().copied, [stretch])
  bench.hear(2, { samples: [sample(10, 'a')] })
  assert.equal(bench.state.provenUpTo, null, 'the original confirms nothing')
  bench.hear(2, { samples: [sample(10, 'b')] })
  bench.hear(3, { samples: [sample(10, 'b')], copied: [{ ...stretch, upTo: logIndex(10) }] })
  assert.notEqual(bench.guard.agreementFailure(), null)
  assert.equal(bench.state.quarantine, null, 'an original and its copy condemn nobody')
  for (const from of [2, 3]) bench.hear(from, { samples: [sample(10, 'a')] })
  assert.equal(bench.state.provenUpTo, 10)
})

test('a leader repairs another member only once others confirmed its own state', async () => {
  const bench = new Bench()
  assert.equal(bench.guard.mayGive(logIndex(10)), false, 'nobody can have said anything yet')
  assert.equal(bench.guard.mayGive(null), true)
  await bench.clock.advance(4000)
  bench.hear(3, { state: 'quarantined' })
  bench.hear(2, { samples: [sample(9, 'a')] })
  assert.equal(bench.guard.mayGive(logIndex(10)), false)
  bench.hear(2, { samples: [sample(10, 'a')] })
  assert.equal(bench.guard.mayGive(logIndex(10)), true)
  assert.equal(bench.guard.mayGive(logIndex(11)), false)
  bench.hear(2, { samples: [sample(10, 'b')] })
  assert.equal(bench.guard.mayGive(logIndex(10)), false)
  assert.equal(bench.guard.mayGive(null), false)
})

test('a wrong state and its copy are not written over the right one whose disk went bad', async () => {
  const bench = new Bench()
  const copied = [{ by: nodeId(1), after: logIndex(0), upTo: logIndex(9) }]
  await bench.clock.advance(4000)
  bench.hear(2, { samples: [sample(10, 'a')], copied })
  bench.hear(3, { samples: [sample(10, 'c')] })
  assert.equal(bench.guard.verdict.kind, 'split')
  bench.hear(3, { state: 'quarantined' })
  assert.equal(bench.guard.verdict.kind, 'agree', 'nobody who has a state speaks against it')
  for (const atLeast of [logIndex(10), null]) assert.equal(bench.guard.mayGive(atLeast), false)
  assert.match(bench.guard.agreementFailure() ?? '', /at index 10 n3 had another state/)
  assert.match(bench.lines.at(-1) ?? '', /given to nobody until others confirm it/)
  await bench.clock.advance(500)
  bench.hear(2, { samples: [sample(10, 'a'), sample(12, 'a')] })
  assert.equal(bench.guard.mayGive(logIndex(10)), true, 'a member that has it of its own confirms it')
  assert.equal(bench.guard.agreementFailure(), null)
  assert.equal(bench.lines.at(-1), 'the states of members agree again')
  bench.hear(2, { samples: [], copied })
  assert.equal(bench.guard.agreementFailure(), null, 'what was proven stays so')
})

test('what a member said before it lost its state is compared when this member gets there', async () => {
  const bench = new Bench()
  await bench.clock.advance(4000)
  bench.hear(3, { samples: [sample(30, 'c')] })
  bench.hear(3, { state: 'quarantined' })
  assert.equal(bench.guard.mayGive(null), true)
  bench.state.samples.push(sample(30, 'a'))
  bench.hear(2, {})
  assert.equal(bench.guard.mayGive(null), false)
  bench.hear(3, { samples: [sample(31, 'a')] })
  assert.equal(bench.guard.mayGive(null), true, 'it has a state again, and that is another')
  bench.hear(3, { state: 'quarantined' })
  assert.equal(bench.guard.mayGive(null), true)
})

test('whoever lost its own state forgets what others had before', async () => {
  const bench = new Bench()
  await bench.clock.advance(4000)
  bench.hear(3, { samples: [sample(10, 'c')] })
  bench.hear(3, { state: 'quarantined' })
  assert.equal(bench.guard.mayGive(null), false)
  bench.state.condemn('outvoted')
  await bench.clock.advance(1000)
  bench.state.quarantine = null
  await bench.clock.advance(1000)
  bench.state.samples.push(sample(10, 'b'))
  bench.hear(3, { state: 'quarantined' })
  assert.equal(bench.guard.mayGive(null), true)
})
