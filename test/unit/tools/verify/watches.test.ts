/*
 * Goal: each guarantee of watches has a check that accepts what keeps it and names what breaks it.
 * Method: histories by hand: three changes of two objects, told right, and wrong in one way each.
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

void test('all changes, once, in order, with bookmarks between', () => {
  assert.deepEqual(check(added, ['BOOKMARK', 5], other, ['BOOKMARK', 6], changed, ['BOOKMARK', 9]), [])
})

void test('reliable: nothing is left out up to what was told last', () => {
  assert.deepEqual(check(added, changed), ['dropped-event'])
  assert.deepEqual(check(added, other), [], 'what comes later may not have come yet')
  assert.deepEqual(check(added, other, ['BOOKMARK', 7]), ['dropped-event'], 'the bookmark says it did')
})

void test('reliable: deletions too', () => {
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

void test('a change that no one at all was shown is a lost write, not a lost event', () => {
  const script = new HistoryScript().list(4, []).create('a@5').create('b@6').get('b@6').watch(4, [other])
  assert.deepEqual(kindsOf(checkWatches(script.index())), ['lost-write'])
})

void test('ordered: an older change does not come after a newer one', () => {
  assert.deepEqual(check(added, changed, other).includes('event-order'), true)
  assert.deepEqual(check(added, other, ['BOOKMARK', 5], changed), ['event-order'], 'nor an older bookmark')
})

void test('ordered: nothing from before the start', () => {
  const script = written().watch(5, [added, other, changed])
  assert.ok(kindsOf(checkWatches(script.index())).includes('event-order'))
})

void test('unique: nothing twice', () => {
  assert.ok(check(added, other, other, changed).includes('repeated-event'))
})

void test('bookmarkable: no bookmark before what it covers', () => {
  assert.ok(check(added, ['BOOKMARK', 6], other, changed).includes('false-bookmark'))
})

void test('resumable: behind the break, on another member, it goes on without a gap', () => {
  const resumed = (from: number, events: readonly Event[]): HistoryScript =>
    written().watch(4, [added]).watch(from, events, { resumed: true, member: 'n2' })
  assert.deepEqual(kindsOf(checkWatches(resumed(5, [other, changed]).index())), [])
  const [anomaly] = checkWatches(resumed(5, [changed]).index()).anomalies
  assert.equal(anomaly?.kind, 'dropped-event')
  assert.match(anomaly.text, /after it was resumed/)
})

void test('a change is told as what it was', () => {
  assert.deepEqual(check(added, other, ['ADDED', 'a@7']), ['wrong-event'])
  assert.deepEqual(check(['MODIFIED', 'a@5'], other, changed), ['wrong-event'])
  const gone = written().delete('b')
  gone.watch(4, [added, other, changed, ['DELETED', 'b@8=b6'], ['DELETED', 'b@9=b6']])
  assert.ok(kindsOf(checkWatches(gone.index())).includes('wrong-event'))
})

void test('filtered: what comes into a selection is added to it, and what leaves it deleted', () => {
  // Which side a version is of follows from the last sign of its write.
  const everything: readonly Event[] = [
    ['ADDED', 'a@5'],
    ['MODIFIED', 'a@6'],
    ['MODIFIED', 'a@8'],
    ['MODIFIED', 'a@9'],
    ['DELETED', 'a@10=a9'],
    ['ADDED', 'b@12'],
  ]
  const script = (events: readonly Event[]): readonly string[] => {
    const told = new HistoryScript().list(4, []).create('a@5').update('a@6', 'a@5').update('a@8', 'a@6')
    told.update('a@9', 'a@8').delete('a').create('b@12').get('b@12')
    told.watch(4, everything, { watcher: 'w1' })
    return kindsOf(checkWatches(told.watch(4, events, { watcher: 'w2', side: 'even' }).index()))
  }
  const [comes, changes, leaves, other]: readonly Event[] = [
    ['ADDED', 'a@6'],
    ['MODIFIED', 'a@8'],
    ['DELETED', 'a@9=a8'],
    ['ADDED', 'b@12'],
  ]
  assert.ok(comes !== undefined && changes !== undefined && leaves !== undefined && other !== undefined)
  assert.deepEqual(script([comes, changes, leaves, other]), [])
  assert.deepEqual(script([comes, changes, leaves]), [], 'what comes later may not have come yet')
  assert.deepEqual(script([comes, changes, other]), ['dropped-event'], 'it left')
  assert.deepEqual(script([changes, leaves, other]), ['dropped-event'], 'it came')
  assert.deepEqual(script([['MODIFIED', 'a@6'], changes, leaves, other]), ['wrong-event'])
  assert.deepEqual(script([comes, ['ADDED', 'a@8'], leaves, other]), ['wrong-event'])
  assert.deepEqual(script([comes, changes, ['MODIFIED', 'a@9'], other]), ['wrong-event'])
  assert.deepEqual(
    script([comes, changes, ['DELETED', 'a@9'], other]),
    ['wrong-event'],
    'as it last belonged',
  )
  assert.deepEqual(script([['ADDED', 'a@5'], comes, changes, leaves]), ['wrong-event'])
  assert.deepEqual(script([comes, changes, leaves, ['DELETED', 'a@10=a9']]), ['wrong-event'], 'it had left')
  assert.deepEqual(script([comes, changes, leaves, ['DELETED', 'a@11=a9'], other]), ['wrong-event'])
})

void test('an object made anew is another one, though nobody was told of the deletion', () => {
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

void test('a watch that stands behind in the end leaves it undecided', () => {
  const script = written().watch(4, [added, other])
  script.lastRevision = 7
  const { verdict, note } = checkWatches(script.index())
  assert.equal(verdict, 'undecided')
  assert.match(note, /w1 at 6/)
  script.lastRevision = null
  assert.equal(checkWatches(script.index()).verdict, 'undecided', 'the recording was cut short')
})
