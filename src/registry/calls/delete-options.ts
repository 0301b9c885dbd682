export const PROPAGATIONS = ['Foreground', 'Background', 'Orphan'] as const
export type Propagation = (typeof PROPAGATIONS)[number]

export type DeleteOptions = {
  readonly dryRun: boolean
  /** Time for graceful termination in seconds; null: the default of the object. */
  readonly gracePeriodSeconds: number | null
  /** null: any. */
  readonly uid: string | null
  /** null: any. */
  readonly resourceVersion: string | null
  /** The deletion policy for dependents. null: the default of the server. */
  readonly propagationPolicy: Propagation | null
  /** The object cannot be read, and is to be removed nevertheless. */
  readonly ignoresReadErrors: boolean
}

/** The name of the option `ignoresReadErrors` in requests. */
export const IGNORE_READ_ERRORS = 'ignoreStoreReadErrorWithClusterBreakingPotential'
