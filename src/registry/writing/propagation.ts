import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../../api/metadata/object-meta.ts'
import type { Propagation } from '../calls/delete-options.ts'
import type { AnyObject, ResourceDefinition } from '../kinds/definition.ts'

/**
 * Returns the object with the finalizer that a policy for dependents needs: the garbage collector
 * removes it once the dependents are deleted or orphaned. A policy replaces an earlier one.
 *
 * @param policy null: the finalizers stay as they are
 * @source apiserver `pkg/registry/generic/registry/store.go`:
 * deletionFinalizersForGarbageCollection
 */
export function withPropagation(object: AnyObject, policy: Propagation | null): AnyObject {
  if (policy === null) return object
  const { finalizers: before = [], ...rest } = object.metadata
  const others = before.filter((one) => one !== FOREGROUND_FINALIZER && one !== ORPHAN_FINALIZER)
  const wanted = finalizerOf(policy)
  if (wanted === null ? others.length === before.length : before.includes(wanted)) return object
  const finalizers = wanted === null ? others : [...others, wanted]
  return { ...object, metadata: { ...rest, ...(finalizers.length === 0 ? {} : { finalizers }) } }
}

/** Returns the policy of a deletion that names none; null: the finalizers stay as they are. */
export function defaultPropagation(
  { defaultPropagation }: Pick<ResourceDefinition, 'defaultPropagation'>,
  { metadata: { finalizers = [], deletionTimestamp } }: AnyObject,
): Propagation | null {
  const isDecided = finalizers.includes(FOREGROUND_FINALIZER) || finalizers.includes(ORPHAN_FINALIZER)
  if (isDecided || typeof deletionTimestamp === 'string') return null
  return defaultPropagation?.policy ?? null
}

function finalizerOf(policy: Propagation): string | null {
  switch (policy) {
    case 'Foreground':
      return FOREGROUND_FINALIZER
    case 'Orphan':
      return ORPHAN_FINALIZER
    case 'Background':
      return null
  }
}
