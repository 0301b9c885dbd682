/*
 * Goal: clients that write one object concurrently lose no write, and patches without a version
 * never conflict.
 * Method: three real processes; the clients get and update a counter at all members while two
 * leaders are killed, then each patches its own key.
 */
import { test } from 'node:test'
import { contentionRun } from '../support/runs/contention-run.ts'

void test(
  'a hundred clients add 50 each to a counter across two killed leaders',
  { timeout: 1_800_000 },
  (t) => contentionRun(t, { clients: 100, additions: 50, kills: 2 }),
)
