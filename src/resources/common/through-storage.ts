import type { ResourceDefinition, ResourceHooks, StoredVersion } from '../../registry/kinds/definition.ts'

/**
 * Returns the hooks of a version that applies those of the storage version to the converted object,
 * for a version whose members are those of the other one in another place.
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
