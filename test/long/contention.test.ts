/* As e2e/contention, with a hundred clients and two kills. */
import { test } from 'node:test'
import { contentionRun } from '../support/runs/contention-run.ts'

void test(
  'a hundred clients add 50 each to a counter across two killed leaders',
  { timeout: 1_800_000 },
  (t) => contentionRun(t, { clients: 100, additions: 50, kills: 2 }),
)
