import { memberOf, objectMember, objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'

/** A Pod or the template of one, as checks see it. */
export type CheckedPod = {
  readonly annotations: Readonly<Record<string, string>>
  readonly spec: JsonObject
  readonly names: Names
}

/** A violation of a check, in upstream's words. */
export type Violation = { readonly reason: string; readonly detail: string }

/** null: allowed. */
export type Check = (pod: CheckedPod) => Violation | null

/** Returns all containers, in the order of upstream. */
export function containersOf({ spec }: CheckedPod): readonly JsonObject[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) => objectsMember(spec, list))
}

export function securityOf(container: JsonObject): JsonObject {
  return objectMember(container, 'securityContext')
}

/** Returns the names of the containers that the rule applies to. */
export function containersWhere(
  pod: CheckedPod,
  rule: (security: JsonObject, container: JsonObject) => boolean,
): readonly string[] {
  return containersOf(pod)
    .filter((container) => rule(securityOf(container), container))
    .map((container) => textMember(container, 'name'))
}

export function plural(one: string, many: string, count: number): string {
  return count === 1 ? one : many
}

export function quoted(texts: Iterable<string>): string {
  return [...texts].map((text) => JSON.stringify(text)).join(', ')
}

/** Returns `container "a"` or `containers "a", "b"`. */
export function spellContainers(names: readonly string[]): string {
  return `${plural('container', 'containers', names.length)} ${quoted(names)}`
}

/** Returns `pod and container "a"`. @param isPod whether the Pod itself is one of the setters */
export function spellSetters(isPod: boolean, containers: readonly string[]): string {
  return [...(isPod ? ['pod'] : []), ...(containers.length > 0 ? [spellContainers(containers)] : [])].join(
    ' and ',
  )
}

export function sortedSet(texts: Iterable<string>): readonly string[] {
  return [...new Set(texts)].sort()
}

export function isSet(object: JsonObject, name: string): boolean {
  return memberOf(object, name) !== undefined
}
