import { assert } from '../../base/assert.ts'
import type { Brand } from '../../base/brand.ts'

/**
 * Counts object changes of the whole cluster. Clients see it as `resourceVersion`. Not a log index:
 * barriers wait for indexes, versions have revisions. 0 before the first change.
 */
export type Revision = Brand<number, 'Revision'>

export function revision(value: number): Revision {
  assert(Number.isSafeInteger(value) && value >= 0, `revision ${value} is a whole number from 0`)
  return value as Revision
}

export const noRevision = revision(0)
