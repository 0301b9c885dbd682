/*
 * Goal: whatever one user requests within the limits, a member with a heap of 1 GiB still serves
 * another user.
 * Method: a real durable member; large creates, dry runs, refusals, slow and stalled uploads,
 * watches and lists that are not read, patches, in every encoding and both protocols, from a seed;
 * concurrently a small create, get, list and delete, repeatedly. `SOAK_SEED=n` repeats a run; ten
 * minutes of it are `node dist/test/run.js --long --only soak`.
 */
import { test } from 'node:test'
import { judgedSoak } from '../support/runs/soak-run.ts'

void test('any mixture of requests leaves the member serving others', () => judgedSoak(8))
