/*
 * Goal: the first request to end a command is passed on once, a second signal at the same moment
 * counts as the same request, and a later one ends the program at once.
 * Method: signal events of this process, with a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { onInterrupt } from '../../../../src/cli/interrupts.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

type Kit = { readonly clock: ManualClock; readonly received: string[]; readonly stop: () => void }

function listen(t: TestContext): Kit {
  const clock = new ManualClock()
  const received: string[] = []
  const stop = onInterrupt(
    clock,
    () => received.push('interrupted'),
    (signal) => received.push(signal),
  )
  t.after(stop)
  return { clock, received, stop }
}

/**
 * Listeners are called at once; no signal is sent, because it would end a process without
 * listeners.
 */
function signalled(signal: NodeJS.Signals): void {
  process.emit(signal, signal)
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  void test(`${signal} is handled once, however often it is sent at once`, async (t) => {
    const { clock, received } = listen(t)
    for (let sent = 0; sent < 3; sent++) signalled(signal)
    await clock.advance(499)
    signalled(signal)
    assert.deepEqual(received, ['interrupted'])
  })
}

void test('a second interrupt ends the program; a hang-up never does', async (t) => {
  const { clock, received } = listen(t)
  const before = process.listenerCount('SIGINT')
  signalled('SIGINT')
  await clock.advance(500)
  signalled('SIGHUP')
  assert.deepEqual(received, ['interrupted'])
  signalled('SIGTERM')
  assert.deepEqual(received, ['interrupted', 'SIGTERM'])
  assert.equal(process.listenerCount('SIGINT'), before - 1, 'the signal ends this process now')
})

void test('once the work is done, signals have their default effect', (t) => {
  const before = process.listenerCount('SIGHUP')
  const { stop } = listen(t)
  assert.equal(process.listenerCount('SIGHUP'), before + 1)
  stop()
  assert.equal(process.listenerCount('SIGHUP'), before)
})
