/*
 * Goal: a metric is a counter if and only if its name ends in `_total`, so that a rate over a
 * restart is right, and it follows what it counts.
 * Method: the metrics of consensus and of the cluster, as they are scraped; one before and after
 * its count grew.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { ConsensusMetrics } from '../../../../src/metrics/consensus-metrics.ts'
import { registerClusterMetrics } from '../../../../src/metrics/cluster-metrics.ts'
import { FakeConsensus } from '../../../../fixtures/fake-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

void test('counters end in _total, gauges do not', async () => {
  const register = new Registry()
  const counters = { rounds: 3, records: 500, findings: 1, lastDoneMs: null }
  const quarantines = { damaged: 0, disagreement: 2, operator: 0 }
  new ConsensusMetrics().register(register)
  registerClusterMetrics(register, {
    machine: { lastState: { revision: 7 }, quarantine: null, quarantines },
    consensus: new FakeConsensus(new ManualClock()),
    node: { load: { proposals: 0, proposalBytes: 0, readers: 0, applyLagEntries: 0 } },
    watch: { guard: { verdict: { kind: 'agree', agreedUpTo: null } }, scrub: { counters } },
    store: {
      ...{ featureLevel: 2, openWatches: 0 },
      storage: { usedBytes: 1, bytesMax: 10, alarm: false, largest: () => [], largestPlaces: () => [] },
    },
  })
  const all = await register.getMetricsAsJSON()
  assert.ok(all.length > 30)
  for (const { name, type } of all) assert.equal(String(type) === 'counter', name.endsWith('_total'), name)
  const scraped = async (name: string): Promise<string | undefined> =>
    new RegExp(`^${name} (.*)$`, 'm').exec(await register.metrics())?.[1]
  assert.equal(await scraped('orch_store_scrub_rounds_total'), '3')
  assert.equal(await scraped('orch_store_scrub_findings_total'), '1')
  assert.equal(await scraped('orch_store_quarantines_total{cause="damaged"}'), '0')
  assert.equal(await scraped('orch_store_quarantines_total{cause="disagreement"}'), '2')
  counters.findings++
  assert.equal(await scraped('orch_store_scrub_findings_total'), '2')
  assert.equal(await scraped('orch_store_scrub_findings_total'), '2', 'not added again')
})
