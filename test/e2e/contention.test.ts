/*
 * Goal: clients that write one object concurrently lose no write, and patches without a version
 * never conflict.
 * Method: three real processes; the clients get and update a counter at all members while the
 * leader is killed, then each patches its own key.
 */
import { test } from 'node:test'
import { contentionRun } from '../support/runs/contention-run.ts'

void test('a counter that many clients add to is exact after the leader was killed', (t) =>
  contentionRun(t, { clients: 16, additions: 8, kills: 1 }))
