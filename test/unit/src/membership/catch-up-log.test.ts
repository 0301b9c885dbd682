/*
 * Goal: a member that joined logs its progress, and nothing more once it participates.
 * Method: a prepared status and reports, with a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, initialConfiguration, logIndex, nodeId } from '../../../../raft/index.ts'
import type { MemberInfo } from '../../../../raft/index.ts'
import { logCatchUp } from '../../../../src/membership/catch-up-log.ts'
import type { CatchUpLogDependencies } from '../../../../src/membership/catch-up-log.ts'
import { FakeConsensus, memberInfo } from '../../../../fixtures/fake-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

for (const [wantedRole, last] of [
  ['voter', 'caught up: this member votes from now on'],
  ['learner', 'caught up: this member is a learner until it is promoted'],
] as const) {
  void test(`a member that joins as a ${wantedRole} logs each step to that role once`, async () => {
    const clock = new ManualClock()
    const consensus = new FakeConsensus(clock)
    const lines: unknown[] = []
    let others = 0
    const reports = { latest: () => new Map([[nodeId(2), { appliedIndex: logIndex(others) }]]) }
    const log = { info: (fields: object, words: string) => void lines.push([words, fields]) }
    const me: MemberInfo = { ...memberInfo(1, 'n1'), role: 'learner', wantedRole }
    const step = async (applied: number, member: MemberInfo | null): Promise<void> => {
      const configuration =
        member === null ? emptyConfiguration : initialConfiguration([member, memberInfo(2, 'n2')])
      consensus.change({ configuration, appliedMemory: logIndex(applied) })
      await clock.advance(3000)
    }
    const joined = { members: [], configurationIndex: logIndex(1) }
    logCatchUp({ consensus, clock, log, reports, joined, name: 'n1' } as unknown as CatchUpLogDependencies)
    await step(0, null)
    others = 50
    await step(20, me)
    await step(50, wantedRole === 'voter' ? { ...me, role: 'voter' } : me)
    await step(60, me)
    assert.equal(lines.length, 3)
    assert.match(String(lines[0]), /state of another member/)
    assert.deepEqual((lines[1] as unknown[])[1], { entries: 20, of: 50 })
    assert.deepEqual(lines[2], [last, { entries: 50 }])
    assert.equal(clock.pending, 0)
  })
}

void test('a restarted voter logs nothing', async () => {
  const clock = new ManualClock()
  const consensus = new FakeConsensus(clock)
  const configuration = initialConfiguration([memberInfo(1, 'n1'), memberInfo(2, 'n2')])
  consensus.change({ configuration, appliedMemory: logIndex(7) })
  const log = { info: () => assert.fail('logged'), warn: () => assert.fail('warned') }
  const joined = { members: [], configurationIndex: logIndex(1) }
  const reports = { latest: () => new Map() }
  const stop = logCatchUp({ consensus, clock, log, reports, joined, name: 'n1' })
  await clock.advance(60_000)
  assert.equal(clock.pending, 0)
  stop()
})

void test('a member without responses logs its peers and the remedy every half minute, until there is a leader', async () => {
  const clock = new ManualClock()
  const consensus = new FakeConsensus(clock)
  consensus.change({ configuration: emptyConfiguration, leader: null })
  const warnings: [unknown, string][] = []
  const stop = logCatchUp({
    ...{ consensus, clock, name: 'n1' },
    joined: { members: [memberInfo(1, 'n1'), memberInfo(2, 'n2')], configurationIndex: logIndex(7) },
    reports: { latest: () => new Map() },
    log: {
      info: () => undefined,
      warn: (fields: object, words: string) => void warnings.push([fields, words]),
    } as unknown as CatchUpLogDependencies['log'],
  })
  await clock.advance(29_000)
  assert.equal(warnings.length, 0)
  await clock.advance(92_000)
  assert.equal(warnings.length, 4)
  assert.deepEqual(warnings[0]?.[0], { members: ['n2=127.0.0.1:7444'] })
  assert.match(
    warnings[0][1],
    /no leader has been in contact for 30 s: start these members, or let the members that replaced them reach 127\.0\.0\.1:7443; .* orchctl member remove n1 /,
  )
  const learner: MemberInfo = { ...memberInfo(1, 'n1'), role: 'learner' }
  consensus.change({ configuration: initialConfiguration([learner, memberInfo(3, 'n3')]) })
  await clock.advance(31_000)
  assert.deepEqual(warnings.at(-1)?.[0], { members: ['n3=127.0.0.1:7445'] }, 'by its log')
  const before = warnings.length
  consensus.change({ leader: nodeId(3), configuration: emptyConfiguration })
  await clock.advance(120_000)
  assert.equal(warnings.length, before)
  stop()
  assert.equal(clock.pending, 0)
})
