/* As e2e/chaos, for five minutes each. */
import { test } from 'node:test'
import { chaosRun } from '../support/runs/chaos-run.ts'

void test('three members keep all guarantees in five minutes of mixed faults', (t) =>
  chaosRun(t, { members: 3, seconds: 300, seed: 31, rate: 200 }))

void test('five members keep all guarantees in five minutes of mixed faults', (t) =>
  chaosRun(t, { members: 5, seconds: 300, seed: 51, rate: 200 }))
