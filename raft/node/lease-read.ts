import type { Clock } from '../../base/clock.ts'
import type { LeaseRead } from '../consensus.ts'
import type { SharedLease } from '../protocol/shared-lease.ts'

/**
 * Begins a read by the lease of this member. Sound as long as the lease holds at the end in the
 * same term: then nobody else led meanwhile, and all that was acknowledged before the beginning is
 * within the commit index of that moment.
 *
 * @returns null: this member leads by no lease now
 */
export function beginLeaseRead(lease: SharedLease, clock: Clock): LeaseRead | null {
  const { term } = lease
  const index = lease.commit
  const holds = (): boolean => {
    // The clock first: a lease that was prolonged after it covers that moment too.
    const now = clock.monotonicMs()
    return lease.untilMs > now && lease.term === term
  }
  return holds() ? { index, holds } : null
}
