import type { Clock } from '../../base/clock.ts'
import type { Consensus, NodeId } from '../../raft/index.ts'
import { ReportError, decodeReport } from './member-report.ts'
import type { MemberReport } from './member-report.ts'

export type MemberReportsDependencies = {
  readonly consensus: Pick<Consensus<never>, 'status' | 'onReport'>
  readonly clock: Clock
  /**
   * Called with one line about a report that cannot be read; once per member until one can be read
   * again.
   */
  readonly onUnreadable: (from: NodeId, cause: string) => void
}

/** A report and the time it arrived. */
export type ReceivedReport = { readonly report: MemberReport; readonly receivedMs: number }

/**
 * The latest report of each other member of the configuration, which bounds the number of reports.
 */
export class MemberReports {
  readonly #dependencies: MemberReportsDependencies
  readonly #latest = new Map<NodeId, ReceivedReport>()
  readonly #unreadable = new Set<NodeId>()
  readonly #listeners = new Set<(from: NodeId, report: MemberReport) => void>()
  readonly #stop: () => void

  constructor(dependencies: MemberReportsDependencies) {
    this.#dependencies = dependencies
    this.#stop = dependencies.consensus.onReport(({ from, bytes }) => this.#onReport(from, bytes))
  }

  /** @returns a function that unsubscribes */
  onReceived(listener: (from: NodeId, report: MemberReport) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Returns the reports of members in the current configuration.
   *
   * @param ageMsMax maximum age of a report
   */
  latest(ageMsMax: number): ReadonlyMap<NodeId, MemberReport> {
    const now = this.#dependencies.clock.monotonicMs()
    const found = new Map<NodeId, MemberReport>()
    for (const { id } of this.#dependencies.consensus.status.configuration.members) {
      const received = this.#latest.get(id)
      if (received !== undefined && now - received.receivedMs <= ageMsMax) found.set(id, received.report)
    }
    return found
  }

  close(): void {
    this.#stop()
  }

  #onReport(from: NodeId, bytes: Uint8Array): void {
    const { status } = this.#dependencies.consensus
    const known = new Set(status.configuration.members.map(({ id }) => id))
    for (const id of this.#latest.keys()) if (!known.has(id)) this.#latest.delete(id)
    if (!known.has(from) || from === status.id) return
    let report: MemberReport
    try {
      report = decodeReport(bytes)
    } catch (cause) {
      if (!(cause instanceof ReportError)) throw cause
      if (!this.#unreadable.has(from)) this.#dependencies.onUnreadable(from, cause.message)
      this.#unreadable.add(from)
      return
    }
    this.#unreadable.delete(from)
    this.#latest.set(from, { report, receivedMs: this.#dependencies.clock.monotonicMs() })
    for (const listener of this.#listeners) listener(from, report)
  }
}
