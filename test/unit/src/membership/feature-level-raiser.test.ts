/*
 * Goal: the leader raises the level once all reports support it, exactly once, and retries after a
 * proposal that failed.
 * Method: a real store whose consensus reports a chosen leader; prepared reports.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, initialConfiguration, nodeId } from '../../../../raft/index.ts'
import type { NodeId } from '../../../../raft/index.ts'
import { FeatureLevelRaiser } from '../../../../src/membership/feature-level-raiser.ts'
import type { MemberReport } from '../../../../src/state-agreement/member-report.ts'
import { StoreError } from '../../../../src/store/store-errors.ts'
import type { ObjectStore } from '../../../../src/store/object-store.ts'
import { memberInfo } from '../../../../fixtures/fake-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { openMemoryStore } from '../../../../fixtures/memory-store.ts'
import { bootstrapOf } from '../../../../fixtures/store-commands.ts'

const [self, other] = [memberInfo(1, 'n1'), memberInfo(2, 'n2')]

function reportOf(featureLevelMax: number): MemberReport {
  return {
    appliedIndex: 0 as MemberReport['appliedIndex'],
    sampleAt: 0 as MemberReport['sampleAt'],
    samples: [],
    featureLevelMax,
    version: '',
    state: 'healthy',
  }
}

void test('the level rises when the last member knows the next one, on the leader only', async () => {
  const clock = new ManualClock()
  const { store, consensus, close } = await openMemoryStore({ clock })
  await store.write(bootstrapOf('c'), 0)
  const reports = new Map<NodeId, MemberReport>([[nodeId(2), reportOf(1)]])
  let role: 'leader' | 'follower' = 'follower'
  let writes = 0
  let failing = true
  let slow = Promise.resolve()
  const write: ObjectStore['write'] = async (command, deadlineMs) => {
    writes++
    await slow
    if (failing) throw new StoreError('timed-out', 'no quorum')
    return store.write(command, deadlineMs)
  }
  const raiser = new FeatureLevelRaiser({
    store: {
      write,
      barrier: (deadlineMs) => store.barrier(deadlineMs),
      get identity() {
        return store.identity
      },
      get featureLevel() {
        return store.featureLevel
      },
    },
    consensus: {
      get status() {
        const configuration = { ...consensus.status.configuration, members: [self, other] }
        return { ...consensus.status, role, configuration }
      },
    },
    configuration: () => emptyConfiguration,
    reports: { latest: () => reports },
    clock,
    log: { info: () => undefined },
    featureLevelMax: 2,
    onFailure: (cause) => {
      throw cause
    },
  })
  raiser.start()
  await clock.advance(3000)
  role = 'leader'
  await clock.advance(3000)
  assert.equal(writes, 0, 'one member knows level 1 only')
  reports.set(nodeId(2), reportOf(2))
  role = 'follower'
  await clock.advance(3000)
  assert.equal(writes, 0, 'only the leader asks')
  role = 'leader'
  await clock.advance(2000)
  assert.deepEqual([writes, store.featureLevel], [2, 1], 'a failure is tried again')
  let release = (): void => undefined
  slow = new Promise<void>((resolve) => {
    release = resolve
  })
  await clock.advance(5000)
  assert.equal(writes, 3, 'one at a time')
  release()
  failing = false
  await clock.advance(3000)
  assert.deepEqual([writes, store.featureLevel], [3, 2])
  raiser.close()
  await close()
})

void test('a member that is only in memory, or appears there only after the barrier, keeps the level where it is', async () => {
  const clock = new ManualClock()
  const { store, consensus, close } = await openMemoryStore({ clock })
  await store.write(bootstrapOf('c'), 0)
  const reports = new Map<NodeId, MemberReport>()
  let known = initialConfiguration([self])
  let behindBarrier = initialConfiguration([self, other])
  const raiser = new FeatureLevelRaiser({
    store: {
      write: (command, deadlineMs) => store.write(command, deadlineMs),
      barrier: async (deadlineMs) => {
        await store.barrier(deadlineMs)
        known = behindBarrier
      },
      get identity() {
        return store.identity
      },
      get featureLevel() {
        return store.featureLevel
      },
    },
    consensus: {
      get status() {
        return { ...consensus.status, role: 'leader' as const, configuration: initialConfiguration([self]) }
      },
    },
    configuration: () => known,
    reports: { latest: () => reports },
    clock,
    log: { info: () => undefined },
    featureLevelMax: 2,
    onFailure: (cause) => {
      throw cause
    },
  })
  raiser.start()
  await clock.advance(3000)
  assert.equal(store.featureLevel, 1, 'n2 joined in the meantime, and has not reported its level')
  await clock.advance(3000)
  assert.equal(store.featureLevel, 1, 'what memory knows counts')
  behindBarrier = known = initialConfiguration([self])
  await clock.advance(3000)
  assert.equal(store.featureLevel, 2)
  raiser.close()
  await close()
})
