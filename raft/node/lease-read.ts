import type { Clock } from '../../base/clock.ts'
import type { LeaseRead } from '../consensus.ts'
import type { SharedLease } from '../protocol/shared-lease.ts'

/**
 * Begins a read under this member's lease. The read is linearizable if the lease still holds at its
 * end, in the same term: then no other member led in between, and the commit index of the beginning
 * covers everything that was acknowledged before.
 *
 * @returns null: this member holds no lease now
 */
export function beginLeaseRead(lease: SharedLease, clock: Clock): LeaseRead | null {
  const { term } = lease
  const index = lease.commit
  const holds = (): boolean => {
    // The clock is read first: a lease that is renewed after that covers this moment too.
    const now = clock.monotonicMs()
    return lease.untilMs > now && lease.term === term
  }
  return holds() ? { index, holds } : null
}
