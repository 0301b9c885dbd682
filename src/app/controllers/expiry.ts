import type { Logger } from 'pino'
import type { Clock } from '../../../base/clock.ts'
import { ObjectExpiry, sweepPeriodMs } from '../../controllers/object-expiry.ts'
import { keptResponsesPrefix } from '../../registry/shared/kept-response.ts'
import { recordsPrefix } from '../../registry/writing/idempotency.ts'
import { prefixOf } from '../../store/key.ts'
import type { ObjectStore } from '../../store/object-store.ts'

export type ExpiryDependencies = {
  readonly store: ObjectStore
  readonly clock: Clock
  readonly log: Logger
  /** 0: events never expire. */
  readonly eventTtlMs: number
}

/** Interval of sweeps through the records of idempotency keys. */
const recordSweepMs = 5000

/** Deletes expired events. @returns null: events never expire */
export function eventExpiry({
  store,
  clock,
  log,
  eventTtlMs: ttlMs,
}: ExpiryDependencies): ObjectExpiry | null {
  if (ttlMs === 0) return null
  const prefix = prefixOf({ group: '', plural: 'events', namespace: null })
  return new ObjectExpiry({
    ...{ store, clock, prefix, ttlMs: () => ttlMs, periodMs: sweepPeriodMs(ttlMs) },
    onFailure: (cause) => log.warn({ err: cause }, 'events not deleted yet'),
  })
}

/**
 * Deletes the records of idempotency keys, and the responses that they refer to, once the history
 * window has passed.
 */
export function recordExpiry({ store, clock, log }: ExpiryDependencies): readonly ObjectExpiry[] {
  return [recordsPrefix, keptResponsesPrefix].map(
    (prefix) =>
      new ObjectExpiry({
        ...{ store, clock, prefix, periodMs: recordSweepMs },
        ttlMs: () => store.settings.historyWindowMs,
        onFailure: (cause) => log.warn({ err: cause }, 'records of idempotency keys not deleted yet'),
      }),
  )
}
