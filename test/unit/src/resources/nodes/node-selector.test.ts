/*
 * Goal: invalid node selectors and label selectors are refused.
 * Method: each rule broken once, against the declared shapes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { nodeSelectorSchema } from '../../../../../src/resources/nodes/node-selector.ts'
import { selectorSchema } from '../../../../../src/resources/common/selector.ts'
import { shaped } from '../common/shape.ts'

void test('spec 2.7: a node selector has terms, and their values fit their operators', () => {
  const causes = (...nodeSelectorTerms: readonly JsonObject[]) =>
    shaped(nodeSelectorSchema, 's', { nodeSelectorTerms }).causes
  const label = (rule: JsonObject) => causes({ matchExpressions: [{ key: 'a/b', ...rule }] })
  const field = (rule: JsonObject) => causes({ matchFields: [{ key: 'metadata.name', ...rule }] })
  const expression = 's.nodeSelectorTerms[0].matchExpressions[0]'
  const named = 's.nodeSelectorTerms[0].matchFields[0]'
  assert.deepEqual(causes(), ['FieldValueRequired s.nodeSelectorTerms'])
  assert.deepEqual(causes({}), [])
  assert.deepEqual(label({ operator: 'In', values: ['x'] }), [])
  assert.deepEqual(label({ operator: 'Gt', values: ['1'] }), [])
  assert.deepEqual(label({ operator: 'Exists' }), [])
  assert.deepEqual(label({ operator: 'NotIn' }), [`FieldValueRequired ${expression}.values`])
  assert.deepEqual(label({ operator: 'Exists', values: ['x'] }), [`FieldValueForbidden ${expression}.values`])
  assert.deepEqual(label({ operator: 'Lt', values: ['1', '2'] }), [`FieldValueRequired ${expression}.values`])
  assert.deepEqual(label({ operator: 'Like' }), [`FieldValueInvalid ${expression}.operator`])
  assert.deepEqual(label({}), [`FieldValueRequired ${expression}.operator`])
  assert.deepEqual(label({ operator: 'Exists', key: 'a b' }), [`FieldValueInvalid ${expression}.key`])
  assert.deepEqual(field({ operator: 'In', values: ['n'] }), [])
  assert.deepEqual(field({ operator: 'In', values: ['n', 'm'] }), [`FieldValueRequired ${named}.values`])
  assert.deepEqual(field({ operator: 'Exists' }), [`FieldValueInvalid ${named}.operator`])
  assert.deepEqual(field({ operator: 'In', values: ['N'] }), [`FieldValueInvalid ${named}.values[0]`])
  const key = field({ operator: 'In', key: 'metadata.uid', values: ['n'] })
  assert.deepEqual(key, [`FieldValueInvalid ${named}.key`])
})

void test('errors of a label selector are reported with its path', () => {
  const causes = (selector: JsonObject) => shaped(selectorSchema, 's', selector).causes
  assert.deepEqual(causes({ matchLabels: { a: 'b' } }), [])
  assert.deepEqual(causes({ matchLabels: { a: 'b c' } }), ['FieldValueInvalid s.matchLabels'])
  const expression = (rule: JsonObject) => causes({ matchExpressions: [{ key: 'a', ...rule }] })
  assert.deepEqual(expression({ operator: 'In' }), ['FieldValueRequired s.matchExpressions[0].values'])
  assert.deepEqual(expression({ operator: 'Gt', values: ['1'] }), [
    'FieldValueInvalid s.matchExpressions[0].operator',
  ])
})
