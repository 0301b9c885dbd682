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
  /** Whether it would be refused, as far as this member knows. Changes nothing. @throws ApiError */
  rehearse(effect: Effect): void
}
