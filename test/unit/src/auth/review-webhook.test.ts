/* Goal: reviews beyond the capacity of a webhook are refused. Method: a client made by hand. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../src/api/errors/api-error.ts'
import { ReviewWebhook } from '../../../../src/auth/webhook/review-webhook.ts'
import type { OutwardResult } from '../../../../src/outward/outward-client.ts'

void test('a review is refused with 429 when too many wait, which does not count as a failure of the webhook', async () => {
  let result: OutwardResult = { kind: 'failed', reason: 'busy', why: 'full' }
  const failures: string[] = []
  const webhook = new ReviewWebhook(
    { apiVersion: 'authorization.orch.io/v1', kind: 'SubjectAccessReview' },
    {
      client: { call: () => Promise.resolve(result) },
      failures: { failed: (why) => failures.push(why), succeeded: () => failures.push('none') },
    },
  )
  await assert.rejects(
    webhook.review('a', {}),
    (cause) => cause instanceof ApiError && cause.code === 'TooManyRequests',
  )
  assert.deepEqual(failures, [])
  result = { kind: 'failed', reason: 'connect', why: 'no connection' }
  assert.deepEqual(await webhook.review('a', {}), { kind: 'failed', why: 'no connection' })
  assert.deepEqual(failures, ['no connection'])
})
