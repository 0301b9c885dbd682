import { forbidden, serviceUnavailable } from '../../api/errors/standard-errors.ts'
import { refusalText } from '../../api/errors/refusal-text.ts'
import type { WriteRequest } from '../calls/verb.ts'
import { resourceOf } from '../kinds/definition.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'

/**
 * Checks whether the caller may create the object that an update would create. Authorization has
 * only checked the update.
 *
 * @throws ApiError `Forbidden`; `ServiceUnavailable` if this server cannot authorize
 * @source apiserver `pkg/endpoints/handlers/create.go`, withAuthorization
 */
export async function authorizeCreation(
  { reviewers }: VerbDependencies,
  request: WriteRequest,
): Promise<void> {
  const { definition, target, admission } = request
  if (reviewers === undefined) {
    throw serviceUnavailable('this server cannot authorize the creation: create it with POST')
  }
  const { group, version, plural } = definition
  const { user } = admission.request
  const action = {
    ...({ kind: 'resource', verb: 'create', group, version, resource: plural, subresource: '' } as const),
    ...{ namespace: target.namespace ?? '', name: target.name ?? '' },
  }
  await admission.askOnce('authorization', { object: null, oldObject: null }, async () => {
    const { allowed, reason } = await reviewers.authorize(user, action)
    if (allowed) return null
    const text = refusalText(user.name, action)
    throw forbidden(resourceOf(definition), action.name, reason === '' ? text : `${text}: ${reason}`)
  })
}
