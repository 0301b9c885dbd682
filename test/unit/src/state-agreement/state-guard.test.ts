/*
 * Goal: a member that a majority contradicts stops serving at once, one that differs without a
 * majority on either side within seconds; either serves again only once a majority has its state or
 * an operator decides so.
 * Method: the guard with a fake consensus, a prepared state, and a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId } from '../../../../raft/index.ts'
import type { MemberReport } from '../../../../src/state-agreement/member-report.ts'
import { GuardBench, digestAt } from '../../../support/fakes/fake-guarded-state.ts'

/** Returns the bench of member 1, which has had state `a` at index 10 for two seconds. */
async function atRest(): Promise<GuardBench> {
  const bench = new GuardBench()
  await bench.clock.advance(2000)
  return bench
}

const [same, other] = [{ samples: [digestAt(10, 'a')] }, { samples: [digestAt(10, 'b')] }]

/** Calls `report` each second for `ms`, so that its reports stay fresh. */
async function keepReporting(
  { clock, report }: { readonly clock: GuardBench['clock']; readonly report: () => void },
  ms: number,
): Promise<void> {
  for (let left = ms; left > 0; left -= 1000) {
    report()
    await clock.advance(Math.min(left, 1000))
  }
  report()
}

function disagreementOf({ state }: GuardBench): string | null {
  return state.quarantine?.cause === 'disagreement' ? state.quarantine.disagreement : null
}

void test('a member at rest takes a sample, announces a later index, and samples at the indexes that others announce', async () => {
  const bench = await atRest()
  assert.deepEqual(
    bench.state.samples.map(({ index }) => index),
    [10],
  )
  assert.equal(bench.guard.describe().sampleAt, 18)
  bench.receive(2, { sampleAt: logIndex(33) })
  assert.ok(bench.state.requests.includes(33))
})

void test('an outvoted member stops serving at once and transfers leadership to one that trusts its state', async () => {
  const bench = await atRest()
  bench.receive(2, other)
  assert.match(bench.guard.agreementFailure() ?? '', /at index 10 n2 have another state/)
  assert.equal(disagreementOf(bench), null, 'one against one')
  assert.equal(bench.guard.mayGive(), false)
  bench.receive(3, other)
  assert.equal(disagreementOf(bench), 'outvoted')
  assert.match(bench.guard.agreementFailure() ?? '', /at index 10 n2, n3 agree on another state/)
  assert.equal(bench.guard.quarantineFailure(), null)
  assert.equal(bench.guard.describe().state, 'outvoted')
  assert.ok(bench.guard.describe().samples.length > 0, 'its digests still count')
  bench.receive(3, { state: 'quarantined' })
  await bench.clock.advance(1000)
  assert.deepEqual(bench.consensus.transfers, [2], 'n3 has the longer log and no state')
})

void test('a leadership transfer that fails again and again is tried each second and logged once per target', async () => {
  const bench = await atRest()
  bench.receive(2, other)
  bench.receive(3, other)
  const logged = (): number => bench.lines.filter((line) => line.includes('transfers leadership')).length
  const failTimes = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) {
      bench.consensus.change({ leader: nodeId(1), role: 'leader' })
      await bench.clock.advance(1000)
    }
  }
  // The reports of the others are still fresh during these attempts.
  await failTimes(8)
  assert.ok(bench.consensus.transfers.length >= 8)
  assert.equal(logged(), 1)
  bench.receive(3, { state: 'quarantined' })
  await failTimes(2)
  assert.equal(bench.consensus.transfers.at(-1), 2)
  assert.equal(logged(), 2, 'another target')
})

void test('members that differ without a majority stop serving after three seconds', async () => {
  const bench = await atRest()
  const report = (): void => bench.receive(2, other)
  await keepReporting({ clock: bench.clock, report }, 2900)
  assert.equal(disagreementOf(bench), null)
  await keepReporting({ clock: bench.clock, report }, 200)
  assert.equal(disagreementOf(bench), 'undecided')
  assert.equal(bench.guard.describe().state, 'undecided')
  bench.receive(3, other)
  assert.equal(disagreementOf(bench), 'outvoted', 'a third member decided it')
})

