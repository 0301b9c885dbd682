/*
 * Goal: Member objects show the leader and the health of members at once and their lag
 * periodically, and nothing is written while nothing changes.
 * Method: a real store over a consensus of one member; its status and that of followers is
 * prepared.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/index.ts'
import type { ConsensusStatus, FollowerStatus } from '../../../../raft/index.ts'
import { MemberStatusWriter } from '../../../../src/membership/member-status-writer.ts'
import { encode, parseStored } from '../../../../src/registry/kinds/encode.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import { memberKey, memberPrefix } from '../../../../src/store/machine/member-objects.ts'
import { memberInfo } from '../../../../fixtures/fake-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import type { MemoryStore } from '../../../../fixtures/memory-store.ts'
import { bootstrapOf } from '../../../../fixtures/store-commands.ts'
import { write } from '../../../../fixtures/store-kit.ts'

const two = [memberInfo(1, 'n1'), memberInfo(2, 'n2')]

class Bench {
  readonly clock = new ManualClock()
  readonly memory: MemoryStore
  readonly writer: MemberStatusWriter
  writes = 0
  failing = false
  reported: Partial<ConsensusStatus> = { role: 'leader', term: term(1) }
  #listener: (status: ConsensusStatus) => void = () => undefined

  private constructor(memory: MemoryStore, clock: ManualClock) {
    this.memory = memory
    this.clock = clock
    const { store, consensus } = memory
    const status = (): ConsensusStatus => ({ ...consensus.status, ...this.reported })
    this.writer = new MemberStatusWriter({
      store: {
        write: (command, deadlineMs) => {
          this.writes++
          if (this.failing) return Promise.reject(new StoreError('timed-out', 'no quorum'))
          return store.write(command, deadlineMs)
        },
        view: () => store.view(),
        get identity() {
          return store.identity
        },
        get featureLevel() {
          return store.featureLevel
        },
      },
      consensus: {
        get status() {
          return status()
        },
        onStatus: (listener) => {
          this.#listener = listener
          return () => undefined
        },
      },
      reports: { latest: () => new Map() },
      self: () => ({ state: 'healthy', version: '0.1.0' }),
      clock,
      onFailure: (cause) => {
        throw cause
      },
    })
  }

  static async open(t: TestContext, featureLevel = 3): Promise<Bench> {
    const clock = new ManualClock()
    const memory = await openMemoryStore({ clock })
    await memory.store.write(bootstrapOf('c', { featureLevel }), 0)
    memory.consensus.configure(two)
    const bench = new Bench(memory, clock)
    bench.follower({})
    bench.writer.start()
    t.after(async () => {
      bench.writer.close()
      await memory.close()
    })
    await clock.advance(1)
    return bench
  }

  /** Sets what the leader knows of member 2, and publishes it at once. */
  follower(known: Partial<FollowerStatus>, commit = logIndex(100_000)): void {
    const about: FollowerStatus = {
      ...{ id: nodeId(2), state: 'replicate', match: commit, next: logIndex(commit + 1) },
      ...{ recentlyActive: true, ...known },
    }
    this.reported = { ...this.reported, commit, followers: [about] }
    this.publish()
  }

  publish(): void {
    this.#listener({ ...this.memory.consensus.status, ...this.reported })
  }

  status(name: string): Readonly<Record<string, unknown>> {
    const stored = this.memory.store.view().get(memberKey('orch.io', name))
    if (stored === null) return assert.fail(`there is a ${name}`)
    return parseStored(stored)['status'] as Readonly<Record<string, unknown>>
  }
}

void test('a new leader writes the leadership at once, and then nothing while nothing changes', async (t) => {
  const bench = await Bench.open(t)
  assert.equal(bench.writes, 1)
  const { conditions, ...first } = bench.status('n1')
  assert.deepEqual(first, {
    ...{ id: '1', role: 'Voter', phase: 'Ready', leader: true, lag: 0, ready: true },
    ...{ term: 1, version: '0.1.0' },
  })
  const [condition] = conditions as readonly Readonly<Record<string, unknown>>[]
  assert.deepEqual(
    [condition?.['type'], condition?.['status'], condition?.['reason']],
    ['Ready', 'True', 'InTouch'],
  )
  assert.deepEqual([bench.status('n2')['leader'], bench.status('n2')['ready']], [false, true])
  await bench.clock.advance(60_000)
  assert.equal(bench.writes, 1)
})

void test('an election and a member that falls silent are each shown at once, in one write', async (t) => {
  const bench = await Bench.open(t)
  bench.reported = { ...bench.reported, role: 'follower', leader: nodeId(2), term: term(2) }
  bench.publish()
  await bench.clock.advance(10_000)
  assert.equal(bench.writes, 1, 'the other leader writes')
  bench.reported = { ...bench.reported, role: 'leader', leader: nodeId(1), term: term(3) }
  bench.publish()
  await bench.clock.advance(1)
  assert.deepEqual([bench.writes, bench.status('n1')['term'], bench.status('n2')['term']], [2, 3, 3])
  await bench.clock.advance(200)
  const before = bench.memory.store.view().revision
  bench.follower({ recentlyActive: false })
  await bench.clock.advance(1)
  assert.deepEqual([bench.writes, bench.memory.store.view().revision], [3, before + 1], 'of that member only')
  const { phase, ready, term: last } = bench.status('n2')
  assert.deepEqual([phase, ready, last], ['NotReady', false, 3])
})

