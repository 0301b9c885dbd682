/*
 * Goal: each claim about responses has a checker that detects violations.
 * Method: for each claim a valid history and a similar invalid one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenInvariant } from '../../../base/assert.ts'
import {
  checkCollectionsDeleted,
  checkCreatedOnce,
  checkEffects,
  checkNoLostUpdate,
  checkUids,
} from '../../simulation/checkers/conditional-writes.ts'
import { checkLinearizable } from '../../simulation/checkers/object-history.ts'
import { checkPages } from '../../simulation/checkers/pages.ts'
import { checkModes, checkRealTime, checkSessions } from '../../simulation/checkers/real-time.ts'
import { checkLists, checkServed } from '../../simulation/checkers/served-content.ts'
import type { Mode, Request } from '../../simulation/clients/history.ts'
import { done, refused, HistoryBuilder, unknown } from './history-builder.ts'

const k = 'default/k'
const get = (mode: Mode = { kind: 'most-recent' }, key = k): Request => ({ kind: 'get', key, mode })
const create = (token: string): Request => ({ kind: 'create', key: k, token })
const update = (token: string, revision: number, of: string): Request => ({
  ...{ kind: 'update', key: k, token, creates: false },
  expected: { revision, token: of },
})
const list = (mode: Mode, limit: number | null = null, page = 0): Request => ({
  ...{ kind: 'list', range: { namespace: null, color: null }, mode, limit, pagesOf: 1, page },
})
const mostRecent: Mode = { kind: 'most-recent' }
const any: Mode = { kind: 'any' }

function finds(claim: RegExp, check: () => void): void {
  assert.throws(check, (cause) => cause instanceof BrokenInvariant && claim.test(cause.message))
}

/** Written twice: `a` at revision 1, `b` at 2. */
function twice(): HistoryBuilder {
  const builder = new HistoryBuilder()
  builder.write(k, 'a')
  builder.call(create('a'), builder.object(1))
  builder.write(k, 'b')
  builder.call(update('b', 1, 'a'), builder.object(2))
  return builder
}

void test('I16 per object: a read that goes back is found', () => {
  const right = twice()
  right.call(get(), right.object(2))
  checkLinearizable(right.history, () => null)
  const wrong = twice()
  wrong.call(get(), wrong.object(1))
  finds(/^I16 linearizability/, () => checkLinearizable(wrong.history, () => null))
})

void test('I16 per object: only deletions of whole ranges explain missing objects', () => {
  for (const namespace of ['default', 'other']) {
    const builder = twice()
    builder.call({ kind: 'delete-namespace', namespace }, done)
    builder.call(get(), refused('NotFound'))
    if (namespace === 'default') checkLinearizable(builder.history, () => null)
    else finds(/^I16 linearizability/, () => checkLinearizable(builder.history, () => null))
  }
})

void test('I16 per object: an unknown write may take effect later, a refused one may not', () => {
  for (const answer of [unknown, refused('ServiceUnavailable')]) {
    const builder = twice()
    const third = builder.begin(update('c', 2, 'b'))
    builder.history.end(third, answer)
    builder.write(k, 'c')
    builder.call(get(), builder.object(3))
    if (answer === unknown) checkLinearizable(builder.history, () => null)
    else finds(/^I16 linearizability/, () => checkLinearizable(builder.history, () => null))
  }
})

void test('I16 real time: a returned version is never followed by an older one, on any member', () => {
  const right = twice()
  right.call(list(mostRecent), right.list(2, [2]), { client: 2, process: 2 })
  checkRealTime(right.history, right.truth)
  const stale = twice()
  stale.call(list(mostRecent), stale.list(1, [1]), { client: 2, process: 2 })
  finds(/^I16 real time/, () => checkRealTime(stale.history, stale.truth))
  const gone = twice()
  gone.call(get(), refused('NotFound'))
  finds(/^I16 real time/, () => checkRealTime(gone.history, gone.truth))
})

