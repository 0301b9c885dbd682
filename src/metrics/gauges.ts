import { Counter, Gauge } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'

/*
 * Numbers that are read when they are asked for: they cost nothing in between. What only counts events is a counter, so
 * that a restart is not taken for a decrease; a place (an index, a term, a revision) or an amount is a gauge.
 */

/** @param read now; undefined: not known yet, told as 0 */
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

/** @param name without `_total`, which it gets @param read since the start of this member; undefined: told as 0 */
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
