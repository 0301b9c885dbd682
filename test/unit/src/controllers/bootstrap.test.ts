/*
 * Goal: a new cluster is founded once, by its leader; a member in quarantine does not take its
 * cluster for a new one, and an attempt that fails at once does not occupy the thread.
 * Method: the real store and machine on a consensus of one member; time by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { emptyConfiguration } from '../../../../raft/index.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import { Bootstrap } from '../../../../src/controllers/bootstrap.ts'
import { bootstrapOperations } from '../../../../src/resources/bootstrap-objects.ts'
import type { Command } from '../../../../src/store/command.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import { initialSettings } from '../../../../src/store/machine/state.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import type { MemoryStore } from '../../../../fixtures/memory-store.ts'
import { encoded, namespaceKey } from '../../../../fixtures/store-kit.ts'

const names = namesOf('orch.io')

/** Each attempt to found a cluster draws new keys. */
class CountingRandom extends SeededRandom {
  draws = 0

  override bytes(count: number): Uint8Array {
    this.draws++
    return super.bytes(count)
  }
}

type Bench = MemoryStore & {
  readonly clock: ManualClock
  readonly random: CountingRandom
  readonly bootstrap: Bootstrap
}

async function bench(): Promise<Bench> {
  const clock = new ManualClock()
  const random = new CountingRandom(1)
  const memory = await openMemoryStore({ clock })
  const { store, consensus } = memory
  const bootstrap = new Bootstrap({
    ...{ store, consensus, clock, random, names, fingerprints: {} },
    operations: () => bootstrapOperations(names, { clock, random }),
    settings: initialSettings,
    featureLevel: 1,
  })
  return { ...memory, clock, random, bootstrap }
}

function unexpected(cause: unknown): void {
  assert.fail(String(cause))
}

void test('a new cluster is founded once', async () => {
  const { bootstrap, clock, store, machine, close } = await bench()
  bootstrap.start(unexpected)
  await clock.advance(1000)
  assert.equal((await bootstrap.identity).clusterId, store.identity?.clusterId)
  const { appliedMemory } = machine
  await clock.advance(1000)
  assert.equal(machine.appliedMemory, appliedMemory)
  await close()
})

void test('a write that came first does not keep a cluster from being founded', async () => {
  const { bootstrap, clock, store, close } = await bench()
  const early = { kind: 'put', key: namespaceKey('early'), conditions: [], object: encoded('early') } as const
  await store.write({ kind: 'write', operations: [early] }, clock.monotonicMs() + 1000)
  bootstrap.start(unexpected)
  await clock.advance(1000)
  assert.ok(store.identity !== null)
  await close()
})

void test('an object that exists already does not keep a cluster from being founded', async () => {
  const { bootstrap, clock, store, close } = await bench()
  const key = namespaceKey('default')
  const early = { kind: 'put', key, conditions: [], object: encoded('default') } as const
  await store.write({ kind: 'write', operations: [early] }, clock.monotonicMs() + 1000)
  const before = store.view().get(key)?.revision
  bootstrap.start(unexpected)
  await clock.advance(1000)
  assert.ok(store.identity !== null)
  assert.equal(store.view().get(key)?.revision, before)
  await close()
})

void test('a leader in quarantine does not take its cluster for a new one', async () => {
  const { bootstrap, clock, random, machine, close } = await bench()
  machine.enterQuarantine('test')
  bootstrap.start(unexpected)
  await clock.advance(1000)
  assert.equal(random.draws, 0)
  bootstrap.stop()
  await close()
})

void test('an attempt that fails at once waits for the next period', async () => {
  const { bootstrap, clock, store, close } = await bench()
  let tries = 0
  store.write = () => {
    tries++
    return Promise.reject(new StoreError('overloaded', 'overloaded'))
  }
  bootstrap.start(unexpected)
  await clock.advance(1000)
  assert.ok(tries > 4 && tries < 30, `${tries} tries in a second`)
  bootstrap.stop()
  await close()
})

void test('a cluster begins with the committed members, even while one is being removed', async () => {
  const clock = new ManualClock()
  const memory = await openMemoryStore({ clock })
  const { store } = memory
  const removing = { ...memory.consensus.status, configuration: emptyConfiguration }
  const commands: Command[] = []
  const writes = (command: Command, deadlineMs: number): ReturnType<typeof store.write> => {
    commands.push(command)
    return store.write(command, deadlineMs)
  }
  const random = new SeededRandom(1)
  const operations = () => bootstrapOperations(names, { clock, random })
  const parts = { clock, random, names, operations, fingerprints: {} }
  const bootstrap = new Bootstrap({
    ...parts,
    store: replaced(store, 'write', writes),
    consensus: replaced(memory.consensus, 'status', removing),
    settings: initialSettings,
    featureLevel: 3,
  })
  bootstrap.start(unexpected)
  await clock.advance(1000)
  const [founding] = commands.flatMap((command) => (command.kind === 'bootstrap' ? [command.founding] : []))
  assert.deepEqual(
    founding?.members.map(({ name }) => name),
    memory.consensus.status.decided.members.map(({ name }) => name),
  )
  assert.equal(founding?.members.length, 1)
  await memory.close()
})

/** Returns the object with another value for one of its properties. */
function replaced<T extends object>(whole: T, name: keyof T, value: unknown): T {
  return new Proxy(whole, {
    get: (target, wanted) => {
      if (wanted === name) return value
      const member: unknown = Reflect.get(target, wanted, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}
