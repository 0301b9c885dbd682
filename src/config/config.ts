import type { Flag } from './flag.ts'
import type { FlagName, flags } from './flags.ts'

/** What one server was told, complete and frozen. Durations in ms; empty text: not said. */
export type Config = {
  readonly [Name in FlagName]: (typeof flags)[Name] extends Flag<infer Value> ? Value : never
}

/** Where a value came from, for messages and the start-up line. */
export type Source = 'default' | 'command line' | `file ${string}`

export type LoadedConfig = {
  readonly config: Config
  readonly sources: Readonly<Record<FlagName, Source>>
}
