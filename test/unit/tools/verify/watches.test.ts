/*
 * Goal: each guarantee of watches has a check that accepts valid streams and names violations.
 * Method: histories by hand: three changes of two objects, sent correctly, and with one error each.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkWatches } from '../../../../tools/verify/checks/watches.ts'
import { HistoryScript, kindsOf } from './history-script.ts'
import type { Event } from './history-script.ts'

function written(): HistoryScript {
  return new HistoryScript()
    .list(4, [])
    .create('a@5')
    .create('b@6')
    .update('a@7', 'a@5')
    .get('a@7')
    .get('b@6')
}

const added: Event = ['ADDED', 'a@5']
const other: Event = ['ADDED', 'b@6']
const changed: Event = ['MODIFIED', 'a@7']

function check(...events: readonly Event[]): readonly string[] {
  return kindsOf(checkWatches(written().watch(4, events).index()))
}

void test('all changes, once and in order, with bookmarks in between, are valid', () => {
  assert.deepEqual(check(added, ['BOOKMARK', 5], other, ['BOOKMARK', 6], changed, ['BOOKMARK', 9]), [])
})

void test('reliable: no event is left out up to the last one that was sent', () => {
  assert.deepEqual(check(added, changed), ['dropped-event'])
  assert.deepEqual(check(added, other), [], 'later events may still arrive')
  assert.deepEqual(check(added, other, ['BOOKMARK', 7]), ['dropped-event'], 'the bookmark covers it')
})

void test('reliable: no deletion is left out', () => {
  const deletion: Event = ['DELETED', 'b@8=b6']
  const script = written().delete('b').create('c@9').get('c@9')
  const all: readonly Event[] = [added, other, changed, deletion, ['ADDED', 'c@9']]
  script.watch(4, all, { watcher: 'w1' })
  assert.deepEqual(kindsOf(checkWatches(script.index())), [])
  script.watch(
    4,
    all.filter((event) => event !== deletion),
    { watcher: 'w2' },
  )
  assert.deepEqual(kindsOf(checkWatches(script.index())), ['dropped-event'])
})

void test('a change that no client observed is a lost write, not a dropped event', () => {
  const script = new HistoryScript().list(4, []).create('a@5').create('b@6').get('b@6').watch(4, [other])
  assert.deepEqual(kindsOf(checkWatches(script.index())), ['lost-write'])
})

void test('ordered: an older change does not come after a newer one', () => {
  assert.deepEqual(check(added, changed, other).includes('event-order'), true)
  assert.deepEqual(
    check(added, other, ['BOOKMARK', 5], changed),
    ['event-order'],
    'an older bookmark does not come later, either',
  )
})

void test('ordered: no event is older than the start', () => {
  const script = written().watch(5, [added, other, changed])
  assert.ok(kindsOf(checkWatches(script.index())).includes('event-order'))
})

void test('unique: no event is repeated', () => {
  assert.ok(check(added, other, other, changed).includes('repeated-event'))
})

void test('bookmarkable: no bookmark comes before the events that it covers', () => {
  assert.ok(check(added, ['BOOKMARK', 6], other, changed).includes('false-bookmark'))
})

void test('resumable: a watch resumes on another member without a gap', () => {
  const resumed = (from: number, events: readonly Event[]): HistoryScript =>
    written().watch(4, [added]).watch(from, events, { resumed: true, member: 'n2' })
  assert.deepEqual(kindsOf(checkWatches(resumed(5, [other, changed]).index())), [])
  const [anomaly] = checkWatches(resumed(5, [changed]).index()).anomalies
  assert.equal(anomaly?.kind, 'dropped-event')
  assert.match(anomaly.text, /after it was resumed/)
})

void test('an event has the type of its change', () => {
  assert.deepEqual(check(added, other, ['ADDED', 'a@7']), ['wrong-event'])
  assert.deepEqual(check(['MODIFIED', 'a@5'], other, changed), ['wrong-event'])
  const gone = written().delete('b')
  gone.watch(4, [added, other, changed, ['DELETED', 'b@8=b6'], ['DELETED', 'b@9=b6']])
  assert.ok(kindsOf(checkWatches(gone.index())).includes('wrong-event'))
})

void test('filtered: an object that enters a selection is added, and one that leaves it is deleted', () => {
  // The last digit of its write decides the side of a version.
  const everything: readonly Event[] = [
    ['ADDED', 'a@5'],
    ['MODIFIED', 'a@6'],
    ['MODIFIED', 'a@8'],
    ['MODIFIED', 'a@9'],
    ['DELETED', 'a@10=a9'],
    ['ADDED', 'b@12'],
  ]
  const script = (events: readonly Event[]): readonly string[] => {
    const reported = new HistoryScript().list(4, []).create('a@5').update('a@6', 'a@5').update('a@8', 'a@6')
    reported.update('a@9', 'a@8').delete('a').create('b@12').get('b@12')
    reported.watch(4, everything, { watcher: 'w1' })
    return kindsOf(checkWatches(reported.watch(4, events, { watcher: 'w2', side: 'even' }).index()))
  }
  const [comes, changes, leaves, other]: readonly Event[] = [
    ['ADDED', 'a@6'],
    ['MODIFIED', 'a@8'],
    ['DELETED', 'a@9=a8'],
    ['ADDED', 'b@12'],
  ]
  assert.ok(comes !== undefined && changes !== undefined && leaves !== undefined && other !== undefined)
  assert.deepEqual(script([comes, changes, leaves, other]), [])
  assert.deepEqual(script([comes, changes, leaves]), [], 'later events may still arrive')
  assert.deepEqual(script([comes, changes, other]), ['dropped-event'], 'it left')
  assert.deepEqual(script([changes, leaves, other]), ['dropped-event'], 'it came')
  assert.deepEqual(script([['MODIFIED', 'a@6'], changes, leaves, other]), ['wrong-event'])
  assert.deepEqual(script([comes, ['ADDED', 'a@8'], leaves, other]), ['wrong-event'])
  assert.deepEqual(script([comes, changes, ['MODIFIED', 'a@9'], other]), ['wrong-event'])
  assert.deepEqual(
    script([comes, changes, ['DELETED', 'a@9'], other]),
    ['wrong-event'],
    'the last version within the selection',
  )
  assert.deepEqual(script([['ADDED', 'a@5'], comes, changes, leaves]), ['wrong-event'])
  assert.deepEqual(
    script([comes, changes, leaves, ['DELETED', 'a@10=a9']]),
    ['wrong-event'],
    'it had left before',
  )
  assert.deepEqual(script([comes, changes, leaves, ['DELETED', 'a@11=a9'], other]), ['wrong-event'])
})

void test('a recreated object is a new one, even when no watcher received the deletion', () => {
  const script = new HistoryScript()
    .list(4, [])
    .create('a@5')
    .watch(4, [added])
    .delete('a')
    .create('a@8')
    .get('a@8')
  script.watch(5, [['MODIFIED', 'a@8']], { resumed: true })
  assert.deepEqual(kindsOf(checkWatches(script.index())), ['wrong-event'])
})

void test('a watch that ends before the last revision is undecided', () => {
  const script = written().watch(4, [added, other])
  script.lastRevision = 7
  const { verdict, note } = checkWatches(script.index())
  assert.equal(verdict, 'undecided')
  assert.match(note, /w1 at 6/)
  script.lastRevision = null
  assert.equal(checkWatches(script.index()).verdict, 'undecided', 'the recording was cut short')
})
