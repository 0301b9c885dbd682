import { logIndex } from '../../../raft/index.ts'
import type { LogIndex } from '../../../raft/index.ts'

/**
 * Returns the name of a database: the log index at which its state began, 0 for a member's first.
 */
export function databaseName(index: LogIndex): string {
  return `db-${index}`
}

/** @returns null when it is not the name of a database */
export function indexOfDatabase(name: string): LogIndex | null {
  const digits = /^db-(0|[1-9][0-9]{0,15})$/.exec(name)?.[1]
  if (digits === undefined) return null
  const index = Number(digits)
  return Number.isSafeInteger(index) ? logIndex(index) : null
}
