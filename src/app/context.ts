import type { Logger } from 'pino'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Config } from '../config/config.ts'
import { limits } from '../config/limits.ts'
import type { StandardOutput } from '../host/standard-output.ts'
import { defaultStoreLimits } from '../store/store-limits.ts'
import type { ShutdownStack } from './shutdown-stack.ts'
import type { OwnIdentity } from '../membership/own-identity.ts'

/** The interface of a server to its process. */
export type AppHost = {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** The destination of the log, and of the audit log if that is standard output. */
  readonly output: Pick<StandardOutput, 'size' | 'append' | 'close' | 'lost'>
  readonly pid: number
  /**
   * Called when the member cannot continue or an invariant is broken: logs the cause and ends the
   * process.
   */
  readonly onFatal: (cause: unknown) => void
}

/**
 * Input of the first steps of building a member. A step that opens something adds the step that
 * closes it.
 */
export type BootContext = AppHost & {
  readonly config: Config
  readonly names: Names
  readonly closing: ShutdownStack
}

/** Input of every later step. */
export type MemberContext = BootContext & OwnIdentity

/** Limits of the store. The rest of an entry is for the envelope around its command. */
export const storeLimits = Object.freeze({
  ...defaultStoreLimits,
  commandBytesMax: limits.entryBytesMax - 1024,
})
