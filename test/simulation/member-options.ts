import type { NodeOptions } from '../../raft/protocol/node-options.ts'
import type { LogDisk } from '../../raft/ports.ts'
import type { MetFault } from './coverage.ts'
import type { CrashPoints, CrashStep, Side } from './crash-points.ts'
import type { Network } from './network.ts'
import type { Watcher } from './process-instance.ts'
import type { Swarm } from './swarm.ts'
import type { World } from './world.ts'

export type MemberOptions = {
  readonly world: World
  readonly network: Network
  readonly watcher: Watcher
  readonly swarm: Swarm
  readonly node: NodeOptions
  readonly wrapDisk: (disk: LogDisk) => LogDisk
  /** Crash points of all members: the first member to reach one ends there. */
  readonly allCrashPoints: CrashPoints
  readonly met: (fault: MetFault) => void
  readonly crashedAt: (step: CrashStep, side: Side) => void
  /** Returns whether some member applied a command with a result that differs from the others'. */
  readonly someDiverged: () => boolean
  /**
   * Returns whether `peer` may be refused: some member sent impossible messages, or `peer` lost its
   * log.
   */
  readonly mayBeByzantine: (peer: number) => boolean
  /** Called when the process of the member ended, for any reason. */
  readonly onDown: () => void
}
