/** The health of one component of the cluster, as this member knows it. */
export type ComponentHealth = {
  /** Unique among the components; valid as the name of an object. */
  readonly name: string
  readonly status: 'True' | 'False' | 'Unknown'
  /** One line: `ok`, or what is wrong. Empty if the status is unknown. */
  readonly message: string
  /** One line: why the status is unknown. Otherwise empty. */
  readonly error: string
}
