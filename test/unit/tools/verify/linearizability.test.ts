/*
 * Goal: the search accepts histories that some order explains, and no others.
 * Method: histories by hand, each next to one that differs in one answer; random ones against a
 * search that tries every order.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { linearizable } from '../../../../tools/verify/linearizability.ts'
import type { Effect, Expectation, RegisterCall, State } from '../../../../tools/verify/linearizability.ts'

const stepsMax = 100_000
const any: Expectation = { kind: 'any' }
const present: Expectation = { kind: 'present' }
const is = (state: State): Expectation => ({ kind: 'is', state })
const saw = (state: State): Effect => ({ kind: 'saw', state: is(state) })
const wrote = (from: Expectation, to: State): Effect => ({ kind: 'wrote', from, to })
const mayWrite = (from: Expectation, to: State): Effect => ({ kind: 'may-write', from, to })

function call(begin: number, end: number, effect: Effect): RegisterCall {
  return { begin, end, effect, label: '' }
}

function verdict(...calls: RegisterCall[]): string {
  return linearizable(calls, stepsMax).kind
}

void test('a read after a write returns the written value', () => {
  assert.equal(verdict(call(0, 1, wrote(is(null), 'a')), call(2, 3, saw('a'))), 'linearizable')
  assert.equal(verdict(call(0, 1, wrote(is(null), 'a')), call(2, 3, saw(null))), 'not-linearizable')
})

void test('a read concurrent with a write may return either value, but not the old one after the new one', () => {
  const write = call(0, 9, wrote(is(null), 'a'))
  assert.equal(verdict(write, call(1, 2, saw(null)), call(3, 4, saw('a'))), 'linearizable')
  assert.equal(verdict(write, call(1, 2, saw('a')), call(3, 4, saw(null))), 'not-linearizable')
})

void test('of two conditional writes on one version, one succeeds', () => {
  const first = call(0, 1, wrote(is(null), 'a'))
  const one = call(2, 9, wrote(is('a'), 'b'))
  const lost: Effect = { kind: 'saw', state: { kind: 'other', than: 'a' } }
  assert.equal(verdict(first, one, call(2, 9, lost)), 'linearizable')
  assert.equal(verdict(first, one, call(2, 9, wrote(is('a'), 'c'))), 'not-linearizable')
})

void test('many unobserved writes without a response do not hide the order of the others', () => {
  const unknown = Array.from({ length: 40 }, (_, at) => call(0, Infinity, mayWrite(any, `unknown ${at}`)))
  const two = [call(0, 9, wrote(any, 'a')), call(0, 10, wrote(any, 'b'))]
  assert.equal(verdict(...two, ...unknown, call(11, 12, saw('a'))), 'linearizable')
  // A read observes one of the unknown writes.
  const needed = call(13, 14, saw('unknown 7'))
  assert.equal(verdict(...two, ...unknown, call(11, 12, saw('a')), needed), 'linearizable')
})

void test('two creates of one name need a deletion in between', () => {
  const creates = [call(0, 1, wrote(is(null), 'a')), call(4, 5, wrote(is(null), 'b'))]
  assert.equal(verdict(...creates, call(2, 3, wrote(present, null))), 'linearizable')
  assert.equal(verdict(...creates), 'not-linearizable')
})

void test('an unknown write may take effect late or never, but not twice and not before it began', () => {
  const first = call(0, 1, wrote(is(null), 'a'))
  const maybe = call(2, Infinity, mayWrite(any, 'b'))
  assert.equal(verdict(first, maybe, call(8, 9, saw('a'))), 'linearizable')
  assert.equal(verdict(first, maybe, call(8, 9, saw('a')), call(10, 11, saw('b'))), 'linearizable')
  const between = call(10, 11, wrote(any, 'c'))
  assert.equal(
    verdict(first, maybe, call(8, 9, saw('b')), between, call(12, 13, saw('b'))),
    'not-linearizable',
  )
  assert.equal(
    verdict(first, call(6, Infinity, mayWrite(any, 'b')), call(4, 5, saw('b'))),
    'not-linearizable',
  )
})

void test('a possible deletion with a response takes effect before that response', () => {
  const first = call(0, 1, wrote(is(null), 'a'))
  const seen = [call(4, 5, saw('a')), call(6, 7, saw(null))]
  assert.equal(verdict(first, ...seen, call(2, Infinity, mayWrite(present, null))), 'linearizable')
  assert.equal(verdict(first, ...seen, call(2, 3, mayWrite(present, null))), 'not-linearizable')
})

void test('a search without steps is undecided', () => {
  assert.equal(linearizable([call(0, 1, saw(null))], 0).kind, 'undecided')
})

void test('the search agrees with trying every order', () => {
  let no = 0
  for (let seed = 1; seed <= 3_000; seed++) {
    const calls = randomCalls(new SeededRandom(seed))
    const expected = tryAll(calls, null, []) ? 'linearizable' : 'not-linearizable'
    if (expected === 'not-linearizable') no++
    assert.equal(linearizable(calls, stepsMax).kind, expected, `seed ${seed}`)
  }
  assert.ok(no > 300 && no < 2_700, `${no} of 3000 were wrong`)
})

function randomCalls(random: SeededRandom): RegisterCall[] {
  return Array.from({ length: 2 + random.below(5) }, () => {
    const begin = random.below(10)
    const state = random.pick([null, 'a', 'b'])
    const from = random.pick<Expectation>([any, present, is(null), is('a')])
    const effect = random.pick([saw(state), wrote(from, state), mayWrite(from, state)])
    const isOpen = effect.kind === 'may-write' && random.chance(0.7)
    return call(begin, isOpen ? Infinity : begin + 1 + random.below(6), effect)
  })
}

function tryAll(calls: readonly RegisterCall[], state: State, before: readonly RegisterCall[]): boolean {
  if (calls.every(({ effect }) => effect.kind === 'may-write')) return true
  return calls.some((next) => {
    const rest = calls.filter((other) => other !== next)
    // Real time: no remaining call ended before this one began, and this one did not end before a
    // placed one began.
    if (rest.some((other) => other.effect.kind !== 'may-write' && other.end < next.begin)) return false
    if (before.some((other) => next.end < other.begin)) return false
    const { effect } = next
    const expected = effect.kind === 'saw' ? effect.state : effect.from
    if (!fits(expected, state)) return false
    return tryAll(rest, effect.kind === 'saw' ? state : effect.to, [...before, next])
  })
}

function fits(expected: Expectation, state: State): boolean {
  if (expected.kind === 'any') return true
  if (expected.kind === 'is') return state === expected.state
  return state !== null
}
