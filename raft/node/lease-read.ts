import type { Clock } from '../../base/clock.ts'
import type { LeaseRead } from '../consensus.ts'
import type { SharedLease } from '../protocol/shared-lease.ts'

/**
 * Begins a read under this member's lease. It is linearizable if the lease still holds at the end,
 * in the same term: then no other member led in between, and everything acknowledged before the
 * beginning is within the commit index of that moment.
 *
 * @returns null: this member holds no lease now
 */
export function beginLeaseRead(lease: SharedLease, clock: Clock): LeaseRead | null {
  const { term } = lease
  const index = lease.commit
  const holds = (): boolean => {
    // Read the clock first: a lease that is renewed afterwards covers that moment too.
    const now = clock.monotonicMs()
    return lease.untilMs > now && lease.term === term
  }
  return holds() ? { index, holds } : null
}
