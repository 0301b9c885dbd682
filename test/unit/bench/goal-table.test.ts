/*
 * Goal: the table of goals shows the median of the rounds with their spread, and whether it meets
 * its goal.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GoalTable } from '../../../bench/goal-table.ts'

void test('a row has the median, the lowest and the highest, and is met on the right side of its goal', () => {
  const table = new GoalTable()
  for (const percent of [3.1, 2.4, 2.45]) table.add('idle', percent)
  for (const rate of [5000, 4400, 4499]) table.add('createRate', rate)
  table.add('floor', 0.1)
  const [, , ...rows] = table.lines()
  assert.deepEqual(rows, [
    '| idle, three members, percent of one core | 4.75 | 2.45 (2.40-3.10) | 2.5 | yes |',
    '| a trivial response (livez), CPU, ms | | 0.100 (0.100-0.100) | | |',
    '| create, 64 clients, per second | 1328 | 4499 (4400-5000) | 4500 | no |',
  ])
})
