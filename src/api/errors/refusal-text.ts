import type { Action } from '../action.ts'

/**
 * The end of the message of a 403: the action that the caller may not perform.
 *
 * @source apiserver `responsewriters/errors.go`
 */
export function refusalText(userName: string, action: Action): string {
  const user = JSON.stringify(userName)
  if (action.kind === 'path') return `User ${user} cannot ${action.verb} path ${JSON.stringify(action.path)}`
  const resource = action.subresource === '' ? action.resource : `${action.resource}/${action.subresource}`
  const where =
    action.namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(action.namespace)}`
  const group = `API group ${JSON.stringify(action.group)}`
  return `User ${user} cannot ${action.verb} resource ${JSON.stringify(resource)} in ${group} ${where}`
}
