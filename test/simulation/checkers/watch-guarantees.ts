import { isLinearizable } from '../clients/history.ts'
import type { History, PullRecord, WatchRecord, WatchedEvent } from '../clients/history.ts'
import type { ObservedObject } from '../clients/observed-object.ts'
import { observedObject } from '../clients/observed-object.ts'
import { Finding } from './finding.ts'
import { inRange, listed } from './served-content.ts'
import type { Truth } from './truth.ts'

/** An expected event. */
type Due = {
  readonly kind: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly revision: number
  readonly text: string
}

type ObjectEvent = Extract<WatchedEvent, { readonly object: ObservedObject }>

/**
 * I22 Ordered: after the initial state, events arrive in the order of their revisions, including
 * bookmarks.
 *
 * @throws Finding
 */
export function checkOrdered(history: History): void {
  for (const watch of history.watches) {
    let last = watch.start.kind === 'after' ? watch.start.revision : 0
    for (const [at, event] of watch.events.entries()) {
      if (event.kind === 'ERROR' || at < stateEnd(watch)) continue
      const revision = revisionOf(event)
      const isInOrder = event.kind === 'BOOKMARK' ? revision >= last : revision > last
      if (!isInOrder) throw new Finding('I22 ordered', `${revision} after ${last} on ${describe(watch)}`)
      last = revision
    }
  }
}

/**
 * I22 Unique: no watcher receives a revision twice, on whatever members it watched, unless it
 * requested the state again.
 *
 * @throws Finding
 */
export function checkUnique(history: History): void {
  const seen = new Map<string, Set<number>>()
  for (const watch of history.watches) {
    let revisions = seen.get(watch.watcher)
    if (revisions === undefined || watch.start.kind === 'state') {
      revisions = new Set()
      seen.set(watch.watcher, revisions)
    }
    for (const event of objectEvents(watch)) {
      const { revision } = event.object
      if (revisions.has(revision)) throw new Finding('I22 unique', `${revision} again on ${describe(watch)}`)
      revisions.add(revision)
    }
  }
}

/**
 * I22 Reliable and Resumable: after its start, on whatever member, a watch sends every change of
 * its range, up to its last event.
 *
 * @throws Finding
 */
export function checkReliable(history: History, truth: Truth): void {
  for (const watch of history.watches) {
    const begin = beginOf(watch, truth)
    if (begin === null) continue
    const due = dueEvents(truth, watch, begin.revision)
    for (const [at, event] of objectEvents(watch).slice(begin.objects).entries()) {
      const wanted = due[at]
      if (wanted?.revision === event.object.revision) continue
      const claim = watch.start.kind === 'after' ? 'I22 reliable, resumed' : 'I22 reliable'
      throw new Finding(
        claim,
        `${event.object.revision} instead of ${wanted?.revision} on ${describe(watch)}`,
      )
    }
  }
}

/**
 * I22 Filtered: an object that enters a selection is ADDED; one that leaves it is DELETED with its
 * last matching content and the revision at which it left; and events have the written content.
 *
 * @throws Finding
 */
export function checkFiltered(history: History, truth: Truth): void {
  for (const watch of history.watches) {
    const begin = beginOf(watch, truth)
    if (begin === null) continue
    const due = new Map(dueEvents(truth, watch, begin.revision).map((one) => [one.revision, one]))
    for (const { kind, object } of objectEvents(watch).slice(begin.objects)) {
      const wanted = due.get(object.revision)
      if (wanted?.kind === kind && wanted.text === object.text) continue
      const what =
        wanted?.kind === kind ? `another object at ${object.revision}` : `${kind} instead of ${wanted?.kind}`
      throw new Finding('I22 filtered', `${what} at ${object.revision} on ${describe(watch)}`)
    }
  }
}

/**
 * I22 Bookmarkable: when a bookmark arrives, every event up to its revision has arrived.
 *
 * @throws Finding
 */
