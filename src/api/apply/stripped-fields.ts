import { difference, setOfPaths } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { fieldStep } from './step.ts'

/**
 * Metadata that identifies an object or that only the server sets: it has no owners.
 *
 * @source apiserver `fieldmanager/stripmeta.go`
 */
const withoutOwner: FieldSet = setOfPaths(
  [
    ['apiVersion'],
    ['kind'],
    ['metadata'],
    ['metadata', 'name'],
    ['metadata', 'namespace'],
    ['metadata', 'creationTimestamp'],
    ['metadata', 'selfLink'],
    ['metadata', 'uid'],
    ['metadata', 'clusterName'],
    ['metadata', 'generation'],
    ['metadata', 'managedFields'],
    ['metadata', 'resourceVersion'],
  ].map((path) => path.map(fieldStep)),
)

export function withoutServerFields(fields: FieldSet): FieldSet {
  return difference(fields, withoutOwner)
}
