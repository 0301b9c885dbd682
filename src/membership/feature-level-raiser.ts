import type { Logger } from 'pino'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Configuration, Consensus, MemberInfo } from '../../raft/index.ts'
import type { MemberReports } from '../state-agreement/member-reports.ts'
import { levelReportAgeMsMax, nextLevel } from './next-level.ts'
import { StoreError } from '../store/store-errors.ts'
import { memberObjectsLevel } from '../store/machine/feature-level.ts'
import type { ObjectStore } from '../store/object-store.ts'

export type FeatureLevelRaiserParts = {
  readonly store: Pick<ObjectStore, 'identity' | 'featureLevel' | 'barrier' | 'write'>
  readonly consensus: Pick<Consensus<never>, 'status'>
  /** As of the newest entry that memory holds; empty while the log has said nothing of members. */
  readonly configuration: () => Configuration
  readonly reports: Pick<MemberReports, 'latest'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'info'>
  /** What this member may decide by. */
  readonly featureLevelMax: number
  readonly onFailure: (cause: unknown) => void
}

const periodMs = 1000
const proposalMsMax = 5000

/**
 * Ends an upgrade: where the leader is, the cluster's feature level rises once every member knows the next one. From
 * then on no older program can take part, so whoever wants to be able to go back holds one member back.
 */
export class FeatureLevelRaiser {
  readonly #parts: FeatureLevelRaiserParts
  #timer: Timer | null = null
  #proposing = false

  constructor(parts: FeatureLevelRaiserParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = this.#parts.clock.every(periodMs, () => this.#look())
  }

  close(): void {
    this.#timer?.cancel()
  }

  #look(): void {
    const { onFailure } = this.#parts
    if (this.#proposing || this.#next() === null) return
    this.#proposing = true
    this.#raise()
      .catch(onFailure)
      .finally(() => {
        this.#proposing = false
      })
  }

  #next(): number | null {
    const { store, consensus, reports, featureLevelMax } = this.#parts
    const { role, id } = consensus.status
    // A cluster without identity begins at its founder's level, by its first command.
    if (role !== 'leader' || store.identity === null) return null
    return nextLevel({
      current: store.featureLevel,
      members: this.#members(),
      self: { id, featureLevelMax },
      reports: reports.latest(levelReportAgeMsMax),
    })
  }

  /** Whoever may be one: what consensus tells of itself is older than memory now and then, and newer otherwise. */
  #members(): readonly MemberInfo[] {
    const { consensus, configuration } = this.#parts
    return [...configuration().members, ...consensus.status.configuration.members]
  }

  async #raise(): Promise<void> {
    const { store, consensus, clock, log } = this.#parts
    const deadlineMs = clock.monotonicMs() + proposalMsMax
    try {
      // A member that was let in before this counts, whatever was known of it above.
      await store.barrier(deadlineMs)
      const level = this.#next()
      if (level === null) return
      const { members } = consensus.status.decided
      const founding = { members, atMs: Math.floor(clock.wallMs()) }
      const more = level < memberObjectsLevel ? {} : { founding }
      await store.write({ kind: 'raise-feature-level', level, ...more }, deadlineMs)
      log.info({ featureLevel: level }, 'every member knows the next rules: the feature level has risen')
    } catch (cause) {
      // No quorum, or leadership went elsewhere: the next look decides anew.
      if (!(cause instanceof StoreError)) throw cause
    }
  }
}
