/*
 * Goal: each anomaly is reported or counted once.
 * Method: anomalies that several observations show, more than are reported.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Findings } from '../../../../tools/verify/finding.ts'
import { verifyLimits } from '../../../../tools/verify/limits.ts'

void test('an anomaly that several observations show counts once, also beyond the limit', () => {
  const findings = new Findings()
  for (let at = 0; at < verifyLimits.anomaliesMax + 3; at++) {
    for (let observation = 0; observation < 4; observation++)
      findings.add(`object-${at}`, () => ({
        ...{ kind: 'phantom', text: `object-${at}`, atMs: at, object: null, members: [], witnesses: [] },
      }))
  }
  const { anomalies, unreported } = findings.report('check', { examined: 'objects', count: 1 })
  assert.deepEqual([anomalies.length, unreported], [verifyLimits.anomaliesMax, 3])
})
