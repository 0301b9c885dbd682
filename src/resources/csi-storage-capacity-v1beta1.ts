import type { Names } from '../api/metadata/names.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { csiStorageCapacityDefinition } from './csi-storage-capacity.ts'

/** The version for older clients; stored as `v1`, which has the same shape. */
export function csiStorageCapacityV1beta1Definition(names: Names): ResourceDefinition {
  const stable = csiStorageCapacityDefinition(names)
  const { group, version, kind } = stable
  return Object.freeze({
    ...stable,
    version: 'v1beta1',
    storedAs: { name: version },
    deprecated: { since: '1.24', removed: '1.27', replacement: { group, version, kind } },
  } satisfies ResourceDefinition)
}
