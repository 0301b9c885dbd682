/*
 * Goal: a change of one ClusterRole, and the rules of one aggregating role, concern only the roles
 * that selectors may select, and never miss one.
 * Method: many roles with labels of their own; random roles and selectors, compared with all pairs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import type { JsonObject } from '../../../../src/api/json.ts'
import { selectorOfObject } from '../../../../src/api/selectors/label-selector.ts'
import { LabelledRoles } from '../../../../src/controllers/labelled-roles.ts'
import type { AnyObject } from '../../../../src/registry/kinds/definition.ts'

type Labels = Record<string, string>

function roleOf(name: string, labels: Labels): AnyObject {
  const apiVersion = 'rbac.authorization.orch.io/v1'
  return { apiVersion, kind: 'ClusterRole', metadata: { name, labels } }
}

void test('with a label for each aggregating role, the steps grow with the number of roles', () => {
  const roles = new LabelledRoles()
  const count = 400
  for (let at = 0; at < count; at++) {
    const selector = selectorOfObject({ matchLabels: { [`to-${at}`]: 'true', all: 'yes' } })
    roles.set(`sum-${at}`, roleOf(`sum-${at}`, {}), [selector])
    roles.set(`part-${at}`, roleOf(`part-${at}`, { [`to-${at}`]: 'true', all: 'yes' }), [])
  }
  let steps = 0
  for (const name of roles.aggregating()) steps += roles.mayBeSelected(roles.selectorsOf(name)).length
  for (let at = 0; at < count; at++) {
    steps += roles.mayConcern(roleOf('', { [`to-${at}`]: 'true', all: 'yes' })).size
  }
  assert.equal(steps, 2 * count)
})

const keys = ['a', 'b', 'c']
const values = ['x', 'y', '']

function selectorIn(random: SeededRandom): JsonObject {
  const key = (): string => keys[random.below(keys.length)] ?? 'a'
  const value = (): string => values[random.below(values.length)] ?? ''
  const expressionOf = (): JsonObject => {
    const operator = ['In', 'NotIn', 'Exists', 'DoesNotExist'][random.below(4)] ?? 'In'
    return { key: key(), operator, values: operator.endsWith('In') ? [value(), value()] : [] }
  }
  return {
    ...(random.chance(0.4) ? { matchLabels: { [key()]: value() } } : {}),
    matchExpressions: Array.from({ length: random.below(3) }, expressionOf),
  }
}

void test('no role that a selector selects is missed, while roles come, change and go', () => {
  const seed = Number(process.env['SEED'] ?? 20)
  const repeat = `SEED=${seed} node dist/test/run.js --only unit/src/controllers/labelled-roles`
  const random = new SeededRandom(seed)
  const roles = new LabelledRoles()
  const present = new Map<string, AnyObject>()
  for (let step = 0; step < 2000; step++) {
    const name = `r${random.below(12)}`
    if (random.chance(0.2)) {
      roles.delete(name)
      present.delete(name)
    } else {
      const labels: Labels = {}
      for (const key of keys) if (random.chance(0.5)) labels[key] = values[random.below(3)] ?? ''
      const selectors = Array.from({ length: random.below(3) }, () => selectorOfObject(selectorIn(random)))
      const role = roleOf(name, labels)
      roles.set(name, role, selectors)
      present.set(name, role)
    }
    for (const aggregating of roles.aggregating()) {
      const selectors = roles.selectorsOf(aggregating)
      const found = new Set(roles.mayBeSelected(selectors))
      for (const role of present.values()) {
        if (!selectors.some((one) => one.matches(role.metadata.labels ?? null))) continue
        assert.ok(found.has(role), repeat)
        assert.ok(roles.mayConcern(role).has(aggregating), repeat)
      }
    }
  }
  for (const name of present.keys()) roles.delete(name)
  assert.deepEqual([...roles.aggregating()], [])
  assert.equal(roles.mayBeSelected([selectorOfObject({})]).length, 0)
})
