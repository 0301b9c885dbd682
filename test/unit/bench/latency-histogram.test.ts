/*
 * Goal: quantiles equal those of the recorded values to within 1/64, also over several threads.
 * Method: random values against a sorted list, from seeds; edges by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../base/random.ts'
import { LatencyHistogram } from '../../../bench/tool/latency-histogram.ts'

const shares = [0.001, 0.25, 0.5, 0.9, 0.99, 0.999, 1]

/** By the definition: the smallest value that at least this share does not exceed. */
function quantileOf(sorted: readonly number[], share: number): number {
  return sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1] ?? Number.NaN
}

void test('quantiles of random latencies equal those of the sorted values to within 1/64', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new SeededRandom(seed)
    const parts = Array.from({ length: 1 + random.below(4) }, () => new LatencyHistogram())
    // From a microsecond to 100 s, evenly distributed over the orders of magnitude.
    const valuesMs = Array.from({ length: 1 + random.below(500) }, () => {
      return Math.round(10 ** (random.below(8000) / 1000)) / 1000
    })
    for (const ms of valuesMs) random.pick(parts).record(ms)
    const whole = new LatencyHistogram()
    for (const part of parts) whole.add(part.counts())
    const sorted = valuesMs.toSorted((a, b) => a - b)
    assert.equal(whole.total, sorted.length)
    for (const share of shares) {
      const [returned, right] = [whole.quantile(share), quantileOf(sorted, share)]
      assert.ok(
        returned >= right && returned <= right * (1 + 1 / 64),
        `seed ${seed}: ${share} is ${right}, is ${returned} here`,
      )
    }
    assert.equal(whole.quantile(1), sorted.at(-1), `seed ${seed}: the longest is exact`)
  }
})

void test('small values are exact, too long ones count as the longest, copied counts give the same quantiles, and an empty histogram returns 0', () => {
  const histogram = new LatencyHistogram()
  assert.equal(histogram.quantile(0.5), 0)
  for (let us = 1; us <= 63; us++) histogram.record(us / 1000)
  assert.equal(histogram.quantile(0.5), 0.032)
  assert.equal(new LatencyHistogram(histogram.counts()).quantile(0.5), 0.032)
  histogram.record(0)
  assert.equal(histogram.quantile(0.001), 0.001)
  histogram.record(1e9)
  assert.equal(histogram.quantile(1), (2 ** 31 - 1) / 1000, 'longer values count as the longest that fits')
})