void test('a difference that a majority settles in time stops no member, however often there is a new one', async () => {
  const bench = await atRest()
  const { state, clock } = bench
  for (let index = 20; index < 30; index++) {
    state.appliedMemory = logIndex(index)
    state.samples.push(digestAt(index, 'a'))
    bench.receive(3, { samples: [digestAt(index, 'b')] })
    assert.equal(bench.guard.verdict.kind, 'undecided')
    await clock.advance(1000)
    // Member 2 is a second behind.
    bench.receive(2, { samples: [digestAt(index - 1, 'a'), digestAt(index, 'a')] })
    assert.equal(bench.guard.verdict.kind, 'majority')
  }
  assert.equal(state.quarantine, null)
  assert.match(bench.lines.at(-1) ?? '', /orchctl member repair/)
})

void test('a suspect member serves again once a majority has its state where it differed, and not before', async () => {
  const bench = await atRest()
  const { state, clock } = bench
  state.samples.push(digestAt(20, 'a'))
  const differing = (): void => {
    bench.receive(2, { samples: [digestAt(20, 'b')] })
    bench.receive(3, same)
  }
  await keepReporting({ clock, report: differing }, 4000)
  assert.equal(disagreementOf(bench), 'undecided')
  await keepReporting({ clock, report: () => bench.receive(3, same) }, 12_000)
  assert.equal(bench.guard.verdict.kind, 'agree', 'reports of the other expired')
  assert.equal(disagreementOf(bench), 'undecided', 'which proves nothing')
  bench.receive(3, { samples: [digestAt(20, 'a')] })
  assert.equal(state.quarantine, null)
  await clock.advance(1000)
  assert.equal(bench.lines.at(-1), 'the state is trusted again')
})

void test('a member that was suspect before its start serves once a majority has its state', async () => {
  const bench = new GuardBench()
  bench.state.suspect('outvoted', 'before')
  await bench.clock.advance(2000)
  bench.receive(2, { samples: [digestAt(9, 'a')] })
  assert.equal(disagreementOf(bench), 'outvoted')
  assert.equal(bench.guard.mayGive(), false)
  bench.receive(2, same)
  assert.deepEqual([bench.state.quarantine, bench.guard.mayGive()], [null, true])
})

void test('digests of a member without a state prove nothing, nor do its earlier ones', async () => {
  const bench = await atRest()
  bench.receive(2, { ...other, state: 'quarantined' })
  assert.equal(bench.guard.agreementFailure(), null)
  bench.receive(2, other)
  assert.notEqual(bench.guard.agreementFailure(), null)
  await bench.clock.advance(1000)
  bench.receive(2, { state: 'quarantined' })
  assert.equal(bench.guard.agreementFailure(), null)
  await bench.clock.advance(11_000)
  assert.equal(bench.state.quarantine, null)
})

void test('a member that a majority contradicted stops no other member, even when no majority remains to contradict it again', async () => {
  const bench = await atRest()
  const later: Partial<MemberReport> = { samples: [digestAt(20, 'b')], state: 'outvoted' }
  bench.state.samples.push(digestAt(20, 'a'))
  await keepReporting({ clock: bench.clock, report: () => bench.receive(2, later) }, 5000)
  assert.deepEqual([bench.state.quarantine, bench.guard.mayGive()], [null, true])
})

void test('a state that an operator trusts is served and sent until a majority has it; a later contradiction counts again', async () => {
  const bench = await atRest()
  for (const from of [2, 3]) bench.receive(from, other)
  bench.guard.trustByOperator()
  assert.equal(bench.state.quarantine, null)
  const report = (): void => [2, 3].forEach((from) => bench.receive(from, other))
  await keepReporting({ clock: bench.clock, report }, 5000)
  assert.deepEqual([bench.state.quarantine, bench.guard.agreementFailure()], [null, null])
  assert.equal(bench.guard.mayGive(), true)
  bench.receive(2, same)
  bench.state.samples.push(digestAt(20, 'a'))
  for (const from of [2, 3]) bench.receive(from, { samples: [digestAt(20, 'b')] })
  assert.equal(disagreementOf(bench), 'outvoted', 'the operator decided about the earlier difference')
})

void test('a leader without a state sends none and reports that it fetches one', async () => {
  const bench = await atRest()
  bench.receive(2, other)
  bench.state.damage()
  await bench.clock.advance(1000)
  assert.equal(bench.guard.mayGive(), false)
  assert.equal(bench.guard.describe().state, 'quarantined')
  assert.match(bench.guard.quarantineFailure() ?? '', /that of another member is fetched/)
  assert.equal(bench.guard.agreementFailure(), null)
  bench.state.quarantine = null
  bench.state.digest = 'b'
  await bench.clock.advance(1000)
  assert.equal(bench.guard.mayGive(), true, 'another state: the difference of the old one is gone')
})
