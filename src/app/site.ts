import type { Logger } from 'pino'
import type { Clock } from '../../raft/base/clock.ts'
import type { Random } from '../../raft/base/random.ts'
import type { NodeId } from '../../raft/index.ts'
import type { Names } from '../api/names.ts'
import type { Config } from '../config/config.ts'
import { limits } from '../config/limits.ts'
import { defaultStoreLimits } from '../store/limits.ts'
import type { Closing } from './closing.ts'

/** What a server needs of the world. */
export type AppHost = {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly pid: number
  /** The member cannot go on, or contradicts itself: say why and end the process. */
  readonly onFatal: (cause: unknown) => void
}

/** What every step of building a member is given. A step that opens something adds how it is closed. */
export type Site = AppHost & {
  readonly config: Config
  readonly names: Names
  /** What its peers call the cluster; see `peerCluster`. */
  readonly cluster: string
  readonly id: NodeId
  readonly closing: Closing
}

/** The envelope around a command takes the rest of its entry. */
export const storeLimits = Object.freeze({
  ...defaultStoreLimits,
  commandBytesMax: limits.entryBytesMax - 1024,
})
