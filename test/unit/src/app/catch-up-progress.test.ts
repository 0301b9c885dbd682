/*
 * Goal: a member that joined says how far it is, and says nothing more once it takes part.
 * Method: a made-up status and reports, on a clock that is moved by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, initialConfiguration, logIndex, nodeId } from '../../../../raft/index.ts'
import type { MemberInfo } from '../../../../raft/index.ts'
import { tellCatchUp } from '../../../../src/app/catch-up-progress.ts'
import type { CatchUpParts } from '../../../../src/app/catch-up-progress.ts'
import { FakeConsensus, memberInfo } from '../../../support/fake-consensus.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

for (const [wantedRole, last] of [
  ['voter', 'caught up: this member votes from now on'],
  ['learner', 'caught up: this member is a learner and stays one'],
] as const) {
  void test(`from nothing to ${wantedRole}, each step told once`, async () => {
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
    tellCatchUp({ consensus, clock, log, reports } as unknown as CatchUpParts)
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
