import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BreakerReports } from '../../../../../src/admission/webhooks/breaker-reports.ts'

void test('the first failure of a webhook is reported, and its recovery however soon it follows', () => {
  const reports = new BreakerReports()
  const webhook = {}
  assert.equal(reports.isDue(webhook, 'open', 1000), true)
  assert.equal(reports.isDue(webhook, 'closed', 2000), true)
})

void test('a recovery is not reported when the failure before it was not', () => {
  const reports = new BreakerReports()
  const webhook = {}
  assert.equal(reports.isDue(webhook, 'closed', 0), false)
  assert.equal(reports.isDue(webhook, 'open', 1000), true)
  assert.equal(reports.isDue(webhook, 'closed', 2000), true)
  assert.equal(reports.isDue(webhook, 'open', 3000), false)
  assert.equal(reports.isDue(webhook, 'closed', 4000), false)
})

void test('a webhook that flaps for an hour is reported at most twice a minute', () => {
  const reports = new BreakerReports()
  const webhook = {}
  let events = 0
  let failures = 0
  for (let nowMs = 0; nowMs < 3_600_000; nowMs += 5000) {
    const state = (nowMs / 5000) % 2 === 0 ? 'open' : 'closed'
    if (!reports.isDue(webhook, state, nowMs)) continue
    events++
    if (state === 'open') failures++
  }
  assert.ok(events <= 120, `${events} events`)
  assert.ok(failures >= 50, `${failures} failures`)
})

void test('webhooks are reported independently of each other', () => {
  const reports = new BreakerReports()
  assert.equal(reports.isDue({}, 'open', 0), true)
  assert.equal(reports.isDue({}, 'open', 0), true)
})
