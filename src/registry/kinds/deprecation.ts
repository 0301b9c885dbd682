/** @source spec 6.2, 9.5, 9.6 */
export type Deprecation =
  | {
      /** Releases of the API, such as `1.24`. */
      readonly since: string
      /** Empty: the removal is not scheduled. */
      readonly removed: string
      /** null: no other kind or version replaces it. */
      readonly replacement: {
        readonly group: string
        readonly version: string
        readonly kind: string
      } | null
    }
  /** Custom kinds: the warning for clients. Their removal is not scheduled. */
  | { readonly words: string; readonly removed: '' }
