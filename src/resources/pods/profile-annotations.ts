import type { Findings } from '../../api/errors/findings.ts'
import { invalid, keyPath } from '../../api/errors/field-error.ts'
import { objectsMember, textMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { checkDescendingPath } from '../volumes/file-path.ts'

/** Texts by key. */
type Annotations = { readonly [key: string]: string }

/**
 * Checks the annotations of a Pod or of a template that confine containers: system calls (seccomp),
 * and files and capabilities (AppArmor).
 *
 * @param path of the annotations
 * @source core `pkg/apis/core/validation`, ValidateSeccompPodAnnotations and
 * ValidateAppArmorPodAnnotations
 */
export function checkProfileAnnotations(
  annotations: Annotations,
  spec: JsonObject,
  path: string,
  names: Names,
  found: Findings,
): void {
  const pod = names.labelUnder('seccomp.security.alpha', 'pod')
  const systemCalls = names.labelUnder('container.seccomp.security.alpha', '')
  const files = names.labelUnder('container.apparmor.security.beta', '')
  const containers = containerNames(spec)
  for (const [key, profile] of Object.entries(annotations)) {
    if (key === pod || key.startsWith(systemCalls)) {
      checkSeccompProfile(profile, `${path}.${key}`, found)
      continue
    }
    if (!key.startsWith(files)) continue
    const field = keyPath(path, key)
    const container = key.slice(files.length)
    if (!containers.has(container)) found.add(invalid(field, container, 'container not found'))
    checkAppArmorProfile(profile, field, found)
  }
}

const LOCALHOST = 'localhost/'

export function checkSeccompProfile(profile: string, field: string, found: Findings): void {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return
  if (profile.startsWith(LOCALHOST)) {
    checkDescendingPath(profile.slice(LOCALHOST.length), field, found)
    return
  }
  found.add(invalid(field, profile, 'must be a valid seccomp profile'))
}

export function checkAppArmorProfile(profile: string, field: string, found: Findings): void {
  if (['', 'runtime/default', 'unconfined'].includes(profile) || profile.startsWith(LOCALHOST)) return
  found.add(invalid(field, profile, `invalid AppArmor profile name: ${JSON.stringify(profile)}`))
}

function containerNames(spec: JsonObject): ReadonlySet<string> {
  const lists = ['initContainers', 'containers', 'ephemeralContainers']
  return new Set(
    lists.flatMap((list) => objectsMember(spec, list).map((container) => textMember(container, 'name'))),
  )
}
