import type { Logger } from 'pino'
import type { Clock, Timer } from '../../raft/base/clock.ts'
import type { Consensus } from '../../raft/index.ts'
import type { MemberReports } from '../cluster/member-reports.ts'
import { levelReportAgeMsMax, nextLevel } from '../cluster/next-level.ts'
import { StoreFailure } from '../store/errors.ts'
import { memberObjectsLevel } from '../store/machine/feature-level.ts'
import type { ObjectStore } from '../store/object-store.ts'

export type LevelRaiserParts = {
  readonly store: Pick<ObjectStore, 'identity' | 'featureLevel' | 'write'>
  readonly consensus: Pick<Consensus<never>, 'status'>
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
export class LevelRaiser {
  readonly #parts: LevelRaiserParts
  #timer: Timer | null = null
  #proposing = false

  constructor(parts: LevelRaiserParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = this.#parts.clock.every(periodMs, () => this.#look())
  }

  close(): void {
    this.#timer?.cancel()
  }

  #look(): void {
    const { store, consensus, reports, featureLevelMax, onFailure } = this.#parts
    const { role, id, configuration } = consensus.status
    // A cluster without identity begins at its founder's level, by its first command.
    if (this.#proposing || role !== 'leader' || store.identity === null) return
    const level = nextLevel({
      current: store.featureLevel,
      members: configuration.members,
      self: { id, featureLevelMax },
      reports: reports.latest(levelReportAgeMsMax),
    })
    if (level === null) return
    this.#proposing = true
    this.#raise(level)
      .catch(onFailure)
      .finally(() => {
        this.#proposing = false
      })
  }

  async #raise(level: number): Promise<void> {
    const { store, consensus, clock, log } = this.#parts
    try {
      const { members } = consensus.status.configuration
      const founding = { members, atMs: Math.floor(clock.wallMs()) }
      const more = level < memberObjectsLevel ? {} : { founding }
      await store.write({ kind: 'raise-feature-level', level, ...more }, clock.monotonicMs() + proposalMsMax)
      log.info({ featureLevel: level }, 'every member knows the next rules: the feature level has risen')
    } catch (cause) {
      // No quorum, or leadership went elsewhere: the next look decides anew.
      if (!(cause instanceof StoreFailure)) throw cause
    }
  }
}
