/*
 * Goal: controllers finish their work exactly once, also when the leader is killed half-way.
 * Method: three real processes; watches on a follower count every step.
 */
import { test } from 'node:test'
import { agingControllersRun } from '../support/runs/aging-controllers-run.ts'
import { controllersRun } from '../support/runs/controllers-run.ts'
import { identityControllersRun } from '../support/runs/identity-controllers-run.ts'
import { lifetimeControllersRun } from '../support/runs/lifetime-controllers-run.ts'
import { moreControllersRun } from '../support/runs/more-controllers-run.ts'

const objects = Number(process.env['OBJECTS'] ?? 1000)
/** Each step has its own time limit; this one ends anything else that hangs. */
const limitMs = 5_000_000

void test(
  'a thousand claims, their removal and a thousand certificates are complete, and nothing is done twice, though the leader is killed half-way',
  { timeout: limitMs },
  (t) => controllersRun(t, objects),
)

void test(
  'a thousand namespaces, quotas, bootstrap tokens, aggregated roles and Pods of an absent node are complete, and nothing is done twice, though the leader is killed half-way',
  { timeout: limitMs },
  (t) => moreControllersRun(t, objects),
)

void test(
  'a thousand token Secrets, their removal, leases of absent API servers and denied certificate requests are complete, and nothing is done twice, though the leader is killed half-way',
  { timeout: limitMs },
  (t) => identityControllersRun(t, objects),
)

void test(
  'a thousand default accounts and volumes to release are complete, and nothing is done twice, though the leader is killed half-way',
  { timeout: limitMs },
  (t) => lifetimeControllersRun(t, objects),
)

void test(
  'a thousand Events that expire, ended Pods, Secrets of accounts and objects of a deleted definition are complete, and nothing is done twice or early, though the leader is killed half-way, and twice while Events expire',
  { timeout: limitMs },
  (t) => agingControllersRun(t, objects),
)
