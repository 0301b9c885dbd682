/*
 * Goal: the cluster keeps its guarantees to clients during five minutes of mixed faults.
 * Method: the shipped `orchctl chaos` on clusters of its own, under traffic that is recorded and
 * judged.
 */
import { test } from 'node:test'
import { chaosRun } from '../support/runs/chaos-run.ts'

void test('three members keep all guarantees in five minutes of mixed faults', (t) =>
  chaosRun(t, { members: 3, seconds: 300, seed: 31, rate: 200 }))

void test('five members keep all guarantees in five minutes of mixed faults', (t) =>
  chaosRun(t, { members: 5, seconds: 300, seed: 51, rate: 200 }))
