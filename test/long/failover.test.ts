/* As e2e/failover, a hundred times each: enough to see the tail of the gaps. */
import { test } from 'node:test'
import { failoverRun } from '../support/runs/failover-run.ts'

void test('of four hundred leaders a hundred each are killed, paused, partitioned and stopped', (t) =>
  failoverRun(t, 100))