void test('a dead member is not shown as ready because a new term began', async (t) => {
  const bench = await Bench.open(t)
  bench.follower({ recentlyActive: false, match: logIndex(99_990) })
  await bench.clock.advance(10_000)
  const { ready, lag, conditions } = bench.status('n2')
  assert.deepEqual([ready, lag], [false, 10])
  const before = bench.memory.store.view().revision
  // In the next term there is no contact with it at first, and then it is silent.
  bench.reported = { ...bench.reported, term: term(2) }
  bench.follower({ match: logIndex(0) })
  await bench.clock.advance(10_000)
  bench.follower({ match: logIndex(0), recentlyActive: false })
  await bench.clock.advance(10_000)
  assert.deepEqual(bench.memory.store.view().revision, before + 1, 'only the term of the leader')
  assert.deepEqual(
    [bench.status('n2')['ready'], bench.status('n2')['lag'], bench.status('n2')['conditions']],
    [false, 10, conditions],
  )
})

void test('a member that has not reported to a leader yet is shown with lag 0, and not as ready', async (t) => {
  const bench = await Bench.open(t)
  bench.memory.consensus.configure([...two, memberInfo(3, 'n3')])
  bench.reported = { ...bench.reported, term: term(2) }
  bench.follower({ match: logIndex(0) })
  await bench.clock.advance(10_000)
  assert.deepEqual([bench.status('n3')['lag'], bench.status('n3')['ready']], [0, false])
})

void test('a ready member stays ready in a new term until the leader has contrary information', async (t) => {
  const bench = await Bench.open(t)
  bench.reported = { ...bench.reported, term: term(2) }
  bench.follower({ match: logIndex(0) })
  await bench.clock.advance(1000)
  assert.deepEqual([bench.status('n2')['ready'], bench.status('n2')['term']], [true, 1])
  bench.follower({ match: logIndex(0), recentlyActive: false }, logIndex(100_002))
  await bench.clock.advance(6000)
  assert.deepEqual(
    [bench.status('n2')['ready'], bench.status('n2')['lag'], bench.status('n2')['term']],
    [false, 2, 1],
  )
})

void test('a write about a dead member does not cause another write', async (t) => {
  const bench = await Bench.open(t)
  for (let at = 0; at < 100; at++) {
    // Each write is an entry that the dead one lacks.
    bench.follower({ recentlyActive: false, match: logIndex(100_000) }, logIndex(100_000 + bench.writes))
    await bench.clock.advance(5000)
  }
  assert.ok(bench.writes <= 3, `${bench.writes} writes in 500 s`)
  assert.ok(Number(bench.status('n2')['lag']) > 0, 'it lacks something')
})

void test('lag is written every few seconds, as long as it changes', async (t) => {
  const bench = await Bench.open(t)
  await bench.clock.advance(5000)
  for (let at = 1; at <= 100; at++) {
    bench.follower({ match: logIndex(99_000 - at) })
    await bench.clock.advance(200)
  }
  assert.ok(bench.writes >= 5 && bench.writes <= 6, `${bench.writes} writes in 20 s`)
  await bench.clock.advance(10_000)
  assert.equal(bench.status('n2')['lag'], 1100)
  bench.follower({})
  await bench.clock.advance(10_000)
  assert.equal(bench.status('n2')['lag'], 0)
})

void test('a change of the health does not delay the next write of the lag', async (t) => {
  const bench = await Bench.open(t)
  await bench.clock.advance(200)
  bench.follower({ recentlyActive: false })
  await bench.clock.advance(1000)
  assert.deepEqual([bench.writes, bench.status('n2')['ready']], [2, false])
  bench.follower({ recentlyActive: false, match: logIndex(99_000) })
  await bench.clock.advance(1000)
  assert.deepEqual([bench.writes, bench.status('n2')['lag']], [3, 1000])
})

void test('a failed write is retried, but not at once', async (t) => {
  const bench = await Bench.open(t)
  bench.failing = true
  bench.follower({ recentlyActive: false })
  await bench.clock.advance(10_000)
  assert.ok(bench.writes > 5 && bench.writes < 30, `${bench.writes} writes in 10 s`)
  assert.equal(bench.status('n2')['ready'], true)
  bench.failing = false
  await bench.clock.advance(1000)
  assert.equal(bench.status('n2')['ready'], false)
})

void test('before level 3 nothing is written', async (t) => {
  const bench = await Bench.open(t, 2)
  await bench.clock.advance(10_000)
  assert.equal(bench.writes, 0)
})

void test('an announced member that does not join is no longer listed after a day', async (t) => {
  const bench = await Bench.open(t)
  const { store } = bench.memory
  const dayMs = 24 * 60 * 60_000
  const creationTimestamp = new Date(bench.clock.wallMs() - dayMs + 60_000).toISOString()
  const announced = encode({
    ...{ kind: 'Member', apiVersion: 'cluster.orch.io/v1', status: { phase: 'Pending' } },
    metadata: { name: 'n9', uid: 'u', creationTimestamp },
  })
  const key = memberKey('orch.io', 'n9')
  await store.write(write({ kind: 'put', key, conditions: [], object: announced }), 0)
  const count = (): number => store.view().count(memberPrefix('orch.io'))
  await bench.clock.advance(50_000)
  assert.equal(count(), 3)
  await bench.clock.advance(20_000)
  assert.equal(count(), 2)
})
