import type { Condition } from './command.ts'

/** Part of the formats of log and database: never changed, never reused. */
export const conditionNumber = {
  absent: 0,
  exists: 1,
  'uid-is': 2,
  'revision-is': 3,
  'namespace-active': 4,
  'prefix-empty': 5,
  'other-revision-is': 6,
} as const satisfies Record<Condition['kind'], number>
