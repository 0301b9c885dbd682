/*
 * Goal: a restored state has the objects of its snapshot, with revisions that no client has seen,
 * its settings and its keys, but no history, sessions or join tokens; equal members build equal
 * states.
 * Method: random states, rebuilt in memory and compared object by object.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { SeededRandom } from '../../../../base/random.ts'
import { emptyConfiguration } from '../../../../raft/index.ts'
import type { Configuration } from '../../../../raft/index.ts'
import { firstRevision, newIncarnation, sourceFingerprint } from '../../../../src/backup/incarnation.ts'
import { NewStateBuilder } from '../../../../src/backup/new-state.ts'
import type { NewState } from '../../../../src/backup/new-state.ts'
import type { KeyValueStore } from '../../../../src/store/disk/key-value-store.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import { headOf } from '../../../../src/store/machine/digest.ts'
import { keyOf } from '../../../../src/store/key.ts'
import type { Version } from '../../../../src/store/machine/object-version.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { streamOf } from '../../../support/fixtures/snapshot-file.ts'
import { bootstrapOf } from '../../../../fixtures/store-commands.ts'
import { configMapKey, decoded, LogWriter, put, write } from '../../../../fixtures/store-kit.ts'
import { applyUpTo, openMachine } from '../../../support/fixtures/store-machines.ts'

const incarnation = newIncarnation(Date.UTC(2026, 10, 21), new SeededRandom(1), sourceFingerprint('copy'))
const configuration: Configuration = { ...emptyConfiguration, autoLeave: true }

async function built(
  from: StoreMachine,
  newKeys = false,
  as = incarnation,
): Promise<{ made: NewState; machine: StoreMachine }> {
  const databases = new MemoryKeyValueDatabases()
  const old = headOf(from.state)
  const options = { old, databases, incarnation: as, digest: from.digest, configuration, newKeys }
  const builder = await NewStateBuilder.open(options)
  const { objects } = from.state.objects.list('', null, null)
  for (const object of objects.toSorted((a, b) => a.revision - b.revision)) {
    builder.take(object)
    await builder.flush()
  }
  const made = await builder.finish()
  const machine = await openMachine({ databases, clock: new ManualClock(), logBase: made.base })
  return { made, machine }
}

void test('the objects are those of the snapshot, with new revisions in the same order', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { machine: old } = await streamOf(seed, 120)
    const { made, machine } = await built(old)
    const [before, after] = [old, machine].map(({ state }) => state.objects.list('', null, null).objects)
    assert.ok(before && after)
    assert.ok(before.length > 0)
    assert.equal(after.length, before.length)
    const first = firstRevision(old.state.revision, incarnation)
    assert.ok(first > old.state.revision + 2 ** 40)
    assert.equal(machine.state.revision, first + after.length)
    const order = before.toSorted((a, b) => a.revision - b.revision)
    for (const [at, object] of after.entries()) {
      const was: Version | undefined = before[at]
      assert.ok(was)
      assert.deepEqual(
        [object.key, object.uid, object.labels, object.terminating, object.itemOffset],
        [was.key, was.uid, was.labels, was.terminating, was.itemOffset],
      )
      assert.equal(object.revision, first + 1 + order.indexOf(was))
      assert.equal(decoded(object).resourceVersion, String(object.revision))
      assert.equal(decoded(object).value, decoded(was).value)
    }
    const { state } = machine
    assert.equal(state.history.trimmed, state.revision)
    assert.equal(state.sessions.size, 0)
    assert.equal(state.appliedIndex, old.state.appliedIndex)
    assert.deepEqual(state.configuration, configuration)
    assert.deepEqual(state.settings, old.state.settings)
    assert.equal(state.usage.bytes, made.head.usedBytes)
    assert.notEqual(state.identity?.clusterId, old.state.identity?.clusterId)
    assert.deepEqual(state.identity?.keyFingerprints, old.state.identity?.keyFingerprints)
    assert.deepEqual(state.identity?.continueTokenKey, old.state.identity?.continueTokenKey)
    assert.equal(machine.digest, made.digest)
    assert.equal((await built(old)).made.digest, made.digest)
    const keyless = await built(old, true)
    assert.deepEqual(keyless.made.head.identity?.keyFingerprints, {})
    for (const one of [old, machine, keyless.machine]) await one.close()
  }
})

void test('incarnations from one snapshot, begun a second apart, share no revision, however long its history is', async () => {
  const { machine: old } = await streamOf(7, 120)
  const { history } = old.state
  assert.ok(old.state.revision > old.state.objects.size && history.trimmed < old.state.revision)
  const seen = new Set<number>()
  let objects = 0
  for (const [at, pauseMs] of [0, 1000, 2000].entries()) {
    const begun = newIncarnation(
      incarnation.createdMs + pauseMs,
      new SeededRandom(at),
      sourceFingerprint('copy'),
    )
    const { machine } = await built(old, false, begun)
    const first = firstRevision(old.state.revision, begun)
    for (const { revision } of machine.state.objects.list('', null, null).objects) {
      assert.ok(first < revision && revision <= machine.state.revision)
      seen.add(revision)
      objects++
    }
    assert.ok(
      firstRevision(old.state.revision, { ...begun, createdMs: begun.createdMs + 1000 }) >
        machine.state.revision,
    )
    await machine.close()
  }
  assert.equal(seen.size, objects)
  await old.close()
})

void test('join tokens of the copy are invalid in the new incarnation', async () => {
  const token = keyOf({ group: 'internal', plural: 'jointokens', namespace: '', name: '00a1b2c3d4e5' })
  const log = new LogWriter()
  log.command(bootstrapOf('c1', { featureLevel: 2 }))
  for (const key of [configMapKey('before'), token, configMapKey('after')]) log.command(write(put(key, 'x')))
  const old = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: new ManualClock() })
  applyUpTo(old, log, log.last)
  assert.ok(old.state.objects.get(token))
  const { machine } = await built(old)
  const keys = machine.state.objects.list('', null, null).objects.map(({ key }) => key)
  assert.deepEqual(keys, [configMapKey('after'), configMapKey('before')])
  assert.equal(machine.state.revision, firstRevision(old.state.revision, incarnation) + 2)
  for (const one of [old, machine]) await one.close()
})

void test('a state that is abandoned leaves no database behind', async () => {
  const { machine: old } = await streamOf(1, 40)
  const databases = new MemoryKeyValueDatabases()
  const options = {
    old: headOf(old.state),
    databases,
    incarnation,
    digest: old.digest,
    configuration,
    newKeys: false,
  }
  const builder = await NewStateBuilder.open(options)
  for (const object of old.state.objects.list('', null, null).objects) builder.take(object)
  assert.equal((await databases.list()).length, 1)
  await builder.abandon()
  assert.deepEqual(await databases.list(), [])
  // The next attempt begins with an empty database of the same name.
  await (await NewStateBuilder.open(options)).finish()
})

/** Needs a turn to close a database, as a real one does. */
class SlowlyClosed extends MemoryKeyValueDatabases {
  readonly steps: string[] = []

  override async open(name: string): Promise<KeyValueStore> {
    const store = await super.open(name)
    return {
      getMany: (keys) => store.getMany(keys),
      write: (changes) => store.write(changes),
      snapshot: () => store.snapshot(),
      compact: () => store.compact(),
      close: async () => {
        await setImmediate()
        await store.close()
        this.steps.push('closed')
      },
    }
  }

  override destroy(name: string): Promise<void> {
    this.steps.push('destroyed')
    return super.destroy(name)
  }
}

void test('a database is closed before it is removed', async () => {
  const { machine: old } = await streamOf(1, 40)
  const databases = new SlowlyClosed()
  const options = { old: headOf(old.state), databases, incarnation, digest: old.digest, configuration }
  const builder = await NewStateBuilder.open({ ...options, newKeys: false })
  await builder.abandon()
  assert.deepEqual(databases.steps, ['closed', 'destroyed'])
  await old.close()
})
