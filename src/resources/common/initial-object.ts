import type { JsonObject } from '../../api/json.ts'

/** An object of a cluster-scoped kind that the server creates by itself. */
export type InitialObject = {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly name: string
  readonly labels?: { readonly [name: string]: string }
  /**
   * Annotation of objects whose spec the server restores when it differs. The server sets it to
   * `true`; with another value the object keeps the spec of its administrator.
   */
  readonly autoUpdate?: string
  /** The object without its type and metadata. */
  readonly members: JsonObject
}
