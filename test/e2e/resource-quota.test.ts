/*
 * Goal: a quota is exact, whichever member takes a write or leads. Method: three real
 * processes; concurrent clients create Pods at all members while the leader is killed.
 */
import { test } from 'node:test'
import { quotaRun } from '../support/runs/quota-run.ts'

void test('a quota that many clients use up is exact after the leader was killed', (t) =>
  quotaRun(t, { clients: 16, limit: 80, kills: 1 }))
