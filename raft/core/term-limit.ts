/**
 * Returns the highest term that is accepted from a peer: the milliseconds since 1970. A cluster
 * holds far fewer elections than one per millisecond, so the limit grows faster than its term, no
 * message can exhaust the terms, and elections can always continue. The limit does not depend on
 * the term that this member knows, so a member that was away catches up however far a peer raised
 * the term. If the clock is not set, the limit is 2^40, which only an attack can reach.
 */
export function termMaxAt(wallMs: number): number {
  return Math.max(2 ** 40, Math.floor(wallMs))
}
