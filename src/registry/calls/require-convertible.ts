import { prefixOf } from '../../store/key.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import { placeOf } from '../kinds/definition.ts'
import type { ResourceDefinition } from '../kinds/definition.ts'
import { parseStored } from '../kinds/encode.ts'
import type { Target } from './request.ts'
import { headOf } from '../kinds/stored-version.ts'

/**
 * Refuses a list that would fail half-way: of a kind that a webhook converts, with an object that
 * is stored in another version. A list is sent while it is read, so a client would see a broken
 * connection instead of an error. Compares the first bytes of each object without parsing.
 *
 * @throws ApiError `NotImplemented`
 */
export function requireConvertible(store: ObjectStore, definition: ResourceDefinition, target: Target): void {
  const { group, version, kind, storedAs } = definition
  if (storedAs?.byWebhook !== true || storedAs.conversion === undefined) return
  const namespace = definition.scope === 'Cluster' ? null : target.namespace
  const prefix = prefixOf({ ...placeOf(definition), namespace })
  const head = headOf({ kind, apiVersion: `${group}/${version}` })
  const { objects } = store.view().list(prefix, { after: null, limit: Number.POSITIVE_INFINITY })
  for (const stored of objects) {
    const { buffer, byteOffset, byteLength } = stored.bytes
    if (head.equals(Buffer.from(buffer, byteOffset, Math.min(head.byteLength, byteLength)))) continue
    // Throws an error that names the object, unless the object can be shown nevertheless.
    storedAs.conversion.fromStored(parseStored(stored))
  }
}
