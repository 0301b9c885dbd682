/*
 * Goal: a quarantined database is kept until its replacement is durable, then removed and logged;
 * one that cannot be removed only causes one log line.
 * Method: real databases that are damaged, then rebuilt by applying the log again.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { logIndex } from '../../../../../raft/index.ts'
import { QuarantinedDatabase } from '../../../../../src/store/disk/quarantined-database.ts'
import type { QuarantinedDatabaseEvent } from '../../../../../src/store/disk/quarantined-database.ts'
import { LevelKeyValueDatabases } from '../../../../../src/store/disk/level-key-value-store.ts'
import { DatabaseError } from '../../../../../src/store/store-errors.ts'
import { ManualClock } from '../../../../support/fakes/manual-clock.ts'
import { applyUpTo, digestsOf, openMachine, randomLog } from '../../../../support/fixtures/store-machines.ts'

const log = randomLog(9, 50)
const digests = digestsOf(log)

function folder(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'orch-aside-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Creates the database of a member at index 50, and damages it. */
async function spoiled(directory: string): Promise<void> {
  const machine = await openMachine({
    databases: new LevelKeyValueDatabases(directory),
    clock: new ManualClock(),
  })
  applyUpTo(machine, log, 50)
  await machine.close()
  writeFileSync(join(directory, 'db-0', 'CURRENT'), 'nothing')
}

void test('the database rebuilt from the log replaces the quarantined one once it has all entries that the log had', async (t) => {
  const directory = folder(t)
  await spoiled(directory)
  const aside = join(directory, 'set-aside')
  const news: QuarantinedDatabaseEvent[] = []
  const databases = new LevelKeyValueDatabases(directory)
  const machine = await openMachine({
    ...{ databases, clock: new ManualClock(), logLast: 50 },
    onAside: (reported) => news.push(reported),
  })
  applyUpTo(machine, log, 49)
  await machine.flushed()
  assert.equal(machine.appliedDisk.index, 49)
  assert.ok(existsSync(aside), 'the log had more')
  applyUpTo(machine, log, 50)
  await machine.flushed()
  await machine.close()
  assert.ok(!existsSync(aside))
  const [reported] = news
  assert.ok(
    news.length === 1 && reported?.kind === 'removed' && reported.path === aside && reported.bytes > 1000,
  )

  const again = await openMachine({ databases, clock: new ManualClock(), logLast: 50 })
  assert.equal(again.digest, digests[50])
  await again.close()
})

void test('a quarantined database left by an ended process is removed by the next start that finds an intact one', async (t) => {
  const directory = folder(t)
  await spoiled(directory)
  const databases = new LevelKeyValueDatabases(directory)
  const news: QuarantinedDatabaseEvent[] = []
  const open = () =>
    openMachine({
      databases,
      clock: new ManualClock(),
      logLast: 50,
      onAside: (reported) => news.push(reported),
    })
  await (await open()).close()
  assert.ok(existsSync(join(directory, 'set-aside')))
  await (await open()).close()
  assert.ok(!existsSync(join(directory, 'set-aside')))
  assert.equal(news.length, 1)
})

void test('a quarantined database that cannot be removed is logged and has no other effect', async () => {
  const news: QuarantinedDatabaseEvent[] = []
  const cause = new DatabaseError('io', 'db/set-aside cannot be removed (EPERM)')
  const aside = new QuarantinedDatabase({ discardQuarantined: () => Promise.reject(cause) }, (reported) =>
    news.push(reported),
  )
  aside.durable(logIndex(9))
  aside.keepUntil(logIndex(5))
  aside.durable(logIndex(4))
  await aside.settled
  assert.deepEqual(news, [])
  aside.durable(logIndex(5))
  aside.durable(logIndex(6))
  await aside.settled
  assert.deepEqual(news, [{ kind: 'left', cause: cause.message }])
})

void test('the error of a removal names the path, the system error and the remedy', async (t) => {
  const databases = new LevelKeyValueDatabases(join(folder(t), 'db'))
  assert.equal(await databases.discardQuarantined(), null)
  const directory = folder(t)
  // A file is not a directory whose contents could be listed.
  writeFileSync(join(directory, 'set-aside'), '')
  await assert.rejects(new LevelKeyValueDatabases(directory).discardQuarantined(), {
    code: 'io',
    message: `${join(directory, 'set-aside')} cannot be removed (ENOTDIR): remove it by hand, it is not needed`,
  })
})
