import type { JsonObject } from '../../api/json.ts'
import { memberOf, objectMember, objectsMember, textMember, withoutMembers } from '../../api/json.ts'
import { containerLists } from '../containers/container-lists.ts'
import { withEach } from './pod-defaults.ts'

const CONSTRAINTS = 'topologySpreadConstraints'
/** Probes that may have a grace period of their own. */
const FATAL_PROBES = ['livenessProbe', 'startupProbe'] as const
const GRACE_PERIOD = 'terminationGracePeriodSeconds'

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
  const changes: ((container: JsonObject) => JsonObject)[] = []
  if (before === null || !usesProbeGrace(before)) changes.push(withoutProbeGrace)
  if (before === null || !usesProcMount(before)) changes.push(withDefaultProcMount)
  for (const change of changes) {
    for (const list of containerLists) next = withEach(next, list, change)
  }
  return next
}

function usesProbeGrace(spec: JsonObject): boolean {
  return containerLists.some((list) => objectsMember(spec, list).some(hasProbeGrace))
}

function hasProbeGrace(container: JsonObject): boolean {
  return FATAL_PROBES.some((name) => memberOf(objectMember(container, name), GRACE_PERIOD) !== undefined)
}

function withoutProbeGrace(container: JsonObject): JsonObject {
  if (!hasProbeGrace(container)) return container
  const probes = FATAL_PROBES.filter((name) => Object.hasOwn(container, name)).map(
    (name) => [name, withoutMembers(objectMember(container, name), GRACE_PERIOD)] as const,
  )
  return { ...container, ...Object.fromEntries(probes) }
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
