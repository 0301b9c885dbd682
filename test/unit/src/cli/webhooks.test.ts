/*
 * Goal: the calls of a webhook by all members are shown together.
 * Method: responses of two members.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergedWebhooks } from '../../../../src/cli/webhooks.ts'

void test('the calls of several members are added up, and the members on which a webhook fails are named', () => {
  const webhook = {
    ...{ type: 'validating', configuration: 'c', name: 'w.example.com', failurePolicy: 'Fail' },
    ...{ rules: ['CREATE pods'], isSelective: false, suspendedUntil: null, skipped: 0, denied: 1 },
  }
  const rows = mergedWebhooks([
    {
      member: 'n1',
      webhooks: [{ ...webhook, state: 'closed', perSecond: 1, averageMs: 10, failed: 0, lastFailure: null }],
    },
    {
      member: 'n2',
      webhooks: [
        {
          ...{ ...webhook, state: 'open', perSecond: 3, averageMs: 2, failed: 5 },
          lastFailure: { time: '2026-01-01T00:00:00Z', why: 'refused' },
        },
        { ...webhook, name: 'new.example.com', state: 'closed' },
      ],
    },
  ])
  const [first, second] = rows
  assert.deepEqual(
    [first?.perSecond, first?.averageMs, first?.denied, first?.failed, first?.openOn, first?.lastFailure],
    [4, 4, 2, 5, ['n2'], '2026-01-01T00:00:00Z refused'],
  )
  assert.deepEqual([second?.name, second?.averageMs, second?.openOn], ['new.example.com', null, []])
})
