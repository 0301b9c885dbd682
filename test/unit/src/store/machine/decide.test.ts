/*
 * Goal: each condition holds exactly as defined, and later operations see earlier ones.
 * Method: one table of a few objects, one example for each outcome of each condition.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Condition, Operation } from '../../../../../src/store/command.ts'
import { refusalOf } from '../../../../../src/store/machine/decide.ts'
import { ObjectTable } from '../../../../../src/store/machine/object-table.ts'
import { putVersion } from '../../../../../src/store/machine/object-version.ts'
import { noRevision, revision } from '../../../../../src/store/revision.ts'
import { configMapKey, encoded, namespaceKey, put, remove } from '../../../../../fixtures/store-kit.ts'

const here = configMapKey('here')
const missing = configMapKey('missing')

function table(): ObjectTable {
  const objects = new ObjectTable()
  const place = { previous: noRevision, lastOfCommand: true }
  objects.set(putVersion({ key: here, revision: revision(3), ...place }, encoded('v', { uid: 'u1' })))
  objects.set(putVersion({ key: namespaceKey('live'), revision: revision(1), ...place }, encoded('n')))
  const ending = encoded('n', { terminating: true })
  objects.set(putVersion({ key: namespaceKey('ending'), revision: revision(2), ...place }, ending))
  return objects
}

function refused(
  ...operations: Operation[]
): { operation: number; condition: Condition; current: number } | null {
  const refusal = refusalOf(table(), operations, revision(3))
  if (refusal === null) return null
  return { operation: refusal.operation, condition: refusal.condition, current: refusal.current }
}

const cases: readonly (readonly [Condition, holdsHere: boolean, holdsMissing: boolean])[] = [
  [{ kind: 'absent' }, false, true],
  [{ kind: 'exists' }, true, false],
  [{ kind: 'uid-is', uid: 'u1' }, true, false],
  [{ kind: 'uid-is', uid: 'u2' }, false, false],
  [{ kind: 'revision-is', revision: revision(3) }, true, false],
  [{ kind: 'revision-is', revision: revision(2) }, false, false],
  [{ kind: 'revision-is', revision: noRevision }, false, true],
  [{ kind: 'namespace-active', namespace: 'live' }, true, true],
  [{ kind: 'namespace-active', namespace: 'ending' }, false, false],
  [{ kind: 'namespace-active', namespace: 'none' }, false, false],
  [{ kind: 'prefix-empty', prefixes: ['/configmaps/other/', '/pods/'] }, true, true],
  [{ kind: 'prefix-empty', prefixes: ['/pods/', '/configmaps/default/'] }, false, false],
  [{ kind: 'other-revision-is', key: namespaceKey('live'), revision: revision(1) }, true, true],
  [{ kind: 'other-revision-is', key: namespaceKey('live'), revision: revision(2) }, false, false],
  [{ kind: 'other-revision-is', key: namespaceKey('none'), revision: revision(1) }, false, false],
  [{ kind: 'other-revision-is', key: namespaceKey('none'), revision: noRevision }, true, true],
]

for (const [condition, holdsHere, holdsMissing] of cases) {
  void test(`${JSON.stringify(condition)} decides a put`, () => {
    const onHere = refused(put(here, 'w', condition))
    assert.deepEqual(onHere, holdsHere ? null : { operation: 0, condition, current: 3 })
    const onMissing = refused(put(missing, 'w', condition))
    assert.deepEqual(onMissing, holdsMissing ? null : { operation: 0, condition, current: 0 })
  })
}

void test('a refusal names the first condition that does not hold', () => {
  const lost = refused(put(here, 'w', { kind: 'exists' }, { kind: 'uid-is', uid: 'x' }, { kind: 'absent' }))
  assert.deepEqual(lost?.condition, { kind: 'uid-is', uid: 'x' })
})

void test('a deletion of an absent object is refused even without conditions', () => {
  assert.deepEqual(refused(remove(missing)), { operation: 0, condition: { kind: 'exists' }, current: 0 })
})

void test('later operations of a command see the effects of earlier ones', () => {
  assert.equal(
    refused(
      put(missing, 'a', { kind: 'absent' }),
      put(missing, 'b', { kind: 'revision-is', revision: revision(4) }),
    ),
    null,
  )
  assert.deepEqual(refused(put(missing, 'a'), put(missing, 'b', { kind: 'absent' })), {
    operation: 1,
    condition: { kind: 'absent' },
    current: 4,
  })
  assert.equal(refused(remove(here), put(here, 'b', { kind: 'absent' })), null)
  assert.deepEqual(refused(remove(here), remove(here))?.operation, 1)
})

void test('emptiness of a prefix considers what the command itself removes and creates', () => {
  const empty: Condition = { kind: 'prefix-empty', prefixes: ['/configmaps/default/'] }
  assert.equal(refused(remove(here), put(namespaceKey('live'), 'n', empty)), null)
  assert.equal(refused(remove(here), put(missing, 'x'), put(namespaceKey('live'), 'n', empty))?.operation, 2)
  assert.equal(
    refused(remove(here), put(missing, 'x'), remove(missing), put(namespaceKey('live'), 'n', empty)),
    null,
  )
})

void test('another object that the command itself wrote has the revision of that write', () => {
  const at = (of: number): Condition => {
    return { kind: 'other-revision-is', key: namespaceKey('live'), revision: revision(of) }
  }
  assert.equal(refused(put(namespaceKey('live'), 'n'), put(missing, 'x', at(4))), null)
  assert.equal(refused(put(namespaceKey('live'), 'n'), put(missing, 'x', at(1)))?.operation, 1)
  assert.equal(refused(remove(namespaceKey('live')), put(missing, 'x', at(0))), null)
})

void test('a namespace created by the same command is active for later operations', () => {
  const active: Condition = { kind: 'namespace-active', namespace: 'new' }
  assert.equal(refused(put(namespaceKey('new'), 'n'), put(missing, 'x', active)), null)
  assert.equal(refused(put(missing, 'x', active), put(namespaceKey('new'), 'n'))?.operation, 0)
})
