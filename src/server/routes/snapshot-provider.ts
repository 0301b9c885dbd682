import type { Clock } from '../../../base/clock.ts'
import type { Consensus, LogIndex, SnapshotSource } from '../../../raft/index.ts'
import { DatabaseError, StoreError } from '../../store/store-errors.ts'
import type { StoreMachine } from '../../store/store-machine.ts'

export type MemberSnapshotsDependencies = {
  readonly clusterName: string
  readonly machine: Pick<StoreMachine, 'appliedDisk' | 'flushed' | 'produceSnapshot'>
  readonly barrier: (deadlineMs: number) => Promise<void>
  readonly consensus: Pick<Consensus<never>, 'status'>
  readonly clock: Clock
}

/** Interval of checks whether the database has caught up, in ms. */
const retryMs = 20

/**
 * Provides the whole state as of now, with everything that was acknowledged before the call, on any
 * member. It is read from the database, which has stable snapshots; so the database has to catch up
 * first.
 */
export class MemberSnapshots implements SnapshotProvider {
  readonly #dependencies: MemberSnapshotsDependencies

  constructor(dependencies: MemberSnapshotsDependencies) {
    this.#dependencies = dependencies
  }

  async open(deadlineMs: number): Promise<SnapshotStream> {
    const { barrier, consensus, machine, clusterName } = this.#dependencies
    await barrier(deadlineMs)
    await this.#onDisk(consensus.status.appliedMemory, deadlineMs)
    try {
      return { clusterName, source: await machine.produceSnapshot(null) }
    } catch (cause) {
      if (cause instanceof DatabaseError) throw new StoreError('quarantined', cause.message, { cause })
      throw cause
    }
  }

  async #onDisk(index: LogIndex, deadlineMs: number): Promise<void> {
    const { machine, clock } = this.#dependencies
    for (;;) {
      await machine.flushed()
      if (machine.appliedDisk.index >= index) return
      if (clock.monotonicMs() >= deadlineMs) {
        throw new StoreError('timed-out', `the database did not reach index ${index} in time`)
      }
      await new Promise<void>((resolve) => {
        clock.after(retryMs, resolve)
      })
    }
  }
}

/** The whole state of the cluster, as a stream of pieces. */
export type SnapshotStream = { readonly clusterName: string; readonly source: SnapshotSource }

export interface SnapshotProvider {
  /**
   * Opens a stream with everything that was acknowledged before the call.
   * @throws StoreError
   */
  open(deadlineMs: number): Promise<SnapshotStream>
}
