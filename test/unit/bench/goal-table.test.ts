/*
 * Goal: the table of goals shows the median of the rounds with their spread, and whether it meets
 * its goal. With another commit, the ratio of both is compared with that of the goal instead.
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

void test('with another commit, a row is met if the ratio of the commits is that of the goal or better', () => {
  const table = new GoalTable()
  for (const [before, now] of [
    [9, 1.9],
    [10, 2],
    [11, 2.4],
  ] as const) {
    table.add('idle', before, 'before')
    table.add('idle', now)
  }
  table.add('createRate', 1000, 'before')
  table.add('createRate', 1700)
  table.add('floor', 0.2, 'before')
  table.add('floor', 0.1)
  table.add('kill', 0.1)
  const [, , ...rows] = table.lines()
  assert.deepEqual(rows, [
    '| idle, three members, percent of one core | 4.75 | 2.5 | 10.00 (9.00-11.00) | 2.00 (1.90-2.40) | 0.22 | 0.20 | yes |',
    '| a trivial response (livez), CPU, ms |  |  | 0.200 (0.200-0.200) | 0.100 (0.100-0.100) |  | 0.50 |  |',
    '| create, 64 clients, per second | 1328 | 4500 | 1000 (1000-1000) | 1700 (1700-1700) | 1.73 | 1.70 | no |',
    '| leader killed until writes succeed, s | 1.5 | 0.15 |  | 0.10 (0.10-0.10) | 0.25 |  | yes |',
  ])
})
