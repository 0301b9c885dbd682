/*
 * Goal: every refusal is counted, a repeatedly refused caller does not fill the log, the first
 * refusals of each reason and caller are logged, and a later line has the number of the others.
 * Method: a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RefusalReason, TransportEvent } from '../../../../raft/transport/events.ts'
import { RefusalLog } from '../../../../raft/transport/refusal-log.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

type Line = Extract<TransportEvent, { readonly kind: 'refused' }>

function opened() {
  const clock = new ManualClock()
  const counters = { refusals: 0 }
  const lines: Line[] = []
  const onEvent = (event: TransportEvent): void => {
    if (event.kind === 'refused') lines.push(event)
  }
  const log = new RefusalLog({ clock, counters, onEvent })
  /** Returns the lines that these refusals logged. */
  const add = (reason: RefusalReason, certified: string | null, times = 1, detail = 'x'): readonly Line[] => {
    const from = lines.length
    for (let time = 0; time < times; time++) log.add({ reason, certified, remote: '10.0.0.1:1', detail })
    return lines.slice(from)
  }
  return { clock, counters, add }
}

void test('five refusals of each reason are logged in ten seconds, and the next line counts the others', async () => {
  const { clock, counters, add } = opened()
  for (let window = 0; window < 3; window++) {
    for (const reason of ['malformed', 'other-cluster'] as const) {
      const lines = add(reason, 'n2', 1000)
      const first = window === 0 ? 0 : 995
      assert.deepEqual(
        lines.map(({ unlogged }) => unlogged),
        [first, 0, 0, 0, 0],
        reason,
      )
    }
    await clock.advance(10_000)
  }
  assert.equal(counters.refusals, 6000)
})

void test('a noisy caller hides no other caller and no other reason', () => {
  const { add } = opened()
  add('other-cluster', 'n2', 1000)
  assert.equal(add('other-cluster', 'n3').length, 1)
  assert.equal(add('lost-log', 'n2').length, 1)
  assert.equal(add('other-cluster', null).length, 1)
})

void test('ever new names fill neither the log nor memory', async () => {
  const { clock, add } = opened()
  const logged = (): number => {
    let lines = 0
    for (let at = 0; at < 5000; at++) lines += add('other-cluster', `x${at}`).length
    return lines
  }
  assert.equal(logged(), 64 + 5)
  for (let round = 2; round <= 5; round++) assert.equal(logged(), 64, 'each one with its own window')
  assert.equal(logged(), 0)
  await clock.advance(10_000)
  assert.equal(add('lost-log', 'n2').length, 1, 'expired windows are reused')
  assert.equal(logged(), 63 + 5)
})

void test('the refusal of an invalid message names its caller', () => {
  const { add } = opened()
  const detail = (reason: RefusalReason, certified: string | null, text: string): string | undefined =>
    add(reason, certified, 1, text)[0]?.detail
  assert.equal(detail('malformed', 'n2', 'a frame cannot be read'), 'member "n2": a frame cannot be read')
  assert.equal(detail('violation', 'n2', 'y'), 'member "n2": y')
  assert.equal(detail('malformed', null, 'x'), 'a caller without a member name: x')
  assert.equal(detail('lost-log', 'n2', 'member "n2" was known'), 'member "n2" was known')
})