void test('I16 real time: watch events count, and concurrent calls may be in either order', () => {
  const builder = new HistoryBuilder()
  builder.write(k, 'a')
  const read = builder.begin(get())
  builder.write(k, 'b')
  builder.history.end(read, builder.object(1))
  checkRealTime(builder.history, builder.truth)
  builder.history.observe(2)
  builder.call(get(), builder.object(1))
  finds(/^I16 real time/, () => checkRealTime(builder.history, builder.truth))
})

void test('I16 real time: a conflict requires another version, a revision an existing one', () => {
  const right = twice()
  right.call(update('c', 1, 'a'), refused('Conflict'))
  checkRealTime(right.history, right.truth)
  const wrong = twice()
  wrong.call(update('c', 2, 'b'), refused('Conflict'))
  finds(/^I16 real time/, () => checkRealTime(wrong.history, wrong.truth))
  const early = new HistoryBuilder()
  const call = early.begin(list(mostRecent))
  early.history.end(call, { kind: 'list', revision: 1, objects: [], more: false, remaining: null })
  finds(/^I16 real time/, () => checkRealTime(early.history, early.truth))
})

void test('I17: a conditional write that takes effect on another version is found', () => {
  const right = twice()
  checkNoLostUpdate(right.history, right.truth)
  right.write(k, 'c')
  right.call(update('c', 1, 'a'), right.object(3))
  finds(/^I17 lost update/, () => checkNoLostUpdate(right.history, right.truth))
})

void test('I17: a create that takes effect on an existing object is found', () => {
  const builder = twice()
  checkCreatedOnce(builder.history, builder.truth)
  builder.write(k, 'c')
  builder.call(create('c'), builder.object(3))
  finds(/^I17 created once/, () => checkCreatedOnce(builder.history, builder.truth))
})

void test('I17: a uid that is reused, and one that changes, are found', () => {
  const again = twice()
  checkUids(again.truth)
  again.remove(k)
  again.write(k, 'c', { uid: 'another' })
  checkUids(again.truth)
  again.remove(k)
  again.write(k, 'd')
  finds(/^I17 uid/, () => checkUids(again.truth))
  const changed = twice()
  changed.write(k, 'c', { uid: 'another' })
  finds(/^I17 uid/, () => checkUids(changed.truth))
})

void test('I17 and I5: a repeated effect, an effect of a refused write, and a missing effect of an acknowledged one are found', () => {
  const double = twice()
  checkEffects(double.history, double.truth)
  double.write(k, 'b')
  finds(/^I17 one effect/, () => checkEffects(double.history, double.truth))
  for (const call of double.history.calls) call.wasCut = true
  // The state of the member diverged during the calls, so a second effect is permitted.
  checkEffects(double.history, double.truth)
  const denied = new HistoryBuilder()
  denied.write(k, 'a')
  denied.call(create('a'), refused('ServiceUnavailable'))
  finds(/^I17 refused without effect/, () => checkEffects(denied.history, denied.truth))
  const lost = twice()
  lost.call(create('z'), lost.object(2))
  finds(/^I5 lost write/, () => checkEffects(lost.history, lost.truth))
})

void test('a deleted collection contains no object that existed before it', () => {
  for (const isDeleted of [true, false]) {
    const builder = twice()
    const call = builder.begin({ kind: 'delete-collection', range: { namespace: 'default', color: 'red' } })
    if (isDeleted) builder.remove(k)
    builder.history.end(call, done)
    if (isDeleted) checkCollectionsDeleted(builder.history, builder.truth)
    else finds(/^deletecollection/, () => checkCollectionsDeleted(builder.history, builder.truth))
  }
})

