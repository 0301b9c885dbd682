import { createHash } from 'node:crypto'
import { isStored, storedTypeOf } from '../../registry/kinds/definition.ts'
import type { ResourceDefinition } from '../../registry/kinds/definition.ts'

/**
 * Returns a hash of the group, version and kind that objects are stored as, so that storage
 * migrators notice a change. The same names have the same hash on every member.
 *
 * @returns null for kinds that are not stored
 * @source apiserver `pkg/endpoints/discovery` StorageVersionHash
 */
export function storageVersionHash(definition: ResourceDefinition): string | null {
  if (!isStored(definition) || !definition.verbs.includes('get')) return null
  const { group, version } = storedTypeOf(definition)
  const digest = createHash('sha256').update(`${group}/${version}/${definition.kind}`).digest()
  return digest.subarray(0, 8).toString('base64')
}
