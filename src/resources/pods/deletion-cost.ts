import type { Findings } from '../../api/errors/findings.ts'
import { invalid, keyPath } from '../../api/errors/field-error.ts'
import type { Names } from '../../api/metadata/names.ts'

type Annotations = { readonly [key: string]: string }

/**
 * Checks the annotation with the deletion cost of a Pod, which decides which Pods a controller
 * deletes first when it scales down.
 *
 * @param path of the annotations
 * @source core `pkg/apis/core/helper`, GetDeletionCostFromPodAnnotations
 */
export function checkDeletionCost(
  annotations: Annotations,
  path: string,
  names: Names,
  found: Findings,
): void {
  const key = names.labelUnder('controller', 'pod-deletion-cost')
  const value = Object.hasOwn(annotations, key) ? annotations[key] : undefined
  if (value === undefined || isCost(value)) return
  found.add(invalid(keyPath(path, key), value, 'must be a 32bit integer'))
}

/** A plus sign or leading zeros are invalid, but zeros may follow a minus sign. */
function isCost(text: string): boolean {
  return /^(?:0|[1-9][0-9]{0,9}|-[0-9]+)$/.test(text) && Number(text) === (Number(text) | 0)
}
