import type { ResourceDefinition, ResourceHooks, StoredVersion } from '../../registry/kinds/definition.ts'

/**
 * Returns hooks that convert an object to the storage version, apply its hooks, and convert back:
 * for a version that has the same members as the storage version in other places.
 */
export function hooksThroughStorage(
  { hooks }: ResourceDefinition,
  { toStored, fromStored }: Required<StoredVersion>['conversion'],
): Pick<ResourceHooks, 'fillDefaults' | 'prepareForCreate' | 'prepareForUpdate'> {
  const { fillDefaults, prepareForCreate, prepareForUpdate } = hooks
  return {
    fillDefaults: (object) => fromStored(fillDefaults?.(toStored(object)) ?? toStored(object)),
    prepareForCreate: (object, writing) => {
      const stored = toStored(object)
      return fromStored(prepareForCreate?.(stored, writing) ?? stored)
    },
    prepareForUpdate: (object, current, writing) => {
      const stored = toStored(object)
      return fromStored(prepareForUpdate?.(stored, toStored(current), writing) ?? stored)
    },
  }
}