void test('I14: other bytes, and another object, are found', () => {
  const builder = twice()
  const right = builder.shown(2)
  builder.call(get(), { kind: 'object', object: right })
  checkServed(builder.history, builder.truth)
  const wrong = twice()
  wrong.call(get(), { kind: 'object', object: { ...right, text: right.text.replace('"b"', '"c"') } })
  finds(/^I14/, () => checkServed(wrong.history, wrong.truth))
  const other = twice()
  other.call(get(), { kind: 'object', object: { ...right, key: 'default/l' } })
  finds(/^I14/, () => checkServed(other.history, other.truth))
})

void test('I18: a list that contains too little, too much, or an older version is found', () => {
  const shown: readonly (readonly number[])[] = [[2], [], [1], [2, 2]]
  for (const [at, revisions] of shown.entries()) {
    const builder = twice()
    builder.call(list(any), builder.list(2, revisions))
    if (at === 0) checkLists(builder.history, builder.truth)
    else finds(/^I18 list content/, () => checkLists(builder.history, builder.truth))
  }
})

void test('I18: reads not older than a revision, lists exactly at one, and expired lists', () => {
  const right = twice()
  right.call(list({ kind: 'exact', revision: 1 }), right.list(1, [1]))
  right.call(get({ kind: 'not-older-than', revision: 2 }), right.object(2))
  right.call(list({ kind: 'not-older-than', revision: 1 }), right.list(2, [2]))
  right.trim(2)
  right.call(list({ kind: 'exact', revision: 1 }), refused('Expired'))
  checkModes(right.history, right.truth)
  const wrongs: readonly (readonly [RegExp, Request, number | null])[] = [
    [/^I18 exact/, list({ kind: 'exact', revision: 1 }), 2],
    [/^I18 not older than/, list({ kind: 'not-older-than', revision: 2 }), 1],
    [/^I18 not older than/, get({ kind: 'not-older-than', revision: 2 }), 1],
    [/^I18 expiry/, list({ kind: 'exact', revision: 1 }), null],
  ]
  for (const [claim, request, at] of wrongs) {
    const builder = twice()
    const shown = at === null ? refused('Expired') : builder.object(at)
    builder.call(request, request.kind === 'list' && at !== null ? builder.list(at, [at]) : shown)
    finds(claim, () => checkModes(builder.history, builder.truth))
  }
})

void test('I20: one client at one process sees nothing go back, at another process it may', () => {
  for (const process of [1, 2]) {
    const builder = twice()
    builder.call(list(any), builder.list(1, [1]), { process })
    if (process === 2) checkSessions(builder.history, builder.truth)
    else finds(/^I20/, () => checkSessions(builder.history, builder.truth))
  }
  const exact = twice()
  exact.call(list({ kind: 'exact', revision: 1 }), exact.list(1, [1]))
  checkSessions(exact.history, exact.truth)
})

void test('I19: pages are of one revision, complete, and count the remaining objects', () => {
  const pages = (second: (builder: HistoryBuilder) => void, remaining: number): HistoryBuilder => {
    const builder = new HistoryBuilder()
    for (const name of ['a', 'b', 'c']) builder.write(`default/${name}`, name)
    builder.call(list(mostRecent, 2), builder.list(3, [1, 2], true, remaining))
    builder.write('default/d', 'd')
    second(builder)
    return builder
  }
  const right = pages((builder) => builder.call(list(mostRecent, 2, 1), builder.list(3, [3])), 1)
  checkPages(right.history, right.truth)
  const wrongs = [
    pages((builder) => builder.call(list(mostRecent, 2, 1), builder.list(4, [3, 4])), 1),
    pages((builder) => builder.call(list(mostRecent, 2, 1), builder.list(3, [])), 1),
    pages((builder) => builder.call(list(mostRecent, 2, 1), builder.list(3, [2])), 1),
    pages((builder) => builder.call(list(mostRecent, 2, 1), builder.list(3, [3])), 2),
    pages((builder) => builder.call(list(mostRecent, 2, 1), refused('Expired')), 1),
  ]
  for (const wrong of wrongs) finds(/^I19/, () => checkPages(wrong.history, wrong.truth))
})
