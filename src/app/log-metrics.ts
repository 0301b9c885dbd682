import { Counter } from 'prom-client'
import type { Registry as MetricsRegistry } from 'prom-client'
import type { StandardOutput } from '../host/standard-output.ts'

/** What nobody reads of the log is not said there either. */
export function registerLogMetrics(register: MetricsRegistry, output: Pick<StandardOutput, 'lost'>): void {
  new Counter({
    name: 'orch_log_lines_lost_total',
    help: 'lines of the log that nobody read in time',
    registers: [register],
    collect() {
      this.reset()
      this.inc(output.lost)
    },
  })
}
