/** Whether this member leads. Most controllers work only on the leader. */
export interface Leadership {
  readonly leading: boolean
  /**
   * Calls `listener` after each change.
   * @returns a function that unsubscribes the listener
   */
  onChange(listener: () => void): () => void
}

/**
 * Runs `work` while this member leads. Two members may consider themselves the leader for a moment,
 * so work must be idempotent; writes have preconditions.
 *
 * @returns a function that stops it
 */
export function whileLeading(
  leadership: Leadership,
  work: { readonly start: () => void; readonly stop: () => void },
): () => void {
  let running = false
  const follow = () => {
    if (leadership.leading === running) return
    running = leadership.leading
    if (running) work.start()
    else work.stop()
  }
  const unsubscribe = leadership.onChange(follow)
  follow()
  return () => {
    unsubscribe()
    if (running) work.stop()
    running = false
  }
}
