/*
 * Goal: a new life has the objects of its copy, under versions that nobody knows, and nothing else of it; equal members
 * make equal states.
 * Method: random states, built anew in memory and compared object by object.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../raft/base/random.ts'
import { emptyConfiguration } from '../../../../raft/index.ts'
import type { Configuration } from '../../../../raft/index.ts'
import { newLife } from '../../../../src/backup/life.ts'
import { NewStateBuilder } from '../../../../src/backup/new-state.ts'
import type { NewState } from '../../../../src/backup/new-state.ts'
import { MemoryKeyValueHome } from '../../../../src/store/disk/memory-key-value-store.ts'
import { headOf } from '../../../../src/store/machine/digest.ts'
import type { Version } from '../../../../src/store/machine/version.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { streamOf } from '../../../support/saved-state.ts'
import { decoded } from '../../../support/store-kit.ts'
import { openMachine } from '../../../support/store-machines.ts'

const life = newLife(Date.UTC(2026, 10, 21), new SeededRandom(1))
const configuration: Configuration = { ...emptyConfiguration, autoLeave: true }

async function built(
  from: StoreMachine,
  newKeys = false,
): Promise<{ made: NewState; machine: StoreMachine }> {
  const home = new MemoryKeyValueHome()
  const old = headOf(from.state)
  const options = { old, home, life, digest: from.digest, configuration, newKeys }
  const builder = await NewStateBuilder.open(options)
  const { objects } = from.state.objects.list('', null, null)
  for (const object of objects.toSorted((a, b) => a.revision - b.revision)) {
    builder.take(object)
    await builder.flush()
  }
  const made = await builder.finish()
  const machine = await openMachine({ home, clock: new ManualClock(), logBase: made.base })
  return { made, machine }
}

void test('the objects are the copy’s, their versions are new and in the same order', async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { machine: old } = await streamOf(seed, 120)
    const { made, machine } = await built(old)
    const [before, after] = [old, machine].map(({ state }) => state.objects.list('', null, null).objects)
    assert.ok(before && after)
    assert.ok(before.length > 0)
    assert.equal(after.length, before.length)
    const raise = machine.state.revision - old.state.revision
    assert.ok(raise > 2 ** 40)
    for (const [at, object] of after.entries()) {
      const was: Version | undefined = before[at]
      assert.ok(was)
      assert.deepEqual(
        [object.key, object.uid, object.labels, object.terminating, object.itemOffset],
        [was.key, was.uid, was.labels, was.terminating, was.itemOffset],
      )
      assert.equal(object.revision, was.revision + raise)
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
