/*
 * Goal: a plan depends on its options alone, fits into its time, and never affects more than a
 * minority of the members at once, except by a fault of all members.
 * Method: many seeds, sizes and kinds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChaosError } from '../../../../tools/chaos/errors.ts'
import { describeFault, faultKinds, parseKinds } from '../../../../tools/chaos/fault.ts'
import type { Fault } from '../../../../tools/chaos/fault.ts'
import { planChaos } from '../../../../tools/chaos/plan.ts'

const names = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `n${at + 1}`)

function endOf({ atMs, forMs }: Fault): number {
  return atMs + forMs
}

void test('the same options give the same plan, another seed another', () => {
  const options = { seed: 7, durationMs: 120_000, members: names(3), kinds: faultKinds }
  assert.deepEqual(planChaos(options), planChaos(options))
  assert.notDeepEqual(planChaos(options), planChaos({ ...options, seed: 8 }))
})

void test('faults fit into the time, one after another in their lane; a fault of all members runs alone', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const members = names([1, 3, 5, 7][seed % 4] ?? 3)
    const durationMs = 20_000 + 1000 * (seed % 60)
    const plan = planChaos({ seed, durationMs, members, kinds: faultKinds })
    const spare = Math.max(1, Math.floor((members.length - 1) / 2))
    for (const fault of plan) {
      assert.ok(fault.atMs >= 0 && fault.forMs > 0 && endOf(fault) <= durationMs, `seed ${seed}`)
      assert.ok(['leader', 'all', ...members].includes(fault.target))
      assert.ok(describeFault(fault.spec) !== '')
      const beside = plan.filter(
        (other) => other !== fault && other.atMs < endOf(fault) && endOf(other) > fault.atMs,
      )
      if (fault.lane === null) assert.deepEqual(beside, [], `seed ${seed}: alone`)
      assert.ok(
        beside.every(({ lane }) => lane !== fault.lane),
        `seed ${seed}: one lane`,
      )
      assert.ok(fault.lane === null || fault.lane < spare)
      if (fault.spec.kind === 'partition') assert.ok(fault.spec.size >= 1 && fault.spec.size <= spare)
      if (members.length === 1) assert.doesNotMatch(fault.spec.kind, /link|cut|partition/)
    }
    assert.deepEqual(
      plan,
      plan.toSorted((a, b) => a.atMs - b.atMs),
    )
  }
})

void test('a long plan has every kind, for the leader and for others', () => {
  const plan = planChaos({ seed: 1, durationMs: 3_600_000, members: names(5), kinds: faultKinds })
  assert.deepEqual(new Set(plan.map(({ spec }) => spec.kind)), new Set(faultKinds))
  assert.ok(plan.some(({ target }) => target === 'leader') && plan.some(({ target }) => target === 'n3'))
})

void test('unknown kinds of faults and impossible plans are refused with the reason', () => {
  assert.deepEqual(parseKinds('pause, kill,kill'), ['kill', 'pause'])
  assert.throws(() => parseKinds('kill,flood'), /there is no fault "flood": there are kill, pause, /)
  const options = { seed: 1, durationMs: 60_000, members: names(1), kinds: ['cut'] as const }
  assert.throws(() => planChaos(options), ChaosError)
  const two = { ...options, members: names(2) }
  assert.throws(() => planChaos(two), /cut: needs at least 3 members, the cluster has 2/)
  assert.throws(() => planChaos({ ...options, kinds: ['kill'], durationMs: 1000 }), /no fault fits into 1 s/)
  for (let seed = 0; seed < 500; seed++) {
    // The errors and --help name these durations as the minimum.
    planChaos({ seed, kinds: ['slow-link'], members: names(3), durationMs: 14_000 })
    planChaos({ seed, kinds: faultKinds, members: names(9), durationMs: 20_000 })
  }
})
