import type { Flag } from './flag.ts'
import type { FlagName, flags } from './flags.ts'

/**
 * The complete, frozen configuration of a server. Flags with the placeholder `duration` have values
 * in ms; empty text: not set.
 */
export type Config = {
  readonly [Name in FlagName]: (typeof flags)[Name] extends Flag<infer Value> ? Value : never
}

/** The source of a value, for messages and the log at start. */
export type Source = 'default' | 'command line' | `file ${string}`

export type LoadedConfig = {
  readonly config: Config
  readonly sources: Readonly<Record<FlagName, Source>>
}
