/** One version of one object. */
export type Version = {
  /** The key in the store: group, plural, namespace and name between slashes. */
  readonly key: string
  readonly revision: number
  readonly kind: 'created' | 'updated' | 'deleted'
  /** The version before it of the same instance; 0 for `created`. */
  readonly previous: number
  readonly uid: string
  readonly terminating: boolean
  readonly labels: Readonly<Record<string, string>> | null
  /** With an empty resourceVersion. */
  readonly bytes: Uint8Array
  /** The last version of its command. */
  readonly last: boolean
}
