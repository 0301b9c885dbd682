import { Counter, Gauge } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'

/*
 * Metrics that are read on collection: they cost nothing in between. A value that only counts
 * events is a counter, so that a restart is not taken for a decrease; a position (an index, a term,
 * a revision) or an amount is a gauge.
 */

/** @param read returns the current value; undefined: not known yet, exported as 0 */
export function gauge(
  register: MetricsRegistry,
  name: string,
  help: string,
  read: () => number | undefined,
): void {
  new Gauge({
    name,
    help,
    registers: [register],
    collect() {
      this.set(read() ?? 0)
    },
  })
}

/**
 * @param name without `_total`, which is appended
 * @param read returns the count since the start of this member; undefined: exported as 0
 */
export function counter(
  register: MetricsRegistry,
  name: string,
  help: string,
  read: () => number | undefined,
): void {
  new Counter({
    name: `${name}_total`,
    help,
    registers: [register],
    collect() {
      this.reset()
      this.inc(read() ?? 0)
    },
  })
}
