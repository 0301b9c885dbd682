/**
 * What somebody wants to do: authorization decides about it, the audit policy too, and reviews ask
 * about it. Verbs are those of spec 5.7.
 */
export type Action = ResourceAction | PathAction

export type ResourceAction = {
  readonly kind: 'resource'
  /** Empty for a method no resource knows; only rules for every verb cover it. */
  readonly verb: string
  /** Empty: the core group. */
  readonly group: string
  readonly version: string
  readonly resource: string
  /** Empty: none. */
  readonly subresource: string
  /** Empty: cluster scope, or all namespaces. */
  readonly namespace: string
  /** Empty: the collection. */
  readonly name: string
}

export type PathAction = {
  readonly kind: 'path'
  /** The method in lower case. */
  readonly verb: string
  readonly path: string
}
