import type { JsonObject } from '../../api/json.ts'
import { isJsonList, isJsonObject, memberOf, objectMember, textMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

/**
 * Keeps the seccomp profiles of a new Pod in both its annotations and its fields: older clients use
 * the annotations, nodes the fields. If both are set, neither is changed. Templates stay as they
 * are, because the pods made from them are converted.
 *
 * @returns the identical object if nothing was missing
 * @source core `pkg/registry/core/pod` of 1.24, seccomp version skew strategy of KEP 135
 */
export function withSeccompOnBothSides(object: AnyObject, names: Names): AnyObject {
  const before = object.metadata.annotations ?? {}
  const annotations = new Map(Object.entries(before))
  let spec = withProfile(objectMember(object, 'spec'), seccompPodKey(names), annotations)
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    spec = withEachProfile(spec, list, names, annotations)
  }
  const isSame = annotations.size === Object.keys(before).length
  if (spec === object['spec'] && isSame) return object
  if (isSame) return { ...object, spec }
  return { ...object, metadata: { ...object.metadata, annotations: Object.fromEntries(annotations) }, spec }
}

export function seccompPodKey(names: Names): string {
  return names.labelUnder('seccomp.security.alpha', 'pod')
}

/** @param container its name; empty: returns the prefix of the keys of all containers */
export function seccompContainerKey(names: Names, container: string): string {
  return names.labelUnder('container.seccomp.security.alpha', container)
}

function withEachProfile(
  spec: JsonObject,
  list: string,
  names: Names,
  annotations: Map<string, string>,
): JsonObject {
  const containers = memberOf(spec, list)
  if (!isJsonList(containers)) return spec
  const next = containers.map((container) =>
    isJsonObject(container)
      ? withProfile(container, seccompContainerKey(names, textMember(container, 'name')), annotations)
      : container,
  )
  return next.every((one, index) => one === containers[index]) ? spec : { ...spec, [list]: next }
}

/**
 * Copies the seccomp profile of a Pod or a container from its annotation to the field if the field
 * is unset, or from the field to the annotation if the annotation is unset.
 */
function withProfile(of: JsonObject, key: string, annotations: Map<string, string>): JsonObject {
  const context = objectMember(of, 'securityContext')
  const annotation = annotations.get(key)
  const profile = memberOf(context, 'seccompProfile')
  if (isJsonObject(profile)) {
    const given = annotationOf(profile)
    if (annotation === undefined && given !== null) annotations.set(key, given)
    return of
  }
  const given = annotation === undefined ? null : profileOf(annotation)
  return given === null ? of : { ...of, securityContext: { ...context, seccompProfile: given } }
}

const LOCALHOST = 'localhost/'

/** @returns null if no annotation corresponds to the profile */
function annotationOf(profile: JsonObject): string | null {
  const type = textMember(profile, 'type')
  if (type === 'Unconfined') return 'unconfined'
  if (type === 'RuntimeDefault') return 'runtime/default'
  const isFile = type === 'Localhost' && Object.hasOwn(profile, 'localhostProfile')
  return isFile ? LOCALHOST + textMember(profile, 'localhostProfile') : null
}

/** @returns null if no profile corresponds to the annotation */
function profileOf(annotation: string): JsonObject | null {
  if (annotation === 'unconfined') return { type: 'Unconfined' }
  if (annotation === 'runtime/default' || annotation === 'docker/default') return { type: 'RuntimeDefault' }
  if (!annotation.startsWith(LOCALHOST) || annotation === LOCALHOST) return null
  return { type: 'Localhost', localhostProfile: annotation.slice(LOCALHOST.length) }
}
