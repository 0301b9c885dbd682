/*
 * Goal: on an operator's decision a member quarantines its state and fetches the leader's, once,
 * and only where the leader has a trusted state; a refusal names the remedy.
 * Method: the decision at member 1 of three with a fake consensus, prepared states and reports, and
 * a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId } from '../../../../raft/index.ts'
import { StateRepair } from '../../../../src/membership/state-repair.ts'
import type { StateDecision } from '../../../../src/membership/state-repair.ts'
import { GuardBench, digestAt } from '../../../support/fakes/fake-guarded-state.ts'

class RepairBench extends GuardBench {
  readonly repair: StateRepair

  constructor() {
    super()
    const { state, guard, reports, clock } = this
    const { consensus } = this
    this.repair = new StateRepair({ state, guard, reports, consensus, clock })
    consensus.change({ role: 'follower', leader: nodeId(2), followers: [] })
  }

  decide(from: string | null = null, part: Partial<StateDecision> = {}): Promise<boolean> {
    const decision = { kind: 'repair', name: 'n1', id: nodeId(1), from, ...part } as StateDecision
    return this.repair.decide(decision, this.clock.monotonicMs() + 30_000)
  }

  trust(): Promise<boolean> {
    return this.repair.decide({ kind: 'trust', name: 'n1', id: null }, this.clock.monotonicMs() + 1000)
  }
}

const other = { samples: [digestAt(10, 'b')] }

void test('a suspect member fetches the state of the leader, and a repeated request changes nothing', async () => {
  const bench = new RepairBench()
  bench.state.suspect('outvoted', 'test')
  bench.receive(2, other)
  assert.equal(await bench.decide(), true)
  assert.equal(bench.state.quarantine?.cause, 'operator')
  assert.match(bench.state.quarantine.reason, /operator replaces this state with that of n2/)
  assert.equal(await bench.decide(), false)
})

void test('a member that has the leader’s state is not repaired, and one whose state differs is, even if it is not suspect', async () => {
  const bench = new RepairBench()
  await bench.clock.advance(2000)
  bench.receive(2, { samples: [digestAt(10, 'a')] })
  assert.equal(await bench.decide(), false)
  assert.equal(bench.state.quarantine, null)
  bench.receive(2, other)
  assert.equal(await bench.decide(), true)
})

void test('a repair waits for a comparison: an equal state is kept, and one that is not compared in time is replaced', async () => {
  const bench = new RepairBench()
  bench.receive(2, { samples: [digestAt(10, 'a')] })
  const decided = bench.decide()
  await bench.clock.advance(500)
  assert.equal(bench.state.quarantine, null)
  bench.state.sampleNow()
  await bench.clock.advance(500)
  assert.equal(await decided, false)
  const never = new RepairBench()
  never.receive(2, { samples: [digestAt(77, 'a')] })
  const blind = never.decide()
  await never.clock.advance(3500)
  assert.equal(await blind, true, 'a state that cannot be compared is replaced, as the operator decided')
})

void test('before a repair, leadership goes to the member with the right state once it trusts its state', async () => {
  const bench = new RepairBench()
  bench.state.suspect('undecided', 'test')
  bench.receive(3, { ...other, state: 'undecided' })
  const decided = bench.decide('n3')
  await bench.clock.advance(900)
  assert.deepEqual(bench.consensus.transfers, [])
  bench.receive(3, other)
  await bench.clock.advance(200)
  assert.equal(await decided, true)
  assert.deepEqual(bench.consensus.transfers, [3])
  assert.equal(bench.state.quarantine?.cause, 'operator')
})

void test('a repair without --from is rejected until a majority outvotes the state of this member', async () => {
  const bench = new RepairBench()
  bench.state.suspect('undecided', 'test')
  bench.receive(2, other)
  const decided = assert.rejects(bench.decide(), { code: 'no-state', message: /no majority .* \(--from\)/ })
  await bench.clock.advance(4000)
  await decided
  assert.equal(bench.state.quarantine?.cause, 'disagreement', 'its state is kept')

  const late = bench.decide()
  await bench.clock.advance(500)
  bench.receive(2, other)
  bench.state.suspect('outvoted', 'test')
  await bench.clock.advance(500)
  assert.equal(await late, true)
})

void test('an impossible repair is rejected with the remedy, and changes nothing', async () => {
  const bench = new RepairBench()
  bench.state.suspect('undecided', 'test')
  const refused = async (words: RegExp, from: string | null = null, part: Partial<StateDecision> = {}) => {
    const decided = assert.rejects(bench.decide(from, part), { name: 'MembersError', message: words })
    await bench.clock.advance(4000)
    await decided
    assert.equal(bench.state.quarantine?.cause, 'disagreement')
  }
  await refused(/n2 has not reported its state lately: start it/)
  bench.receive(2, { state: 'undecided' })
  await refused(/n2 does not trust its state either: name .* \(--from\)/)
  bench.receive(2, { state: 'quarantined' })
  await refused(/n2 has no state: name .* \(--from\)/, 'n2')
  await refused(/not repaired from itself/, 'n1')
  await refused(/there is no member n9: there are n1, n2, n3/, 'n9')
  await refused(/only n3 itself can do that: send it to https:/, null, { name: 'n3', id: nodeId(3) })
  await refused(/n1 is another member now, 1 and not 7/, null, { id: nodeId(7) })
  bench.consensus.change({ leader: null })
  await refused(/there is no leader .*: start a majority/)
  bench.consensus.change({ leader: nodeId(1), role: 'leader' })
  await refused(/this member leads: .* \(--from\)/)
})

void test('an operator can trust a suspect state, but not a state that does not exist', async () => {
  const bench = new RepairBench()
  assert.equal(await bench.trust(), false)
  bench.state.suspect('outvoted', 'test')
  assert.equal(await bench.trust(), true)
  assert.equal(bench.state.quarantine, null)
  bench.state.damage()
  await assert.rejects(bench.trust(), { name: 'MembersError', code: 'no-state', message: /it fetches one/ })
})
