/*
 * Goal: controllers finish exactly what they have to, and do nothing twice, when the leader ends,
 * stalls or is replaced in the middle of their work.
 * Method: a few seeds of whole clusters on virtual time. Separate checkers compare the end state
 * with what the clients asked for, and the committed steps of each object with those that it may
 * have. Deliberate bugs show that the checkers can fail.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../../src/api/metadata/names.ts'
import type { ControllersPlan } from './draw.ts'
import type { Mistake } from './mistake.ts'
import { failureReport, StepCounts } from './report.ts'
import { controllersOutcome } from './seed-worker.ts'
import { stepRules } from './steps.ts'

const seeds = Number(process.env['CONTROLLER_SEEDS'] ?? 3)
const mistakeSeedsMax = 20
/** Sizes of a small workload, for runs that need little of it. */
const fewSizes = {
  ...{ namespaces: 1, maps: 0, pods: 0, dependents: 0, requests: 1, tokens: 1 },
  ...{ roles: 1, definitions: 2, absentPods: 0, items: 1 },
}

void test(`controllers do everything exactly once in each of ${seeds} seeds`, async () => {
  const counts = new StepCounts()
  let [leaderships, snapshots] = [0, 0]
  for (let seed = 1; seed <= seeds; seed++) {
    const outcome = await controllersOutcome({ seed })
    if (outcome.kind === 'failed') assert.fail(failureReport(outcome))
    counts.add(outcome.report.steps)
    leaderships += outcome.report.leaderships
    snapshots += outcome.report.snapshots
  }
  // A run in which one leader does everything proves nothing.
  assert.ok(leaderships > 2 * seeds, `${leaderships} leaders`)
  assert.ok(snapshots > 0, 'some members continue from a snapshot')
  for (const { what } of stepRules(namesOf('k8s.io'))) {
    // Events about failures need not occur.
    if (what.includes('failure')) continue
    assert.ok(counts.of(what) > 0, `no step was checked of: ${what}`)
  }
})

void test('one seed of the controllers has one history', async () => {
  const plan = { sizes: fewSizes }
  const [first, second] = [
    await controllersOutcome({ seed: 1, plan }),
    await controllersOutcome({ seed: 1, plan }),
  ]
  assert.equal(first.kind, 'survived')
  assert.deepEqual(first, second)
})

void test('writes of controllers without preconditions are detected', async () => {
  assert.match(await finding('no-preconditions', { work: 'everywhere' }), /^C[25] /)
})

void test('writes that ignore the fencing token are detected', async () => {
  const sizes = { ...fewSizes, definitions: 8 }
  assert.match(await finding('no-fencing', { work: 'everywhere', sizes }), /^C4 names: /)
})

void test('a leader that does not continue the work of its predecessor is detected', async () => {
  assert.match(await finding('no-successor', { work: 'on-leader', sizes: fewSizes }), /^C1 end state: /)
})

void test('quota usage without conditions on the quota is detected', async () => {
  assert.match(await finding('no-quota-conditions', { work: 'everywhere' }), /^C[125] .*quota/)
})

void test('deletions in a later namespace of the same name are detected', async () => {
  const sizes = { ...fewSizes, namespaces: 2, maps: 4 }
  assert.match(
    await finding('no-deletion-conditions', { work: 'everywhere', sizes }),
    /^C1 .*later is missing/,
  )
})

/** Returns the finding of the first seed that detects a deliberate bug. */
async function finding(mistake: Mistake, plan: Partial<ControllersPlan>): Promise<string> {
  for (let seed = 1; seed <= mistakeSeedsMax; seed++) {
    const outcome = await controllersOutcome({ seed, mistake, plan })
    if (outcome.kind === 'failed') return outcome.message
  }
  assert.fail(`${mistakeSeedsMax} seeds did not notice ${mistake}`)
}
