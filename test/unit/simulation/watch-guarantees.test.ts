/*
 * Goal: each guarantee of a watch has a checker that detects violations.
 * Method: one true history of additions, changes and removals; for each guarantee the events of a
 * valid watch and of an invalid one.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenInvariant } from '../../../base/assert.ts'
import {
  checkAtomic,
  checkBookmarks,
  checkExpired,
  checkFiltered,
  checkInitialState,
  checkOrdered,
  checkReliable,
  checkUnique,
} from '../../simulation/checkers/watch-guarantees.ts'
import type { WatchedEvent, WatchRecord } from '../../simulation/clients/history.ts'
import { observedObject } from '../../simulation/clients/observed-object.ts'
import { HistoryBuilder } from './history-builder.ts'

const red = { namespace: null, color: 'red' }
const behind = (revision: number): WatchRecord['start'] => ({ kind: 'after', revision })

function finds(claim: RegExp, check: () => void): void {
  assert.throws(check, (cause) => cause instanceof BrokenInvariant && claim.test(cause.message))
}

/** 1: a is added red. 2: b is added blue. 3: a turns blue. 4: b turns red. 5: b is removed. */
function newHistory(): HistoryBuilder {
  const all = new HistoryBuilder()
  all.write('default/a', '1', { color: 'red' })
  all.write('default/b', '2', { color: 'blue' })
  all.write('default/a', '3', { color: 'blue' })
  all.write('default/b', '4', { color: 'red' })
  all.remove('default/b')
  return all
}

function event(all: HistoryBuilder, kind: 'ADDED' | 'MODIFIED' | 'DELETED', revision: number): WatchedEvent {
  return { kind, object: all.shown(revision) }
}

/** The event of an object that leaves: its previous version, at the revision of the change. */
function left(all: HistoryBuilder, revision: number): WatchedEvent {
  const version = all.truth.version(revision)
  const before = all.truth.version(version?.previous ?? 0)
  if (before === undefined) throw new Error('nothing before')
  return { kind: 'DELETED', object: observedObject(all.truth.doc(before, revision)) }
}

function bookmark(revision: number, initialEnd = false): WatchedEvent {
  return { kind: 'BOOKMARK', revision, initialEnd }
}

function whole(all: HistoryBuilder): WatchedEvent[] {
  return [
    event(all, 'ADDED', 1),
    event(all, 'ADDED', 2),
    event(all, 'MODIFIED', 3),
    event(all, 'MODIFIED', 4),
    left(all, 5),
  ]
}

void test('ordered: an event or bookmark that is older than an earlier one is found', () => {
  const all = newHistory()
  all.watch({ start: behind(0), events: [...whole(all), bookmark(5)] })
  checkOrdered(all.history)
  all.watch({ start: behind(0), events: [event(all, 'ADDED', 2), event(all, 'ADDED', 1)] })
  finds(/^I22 ordered/, () => checkOrdered(all.history))
  const back = newHistory()
  back.watch({ start: behind(3), events: [bookmark(2)] })
  finds(/^I22 ordered/, () => checkOrdered(back.history))
})

void test('unique: a change is sent once, also over two members, unless the state was requested again', () => {
  const all = newHistory()
  const [first, second] = [event(all, 'ADDED', 1), event(all, 'ADDED', 2)]
  all.watch({ start: behind(0), events: [first, second] })
  all.watch({ start: { kind: 'state', marked: true }, events: [first] })
  all.watch({ start: behind(1), member: 2, events: [second] })
  checkUnique(all.history)
  all.watch({ start: behind(1), member: 3, events: [second] })
  finds(/^I22 unique/, () => checkUnique(all.history))
})

void test('reliable: an omitted change is found, also in a resumed watch', () => {
  const all = newHistory()
  all.watch({ start: behind(0), events: whole(all) })
  all.watch({ start: behind(3), events: whole(all).slice(3) })
  all.watch({ start: behind(0), events: whole(all).slice(0, 2) })
  checkReliable(all.history, all.truth)
  for (const start of [0, 1]) {
    const gap = newHistory()
    gap.watch({ start: behind(start), events: whole(gap).filter((_, at) => at >= start && at !== 2) })
    finds(/^I22 reliable/, () => checkReliable(gap.history, gap.truth))
  }
})

