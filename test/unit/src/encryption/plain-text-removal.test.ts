/*
 * Goal: plain text is removed from the database files once, and not before history has trimmed it.
 * Method: a manual clock, and a database that answers as the test decides.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PlainTextRemoval } from '../../../../src/encryption/plain-text-removal.ts'
import { PkiError } from '../../../../src/pki/errors.ts'
import { revision } from '../../../../src/store/revision.ts'
import type { Revision } from '../../../../src/store/revision.ts'
import { DatabaseError } from '../../../../src/store/store-errors.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

function started(recorded: readonly string[] = []) {
  const clock = new ManualClock()
  const lines: string[] = []
  const note = (_: unknown, text?: string): void => void lines.push(text ?? '')
  const database: { trimmed: Revision | null; answers: (boolean | Error)[]; calls: number } = {
    trimmed: revision(0),
    answers: [],
    calls: 0,
  }
  const raftLog: { answers: boolean[]; calls: number } = { answers: [], calls: 0 }
  const record = { resources: recorded, fails: false }
  const removal = new PlainTextRemoval({
    clock,
    log: { info: note, warn: note },
    trimmed: () => database.trimmed,
    removeTrimmed: async () => {
      database.calls++
      const answer = database.answers.shift() ?? true
      if (answer instanceof Error) throw answer
      return answer
    },
    trimLog: async () => {
      raftLog.calls++
      return raftLog.answers.shift() ?? true
    },
    record: {
      read: () => record.resources,
      write: (resources) => {
        if (record.fails) throw new PkiError('unusable', 'the disk is full')
        record.resources = resources
      },
    },
  })
  removal.configured(['secrets'])
  return { clock, lines, database, raftLog, record, removal }
}

void test('plain text is removed once history has trimmed the versions in plain text, and only once', async () => {
  const { clock, lines, database, removal } = started()
  removal.plainFound()
  await clock.advance(5000)
  removal.noneFound(revision(7))
  removal.noneFound(revision(9))
  database.trimmed = revision(6)
  await clock.advance(5000)
  database.trimmed = null
  await clock.advance(5000)
  assert.equal(database.calls, 0)
  database.trimmed = revision(7)
  await clock.advance(5000)
  assert.deepEqual([database.calls, removal.isDone, lines.length], [1, true, 1])
  removal.noneFound(revision(8))
  await clock.advance(5000)
  assert.equal(database.calls, 1)
  removal.close()
})

void test('a removal that is not possible, or fails, is tried again', async () => {
  const { clock, lines, database, removal } = started()
  database.answers = [false, new DatabaseError('io', 'the disk fails'), true]
  removal.noneFound(revision(0))
  await clock.advance(5000)
  assert.deepEqual([database.calls, removal.isDone], [3, true])
  assert.match(
    lines.join('\n'),
    /was not removed.*retrying\nthe files of database and log have no plain text/,
  )
  removal.close()
})

void test('a log that cannot be trimmed yet is tried again, without rewriting the database again', async () => {
  const { clock, database, raftLog, removal } = started()
  raftLog.answers = [false, false]
  removal.noneFound(revision(0))
  await clock.advance(5000)
  assert.deepEqual([database.calls, raftLog.calls, removal.isDone], [1, 3, true])
  removal.plainFound()
  removal.noneFound(revision(0))
  await clock.advance(1000)
  assert.deepEqual([database.calls, raftLog.calls, removal.isDone], [2, 4, true])
  removal.close()
})

void test('plain text that appears after a removal is removed by another one', async () => {
  const { clock, database, removal } = started()
  removal.noneFound(revision(0))
  await clock.advance(1000)
  assert.equal(removal.isDone, true)
  removal.plainFound()
  assert.equal(removal.isDone, false)
  await clock.advance(5000)
  removal.noneFound(revision(0))
  await clock.advance(1000)
  assert.deepEqual([database.calls, removal.isDone], [2, true])
  removal.close()
  assert.equal(clock.pending, 0)
})

void test('a later process does not remove again what the record has, until plain text appears', async () => {
  const first = started()
  first.removal.noneFound(revision(0))
  await first.clock.advance(1000)
  assert.deepEqual(first.record.resources, ['secrets'])
  first.removal.close()
  const { clock, database, record, removal } = started(first.record.resources)
  removal.noneFound(revision(0))
  await clock.advance(5000)
  assert.deepEqual([database.calls, removal.isDone], [0, true])
  removal.plainFound()
  assert.deepEqual([record.resources, removal.isDone], [[], false])
  removal.noneFound(revision(0))
  await clock.advance(1000)
  assert.deepEqual([database.calls, record.resources], [1, ['secrets']])
  removal.close()
})

void test('a resource that is added needs another removal, and one that is no longer encrypted is not recorded', async () => {
  const { clock, database, record, removal } = started(['secrets'])
  removal.noneFound(revision(0))
  removal.configured(['secrets', 'configmaps'])
  assert.equal(removal.isDone, false)
  removal.noneFound(revision(0))
  await clock.advance(1000)
  assert.deepEqual([database.calls, record.resources], [1, ['secrets', 'configmaps']])
  removal.configured(['configmaps'])
  assert.deepEqual([record.resources, removal.isDone], [['configmaps'], true])
  removal.configured(['configmaps', 'secrets'])
  assert.equal(removal.isDone, false)
  removal.close()
})

void test('a record that cannot be written is logged, and the removal is done for this process', async () => {
  const { clock, lines, record, removal } = started()
  record.fails = true
  removal.noneFound(revision(0))
  await clock.advance(1000)
  assert.equal(removal.isDone, true)
  assert.match(lines.join('\n'), /could not record the resources/)
  removal.close()
})
