/** What a caller wants to do, as authorization sees it. Verbs are those of spec 5.7. */
export type Action = ResourceAction | PathAction

export type ResourceAction = {
  readonly kind: 'resource'
  /** Empty for a method no resource knows; only rules for every verb cover it. */
  readonly verb: string
  readonly path: string
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

/** The end of a 403: what this caller may not do. @source apiserver `responsewriters/errors.go` */
export function refusalText(userName: string, action: Action): string {
  const user = JSON.stringify(userName)
  if (action.kind === 'path') return `User ${user} cannot ${action.verb} path ${JSON.stringify(action.path)}`
  const resource = action.subresource === '' ? action.resource : `${action.resource}/${action.subresource}`
  const where =
    action.namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(action.namespace)}`
  const group = `API group ${JSON.stringify(action.group)}`
  return `User ${user} cannot ${action.verb} resource ${JSON.stringify(resource)} in ${group} ${where}`
}
