/*
 * Goal: every guarantee of revisions, versions, lists, modes, sessions and members has a check that
 * accepts valid histories and names violations.
 * Method: pairs of histories by hand that differ in one answer.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkBounds } from '../../../../tools/verify/checks/bounds.ts'
import { checkLists } from '../../../../tools/verify/checks/lists.ts'
import { checkMembers } from '../../../../tools/verify/checks/members.ts'
import { checkModes } from '../../../../tools/verify/checks/modes.ts'
import { checkRealTime } from '../../../../tools/verify/checks/real-time.ts'
import { checkSessions } from '../../../../tools/verify/checks/sessions.ts'
import { checkVersions } from '../../../../tools/verify/checks/versions.ts'
import type { Mode } from '../../../../tools/verify/history.ts'
import { checkHistory } from '../../../../tools/verify/check-history.ts'
import { HistoryScript, anyVersion, exactly, kindsOf, mostRecent, notOlder } from './history-script.ts'

const realTime = (script: HistoryScript): readonly string[] => kindsOf(checkRealTime(script.index()))
const versions = (script: HistoryScript): readonly string[] => kindsOf(checkVersions(script.index()))
const lists = (script: HistoryScript): readonly string[] => kindsOf(checkLists(script.index()))
const modes = (script: HistoryScript): readonly string[] => kindsOf(checkModes(script.index()))
const bounds = (script: HistoryScript): readonly string[] => kindsOf(checkBounds(script.index()))
const sessions = (script: HistoryScript, balanced = false): readonly string[] =>
  kindsOf(checkSessions(script.index(), { balanced }))

void test('real time: a write has a higher revision than all that was returned before it began', () => {
  assert.deepEqual(realTime(new HistoryScript().create('a@5').create('b@6')), [])
  assert.deepEqual(realTime(new HistoryScript().create('a@7').create('b@6')), ['revision-order'])
  const beside = new HistoryScript().create('a@7', { begin: 1, end: 4 }).create('b@6', { begin: 2, end: 5 })
  assert.deepEqual(realTime(beside), [], 'concurrent writes may have either order')
})

void test('real time: a most recent read is as new as every response of any client before it', () => {
  const script = (): HistoryScript => new HistoryScript().create('a@5').update('a@6', 'a@5').create('b@7')
  assert.deepEqual(realTime(script().list(7, ['a@6', 'b@7'])), [])
  assert.deepEqual(realTime(script().list(6, ['a@6'])), ['stale-read'])
  assert.deepEqual(realTime(script().get('a@5')), ['stale-read'])
  assert.deepEqual(realTime(script().get('a@5', anyVersion)), [], 'any version may be old')
  assert.deepEqual(realTime(script().list(6, ['a@6'], anyVersion)), [])
  assert.deepEqual(realTime(script().missing('a')), ['lost-write'])
  assert.deepEqual(realTime(script().get('a@6').missing('a')), ['stale-read'])
  assert.deepEqual(realTime(script().delete('a').missing('a')), [])
  assert.deepEqual(realTime(script().delete('a').create('a@9').get('a@9').missing('a')), ['stale-read'])
  assert.deepEqual(
    realTime(new HistoryScript().watch(1, [['BOOKMARK', 9]]).list(8, [])),
    ['stale-read'],
    'returned by a watch',
  )
})

void test('versions: each revision has one version, which a client wrote', () => {
  const script = (): HistoryScript => new HistoryScript().create('a@5')
  assert.deepEqual(versions(script().get('a@5', anyVersion)), [])
  assert.deepEqual(versions(script().get('a@5#other', anyVersion)), ['two-versions'])
  assert.deepEqual(versions(script().get('a@5').create('b@5').get('b@5')), ['two-versions'])
  assert.deepEqual(
    versions(script().create('b@5').get('b@5')),
    ['lost-write'],
    'no read returned the first one',
  )
  assert.deepEqual(versions(script().get('a@8', anyVersion)), ['phantom'])
  assert.deepEqual(
    versions(script().get('b@8=a5', anyVersion)),
    ['phantom'],
    'it was written to another object',
  )
})

void test('versions: a conditional write replaces the version it names', () => {
  const script = (): HistoryScript => new HistoryScript().create('a@5').update('a@6', null)
  assert.deepEqual(versions(script().update('a@7', 'a@6')), [])
  assert.deepEqual(versions(script().update('a@7', 'a@5')), ['lost-update'])
})

void test('lists: a list at a revision is the state at that revision, in every mode', () => {
  const script = (): HistoryScript =>
    new HistoryScript().create('a@5').create('b@6').update('a@7', 'a@5').get('a@7')
  for (const mode of [anyVersion, exactly(6), notOlder(5)]) {
    assert.deepEqual(lists(script().list(6, ['a@5', 'b@6'], mode)), [])
    assert.deepEqual(lists(script().list(7, ['a@5', 'b@6'], mode)), ['wrong-list'], 'an old version')
    assert.deepEqual(lists(script().list(6, ['a@7', 'b@6'], mode)), ['wrong-list'], 'a future version')
    assert.deepEqual(lists(script().get('b@6').list(7, ['a@7'], mode)), ['wrong-list'], 'one missing')
    assert.deepEqual(
      lists(script().list(7, ['a@7'], mode)),
      ['lost-write'],
      'one missing that no read returned',
    )
  }
})

void test('lists: what may have been deleted may be missing, and only then', () => {
  const deleted = (): HistoryScript => new HistoryScript().create('a@5').create('b@6').get('a@5').delete('a')
  assert.deepEqual(lists(deleted().list(7, ['b@6'])), [])
  assert.deepEqual(lists(deleted().list(6, ['b@6'])), ['wrong-list'], 'the deletion begins after 6')
  const reported = deleted().watch(6, [['DELETED', 'a@7=a5']])
  assert.deepEqual(
    lists(reported.list(8, ['a@5', 'b@6'])),
    ['wrong-list'],
    'a watch returned the deletion at 7',
  )
  const perhaps = new HistoryScript()
    .create('a@5')
    .get('a@5')
    .unknown({ kind: 'delete', name: 'a', expected: null })
  assert.deepEqual(lists(perhaps.list(9, [])), [], 'the outcome of the deletion is unknown')
  const recreated = deleted().create('a@8').get('a@8')
  assert.deepEqual(lists(recreated.list(9, ['b@6'])), ['wrong-list'], 'it was created again')
})

void test('lists: two lists at one revision are equal', () => {
  const script = new HistoryScript().create('a@5').unknown({ kind: 'delete', name: 'a', expected: null })
  assert.deepEqual(lists(script.list(9, [], mostRecent).list(9, ['a@5'], exactly(9))), ['wrong-list'])
})

void test('lists: pages are one state, in order, and count what is left', () => {
  const script = (): HistoryScript =>
    new HistoryScript().create('a@5').create('b@6').create('c@7').get('a@5').get('b@6').get('c@7')
  const first = { revision: 7, shown: ['a@5'], left: 2 }
  const second = { revision: 7, shown: ['b@6'], left: 1 }
  const last = { revision: 7, shown: ['c@7'], left: null }
  assert.deepEqual(lists(script().pages([first, second, last])), [])
  assert.deepEqual(
    lists(script().pages([first, second])),
    [],
    'pages that were not requested are not checked',
  )
  assert.deepEqual(lists(script().pages([first, { ...second, revision: 8 }, last])), ['torn-pages'])
  assert.deepEqual(lists(script().pages([first, second, second, last])), ['torn-pages'])
  assert.deepEqual(lists(script().pages([{ ...first, left: 5 }, second, last])), ['torn-pages'])
  assert.deepEqual(
    lists(script().pages([{ ...first, left: 1 }, last])),
    ['wrong-list'],
    'the middle is missing',
  )
  const uncounted = [first, second, last].map((page) => ({ ...page, left: 'unknown' as const }))
  const empty = { revision: 7, shown: [], left: null }
  assert.deepEqual(lists(script().pages([...uncounted.slice(0, 2), last])), [])
  assert.deepEqual(lists(script().pages([...uncounted, empty])), ['torn-pages'], 'the last page is empty')
})

void test('modes: exact is exact, and not older is not older', () => {
  const script = (): HistoryScript => new HistoryScript().create('a@5').update('a@6', 'a@5').create('b@7')
  assert.deepEqual(modes(script().list(6, ['a@6'], exactly(6))), [])
  assert.deepEqual(modes(script().list(7, ['a@6', 'b@7'], exactly(6))), ['wrong-mode'])
  assert.deepEqual(modes(script().list(7, ['a@6', 'b@7'], notOlder(6))), [])
  assert.deepEqual(modes(script().list(5, ['a@5'], notOlder(6))), ['wrong-mode'])
  assert.deepEqual(modes(script().get('a@6', notOlder(7))), [])
  assert.deepEqual(modes(script().get('a@5', notOlder(7))), ['wrong-mode'])
  assert.deepEqual(modes(script().missing('b', notOlder(7))), ['wrong-mode'])
  assert.deepEqual(modes(script().missing('b', notOlder(6))), [], 'at 6 it did not exist')
})

void test('bounds: a bounded read includes every version that was acknowledged before the bound', () => {
  const script = (): HistoryScript => new HistoryScript().create('a@5').update('a@6', 'a@5').create('b@7')
  const behind = (boundMs: number): Mode => ({ kind: 'bounded', boundMs })
  // The update is acknowledged at 4, the creation of b at 6; the read begins at 7.
  assert.deepEqual(bounds(script().get('a@5', behind(2))), ['beyond-bound'])
  assert.deepEqual(bounds(script().get('a@5', behind(3))), [], 'acknowledged exactly that long ago')
  assert.deepEqual(bounds(script().get('a@6', behind(1))), [])
  assert.deepEqual(bounds(script().list(6, ['a@6'], behind(1))), [])
  assert.deepEqual(bounds(script().list(5, ['a@5'], behind(2))), ['beyond-bound'])
  assert.deepEqual(bounds(script().missing('a', behind(2))), ['beyond-bound'])
  assert.equal(checkBounds(script().get('a@5').index()).verdict, 'not-applicable', 'no bounded reads')
})

void test('lease reads and log reads are as new as most recent reads', () => {
  const script = (): HistoryScript => new HistoryScript().create('a@5').update('a@6', 'a@5').create('b@7')
  for (const kind of ['lease', 'log'] as const) {
    assert.deepEqual(realTime(script().list(7, ['a@6', 'b@7'], { kind })), [])
    assert.deepEqual(realTime(script().list(6, ['a@6'], { kind })), ['stale-read'])
    assert.deepEqual(realTime(script().get('a@5', { kind })), ['stale-read'])
  }
})

void test('sessions: on one connection reads of any version do not go back', () => {
  const script = (): HistoryScript => new HistoryScript().create('a@5').update('a@6', 'a@5').create('b@7')
  const back = (connection: number): HistoryScript =>
    script().list(7, ['a@6', 'b@7'], anyVersion, { connection: 1 }).get('a@5', anyVersion, { connection })
  assert.deepEqual(sessions(back(1)), ['reads-go-back'])
  assert.deepEqual(sessions(back(2)), [], 'another connection may lead to another server')
  assert.deepEqual(sessions(back(1), true), [], 'nothing is promised by a balancer')
  assert.deepEqual(sessions(script().get('a@5', anyVersion).list(7, ['a@6', 'b@7'], anyVersion)), [])
  assert.deepEqual(
    sessions(script().get('a@6').get('a@5', anyVersion)),
    [],
    'other modes may be served from elsewhere',
  )
})

void test('members: equal in the end, byte for byte', () => {
  const script = (digest: string, shown: readonly string[]): HistoryScript => {
    const one = new HistoryScript().create('a@5').copy('n1', 5, ['a@5'], 'x').copy('n2', 5, shown, digest)
    one.members = ['n1', 'n2']
    return one
  }
  const check = (one: HistoryScript) => checkMembers(one.history())
  assert.equal(check(script('x', ['a@5'])).verdict, 'ok')
  assert.match(check(script('y', [])).anomalies[0]?.text ?? '', /only n1 has a$/)
  assert.match(check(script('y', ['a@5#other'])).anomalies[0]?.text ?? '', /in a$/)
  assert.match(check(script('y', ['a@5'])).anomalies[0]?.text ?? '', /in bytes alone$/)
  const three = script('x', ['a@5'])
  three.members = ['n1', 'n2', 'n3']
  assert.equal(check(three).verdict, 'undecided', 'n3 returned nothing')
  assert.equal(check(new HistoryScript()).verdict, 'not-applicable')
})

void test('all checks: too little data is undecided, one anomaly decides', () => {
  assert.equal(checkHistory(new HistoryScript().history(), { balanced: false }).verdict, 'undecided')
  const script = new HistoryScript().create('a@5').get('a@5').missing('a')
  assert.equal(checkHistory(script.history(), { balanced: false }).verdict, 'anomaly')
})
