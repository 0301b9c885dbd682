import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, invalid, keyPath } from '../../api/errors/field-error.ts'
import { objectMember, textMember } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { checkDeletionCost } from './deletion-cost.ts'
import { checkProfileAnnotations } from './profile-annotations.ts'

const FIELD = 'metadata.annotations'

/**
 * Checks the annotations of mirror Pods and of security profiles.
 *
 * @source core `pkg/apis/core/validation`, ValidatePodSpecificAnnotations
 */
export function checkPodAnnotations(object: AnyObject, names: Names, found: Findings): void {
  const spec = objectMember(object, 'spec')
  const annotations = object.metadata.annotations ?? {}
  const key = names.label('config.mirror')
  const mirror = annotations[key]
  // A mirror Pod represents a static Pod of its node, so it needs a node.
  if (mirror !== undefined && textMember(spec, 'nodeName') === '') {
    const words = 'must set spec.nodeName if mirror pod annotation is set'
    found.add(invalid(keyPath(FIELD, key), mirror, words))
  }
  checkProfileAnnotations(annotations, spec, FIELD, names, found)
}

/**
 * Checks the annotation with the deletion cost.
 *
 * @source core `pkg/apis/core/validation`, ValidatePodSpecificAnnotations
 */
export function checkPodCost(object: AnyObject, names: Names, found: Findings): void {
  checkDeletionCost(object.metadata.annotations ?? {}, FIELD, names, found)
}

/**
 * Checks that the annotations of mirror Pods and of AppArmor profiles did not change.
 *
 * @source core `pkg/apis/core/validation`, ValidatePodSpecificAnnotationUpdates
 */
export function checkPodAnnotationsKept(
  object: AnyObject,
  current: AnyObject,
  names: Names,
  found: Findings,
): void {
  const mirror = names.label('config.mirror')
  const profiles = names.labelUnder('container.apparmor.security.beta', '')
  const [now, before] = [object.metadata.annotations ?? {}, current.metadata.annotations ?? {}]
  for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
    if (now[key] === before[key]) continue
    if (key.startsWith(profiles)) {
      const words = 'may not remove or update AppArmor annotations'
      const added = 'may not add AppArmor annotations'
      found.add(fieldForbidden(keyPath(FIELD, key), before[key] === undefined ? added : words))
    }
    if (key !== mirror) continue
    const words = 'may not remove or update mirror pod annotation'
    const added = 'may not add mirror pod annotation'
    found.add(fieldForbidden(keyPath(FIELD, key), before[key] === undefined ? added : words))
  }
}
