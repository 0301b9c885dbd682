/*
 * Goal: as in e2e/soak, for ten minutes: nothing piles up.
 * Method: a real durable member; large creates, dry runs, refusals, slow and stalled uploads,
 * watches and lists that are not read, patches, in every encoding and both protocols, from a seed;
 * concurrently a small create, get, list and delete, over and over. `SOAK_SEED=n` repeats a run.
 */
import { test } from 'node:test'
import { judgedSoak } from '../support/runs/soak-run.ts'

void test('any mixture of requests leaves the member serving others', { timeout: 1_500_000 }, () =>
  judgedSoak(600),
)
