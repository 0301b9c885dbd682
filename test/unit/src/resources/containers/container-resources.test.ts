/*
 * Goal: amounts of containers are rounded as upstream rounds them, however many there are.
 * Method: the function alone; the largest number of amounts that a body can hold, which a cost
 * above linear would not finish within the time limit of the file.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember } from '../../../../../src/api/json.ts'
import { bodyLimits } from '../../../../../src/api/limits.ts'
import { roundedResources } from '../../../../../src/resources/containers/container-resources.ts'

void test('as many amounts as a body can hold are rounded in one pass', () => {
  const names = Array.from({ length: bodyLimits.valuesMax }, (_, at) => `example.com/r${at}`)
  const given = Object.fromEntries(names.map((name) => [name, '1.00001']))
  const rounded = roundedResources({ limits: given, requests: { cpu: '1' } })
  assert.deepEqual(Object.keys(objectMember(rounded, 'limits')), names)
  assert.deepEqual(new Set(Object.values(objectMember(rounded, 'limits'))), new Set(['1001m']))
  assert.deepEqual(rounded['requests'], { cpu: '1' })
})

void test('only amounts that are finer than thousandths are rounded, and other members stay', () => {
  const exact = { limits: { cpu: '1', memory: '5m' }, requests: { cpu: '100m' } }
  assert.equal(roundedResources(exact), exact)
  const of = { limits: { cpu: '1n', memory: '-1n' }, requests: { cpu: '1' } }
  assert.deepEqual(roundedResources(of), { limits: { cpu: '1m', memory: '-1m' }, requests: { cpu: '1' } })
})
