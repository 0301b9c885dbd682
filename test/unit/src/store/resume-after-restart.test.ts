/*
 * Goal: every revision of the window can be watched from, and listed in pages, right after a
 * restart and right after a snapshot was installed: the contents of memory make no difference.
 * Method: random logs on the real machine over real databases; reads before are compared with those
 * after.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { LevelKeyValueDatabases } from '../../../../src/store/disk/level-key-value-store.ts'
import { defaultStoreLimits } from '../../../../src/store/store-limits.ts'
import { revision } from '../../../../src/store/revision.ts'
import type { Revision } from '../../../../src/store/revision.ts'
import { Store } from '../../../../src/store/store.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import type { Key } from '../../../../src/store/key.ts'
import type { StoredObject, StoreEvent } from '../../../../src/store/object-store.ts'
import { LocalConsensus } from '../../../../fixtures/local-consensus.ts'
import { allConfigMaps, configMapsOf } from '../../../../fixtures/store-kit.ts'
import {
  applyUpTo,
  chunksOf,
  openMachine,
  randomLog,
  tinyLimits,
} from '../../../support/fixtures/store-machines.ts'
import { systemClock as clock } from '../../../../fixtures/system.ts'

/**
 * Returns everything that can be read in the window: events after each revision, and pages of the
 * state at it.
 */
async function window(machine: StoreMachine): Promise<ReadonlyMap<number, readonly string[]>> {
  const consensus = new LocalConsensus({ machine, clock })
  const store = new Store({ consensus, machine, clock, limits: tinyLimits })
  const seen = new Map<number, readonly string[]>()
  const { history } = machine.state
  for (let at: number = history.trimmed; at <= history.last; at++) {
    const reported = await eventsAfter(store, revision(at))
    seen.set(at, [...reported, ...(await pagesAt(store, revision(at)))])
  }
  assert.throws(() => store.watch(allConfigMaps, revision(history.trimmed - 1)), { code: 'compacted' })
  assert.throws(() => store.viewAt(revision(history.trimmed - 1)), { code: 'compacted' })
  store.close()
  return seen
}

async function eventsAfter(store: Store, at: Revision): Promise<readonly string[]> {
  const cursor = store.watch(configMapsOf('a'), at)
  const reported: string[] = []
  for (;;) {
    const events: readonly StoreEvent[] = await cursor.next(3)
    if (events.length === 0) break
    for (const { kind, key, object, previous } of events) {
      reported.push(`${kind} ${key} ${contentOf(object)} ${previous === null ? '' : contentOf(previous)}`)
    }
  }
  cursor.close()
  return reported
}

async function pagesAt(store: Store, at: Revision): Promise<readonly string[]> {
  const view = store.viewAt(at)
  const found: string[] = [`${await view.count(allConfigMaps)} there`]
  let after: Key | null = null
  for (;;) {
    const slice = await view.list(allConfigMaps, { after, limit: 4 })
    for (const object of slice.objects) found.push(`${object.key} ${contentOf(object)}`)
    if (!slice.more) return found
    after = slice.objects.at(-1)?.key ?? assert.fail('no page is empty')
  }
}

function contentOf({ revision: at, bytes }: StoredObject): string {
  return `${at} ${Buffer.from(bytes).toString()}`
}

function databasesOf(t: TestContext): LevelKeyValueDatabases {
  const directory = mkdtempSync(join(tmpdir(), 'resumed-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return new LevelKeyValueDatabases(directory)
}

for (let seed = 1; seed <= 4; seed++) {
  void test(`spec 6.1: seed ${seed}: watches and lists resume at each revision after a restart, and on a member that installed a snapshot`, async (t) => {
    const log = randomLog(seed, 250)
    const databases = databasesOf(t)
    const first = await openMachine({ databases, clock })
    for (let to = 50; to <= 250; to += 50) {
      applyUpTo(first, log, to)
      await first.flushed()
    }
    const before = await window(first)
    assert.ok(before.size > 10, 'there is a window')
    const source = await first.produceSnapshot()
    const chunks = await chunksOf(source)
    await first.close()

    // With the tiny limits hardly anything stays in memory, with the others everything does.
    for (const limits of [tinyLimits, { ...defaultStoreLimits, scanStepsMax: 3 }]) {
      const restarted = await openMachine({ databases, clock, limits })
      assert.deepEqual(await window(restarted), before)
      await restarted.close()
    }

    const copied = await openMachine({ databases: databasesOf(t), clock })
    applyUpTo(copied, log, 30)
    const sink = await copied.stageSnapshot(source.snapshot)
    for (const chunk of chunks) await sink.chunk(chunk)
    await sink.finish()
    await copied.installSnapshot(source.snapshot)
    assert.deepEqual(await window(copied), before)
    await copied.close()
  })
}
