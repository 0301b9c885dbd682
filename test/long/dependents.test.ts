/*
 * Goal: many dependents are deleted or orphaned completely, also when the leader is killed
 * half-way.
 * Method: three real processes; a watch on a follower counts.
 */
import { test } from 'node:test'
import { dependentsRun } from '../support/runs/dependents-run.ts'

void test(
  'all of ten thousand dependents are deleted or orphaned, though the leader is killed half-way',
  { timeout: 1_800_000 },
  (t) => dependentsRun(t, Number(process.env['DEPENDENTS'] ?? 10_000)),
)
