import { badRequest } from '../../api/errors/standard-errors.ts'
import { objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'

/**
 * Returns the container that a request is for: the named one, or the only one of the Pod.
 *
 * @param name of the Pod
 * @param wanted empty: none is named
 * @throws ApiError `BadRequest`, in upstream's words
 * @source core `pkg/registry/core/pod/strategy.go`
 */
export function chooseContainer(pod: JsonObject, name: string, wanted: string): string {
  const spec = objectMember(pod, 'spec')
  const names = (list: string): readonly string[] =>
    objectsMember(spec, list).map((one) => textMember(one, 'name'))
  const [containers, initial] = [names('containers'), names('initContainers')]
  if (wanted !== '') {
    if ([...containers, ...initial, ...names('ephemeralContainers')].includes(wanted)) return wanted
    throw badRequest(`container ${wanted} is not valid for pod ${name}`)
  }
  const [only, another] = containers
  if (only !== undefined && another === undefined) return only
  const words = `a container name must be specified for pod ${name}`
  if (only === undefined) throw badRequest(words)
  const choice = `${words}, choose one of: [${containers.join(' ')}]`
  throw badRequest(
    initial.length === 0 ? choice : `${choice} or one of the init containers: [${initial.join(' ')}]`,
  )
}
