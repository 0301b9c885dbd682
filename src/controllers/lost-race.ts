import { ApiError } from '../api/errors/api-error.ts'

/**
 * Whether a write failed because another one came first: the object has changed, is gone, or exists
 * already. `NotFound` counts even for a create, where it means that the namespace is missing; see
 * `isLostCreate`.
 */
export function isLostRace(cause: unknown): boolean {
  return cause instanceof ApiError && LOST.has(cause.code)
}

/** As `isLostRace`, for a create: a missing namespace is not a lost race. */
export function isLostCreate(cause: unknown): boolean {
  return isLostRace(cause) && !(cause instanceof ApiError && cause.code === 'NotFound')
}

const LOST: ReadonlySet<string> = new Set(['AlreadyExists', 'Conflict', 'NotFound'])
