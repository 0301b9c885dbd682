/*
 * Goal: the mode decides which calls wait for the audit log and which are rejected, with and
 * without a first event, with a full queue and without.
 * Method: a log that the test controls, for every mode.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry as MetricsRegistry } from 'prom-client'
import { AuditMetrics } from '../../../../src/audit/audit-metrics.ts'
import { AUDIT_MODES, AuditTrail } from '../../../../src/audit/audit-trail.ts'
import type { AuditMode } from '../../../../src/audit/audit-trail.ts'

type RequestOutcome = 'goes on' | 'is refused' | 'waits'

type Case = {
  /** Whether its first event was recorded; null: the call has no first event. */
  readonly recorded: boolean | null
  readonly isFull: boolean
  /** Whether the queued events were written; null: not decided yet. */
  readonly written: boolean | null
}

async function outcomeOf(
  mode: AuditMode,
  { recorded, isFull, written }: Case,
): Promise<readonly [RequestOutcome, number]> {
  const registry = new MetricsRegistry()
  const log = {
    add: () => true,
    isFull,
    whenSettled: (wake: (written: boolean) => void) => {
      if (written !== null) wake(written)
      return () => undefined
    },
  }
  const trail = new AuditTrail({
    policy: { rules: [] },
    names: { apiVersion: 'audit.orch.io/v1', truncated: '' },
    ...{ mode, format: 'json', log, webhook: null, metrics: new AuditMetrics(registry) },
  })
  let given: RequestOutcome = 'waits'
  trail.admit(recorded, (may) => {
    given = may ? 'goes on' : 'is refused'
  })
  const text = await registry.metrics()
  return [given, Number(/requests_rejected_total (\d+)/.exec(text)?.[1])]
}

const table: readonly (readonly [string, Case, readonly [RequestOutcome, RequestOutcome, RequestOutcome]])[] =
  [
    [
      'its event is being written',
      { recorded: true, isFull: false, written: null },
      ['waits', 'waits', 'goes on'],
    ],
    [
      'its event is written',
      { recorded: true, isFull: false, written: true },
      ['goes on', 'goes on', 'goes on'],
    ],
    [
      'its event could not be written',
      { recorded: true, isFull: false, written: false },
      ['goes on', 'is refused', 'goes on'],
    ],
    [
      'its event was dropped',
      { recorded: false, isFull: true, written: null },
      ['waits', 'is refused', 'goes on'],
    ],
    [
      'it has no first event',
      { recorded: null, isFull: false, written: null },
      ['goes on', 'goes on', 'goes on'],
    ],
    [
      'it has no event, and the log is full',
      { recorded: null, isFull: true, written: null },
      ['waits', 'waits', 'goes on'],
    ],
    [
      'it has no event, and others were dropped',
      { recorded: null, isFull: true, written: false },
      ['goes on', 'goes on', 'goes on'],
    ],
  ]

for (const [what, of, expected] of table) {
  void test(`the audit mode decides about a request: ${what}`, async () => {
    for (const [at, mode] of AUDIT_MODES.entries()) {
      const [given, rejected] = await outcomeOf(mode, of)
      assert.equal(given, expected[at], mode)
      assert.equal(rejected, given === 'is refused' ? 1 : 0, mode)
    }
  })
}
