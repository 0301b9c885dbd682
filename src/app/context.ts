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

/** What a server needs of the world. */
export type AppHost = {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Where the log goes, and the audit log that is to go there too. */
  readonly output: Pick<StandardOutput, 'size' | 'append' | 'close' | 'lost'>
  readonly pid: number
  /** The member cannot go on, or contradicts itself: say why and end the process. */
  readonly onFatal: (cause: unknown) => void
}

/** What the first steps of building a member are given. A step that opens something adds how it is closed. */
export type BootContext = AppHost & {
  readonly config: Config
  readonly names: Names
  readonly closing: ShutdownStack
}

/** And what every other one is. */
export type MemberContext = BootContext & OwnIdentity

/** The envelope around a command takes the rest of its entry. */
export const storeLimits = Object.freeze({
  ...defaultStoreLimits,
  commandBytesMax: limits.entryBytesMax - 1024,
})