export function checkBookmarks(history: History, truth: Truth): void {
  for (const watch of history.watches) {
    const begin = beginOf(watch, truth)
    if (begin === null) continue
    const due = dueEvents(truth, watch, begin.revision)
    let acknowledged = -begin.objects
    for (const event of watch.events) {
      if (event.kind !== 'BOOKMARK') {
        if (event.kind !== 'ERROR') acknowledged++
        continue
      }
      const next = due[Math.max(0, acknowledged)]
      if (next !== undefined && next.revision <= event.revision) {
        throw new Finding(
          'I22 bookmark',
          `${event.revision} before event ${next.revision} on ${describe(watch)}`,
        )
      }
      if (acknowledged < 0) throw new Finding('I22 bookmark', `before the whole state on ${describe(watch)}`)
    }
  }
}

/**
 * I22, initial state: it is the whole state at one revision. If its end is marked, that is the
 * stated revision, and a most recent initial state, however it was proven, is not older than what
 * was acknowledged before.
 *
 * @throws Finding
 */
export function checkInitialState(history: History, truth: Truth): void {
  for (const watch of history.watches) {
    if (watch.start.kind !== 'state' || stateEnd(watch) === 0) continue
    const begin = beginOf(watch, truth)
    if (begin === null) {
      if (isWhole(watch)) throw new Finding('I22 state', `no revision has that state on ${describe(watch)}`)
      continue
    }
    const acknowledged = acknowledgedBefore(history, watch.begin)
    if (isLinearizable(watch.mode) && watch.start.marked && begin.revision < acknowledged) {
      throw new Finding(
        'I22 state',
        `of ${begin.revision}, ${acknowledged} was acknowledged before, on ${describe(watch)}`,
      )
    }
    const stated = watch.proof?.revision ?? begin.revision
    if (watch.start.marked && stated !== begin.revision) {
      throw new Finding('I22 state', `of ${begin.revision}, stated as ${stated}, on ${describe(watch)}`)
    }
  }
}

/**
 * I22: a watch expires only if its history was compacted.
 *
 * @throws Finding
 */
export function checkExpired(history: History): void {
  for (const watch of history.watches) {
    const last = watch.events[watch.events.length - 1]
    if (last?.kind !== 'ERROR' || last.reason !== 'Expired') continue
    let position = watch.start.kind === 'after' ? watch.start.revision : 0
    for (const event of watch.events)
      if (event.kind !== 'ERROR') position = Math.max(position, revisionOf(event))
    // Revisions after its position that do not concern it cause no event.
    if (position >= last.trimmed) {
      throw new Finding('I22 expiry', `history goes back to ${last.trimmed}, on ${describe(watch)}`)
    }
  }
}

/**
 * I22 Atomic: a watch cursor of the store returns commands completely, and every change of the
 * range.
 *
 * @throws Finding
 */
export function checkAtomic(history: History, truth: Truth): void {
  for (const pull of history.pulls) {
    const { after, upTo, revisions } = pull
    const due: number[] = []
    for (let revision = after + 1; revision <= upTo; revision++) {
      if (isPulled(truth, revision)) due.push(revision)
    }
    if (due.join() !== revisions.join()) {
      throw new Finding('I22 atomic', `${revisions.join()} instead of ${due.join()} on ${describePull(pull)}`)
    }
    for (let at = upTo; truth.version(at)?.last === false; at++) {
      if (!isPulled(truth, at + 1)) continue
      throw new Finding(
        'I22 atomic',
        `${upTo} without ${at + 1}, which one command made, on ${describePull(pull)}`,
      )
    }
  }
}

/**
 * Returns whether a watcher received all events.
 *
 * @param of `position` is the revision up to which it received everything
 */
export function isComplete(truth: Truth, of: { readonly position: number | null }): boolean {
  return of.position !== null && of.position >= truth.revision
}

type Begin = {
  readonly revision: number
  /** Number of objects in the initial state; events follow. */
  readonly objects: number
}

/**
 * Returns the revision at which the events of a watch begin; null: its state is incomplete, or
 * cannot be separated from the events.
 */
