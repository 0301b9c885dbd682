/*
 * Goal: a decoded report equals the encoded one, an encoded report fits its channel, and invalid
 * bytes are rejected with a `ReportError`.
 * Method: random reports and random damage with seeds; the reports of a member with a fake
 * consensus and a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { logIndex, nodeId, reportBytesMax } from '../../../../raft/index.ts'
import type { NodeId, PeerReport } from '../../../../raft/index.ts'
import {
  ReportError,
  decodeReport,
  encodeReport,
  reportSamplesMax,
} from '../../../../src/state-agreement/member-report.ts'
import type { MemberReport } from '../../../../src/state-agreement/member-report.ts'
import { MemberReports } from '../../../../src/state-agreement/member-reports.ts'
import { FakeConsensus } from '../../../../fixtures/fake-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

function sampleReport(random: SeededRandom): MemberReport {
  const whole = (): number => random.below(2 ** 31) * 2 ** random.below(22)
  return {
    appliedIndex: logIndex(whole()),
    sampleAt: logIndex(whole()),
    samples: Array.from({ length: random.below(reportSamplesMax + 1) }, () => ({
      index: logIndex(whole()),
      featureLevel: random.below(2 ** 32 - 1),
      digest: Buffer.from(random.bytes(16)).toString('hex'),
    })),
    featureLevelMax: random.below(1000),
    version: 'v'.repeat(random.below(65)),
    state: random.pick(['healthy', 'quarantined', 'outvoted', 'undecided'] as const),
  }
}

void test('a report survives encoding, and always fits its channel', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const report = sampleReport(new SeededRandom(seed))
    const bytes = encodeReport(report)
    assert.ok(bytes.byteLength <= reportBytesMax, `seed ${seed}`)
    assert.deepEqual(decodeReport(bytes), report, `seed ${seed}`)
  }
})

void test('of too many samples only the newest are encoded', () => {
  const base = sampleReport(new SeededRandom(1))
  const samples = Array.from({ length: reportSamplesMax + 5 }, (_, at) => ({
    index: logIndex(at),
    featureLevel: 1,
    digest: '0'.repeat(32),
  }))
  assert.deepEqual(decodeReport(encodeReport({ ...base, samples })).samples, samples.slice(5))
})

void test('fields that a later program appends are skipped', () => {
  const report = sampleReport(new SeededRandom(4))
  assert.deepEqual(decodeReport(Buffer.concat([encodeReport(report), Buffer.of(1, 2, 3)])), report)
})

void test('decoding a damaged report fails with a ReportError, if it fails', () => {
  let failed = 0
  for (let seed = 1; seed <= 2000; seed++) {
    const random = new SeededRandom(seed)
    const bytes = Buffer.from(encodeReport(sampleReport(random)))
    const cut = random.chance(0.5) ? bytes.subarray(0, random.below(bytes.length)) : bytes
    for (let times = random.below(4); times > 0 && cut.length > 0; times--) {
      cut[random.below(cut.length)] = random.below(256)
    }
    try {
      decodeReport(cut)
    } catch (cause) {
      assert.ok(cause instanceof ReportError, `seed ${seed}: ${String(cause)}`)
      failed++
    }
  }
  assert.ok(failed > 500, `${failed} failed`)
})

class Bench {
  readonly clock = new ManualClock()
  readonly consensus = new FakeConsensus(this.clock)
  readonly unreadable: string[] = []
  #listener: (report: PeerReport) => void = () => undefined
  readonly reports = new MemberReports({
    consensus: {
      status: this.consensus.status,
      onReport: (listener) => {
        this.#listener = listener
        return () => undefined
      },
    },
    clock: this.clock,
    onUnreadable: (from, cause) => this.unreadable.push(`${from}: ${cause}`),
  })

  receive(from: NodeId, bytes: Uint8Array): void {
    this.#listener({ from, bytes })
  }
}

void test('the latest report of each member is returned, until it is too old', async () => {
  const bench = new Bench()
  const [first, second] = [sampleReport(new SeededRandom(1)), sampleReport(new SeededRandom(2))]
  bench.receive(nodeId(2), encodeReport(first))
  bench.receive(nodeId(2), encodeReport(second))
  assert.deepEqual([...bench.reports.latest(1000)], [[nodeId(2), second]])
  await bench.clock.advance(1001)
  assert.deepEqual([...bench.reports.latest(1000)], [])
})

void test('reports of non-members and of this member are ignored, and unreadable reports of a member are logged once', () => {
  const bench = new Bench()
  const report = encodeReport(sampleReport(new SeededRandom(1)))
  bench.receive(nodeId(99), report)
  bench.receive(nodeId(1), report)
  assert.equal(bench.reports.latest(1000).size, 0)
  for (let times = 0; times < 3; times++) bench.receive(nodeId(3), Uint8Array.of(9))
  assert.equal(bench.unreadable.length, 1)
  assert.match(bench.unreadable[0] ?? '', /^3: the report of a member cannot be read/)
})
