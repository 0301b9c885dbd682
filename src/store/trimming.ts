import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Consensus, LogIndex } from '../../raft/index.ts'
import { encodeCommand } from './command-codec.ts'
import type { Command, Outcome } from './command.ts'
import type { StoreLimits } from './store-limits.ts'
import { RevisionTimeline } from './revision-timeline.ts'
import { noRevision, revision } from './revision.ts'
import type { Revision } from './revision.ts'
import { eventsKept } from './machine/storage-rules.ts'
import type { StoreMachine } from './store-machine.ts'

export type HistoryTrimmerOptions = {
  readonly consensus: Consensus<Outcome>
  readonly machine: StoreMachine
  readonly clock: Clock
  readonly limits: StoreLimits
  /** A proposal failed unexpectedly. */
  readonly onFailure: (cause: unknown) => void
}

/**
 * Trims old history. The replicated state does not record ages, so every member samples what it has
 * applied by its own monotonic clock; the leader proposes to trim what it sampled a whole window
 * ago. A new leader only has its own samples, so history is kept longer around a leader change,
 * never shorter.
 */
export class HistoryTrimmer {
  readonly #options: HistoryTrimmerOptions
  readonly #superseded: RevisionTimeline<Sample>
  readonly #idle: RevisionTimeline<Sample>
  #expiredBefore = 0
  #proposing = false
  #timer: Timer | null = null

  constructor(options: HistoryTrimmerOptions) {
    this.#options = options
    const { machine, limits } = options
    this.#superseded = new RevisionTimeline(() => machine.state.settings.historyWindowMs)
    this.#idle = new RevisionTimeline(() =>
      Math.max(machine.state.settings.historyWindowMs, limits.sessionIdleMs),
    )
  }

  start(): void {
    assert(this.#timer === null, 'a trimmer starts once')
    this.#timer = this.#options.clock.every(this.#options.limits.trimPeriodMs, () => this.#look())
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
    this.#superseded.clear()
    this.#idle.clear()
  }

  #look(): void {
    const { clock, consensus, machine } = this.#options
    if (machine.quarantine !== null) return
    const nowMs = clock.monotonicMs()
    const { revision: last, appliedIndex: index } = this.#options.machine.state
    const now = { atMs: nowMs, revision: last, index }
    const [superseded, idle] = [this.#superseded.sample(now), this.#idle.sample(now)]
    if (this.#proposing || consensus.status.role !== 'leader') return
    const command = this.#trim(superseded?.revision ?? noRevision) ?? this.#expiry((idle?.index ?? 0) + 1)
    if (command === null) return
    this.#proposing = true
    // One at a time; whatever its outcome, the next check finds the remaining work.
    consensus
      .propose(encodeCommand(command), nowMs + proposalMsMax)
      .then((result) => {
        this.#proposing = false
        if (result.kind === 'applied' && command.kind === 'expire-sessions')
          this.#expiredBefore = command.before
        // Continue at once: there may be more to trim than one command may (the first check of a
        // leader, a shorter window).
        if (result.kind === 'applied' && command.kind === 'trim' && this.#timer !== null) {
          clock.soon(() => this.#look())
        }
      })
      .catch((cause: unknown) => this.#options.onFailure(cause))
      .finally(() => {
        this.#proposing = false
      })
  }

  #trim(upTo: Revision): Command | null {
    const { machine, limits } = this.#options
    const { history, settings, usage, revision: last, storageAlarm: alarm } = machine.state
    // The same floor as in apply.
    const floor = last - eventsKept(settings, { usedBytes: usage.bytes, alarm })
    const most = Math.min(upTo, floor, history.trimmed + limits.trimEventsMax)
    return most > history.trimmed ? { kind: 'trim', upTo: revision(most) } : null
  }

  /**
   * Returns null if there are fewer than two sessions, if none is that old, or if the last expiry
   * covered it. Otherwise, an idle cluster would propose for ever: every proposal is an entry, and
   * would cause the next one.
   */
  #expiry(before: number): Command | null {
    const { sessions } = this.#options.machine.state
    if (sessions.size <= 1 || sessions.oldestIndex >= before || before <= this.#expiredBefore) return null
    return { kind: 'expire-sessions', before }
  }
}

/** A sample of the applied position. */
type Sample = { readonly atMs: number; readonly revision: Revision; readonly index: LogIndex }

const proposalMsMax = 10_000
