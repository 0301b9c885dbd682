/*
 * Goal: when a leader is killed, paused, partitioned or stopped, acknowledged writes, watch events
 * and their order are kept. Method: three real processes; writers, readers and watchers use all
 * members while the current leader is killed (-9), paused (SIGSTOP), cut off from its peers by
 * proxies and stopped (SIGTERM), twice each (FAILOVER_ROUNDS); then the recorded history is
 * checked.
 */
import { test } from 'node:test'
import { failoverRun } from '../support/runs/failover-run.ts'

const roundsOfEach = Number(process.env['FAILOVER_ROUNDS'] ?? 2)

void test('acknowledged writes, order and watches survive killed, paused, partitioned and stopped leaders', (t) =>
  failoverRun(t, roundsOfEach))
