/*
 * Goal: events are sent in lists, in order, and an accepted event is not sent again; a receiver
 * that is unreachable, rejects or hangs has a bounded, counted cost, and the end of a member does
 * not wait for it.
 * Method: a receiver with prepared responses, and a manual clock.
 */
import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { limits } from '../../../../src/config/limits.ts'
import { AuditWebhook } from '../../../../src/audit/audit-webhook.ts'
import type { SendOutcome } from '../../../../src/audit/audit-webhook.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

type List = {
  readonly kind: string
  readonly apiVersion: string
  readonly items: readonly { readonly n: number }[]
}

const batchMsMax = 30_000
const backOffMs = 10_000
let clock = new ManualClock()
let lists: (readonly number[])[] = []
let reported: string[] = []
let lost = { webhook: 0, buffered: 0 }
let answer: () => SendOutcome | Promise<SendOutcome> = () => ({ kind: 'taken' })

beforeEach(() => {
  clock = new ManualClock()
  lists = []
  reported = []
  lost = { webhook: 0, buffered: 0 }
  answer = () => ({ kind: 'taken' })
})

function webhook(): AuditWebhook {
  return new AuditWebhook(
    { apiVersion: 'audit.orch.io/v1', url: 'https://there/audit', batchMsMax, backOffMs },
    {
      ...{ clock, random: new SeededRandom(1) },
      receiver: {
        send: async (bytes) => {
          const list = JSON.parse(Buffer.from(bytes).toString('utf8')) as List
          assert.deepEqual([list.kind, list.apiVersion], ['EventList', 'audit.orch.io/v1'])
          lists.push(list.items.map(({ n }) => n))
          return answer()
        },
      },
      log: {
        error: (fields, message) => void reported.push(`error ${message} ${JSON.stringify(fields)}`),
        info: (fields, message) => void reported.push(`info ${message} ${JSON.stringify(fields)}`),
      },
      onLost: (plugin, count) => {
        lost[plugin] += count
      },
    },
  )
}

function event(n: number): Uint8Array {
  return Buffer.from(`${JSON.stringify({ n })}\n`)
}

function numbers(count: number, from = 0): readonly number[] {
  return Array.from({ length: count }, (_, at) => from + at)
}

void test('an event waits for others, as long as it may or until there are enough', async () => {
  const hook = webhook()
  for (const n of numbers(3)) hook.add(event(n))
  await clock.advance(batchMsMax - 1)
  assert.equal(lists.length, 0)
  await clock.advance(1)
  assert.deepEqual(lists, [[0, 1, 2]])
  const many = limits.auditWebhookEventsMax
  for (const n of numbers(many + 5)) hook.add(event(n))
  await clock.settle()
  assert.deepEqual(lists.slice(1), [numbers(many)], 'enough goes at once')
  await clock.advance(batchMsMax)
  assert.deepEqual(lists.slice(2), [numbers(5, many)])
  await hook.close()
})

void test('a list that is not accepted is sent again with increasing delays, while others wait', async () => {
  const hook = webhook()
  answer = () => ({ kind: 'not-now', why: 'the server answers 503' })
  hook.add(event(0))
  await clock.advance(batchMsMax)
  assert.equal(lists.length, 1)
  // More waiting events do not shorten the pause.
  for (const n of numbers(limits.auditWebhookEventsMax + 1, 1)) hook.add(event(n))
  await clock.advance(backOffMs - 1)
  assert.equal(lists.length, 1)
  await clock.advance(backOffMs * 0.2 + 1)
  assert.equal(lists.length, 2)
  await clock.advance(backOffMs * 1.5 - backOffMs * 0.2 - 1)
  assert.equal(lists.length, 2)
  answer = () => ({ kind: 'taken' })
  await clock.advance(backOffMs)
  assert.deepEqual(lists.slice(0, 3), [[0], [0], [0]])
  assert.deepEqual(lists[3], numbers(limits.auditWebhookEventsMax, 1))
  assert.deepEqual(lost, { webhook: 0, buffered: 0 })
  assert.deepEqual(reported, [])
  await hook.close()
})

void test('events that are never accepted are dropped after some attempts, counted and logged', async () => {
  const hook = webhook()
  answer = () => ({ kind: 'not-now', why: 'connect ECONNREFUSED' })
  for (const n of numbers(2)) hook.add(event(n))
  await clock.advance(batchMsMax + backOffMs * 20)
  assert.equal(lists.length, limits.auditWebhookTriesMax)
  assert.equal(lost.webhook, 2)
  assert.match(
    reported[0] ?? '',
    /^error audit events are lost: check the server.*there\/audit.*ECONNREFUSED.*"lost":2/,
  )
  answer = () => ({ kind: 'taken' })
  hook.add(event(2))
  await clock.advance(batchMsMax)
  assert.match(reported[1] ?? '', /^info audit events are written again.*"lost":2/)
  await hook.close()
})

void test('a list that is rejected is lost at once', async () => {
  const hook = webhook()
  answer = () => ({ kind: 'refused', why: 'the server answers 403' })
  hook.add(event(0))
  await clock.advance(batchMsMax)
  assert.equal(lost.webhook, 1)
  assert.equal(lists.length, 1)
  await hook.close()
})

void test('a receiver that hangs costs bounded memory, and close does not wait for it', async () => {
  const hook = webhook()
  answer = () => new Promise(() => undefined)
  hook.add(event(0))
  await clock.advance(batchMsMax)
  for (const n of numbers(limits.auditBufferLinesMax)) assert.ok(hook.add(event(n)))
  assert.ok(!hook.add(event(0)))
  assert.equal(lost.buffered, 1)
  const closed = hook.close()
  await clock.advance(limits.auditCloseMsMax)
  await closed
  assert.equal(lost.webhook, limits.auditBufferLinesMax + 1)
})

void test('close sends waiting events, each list once', async () => {
  const hook = webhook()
  for (const n of numbers(limits.auditWebhookEventsMax + 3)) hook.add(event(n))
  await hook.close()
  assert.deepEqual(lists, [numbers(limits.auditWebhookEventsMax), numbers(3, limits.auditWebhookEventsMax)])
  const away = webhook()
  lists = []
  answer = () => ({ kind: 'not-now', why: 'away' })
  away.add(event(7))
  await away.close()
  assert.deepEqual([lists, lost.webhook], [[[7]], 1])
})
