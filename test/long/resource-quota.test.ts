/* As e2e/resource-quota, with 64 clients, a quota of a thousand Pods and two kills. */
import { test } from 'node:test'
import { quotaRun } from '../support/runs/quota-run.ts'

void test(
  '64 clients at three members use up a quota of 1,000 across two killed leaders',
  { timeout: 1_800_000 },
  (t) => quotaRun(t, { clients: 64, limit: 1000, kills: 2 }),
)
