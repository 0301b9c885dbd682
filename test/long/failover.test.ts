/* As e2e/failover, a hundred times each: enough to see the tail of the gaps. */
import { test } from 'node:test'
import { failoverRun } from '../support/runs/failover-run.ts'

void test('no acknowledged write is lost when a hundred leaders each are killed, paused, cut off and stopped', (t) =>
  failoverRun(t, 100))
