import { ApiError } from '../api/api-error.ts'
import type { ApiErrorDetails } from '../api/api-error.ts'

/**
 * A change to what an object shows but does not decide: it is asked of whoever does, and seen once that has happened.
 * Each may be asked again: what is so already is done.
 */
export type Effect =
  | { readonly kind: 'remove-member'; readonly id: string }
  | { readonly kind: 'set-member-role'; readonly id: string; readonly voter: boolean }
  /** null: as it is. */
  | {
      readonly kind: 'move-member'
      readonly id: string
      readonly peerAddress: string | null
      readonly clientAddress: string | null
    }

/** Where effects are asked for. */
export interface Effects {
  /**
   * Resolves once it has happened, and this member's memory shows it.
   * @param deadlineMs on the monotonic clock
   * @throws ApiError it did not happen, or nobody knows
   */
  perform(effect: Effect, deadlineMs: number): Promise<void>
  /** Whether it would be refused, as this member's memory has it. Behind a barrier. Changes nothing. @throws ApiError */
  rehearse(effect: Effect): void
}

/**
 * What a request is told that failed behind effects that were made: they are not taken back. Never to be repeated
 * blindly, so without a time for that.
 */
export function partlyDone(made: readonly Effect[], cause: unknown): unknown {
  if (made.length === 0 || !(cause instanceof ApiError)) return cause
  const fields = made.flatMap(fieldsOf).join(' and ')
  const details: { -readonly [Name in keyof ApiErrorDetails]: ApiErrorDetails[Name] } = { ...cause.details }
  delete details.retryAfterSeconds
  const message = `${cause.message} (done as asked: ${fields}; not done: the rest of the request)`
  return new ApiError(cause.code, message, details, { cause })
}

function fieldsOf(effect: Effect): readonly string[] {
  switch (effect.kind) {
    case 'remove-member':
      return ['membership']
    case 'set-member-role':
      return ['spec.role']
    case 'move-member': {
      const peer = effect.peerAddress === null ? [] : ['spec.peerAddress']
      return effect.clientAddress === null ? peer : [...peer, 'spec.clientAddress']
    }
  }
}
