/*
 * Goal: a leader may die, freeze, be cut off or leave, and no acknowledged write, no watch event
 * and no order is lost.
 * Method: three real processes; writers, a reader and watchers go through all members while the
 * leader of the moment is killed (-9), paused (SIGSTOP), cut off from its peers by proxies and
 * stopped (SIGTERM), four times each (FAILOVER_ROUNDS); then the record is judged.
 */
import { test } from 'node:test'
import { failoverRun } from '../support/runs/failover-run.ts'

const roundsOfEach = Number(process.env['FAILOVER_ROUNDS'] ?? 4)

void test('acknowledged writes, order and watches survive leaders that die, freeze, are cut off or leave', (t) =>
  failoverRun(t, roundsOfEach))
