/*
 * Goal: a member with a limited feature level stops where newer rules begin, in the log or by a
 * snapshot. It has nothing of the newer rules on its disk, and continues once the limit is lifted.
 * Method: a log with a raise of the feature level in the middle, over databases in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import { DatabaseError } from '../../../../src/store/store-errors.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { configMapKey, LogWriter, ownSession, put, write } from '../../../../fixtures/store-kit.ts'
import { chunksOf, digestsOf, openMachine } from '../../../support/fixtures/store-machines.ts'

const log = new LogWriter()
for (let at = 1; at <= 10; at++) log.command(write(put(configMapKey(`before-${at}`), 'v')))
log.command({ kind: 'raise-feature-level', level: 2 })
const raisedAt = log.last
for (let at = 1; at <= 10; at++) log.command(write(put(configMapKey(`after-${at}`), 'v')))
const digests = digestsOf(log)

const isTooNew = (cause: unknown): boolean => cause instanceof DatabaseError && cause.code === 'unsupported'

void test('a limited member stops before the raise in the log, and continues once the limit is lifted', async () => {
  const databases = new MemoryKeyValueDatabases()
  const clock = new ManualClock()
  const failures: unknown[] = []
  const held = await openMachine({
    ...{ databases, clock, featureLevelMax: 1 },
    onFailure: (cause) => failures.push(cause),
  })
  assert.throws(() => held.apply(log.entries, ownSession), isTooNew)
  assert.equal(failures.length, 1)
  assert.ok(isTooNew(failures[0]))
  assert.throws(
    () => held.apply(log.after(held.appliedMemory), ownSession),
    isTooNew,
    'also at the second attempt',
  )
  assert.deepEqual([held.appliedMemory, held.digest], [raisedAt - 1, digests[raisedAt - 1]])
  held.logPersisted(log.last)
  await held.close()

  const again = await openMachine({ databases, clock, featureLevelMax: 1 })
  assert.deepEqual([again.appliedMemory, again.digest], [raisedAt - 1, digests[raisedAt - 1]])
  await again.close()
  const free = await openMachine({ databases, clock })
  free.apply(log.after(free.appliedMemory), ownSession)
  assert.equal(free.digest, digests[log.last])
  free.logPersisted(log.last)
  await free.close()
  await assert.rejects(openMachine({ databases, clock, featureLevelMax: 1 }), isTooNew)
})

void test('a limited member stops at a snapshot of a higher feature level', async () => {
  const clock = new ManualClock()
  const sender = await openMachine({ databases: new MemoryKeyValueDatabases(), clock })
  sender.apply(log.entries, ownSession)
  sender.logPersisted(log.last)
  await sender.flushed()
  const source = await sender.produceSnapshot()
  const chunks = await chunksOf(source)
  await sender.close()

  const failures: unknown[] = []
  const held = await openMachine({
    ...{ databases: new MemoryKeyValueDatabases(), clock, featureLevelMax: 1 },
    onFailure: (cause) => failures.push(cause),
  })
  const sink = await held.stageSnapshot(source.snapshot)
  for (const chunk of chunks) await sink.chunk(chunk)
  await assert.rejects(sink.finish(), isTooNew)
  assert.deepEqual(failures.map(isTooNew), [true])
  assert.equal(held.appliedMemory, 0)
  await held.close()
})
