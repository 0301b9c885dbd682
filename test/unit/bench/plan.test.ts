/*
 * Goal: the plan has each selected load that the servers support, once.
 * Method: selections and servers by hand; the plan is compared by its labels.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { labelOf, workloads } from '../../../bench/tool/load.ts'
import { guessMs, planOf, quickSelection, wholeSelection } from '../../../bench/tool/plan.ts'
import type { Possible, Selection } from '../../../bench/tool/plan.ts'

const ours: Possible = {
  modes: ['linearizable', 'lease', 'bounded', 'any', 'log'],
  http: ['1.1'],
  hasRoles: true,
  canFail: true,
}
const foreign: Possible = { modes: ['linearizable', 'any'], http: ['1.1'], hasRoles: false, canFail: false }

function words(selection: Selection, possible: Possible): readonly string[] {
  return planOf(selection, possible).map(labelOf)
}

void test('the whole plan has gets of every mode, member role, size and client count, every fault, and some loads of other kinds', () => {
  const plan = words(wholeSelection, ours)
  assert.equal(new Set(plan).size, plan.length, 'each once')
  for (const mode of ['linearizable', 'lease', 'bounded=100', 'any', 'log']) {
    for (const place of ['the leader', 'a follower']) {
      for (const size of ['1 KB', '16 KB']) {
        for (const clients of ['1 client', '64 clients', '256 clients'])
          assert.ok(
            plan.includes(`get, ${mode}, ${place}, ${size}, ${clients}`),
            `${mode} ${place} ${size} ${clients}`,
          )
      }
    }
  }
  for (const label of [
    'livez, all members, 64 clients',
    'create, all members, 16 KB, 256 clients',
    'update, the leader, 1 KB, 1 client',
    'list 10, linearizable, a follower, 8 clients',
    'list 50000 in pages of 500, any, a follower, 2 clients',
    'watch, 10000 readers, a follower, 10 events/s',
    'watch, 9000 readers and 1000 slow ones, a follower, 10 events/s',
    'staleness, bounded=1000, a follower, 4 clients',
    'leader killed (-9)',
    'leader paused (SIGSTOP)',
    'leader stopped (SIGTERM)',
  ]) {
    assert.ok(plan.includes(label), label)
  }
  assert.match(plan.at(-1) ?? '', /^leader /, 'loads that stop members come last')
})

void test('servers without role and mode headers get only the loads that any server supports', () => {
  const plan = words(wholeSelection, foreign)
  assert.ok(plan.includes('get, any, all members, 1 KB, 64 clients'))
  assert.equal(plan.filter((label) => /leader|follower|lease|bounded|log/.test(label)).length, 0)
})

void test('the plan has only what was selected', () => {
  for (const workload of workloads) {
    const plan = planOf({ ...quickSelection, workloads: [workload] }, ours)
    assert.ok(plan.length > 0, workload)
    assert.ok(
      plan.every(({ kind }) => kind === workload),
      workload,
    )
  }
  const few = {
    ...wholeSelection,
    workloads: ['get', 'watch'],
    clients: [3],
    sizes: [77],
    watchers: [5],
  } as const
  assert.deepEqual(
    words(few, foreign),
    ['linearizable', 'any']
      .map((mode) => `get, ${mode}, all members, 77 B, 3 clients`)
      .concat('watch, 5 readers, all members, 100 events/s'),
  )
})

void test('calls are planned for each version of HTTP, and everything else for one', () => {
  const selection = { ...wholeSelection, http: ['1.1', '2'], clients: [64] } as const
  const plan = words(selection, { ...ours, http: ['1.1', '2'] })
  assert.equal(new Set(plan).size, plan.length, 'each once')
  for (const label of [
    'livez, all members, 64 clients',
    'get, any, a follower, 1 KB, 64 clients',
    'list 10, any, a follower, 8 clients',
  ]) {
    assert.ok(plan.includes(label), label)
    assert.ok(plan.includes(`${label}, HTTP/2`), label)
  }
  assert.equal(plan.filter((label) => /^(watch|stale|leader).*HTTP/.test(label)).length, 0)
  const only = planOf(selection, { ...ours, http: ['2'] })
  assert.ok(only.length > 0 && only.every((load) => 'http' in load && load.http === '2'))
})

void test('the quick plan is estimated at less than three minutes', () => {
  const ms = guessMs(planOf(quickSelection, ours), { secondsEach: 1, rounds: 1 })
  assert.ok(ms < 180_000, `${ms} ms`)
})
