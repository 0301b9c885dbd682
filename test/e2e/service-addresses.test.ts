/*
 * Goal: each Service has a cluster IP and a node port of its own, whichever member takes a write
 * or leads. Method: three real processes; concurrent clients create Services at all members while
 * the leader is killed.
 */
import { test } from 'node:test'
import { servicesRun } from '../support/runs/services-run.ts'

void test('Services that many clients create get addresses and ports of their own after the leader was killed', (t) =>
  servicesRun(t, { clients: 12, services: 60 }))
