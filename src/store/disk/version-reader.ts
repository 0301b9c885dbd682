import { DatabaseError } from '../store-errors.ts'
import { decodeVersion } from '../machine/object-version.ts'
import type { Version } from '../machine/object-version.ts'
import type { Revision } from '../revision.ts'
import type { KeyValueStore } from './key-value-store.ts'
import { versionKey } from './machine-keys.ts'

/**
 * Reads versions by revision from disk, verified; null for one that is absent or was removed.
 * @throws DatabaseError `damaged`, `io`
 */
export async function readVersions(
  store: KeyValueStore,
  revisions: readonly Revision[],
): Promise<readonly (Version | null)[]> {
  const records = await store.getMany(revisions.map(versionKey))
  return revisions.map((at, place) => {
    const record = records[place]
    if (record === undefined) throw new DatabaseError('io', 'the database returned too few values')
    return record === null ? null : decodeVersion(record, at)
  })
}
