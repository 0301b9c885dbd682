/* As e2e/failover, a hundred times each: enough to see the tail of the gaps. */
import { test } from 'node:test'
import { failoverRun } from '../support/runs/failover-run.ts'

void test('a hundred leaders die, a hundred freeze, a hundred are cut off, a hundred leave', (t) =>
  failoverRun(t, 100))
