import { memberOf, objectMember, objectsMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'

/** Whether a request writes whole Pods, not one of their subresources. */
export function isPodWrite({ definition, target, operation }: AdmissionRequest): boolean {
  const isWrite = operation === 'CREATE' || operation === 'UPDATE'
  return isWrite && definition.group === '' && definition.plural === 'pods' && target.subresource === null
}

export function isPodCreate(request: AdmissionRequest): boolean {
  return request.operation === 'CREATE' && isPodWrite(request)
}

export function isClaimWrite({ definition, target, operation }: AdmissionRequest): boolean {
  const isWrite = operation === 'CREATE' || operation === 'UPDATE'
  const isClaim = definition.group === '' && definition.plural === 'persistentvolumeclaims'
  return isWrite && isClaim && target.subresource === null
}

/** Lists of containers of a Pod. */
export const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const

/** Returns containers and init containers. */
export function mainContainers(spec: JsonObject): readonly JsonObject[] {
  return [...objectsMember(spec, 'containers'), ...objectsMember(spec, 'initContainers')]
}

/** Returns the object with some members of its spec replaced. */
export function withSpec(object: AnyObject, members: JsonObject): AnyObject {
  return { ...object, spec: { ...objectMember(object, 'spec'), ...members } }
}

/** Returns the spec with each container of the named lists as `change` returns it. */
export function changedContainers(
  spec: JsonObject,
  lists: readonly (typeof CONTAINER_LISTS)[number][],
  change: (container: JsonObject, list: string) => JsonObject,
): JsonObject {
  let changed = spec
  for (const list of lists) {
    if (memberOf(spec, list) === undefined) continue
    const before = objectsMember(spec, list)
    const after = before.map((container) => change(container, list))
    if (after.some((container, at) => container !== before[at])) changed = { ...changed, [list]: after }
  }
  return changed
}
