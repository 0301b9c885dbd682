/*
 * Goal: controllers finish their work exactly once, also when the leader is killed half-way.
 * Method: three real processes; watches on a follower count every step.
 */
import { test } from 'node:test'
import { controllersRun } from '../support/runs/controllers-run.ts'
import { identityControllersRun } from '../support/runs/identity-controllers-run.ts'
import { moreControllersRun } from '../support/runs/more-controllers-run.ts'

const objects = Number(process.env['OBJECTS'] ?? 1000)

void test(
  'a thousand claims, their removal and a thousand certificates are complete, and nothing is done twice, though the leader is killed half-way',
  { timeout: 1_800_000 },
  (t) => controllersRun(t, objects),
)

void test(
  'a thousand namespaces, quotas, bootstrap tokens, aggregated roles and Pods of an absent node are complete, and nothing is done twice, though the leader is killed half-way',
  { timeout: 1_800_000 },
  (t) => moreControllersRun(t, objects),
)

void test(
  'a thousand token Secrets, their removal, leases of absent API servers and denied certificate requests are complete, and nothing is done twice, though the leader is killed half-way',
  { timeout: 1_800_000 },
  (t) => identityControllersRun(t, objects),
)
