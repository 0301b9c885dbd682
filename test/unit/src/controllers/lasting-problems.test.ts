/*
 * Goal: an event warns of a problem that lasts, not of one that retries end, and not at each retry.
 * Method: the class on a clock that moves by hand, and a list of what it records.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../src/api/errors/api-error.ts'
import { LastingProblems } from '../../../../src/controllers/lasting-problems.ts'
import type { EventSubject, EventText } from '../../../../src/controllers/event-object.ts'
import { ManualClock } from '../registry/fixture.ts'

const minuteMs = 60_000
const about: EventSubject = { apiVersion: 'v1', kind: 'Pod', namespace: 'n', name: 'p', uid: 'u' }

function open() {
  const clock = new ManualClock()
  const messages: string[] = []
  const recorder = { hasSpace: true }
  const record = (_: EventSubject, { type, reason, message }: EventText): boolean => {
    if (recorder.hasSpace) messages.push(`${type} ${reason}: ${message}`)
    return recorder.hasSpace
  }
  const problems = new LastingProblems({ clock, events: { record } })
  const found = (message: string, msMin?: number) =>
    problems.found('key', { about: () => [about], reason: 'Stuck', message }, msMin)
  return { clock, messages, recorder, problems, found }
}

void test('a problem is recorded after a minute, then every half hour, with its newest message', async () => {
  const { clock, messages, found } = open()
  for (let at = 0; at < 70; at++) {
    await found(`at ${at}`)
    clock.advance(minuteMs / 2)
  }
  assert.deepEqual(messages, ['Warning Stuck: at 2', 'Warning Stuck: at 62'])
})

void test('a problem that was solved, or not seen for long, begins again', async () => {
  const { clock, messages, problems, found } = open()
  await found('a')
  clock.advance(minuteMs - 1)
  await found('b')
  problems.solved('key')
  clock.advance(1)
  await found('c')
  clock.advance(10 * minuteMs)
  await found('d')
  assert.deepEqual(messages, [])
})

void test('a problem that retries cannot end is recorded at once, and again after half an hour', async () => {
  const { clock, messages, found } = open()
  for (let at = 0; at < 4; at++) {
    await found(`at ${at}`, 0)
    clock.advance(10 * minuteMs)
  }
  assert.deepEqual(messages, ['Warning Stuck: at 0', 'Warning Stuck: at 3'])
})

void test('an event whose subject cannot be read is recorded the next time', async () => {
  const { clock, messages, problems, found } = open()
  await found('a')
  clock.advance(minuteMs)
  const unread = () => Promise.reject(new ApiError('Timeout', 'no quorum'))
  await problems.found('key', { about: unread, reason: 'Stuck', message: 'b' })
  assert.deepEqual(messages, [])
  await found('c')
  assert.deepEqual(messages, ['Warning Stuck: c'])
})

void test('an event that is dropped because there are too many is recorded the next time', async () => {
  const { clock, messages, recorder, found } = open()
  await found('a')
  clock.advance(minuteMs)
  recorder.hasSpace = false
  assert.equal(await found('b'), false)
  recorder.hasSpace = true
  assert.equal(await found('c'), true)
  assert.equal(await found('d'), true)
  assert.deepEqual(messages, ['Warning Stuck: c'])
})

void test('errors of a key are recorded if they last; errors of the member are not', async () => {
  const { clock, messages, problems } = open()
  let failure: Error | null = new ApiError('Forbidden', 'denied by a webhook')
  const reconcile = problems.watched(
    async () => {
      if (failure !== null) throw failure
      return { kind: 'done' }
    },
    (key, message) => ({ about: () => [about], reason: 'Failed', message: `${key}: ${message}` }),
  )
  const fails = async (forMs: number): Promise<void> => {
    for (let ms = 0; ms <= forMs; ms += 30_000) {
      await assert.rejects(reconcile('key'), failure ?? assert.fail())
      clock.advance(30_000)
    }
  }
  await fails(minuteMs / 2)
  failure = null
  assert.deepEqual(await reconcile('key'), { kind: 'done' })
  failure = new ApiError('Timeout', 'no quorum')
  await fails(2 * minuteMs)
  assert.deepEqual(messages, [])
  failure = new ApiError('Forbidden', 'denied by a webhook')
  await fails(2 * minuteMs)
  assert.deepEqual(messages, ['Warning Failed: key: denied by a webhook'])
})

void test('of more problems than are remembered, some are recorded after a minute, and later ones once those end', async () => {
  const { clock, messages, problems } = open()
  const problemsMax = 10_000
  const seen = async (from: number, count: number): Promise<void> => {
    for (let at = from; at < from + count; at++)
      await problems.found(`key ${at}`, { about: () => [about], reason: 'Stuck', message: `${at}` })
  }
  for (let round = 0; round < 3; round++) {
    await seen(0, problemsMax + 1)
    clock.advance(minuteMs / 2)
  }
  assert.equal(messages.length, problemsMax)
  assert.equal(messages.at(-1), `Warning Stuck: ${problemsMax - 1}`)
  clock.advance(10 * minuteMs)
  await seen(problemsMax, 1)
  clock.advance(minuteMs)
  await seen(problemsMax, 1)
  assert.equal(messages.at(-1), `Warning Stuck: ${problemsMax}`)
})

void test('another problem of the same key is recorded after a minute as well, and both end when it is solved', async () => {
  const { clock, messages, problems } = open()
  const seen = async (reason: string, forMs: number): Promise<void> => {
    for (let ms = 0; ms < forMs; ms += 30_000) {
      await problems.found('key', { about: () => [about], reason, message: 'it' })
      clock.advance(30_000)
    }
  }
  await seen('PodsRemain', 2 * minuteMs)
  await seen('FinalizersRemain', minuteMs)
  assert.deepEqual(messages, ['Warning PodsRemain: it'])
  await seen('FinalizersRemain', minuteMs)
  await seen('PodsRemain', minuteMs)
  const both = ['Warning PodsRemain: it', 'Warning FinalizersRemain: it']
  assert.deepEqual(messages, both)
  problems.solved('key')
  for (const reason of ['PodsRemain', 'FinalizersRemain']) await seen(reason, minuteMs)
  assert.deepEqual(messages, both)
})
