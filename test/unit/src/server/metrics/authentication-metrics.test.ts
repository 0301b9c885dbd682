/*
 * Goal: authentication is counted under upstream's names, with few series however many users there
 * are.
 * Method: the text that Prometheus scrapes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { AuthenticationMetrics } from '../../../../../src/server/metrics/authentication-metrics.ts'

async function linesOf(registry: Registry, name: string): Promise<readonly string[]> {
  const text = await registry.metrics()
  return text.split('\n').filter((line) => line.startsWith(name))
}

void test('attempts and their durations are counted by result', async () => {
  const registry = new Registry()
  const metrics = new AuthenticationMetrics(registry)
  metrics.count('success', 0)
  metrics.count('success', 0.003)
  metrics.count('failure', 20)
  assert.deepEqual(await linesOf(registry, 'authentication_attempts'), [
    'authentication_attempts{result="success"} 2',
    'authentication_attempts{result="failure"} 1',
    'authentication_attempts{result="error"} 0',
  ])
  const durations = await linesOf(registry, 'authentication_duration_seconds')
  const value = (labels: string): string | undefined =>
    durations.find((line) => line.includes(labels))?.split(' ')[1]
  assert.equal(value('_bucket{le="0.001",result="success"}'), '1')
  assert.equal(value('_bucket{le="0.004",result="success"}'), '2')
  assert.equal(value('_bucket{le="16.384",result="failure"}'), '0')
  assert.equal(value('_bucket{le="+Inf",result="failure"}'), '1')
  assert.equal(value('_sum{result="failure"}'), '20')
})

void test('well-known users are counted by name, e-mail addresses together, and all others together', async () => {
  const registry = new Registry()
  const metrics = new AuthenticationMetrics(registry)
  for (const name of ['admin', 'lena', 'max', 'lena@example.org', 'kubelet']) metrics.countUser(name)
  assert.deepEqual((await linesOf(registry, 'authenticated_user_requests')).toSorted(), [
    'authenticated_user_requests{username="admin"} 1',
    'authenticated_user_requests{username="email_id"} 1',
    'authenticated_user_requests{username="kubelet"} 1',
    'authenticated_user_requests{username="other"} 2',
  ])
})
