/*
 * Goal: controllers finish their work exactly once, also when the leader is killed half-way.
 * Method: three real processes; watches on a follower count every step.
 */
import { test } from 'node:test'
import { controllersRun } from '../support/runs/controllers-run.ts'

void test(
  'a thousand claims, their removal and a thousand certificates are complete, and nothing is done twice, though the leader is killed half-way',
  { timeout: 1_800_000 },
  (t) => controllersRun(t, Number(process.env['OBJECTS'] ?? 1000)),
)
