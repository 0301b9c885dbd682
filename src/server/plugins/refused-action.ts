import { forbidden } from '../../api/errors/standard-errors.ts'
import type { ApiError } from '../../api/errors/api-error.ts'
import { refusalText } from '../../api/errors/refusal-text.ts'
import type { Action } from '../../api/action.ts'

/** Returns the 403 for an action that no authorizer allows to a user. @param reason may be empty */
export function refusedAction(userName: string, action: Action, reason: string): ApiError {
  const text = refusalText(userName, action)
  const why = reason === '' ? text : `${text}: ${reason}`
  if (action.kind === 'path') return forbidden({ group: '', resource: '' }, '', why)
  return forbidden({ group: action.group, resource: action.resource }, action.name, why)
}
