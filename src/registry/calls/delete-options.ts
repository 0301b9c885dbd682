export const PROPAGATIONS = ['Orphan', 'Background', 'Foreground'] as const
export type Propagation = (typeof PROPAGATIONS)[number]

export type DeleteOptions = {
  readonly dryRun: boolean
  /** Time to end in good order; null: as the object itself says. */
  readonly gracePeriodSeconds: number | null
  /** null: any. */
  readonly uid: string | null
  /** null: any. */
  readonly resourceVersion: string | null
  /** What shall become of objects that depend on it. null: whatever the server does by itself. */
  readonly propagationPolicy: Propagation | null
}
