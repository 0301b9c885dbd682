import { Counter } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { StandardOutput } from '../host/standard-output.ts'

/** A metric, because a log that is not read cannot report its own losses. */
export function registerLogMetrics(register: MetricsRegistry, output: Pick<StandardOutput, 'lost'>): void {
  new Counter({
    name: 'orch_log_lines_lost_total',
    help: 'Lines of the log that were dropped because standard output was not read or could not be written.',
    registers: [register],
    collect() {
      this.reset()
      this.inc(output.lost)
    },
  })
}
