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
      webhooks: [
        {
          ...webhook,
          state: 'closed',
          perSecond: 1,
          averageMs: 10,
          allowed: 0,
          failed: 0,
          lastFailure: null,
        },
      ],
    },
    {
      member: 'n2',
      webhooks: [
        {
          ...{ ...webhook, state: 'open', perSecond: 3, averageMs: 2, allowed: 1, failed: 5 },
          lastFailure: { time: '2026-01-01T00:00:00Z', why: 'refused' },
        },
        { ...webhook, name: 'new.example.com', state: 'closed' },
      ],
    },
  ])
  const [first, second] = rows
  assert.deepEqual(
    [first?.perSecond, first?.averageMs, first?.denied, first?.failed, first?.openOn, first?.lastFailure],
    [4, 3, 2, 5, ['n2'], '2026-01-01T00:00:00Z refused'],
  )
  assert.deepEqual([second?.name, second?.averageMs, second?.openOn], ['new.example.com', null, []])
})

void test('the average of a webhook is that of all calls of all members, whatever their order and rate', () => {
  const members = [
    { averageMs: 10, allowed: 8, denied: 1, failed: 1, perSecond: 0 },
    { averageMs: 20, allowed: 20, denied: 0, failed: 0, perSecond: 0 },
    { averageMs: 40, allowed: 10, denied: 0, failed: 60, perSecond: 9 },
    { averageMs: null, allowed: 0, denied: 0, failed: 0, skipped: 1000, perSecond: 5 },
  ]
  const answers = members.map((calls, at) => ({ member: `n${at}`, webhooks: [{ name: 'w', ...calls }] }))
  for (const order of [answers, answers.toReversed()]) {
    const [row] = mergedWebhooks(order)
    assert.deepEqual([row?.averageMs, row?.allowed, row?.skipped], [33, 38, 1000])
  }
})
