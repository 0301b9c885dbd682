import type { Logger } from 'pino'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Configuration, Consensus, MemberInfo } from '../../raft/index.ts'
import type { MemberReports } from '../state-agreement/member-reports.ts'
import { levelReportAgeMsMax, nextLevel } from './next-level.ts'
import { StoreError } from '../store/store-errors.ts'
import { memberObjectsLevel } from '../store/machine/feature-level.ts'
import type { ObjectStore } from '../store/object-store.ts'

export type FeatureLevelRaiserDependencies = {
  readonly store: Pick<ObjectStore, 'identity' | 'featureLevel' | 'barrier' | 'write'>
  readonly consensus: Pick<Consensus<never>, 'status'>
  /** The configuration as of the newest entry in memory; empty before the first one. */
  readonly configuration: () => Configuration
  readonly reports: Pick<MemberReports, 'latest'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'info'>
  /** The newest feature level that this member supports. */
  readonly featureLevelMax: number
  readonly onFailure: (cause: unknown) => void
}

const periodMs = 1000
const proposalMsMax = 5000

/**
 * Completes an upgrade: the leader raises the cluster's feature level once every member supports a
 * newer one. From then on no older program can take part, so keep one member on the old version
 * while a downgrade must stay possible.
 */
export class FeatureLevelRaiser {
  readonly #dependencies: FeatureLevelRaiserDependencies
  #timer: Timer | null = null
  #proposing = false

  constructor(dependencies: FeatureLevelRaiserDependencies) {
    this.#dependencies = dependencies
  }

  start(): void {
    this.#timer = this.#dependencies.clock.every(periodMs, () => this.#look())
  }

  close(): void {
    this.#timer?.cancel()
  }

  #look(): void {
    const { onFailure } = this.#dependencies
    if (this.#proposing || this.#next() === null) return
    this.#proposing = true
    this.#raise()
      .catch(onFailure)
      .finally(() => {
        this.#proposing = false
      })
  }

  #next(): number | null {
    const { store, consensus, reports, featureLevelMax } = this.#dependencies
    const { role, id } = consensus.status
    // A cluster without identity begins at its founder's level, with its first command.
    if (role !== 'leader' || store.identity === null) return null
    return nextLevel({
      current: store.featureLevel,
      members: this.#members(),
      self: { id, featureLevelMax },
      reports: reports.latest(levelReportAgeMsMax),
    })
  }

  /** Returns every possible member: the status of consensus may be older or newer than memory. */
  #members(): readonly MemberInfo[] {
    const { consensus, configuration } = this.#dependencies
    return [...configuration().members, ...consensus.status.configuration.members]
  }

  async #raise(): Promise<void> {
    const { store, consensus, clock, log } = this.#dependencies
    const deadlineMs = clock.monotonicMs() + proposalMsMax
    try {
      // A member that was admitted before this point counts, too.
      await store.barrier(deadlineMs)
      const level = this.#next()
      if (level === null) return
      const { members } = consensus.status.decided
      const founding = { members, atMs: Math.floor(clock.wallMs()) }
      const more = level < memberObjectsLevel ? {} : { founding }
      await store.write({ kind: 'raise-feature-level', level, ...more }, deadlineMs)
      log.info({ featureLevel: level }, 'feature level raised: every member supports the new level')
    } catch (cause) {
      // No quorum, or leadership moved: the next attempt decides again.
      if (!(cause instanceof StoreError)) throw cause
    }
  }
}
