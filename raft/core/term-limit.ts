/**
 * Returns the highest term that is accepted from a peer: the milliseconds since 1970, as no cluster
 * holds an election in each of them. So no message can exhaust the terms, and elections can
 * continue as time goes on. The limit does not depend on the term that this member knows, so a
 * member that was away catches up however far a peer raised the term. If the clock is not set, the
 * limit is 2^40, far more than a cluster needs that is not under attack.
 */
export function termMaxAt(wallMs: number): number {
  return Math.max(2 ** 40, Math.floor(wallMs))
}
