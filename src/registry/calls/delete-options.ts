export const PROPAGATIONS = ['Orphan', 'Background', 'Foreground'] as const
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
}
