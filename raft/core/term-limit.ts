/**
 * The highest term that is believed at a time: the milliseconds since 1970, as no cluster has an election in each of them.
 * So one message cannot use up the terms, and as time goes on elections always can. It does not depend on the term that
 * this member knows, so a member that was away catches up with however far a peer raised the terms meanwhile. Where the
 * clock is not set, far more than a cluster needs that nobody attacks.
 */
export function termMaxAt(wallMs: number): number {
  return Math.max(2 ** 40, Math.floor(wallMs))
}
