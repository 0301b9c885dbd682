import { ApiError } from '../api/errors/api-error.ts'

/** Whether a write failed because another one came first: the object has changed or is gone. */
export function isLostRace(cause: unknown): boolean {
  return cause instanceof ApiError && (cause.code === 'Conflict' || cause.code === 'NotFound')
}
