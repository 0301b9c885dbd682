/** Whether this member leads; only the leader's controllers work. */
export interface Leadership {
  readonly leading: boolean
  /** Calls `listener` after each change. @returns takes the listener off again */
  onChange(listener: () => void): () => void
}

/**
 * Runs `work` while this member leads. Two members may both believe to lead for a moment, so work must be
 * safe to do twice; writes are conditional.
 *
 * @returns ends it for good
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
