/*
 * Goal: reports are rare while nothing changes, and a lost report stops no healthy member.
 * Method: the reporter of one member and the guard of another, with manual clocks; the test loses
 * a report.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex } from '../../../../raft/index.ts'
import { decodeReport } from '../../../../src/state-agreement/member-report.ts'
import type { MemberReport } from '../../../../src/state-agreement/member-report.ts'
import { MemberReporter } from '../../../../src/state-agreement/member-reporter.ts'
import { GuardBench, digestAt } from '../../../support/fakes/fake-guarded-state.ts'

const [same, other] = [{ samples: [digestAt(10, 'a')] }, { samples: [digestAt(10, 'b')] }]

/** A reporter on the clock of the bench. */
function reporterOf(
  { clock }: GuardBench,
  of: { readonly report: () => Partial<MemberReport>; readonly differs: () => boolean },
): { readonly sent: MemberReport[]; readonly start: () => void } {
  const sent: MemberReport[] = []
  const reporter = new MemberReporter({
    consensus: { report: (_to, bytes) => void sent.push(decodeReport(bytes)) },
    clock,
    describe: () => ({
      ...{ appliedIndex: logIndex(10), sampleAt: logIndex(18), samples: [], featureLevelMax: 1 },
      ...{ version: '1', state: 'healthy' as const },
      ...of.report(),
    }),
    differs: of.differs,
  })
  return { sent, start: () => reporter.start() }
}

void test('a report is sent each second while it changes, and every third second otherwise', async () => {
  const bench = new GuardBench()
  let index = 10
  const report = (): Partial<MemberReport> => ({ appliedIndex: logIndex(index) })
  const { sent, start } = reporterOf(bench, { report, differs: () => false })
  start()
  for (let second = 0; second < 3; second++) {
    index++
    await bench.clock.advance(1000)
  }
  assert.equal(sent.length, 4)
  await bench.clock.advance(6000)
  assert.equal(sent.length, 6)
})

void test('a lost report of a member that agrees does not stop another one, while a third differs', async () => {
  const bench = new GuardBench()
  await bench.clock.advance(2000)
  let hasSample = false
  const { sent, start } = reporterOf(bench, {
    report: () => (hasSample ? same : {}),
    // Member 2 has received the report of member 3, too.
    differs: () => hasSample,
  })
  start()
  bench.receive(3, other)
  assert.equal(bench.guard.verdict.kind, 'undecided')
  await bench.clock.advance(500)
  hasSample = true
  let lost: number | null = null
  for (let ms = 500; ms < 6000; ms += 500) {
    bench.receive(3, other)
    for (const report of sent.splice(0)) {
      if (report.samples.length > 0 && lost === null) lost = ms
      else bench.receive(2, report)
    }
    await bench.clock.advance(500)
    assert.equal(bench.state.quarantine, null, `after ${ms} ms`)
  }
  assert.ok(lost !== null)
  assert.equal(bench.guard.verdict.kind, 'majority')
})
