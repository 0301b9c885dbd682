/**
 * Returns the longest interval from `fromMs` to `toMs` without any of these times.
 *
 * @param atMs ascending; times outside of the range are ignored
 * @returns ms
 */
export function longestGap(atMs: readonly number[], fromMs: number, toMs: number): number {
  let [longest, last] = [0, fromMs]
  for (const at of atMs) {
    if (at < fromMs || at > toMs) continue
    longest = Math.max(longest, at - last)
    last = at
  }
  return Math.max(longest, toMs - last)
}
