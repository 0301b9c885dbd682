/**
 * Returns the highest term that is accepted from a peer: the milliseconds since 1970. A cluster
 * holds far fewer elections than one per millisecond, so the limit grows faster than its term, no
 * message can exhaust the terms, and elections can always continue. The limit does not depend on
 * the term that this member knows, so a member that was offline accepts the current term however
 * far a peer raised it. The limit is at least 2^40, in case the clock is not set; only an attack
 * can reach that term.
 */
export function termMaxAt(wallMs: number): number {
  return Math.max(2 ** 40, Math.floor(wallMs))
}