void test('filtered: objects enter and leave a selection by their labels', () => {
  const right = (all: HistoryBuilder): WatchedEvent[] => [
    event(all, 'ADDED', 1),
    left(all, 3),
    event(all, 'ADDED', 4),
    left(all, 5),
  ]
  const all = newHistory()
  all.watch({ range: red, start: behind(0), events: right(all) })
  checkFiltered(all.history, all.truth)
  checkReliable(all.history, all.truth)
  const wrongs: ((of: HistoryBuilder) => WatchedEvent[])[] = [
    (of) => [event(of, 'MODIFIED', 1)],
    // The deletion event has the new content of the object instead of the old one.
    (of) => [event(of, 'ADDED', 1), event(of, 'DELETED', 3)],
    (of) => [event(of, 'ADDED', 1), left(of, 3), event(of, 'MODIFIED', 4)],
  ]
  for (const wrong of wrongs) {
    const of = newHistory()
    of.watch({ range: red, start: behind(0), events: wrong(of) })
    finds(/^I22 filtered/, () => checkFiltered(of.history, of.truth))
  }
  const foreign = newHistory()
  foreign.watch({ range: red, start: behind(0), events: [event(foreign, 'ADDED', 2)] })
  finds(/^I22 reliable/, () => checkReliable(foreign.history, foreign.truth))
})

void test('a bookmark never precedes its events', () => {
  const all = newHistory()
  all.watch({ start: behind(0), events: [...whole(all).slice(0, 3), bookmark(3), ...whole(all).slice(3)] })
  // No event concerns this watch.
  all.watch({ range: red, start: behind(1), events: [bookmark(2)] })
  checkBookmarks(all.history, all.truth)
  const early = newHistory()
  early.watch({
    start: behind(0),
    events: [...whole(early).slice(0, 2), bookmark(3), event(early, 'MODIFIED', 3)],
  })
  finds(/^I22 bookmark/, () => checkBookmarks(early.history, early.truth))
})

void test('the initial state is the whole state of one revision, of the stated one, and not stale in a mode that forbids that', () => {
  const state = (all: HistoryBuilder): WatchedEvent[] => [event(all, 'ADDED', 3), event(all, 'ADDED', 4)]
  const start = { kind: 'state', marked: true } as const
  const mode = { kind: 'most-recent' } as const
  const all = newHistory()
  all.history.observe(4)
  all.watch({ start, mode, events: [...state(all), bookmark(4, true), left(all, 5)] })
  all.watch({ start: { kind: 'state', marked: false }, events: [...state(all), left(all, 5), bookmark(5)] })
  checkInitialState(all.history, all.truth)
  checkReliable(all.history, all.truth)
  checkBookmarks(all.history, all.truth)
  const old = newHistory()
  old.history.observe(5)
  old.watch({ start, mode, events: [...state(old), bookmark(4, true)] })
  finds(/^I22 state/, () => checkInitialState(old.history, old.truth))
  for (const kind of ['lease', 'log'] as const) {
    const older = newHistory()
    older.history.observe(5)
    older.watch({ start, mode: { kind }, events: [...state(older), bookmark(4, true)] })
    finds(/^I22 state: of 4, 5 was acknowledged before/, () => checkInitialState(older.history, older.truth))
  }
  for (const revision of [4, 5]) {
    const stated = newHistory()
    const proof = { mode: 'any', boundMs: null, revision, atMs: 0 } as const
    stated.watch({ start, proof, events: [...state(stated), bookmark(4, true)] })
    const check = (): void => checkInitialState(stated.history, stated.truth)
    if (revision === 4) check()
    else finds(/^I22 state: of 4, stated as 5/, check)
  }
  for (const marked of [true, false]) {
    const partial = newHistory()
    const events = [...state(partial).slice(1), bookmark(4, marked)]
    partial.watch({ start: { kind: 'state', marked }, events })
    finds(/^I22 state/, () => checkInitialState(partial.history, partial.truth))
  }
})

void test('a version is too old only after its compaction', () => {
  const all = newHistory()
  all.watch({ start: behind(2), events: [{ kind: 'ERROR', reason: 'Expired', trimmed: 3 }] })
  checkExpired(all.history)
  all.watch({ start: behind(3), events: [{ kind: 'ERROR', reason: 'Expired', trimmed: 3 }] })
  finds(/^I22 expiry/, () => checkExpired(all.history))
})

void test('atomic: a cursor of the store returns complete commands, and every change once', () => {
  const pulled = (upTo: number, revisions: readonly number[]): HistoryBuilder => {
    const all = new HistoryBuilder()
    all.write('default/a', '1')
    all.writeTogether(['default/t0', 'default/t1'], '2')
    all.history.pulls.push({ watcher: 'c', member: 1, after: 0, upTo, revisions })
    return all
  }
  const right = pulled(3, [1, 2, 3])
  checkAtomic(right.history, right.truth)
  for (const wrong of [pulled(2, [1, 2]), pulled(3, [1, 3]), pulled(3, [1, 2, 2, 3])]) {
    finds(/^I22 atomic/, () => checkAtomic(wrong.history, wrong.truth))
  }
})
