import assert from 'node:assert/strict'
import { logIndex, nodeId } from '../../../raft/index.ts'
import type { LogIndex, PeerReport } from '../../../raft/index.ts'
import { encodeReport } from '../../../src/state-agreement/member-report.ts'
import type { DigestSample, MemberReport } from '../../../src/state-agreement/member-report.ts'
import { MemberReports } from '../../../src/state-agreement/member-reports.ts'
import { StateGuard } from '../../../src/state-agreement/state-guard.ts'
import type { GuardedState } from '../../../src/state-agreement/state-guard.ts'
import type { Disagreement, Quarantine } from '../../../src/store/quarantine.ts'
import { FakeConsensus } from '../../../fixtures/fake-consensus.ts'
import { ManualClock } from './manual-clock.ts'

export function digestAt(index: number, name: string, featureLevel = 1): DigestSample {
  return { index: logIndex(index), featureLevel, digest: name.padStart(32, '0') }
}

/** A state that a test makes up. */
export class FakeState implements GuardedState {
  appliedMemory: LogIndex = logIndex(10)
  samples: DigestSample[] = []
  quarantine: Quarantine | null = null
  digest = 'a'
  readonly requests: number[] = []

  get wanted(): LogIndex | null {
    return this.quarantine?.cause === 'disagreement' ? null : (this.quarantine?.atLeast ?? null)
  }

  sampleNow(): void {
    if (this.wanted === null) this.samples.push(digestAt(this.appliedMemory, this.digest))
  }

  sampleAt(index: LogIndex): void {
    this.requests.push(index)
  }

  suspect(disagreement: Disagreement, reason: string): void {
    this.quarantine = { cause: 'disagreement', disagreement, reason }
  }

  trust(): void {
    this.quarantine = null
  }

  repair(reason: string): void {
    this.#setAside('operator', reason)
  }

  /** Behaves as if damage had been detected in its own bytes. */
  damage(): void {
    this.#setAside('damaged', 'test')
  }

  #setAside(cause: 'damaged' | 'operator', reason: string): void {
    this.quarantine = { cause, reason, atLeast: this.appliedMemory, times: 1, waitMs: 0 }
    this.samples = []
  }
}

/** The state guard of member 1 of three, which leads. The test makes the reports of the others. */
export class GuardBench {
  readonly clock = new ManualClock()
  readonly consensus = new FakeConsensus(this.clock)
  readonly state = new FakeState()
  readonly lines: string[] = []
  readonly reports: MemberReports
  readonly guard: StateGuard
  #deliver: (report: PeerReport) => void = () => undefined

  constructor() {
    const { clock, consensus, state } = this
    this.reports = new MemberReports({
      consensus: {
        status: consensus.status,
        onReport: (listener) => {
          this.#deliver = listener
          return () => undefined
        },
      },
      clock,
      onUnreadable: (_from, cause) => assert.fail(cause),
    })
    const note = (_fields: object, message: string): void => void this.lines.push(message)
    const log = { info: note, warn: note, error: note }
    this.guard = new StateGuard({ state, consensus, reports: this.reports, clock, log })
    this.guard.start()
  }

  /** Delivers a report of member `from`: a healthy one, except for `part`. */
  receive(from: number, part: Partial<MemberReport>): void {
    const report: MemberReport = {
      ...{ appliedIndex: logIndex(10), sampleAt: logIndex(18), samples: [], featureLevelMax: 1 },
      ...{ version: '1', state: 'healthy' as const },
      ...part,
    }
    this.#deliver({ from: nodeId(from), bytes: encodeReport(report) })
  }
}