function beginOf(watch: WatchRecord, truth: Truth): Begin | null {
  if (watch.start.kind === 'after') return { revision: watch.start.revision, objects: 0 }
  const objects = objectEvents(watch)
  if (watch.start.marked) {
    const end = watch.events.find((event) => event.kind === 'BOOKMARK' && event.initialEnd)
    if (end?.kind !== 'BOOKMARK') return null
    const count = watch.events.indexOf(end)
    return isState(truth, watch, { revision: end.revision, objects: objects.slice(0, count) })
      ? { revision: end.revision, objects: count }
      : null
  }
  // Without a mark: the newest revision that matches both the initial state and the following
  // events. A bookmark follows the state.
  const mark = watch.events.find((event) => event.kind === 'BOOKMARK')
  const newest = mark?.kind === 'BOOKMARK' ? mark.revision : truth.revision
  const most = mark === undefined ? objects.length : watch.events.indexOf(mark)
  for (let revision = newest; revision >= 0; revision--) {
    const state = listed(truth, watch.range, revision)
    if (state.length > most) continue
    if (!isState(truth, watch, { revision, objects: objects.slice(0, state.length) })) continue
    const due = dueEvents(truth, watch, revision)
    const follows = objects
      .slice(state.length)
      .every(({ object }, at) => due[at]?.revision === object.revision)
    if (follows) return { revision, objects: state.length }
  }
  return null
}

function isState(
  truth: Truth,
  watch: WatchRecord,
  of: { readonly revision: number; readonly objects: readonly ObjectEvent[] },
): boolean {
  // The initial state is in the order of revisions, so that an interrupted watch can resume.
  const state = listed(truth, watch.range, of.revision).toSorted((a, b) => a.revision - b.revision)
  return (
    state.length === of.objects.length &&
    state.every((version, at) => {
      const event = of.objects[at]
      return event?.kind === 'ADDED' && event.object.text === truth.shown(version).text
    })
  )
}

/** Returns whether the initial state of a watch was sent completely for certain. */
function isWhole(watch: WatchRecord): boolean {
  return watch.events.some((event) => event.kind === 'BOOKMARK')
}

/** Returns the maximum number of first events of a watch that belong to its initial state. */
function stateEnd(watch: WatchRecord): number {
  if (watch.start.kind === 'after') return 0
  const mark = watch.events.findIndex((event) => event.kind === 'BOOKMARK')
  return mark === -1 ? watch.events.length : mark
}

function dueEvents(truth: Truth, watch: WatchRecord, after: number): Due[] {
  const due: Due[] = []
  for (let revision = after + 1; revision <= truth.revision; revision++) {
    const event = dueEvent(truth, watch, revision)
    if (event !== null) due.push(event)
  }
  return due
}

function dueEvent(truth: Truth, { range }: WatchRecord, revision: number): Due | null {
  const version = truth.version(revision)
  if (version === undefined || !version.key.startsWith('/configmaps/')) return null
  const before = version.kind === 'created' ? undefined : truth.version(version.previous)
  const [was, is] = [before !== undefined && inRange(before, range), inRange(version, range)]
  if (version.kind === 'deleted' || !is) {
    if (before === undefined || !was) return null
    return { kind: 'DELETED', revision, text: observedObject(truth.doc(before, revision)).text }
  }
  return { kind: was ? 'MODIFIED' : 'ADDED', revision, text: truth.shown(version).text }
}

function objectEvents(watch: WatchRecord): ObjectEvent[] {
  return watch.events.filter((event) => event.kind !== 'BOOKMARK' && event.kind !== 'ERROR')
}

function revisionOf(event: Exclude<WatchedEvent, { readonly kind: 'ERROR' }>): number {
  return event.kind === 'BOOKMARK' ? event.revision : event.object.revision
}

function isPulled(truth: Truth, revision: number): boolean {
  return truth.version(revision)?.key.startsWith('/configmaps/') === true
}

/** Returns the newest revision that any client had received. */
function acknowledgedBefore(history: History, moment: number): number {
  let acknowledged = 0
  for (const { end, answer } of history.calls) {
    if (end > moment) continue
    if (answer.kind === 'object') acknowledged = Math.max(acknowledged, answer.object.revision)
    if (answer.kind === 'list') acknowledged = Math.max(acknowledged, answer.revision)
  }
  for (const { at, revision } of history.observations)
    if (at < moment) acknowledged = Math.max(acknowledged, revision)
  return acknowledged
}

function describe({ watcher, member, range, start, mode }: WatchRecord): string {
  const requested = `${mode.kind} from ${JSON.stringify(start)}`
  return `watch ${watcher} at member ${member} of ${JSON.stringify(range)} ${requested}`
}

function describePull({ watcher, member, after, upTo }: PullRecord): string {
  return `cursor ${watcher} at member ${member} from ${after} to ${upTo}`
}
