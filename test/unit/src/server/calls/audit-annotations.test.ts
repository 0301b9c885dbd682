/*
 * Goal: the annotations of an audit event are bounded, and the event states what it lacks.
 * Method: annotations up to the limit and beyond it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../../../src/config/limits.ts'
import { AuditAnnotations } from '../../../../../src/server/calls/audit-annotations.ts'

void test('annotations beyond the limit are dropped, which one annotation states, and the first value of a key is kept', () => {
  const annotations = new AuditAnnotations('dropped')
  const value = 'v'.repeat(limits.auditAnnotationCharactersMax / 4 - 1)
  for (const key of ['a', 'b', 'c', 'd']) annotations.add(key, value)
  annotations.add('a', 'other')
  assert.deepEqual([...annotations.all.keys()], ['a', 'b', 'c', 'd'])
  annotations.add('e', 'v')
  annotations.add('f', 'v')
  assert.deepEqual([...annotations.all.keys()], ['a', 'b', 'c', 'd', 'dropped'])
  assert.deepEqual([annotations.all.get('a'), annotations.all.get('dropped')], [value, 'true'])
})
