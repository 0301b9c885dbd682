/**
 * Returns the highest term that is accepted from a peer: the milliseconds since 1970, as no cluster
 * holds an election in each of them. So no message can exhaust the terms, and elections can
 * continue as time goes on. The bound does not depend on the term that this member knows, so a
 * member that was away catches up however far a peer raised the term. Where the clock is not set,
 * the bound is 2^40, far more than a cluster that is not attacked needs.
 */
export function termMaxAt(wallMs: number): number {
  return Math.max(2 ** 40, Math.floor(wallMs))
}
