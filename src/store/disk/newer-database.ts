import type { LogIndex } from '../../../raft/index.ts'
import { indexOfDatabase } from './database-names.ts'
import type { KeyValueDatabases } from './key-value-store.ts'

/**
 * Whether there is a database that began beyond the known base of a damaged log. The record that
 * made it the live one may be in the damaged part, so it can neither be used nor be removed as a
 * leftover.
 */
export async function hasNewerDatabase(databases: KeyValueDatabases, base: LogIndex): Promise<boolean> {
  return (await databases.list()).some((name) => (indexOfDatabase(name) ?? 0) > base)
}
