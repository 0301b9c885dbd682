/*
 * Goal: covered rules allow only actions that the owner may perform, and the owner's rules are
 * covered. Method: random rules against all actions of a small world.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Action } from '../../../../src/api/action.ts'
import { coverageOf } from '../../../../src/auth/rule-coverage.ts'
import { ruleAllows } from '../../../../src/auth/rules.ts'
import type { PolicyRule } from '../../../../src/auth/rules.ts'
import { limits } from '../../../../src/config/limits.ts'
import { fc } from '../../../support/generators/fast-check.ts'

const stepsMax = 1_000_000

const actions: readonly Action[] = ['get', 'list'].flatMap((verb) =>
  ['', 'apps'].flatMap((group) =>
    ['pods', 'pods/log', 'secrets', 'nodes/log'].flatMap((spelled) =>
      ['', 'a', 'b'].map((name) => {
        const [resource = '', subresource = ''] = spelled.split('/')
        return {
          ...{ kind: 'resource', verb, group, version: 'v1', resource, subresource },
          ...{ namespace: '', name },
        } as const
      }),
    ),
  ),
)

const some = (...texts: string[]): fc.Arbitrary<string[]> => fc.subarray(texts, { minLength: 1 })
const rule: fc.Arbitrary<PolicyRule> = fc.record({
  verbs: some('get', 'list', '*'),
  apiGroups: some('', 'apps', '*'),
  resources: some('pods', 'pods/log', 'secrets', '*/log', '*'),
  resourceNames: fc.subarray(['a', 'b']),
})

void test('covered rules allow no action that the owner may not perform', () => {
  let covered = 0
  fc.assert(
    fc.property(
      fc.array(rule, { maxLength: 4 }),
      fc.array(rule, { minLength: 1, maxLength: 2 }),
      (owned, wanted) => {
        if (coverageOf(owned, wanted, stepsMax).kind !== 'covered') return
        covered++
        for (const action of actions) {
          if (!wanted.some((one) => ruleAllows(one, action))) continue
          assert.ok(
            owned.some((one) => ruleAllows(one, action)),
            JSON.stringify(action),
          )
        }
      },
    ),
    { numRuns: 2000 },
  )
  assert.ok(covered > 50, `${covered} covered`)
})

void test('the rules of an owner are covered by themselves, in any split and order', () => {
  fc.assert(
    fc.property(fc.array(rule, { minLength: 1, maxLength: 4 }), (owned) => {
      assert.equal(coverageOf(owned, [...owned].reverse(), stepsMax).kind, 'covered')
      const split = owned.flatMap((one) => one.verbs.map((verb) => ({ ...one, verbs: [verb] })))
      assert.equal(coverageOf(split, owned, stepsMax).kind, 'covered')
    }),
  )
})

void test('the parts that are lacking are listed, paths and names too', () => {
  const owned: PolicyRule[] = [
    { verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] },
    { verbs: ['get'], nonResourceURLs: ['/x/*'] },
  ]
  const pods = { verbs: ['get', 'delete'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] }
  assert.deepEqual(coverageOf(owned, [pods], stepsMax), {
    kind: 'lacking',
    rules: [{ verbs: ['delete'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] }],
    isWhole: true,
  })
  for (const [wanted, kind] of [
    [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }, 'lacking'],
    [{ verbs: ['get'], nonResourceURLs: ['/x/y', '/x/*'] }, 'covered'],
    [{ verbs: ['get'], nonResourceURLs: ['/x'] }, 'lacking'],
    [{ verbs: ['get'], nonResourceURLs: ['*'] }, 'lacking'],
  ] as const) {
    assert.equal(coverageOf(owned, [wanted], stepsMax).kind, kind, JSON.stringify(wanted))
  }
})

void test('rules with too many parts to compare are not covered', () => {
  const many = Array.from({ length: 200 }, (_, at) => `x${at}`)
  const wanted: PolicyRule = { verbs: many, apiGroups: many, resources: many }
  const owned = [many.slice(100), many.slice(0, 100)].map((verbs) => ({ ...wanted, verbs }))
  assert.equal(coverageOf(owned, [wanted], 10_000).kind, 'too-much')
})

void test('the search for missing rules ends at a limit and reports that the list is not whole', () => {
  const many = Array.from({ length: 40 }, (_, at) => `x${at}`)
  const wanted: PolicyRule = { verbs: many, apiGroups: many, resources: many }
  const found = coverageOf([], [wanted], stepsMax)
  assert.equal(found.kind, 'lacking')
  assert.deepEqual([found.rules.length, found.isWhole], [limits.missingRulesCountedMax, false])
})

void test('rules are not compared with too many rules of an owner, and an empty list of rules is always covered', () => {
  const wanted: PolicyRule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }
  const owned = Array.from({ length: 1000 }, (): PolicyRule => wanted)
  assert.equal(coverageOf(owned, [wanted], 10_000).kind, 'covered')
  assert.equal(coverageOf([...owned, ...owned, ...owned], [wanted], 10_000).kind, 'too-much')
  assert.equal(coverageOf([...owned, ...owned, ...owned], [], 10_000).kind, 'covered')
})
