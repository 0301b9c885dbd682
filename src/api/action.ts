/**
 * An operation that a caller requests: the input of authorization, the audit policy and access
 * reviews. Verbs are those of spec 5.7.
 */
export type Action = ResourceAction | PathAction

export type ResourceAction = {
  readonly kind: 'resource'
  /** Empty for a method without a matching verb; only rules for every verb cover it. */
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
