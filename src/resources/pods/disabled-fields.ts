import type { JsonObject } from '../../api/json.ts'
import { objectMember, objectsMember, textMember, withoutMembers } from '../../api/json.ts'
import { containerLists } from '../containers/container-lists.ts'
import { withEach } from './pod-defaults.ts'

const CONSTRAINTS = 'topologySpreadConstraints'

/**
 * Returns the spec of a Pod without the effect of fields whose features are off in release 1.24,
 * unless the stored spec uses them already. Node agents do not check the mount type of /proc again.
 *
 * @param before null: the object is new
 * @returns the identical spec if there is nothing to change
 * @source core `pkg/api/pod/util.go`, DropDisabledPodFields
 */
export function withoutDisabledFields(spec: JsonObject, before: JsonObject | null): JsonObject {
  let next = spec
  if (before === null || !usesMinDomains(before)) next = withEach(next, CONSTRAINTS, withoutMinDomains)
  if (before !== null && usesProcMount(before)) return next
  for (const list of containerLists) next = withEach(next, list, withDefaultProcMount)
  return next
}

function usesMinDomains(spec: JsonObject): boolean {
  return objectsMember(spec, CONSTRAINTS).some((one) => Object.hasOwn(one, 'minDomains'))
}

function withoutMinDomains(constraint: JsonObject): JsonObject {
  return Object.hasOwn(constraint, 'minDomains') ? withoutMembers(constraint, 'minDomains') : constraint
}

function usesProcMount(spec: JsonObject): boolean {
  return containerLists.some((list) => objectsMember(spec, list).some(hasOtherProcMount))
}

function hasOtherProcMount(container: JsonObject): boolean {
  const type = textMember(objectMember(container, 'securityContext'), 'procMount')
  return type !== '' && type !== 'Default'
}

function withDefaultProcMount(container: JsonObject): JsonObject {
  if (!hasOtherProcMount(container)) return container
  const securityContext = { ...objectMember(container, 'securityContext'), procMount: 'Default' }
  return { ...container, securityContext }
}
