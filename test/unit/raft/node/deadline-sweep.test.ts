/*
 * Goal: waiting requests are swept each period, after what arrived during a stall; without one no
 * timer is left.
 * Method: a clock that moves by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeadlineSweep } from '../../../../raft/node/deadline-sweep.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const periodMs = 50

function open() {
  const clock = new ManualClock()
  const state = { waiting: 0, sweeps: 0 }
  const sweep = new DeadlineSweep({
    ...{ clock, periodMs, isNeeded: () => state.waiting > 0 },
    sweep: () => state.sweeps++,
  })
  return { clock, state, sweep }
}

void test('requests that wait are swept each period', async () => {
  const { clock, state, sweep } = open()
  state.waiting = 1
  sweep.arm()
  await clock.advance(periodMs * 3)
  assert.equal(state.sweeps, 3)
  state.waiting = 0
  await clock.advance(periodMs * 3)
  assert.equal(state.sweeps, 4)
  assert.equal(clock.pending, 0)
})

void test('the timer rests when the last request has its response, and begins again with the next', async () => {
  const { clock, state, sweep } = open()
  state.waiting = 2
  sweep.arm()
  state.waiting = 1
  sweep.rest()
  assert.equal(clock.pending, 1)
  state.waiting = 0
  sweep.rest()
  assert.equal(clock.pending, 0)
  state.waiting = 1
  sweep.arm()
  await clock.advance(periodMs)
  assert.equal(state.sweeps, 1)
})

void test('a timer that rests while its sweep is due is not run twice', async () => {
  const { clock, state, sweep } = open()
  state.waiting = 1
  sweep.arm()
  // The timer has fired, and the sweep waits for the end of the turn.
  clock.after(periodMs, () => {
    state.waiting = 0
    sweep.rest()
    state.waiting = 1
    sweep.arm()
  })
  await clock.advance(periodMs)
  assert.equal(state.sweeps, 0)
  await clock.advance(periodMs)
  assert.equal(state.sweeps, 1)
  sweep.stop()
  await clock.advance(periodMs * 3)
  assert.equal(state.sweeps, 1)
  assert.equal(clock.pending, 0)
})
