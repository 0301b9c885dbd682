import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import type { Clock, Timer } from '../../base/clock.ts'

/** The gauges, by the end of their names. Each computes its value from ascending samples in s. */
const GAUGES: Readonly<Record<string, readonly [help: string, of: (lags: readonly number[]) => number]>> = {
  min: ['The minimum recorded event loop delay.', (lags) => lags[0] ?? 0],
  max: ['The maximum recorded event loop delay.', (lags) => lags.at(-1) ?? 0],
  mean: ['The mean of the recorded event loop delays.', mean],
  stddev: ['The standard deviation of the recorded event loop delays.', deviation],
  p50: ['The 50th percentile of the recorded event loop delays.', (lags) => percentile(lags, 0.5)],
  p90: ['The 90th percentile of the recorded event loop delays.', (lags) => percentile(lags, 0.9)],
  p99: ['The 99th percentile of the recorded event loop delays.', (lags) => percentile(lags, 0.99)],
}

/**
 * How late the timers of the api thread are, since the last scrape. It replaces the gauges of the
 * metrics library, whose timer runs so often that it wakes an idle member more than all its other
 * work, and which add the period of that timer to each value.
 */
export class EventLoopLag {
  readonly #clock: Clock
  readonly #lookMs: number
  /** In s; the newest replace the oldest. */
  readonly #lags: Float64Array
  #count = 0
  /** null: not known yet. */
  #dueMs: number | null = null
  #timer: Timer | null = null

  /** @param limits the interval of measuring, and the measurements kept for a scrape */
  constructor(clock: Clock, limits: { readonly lookMs: number; readonly lagsMax: number }) {
    this.#clock = clock
    this.#lookMs = limits.lookMs
    this.#lags = new Float64Array(limits.lagsMax)
  }

  start(): void {
    this.#timer = this.#clock.every(this.#lookMs, () => this.#look())
  }

  close(): void {
    this.#timer?.cancel()
  }

  /** Replaces the gauges of the library in a registry. */
  register(registry: Registry): void {
    let lags: readonly number[] = []
    for (const [end, [help, of]] of Object.entries(GAUGES)) {
      const name = `nodejs_eventloop_lag_${end}_seconds`
      registry.removeSingleMetric(name)
      const take = (): void => {
        // A scrape collects the gauges in order.
        if (end === 'min') lags = this.#take()
      }
      new Gauge({
        ...{ name, help, registers: [registry] },
        collect() {
          take()
          this.set(of(lags))
        },
      })
    }
  }

  /** The first look shows when the others are due. One that is early corrects it. */
  #look(): void {
    const [nowMs, lookMs] = [this.#clock.monotonicMs(), this.#lookMs]
    const dueMs = this.#dueMs ?? nowMs
    const lateMs = Math.max(0, nowMs - dueMs)
    if (this.#dueMs !== null) this.#lags[this.#count++ % this.#lags.length] = lateMs / 1000
    this.#dueMs = Math.min(dueMs, nowMs) + (1 + Math.floor(lateMs / lookMs)) * lookMs
  }

  /** Returns the lags since the last call, ascending. */
  #take(): readonly number[] {
    const lags = this.#lags.slice(0, Math.min(this.#count, this.#lags.length)).sort()
    this.#count = 0
    return [...lags]
  }
}

function mean(lags: readonly number[]): number {
  return lags.length === 0 ? 0 : lags.reduce((sum, lag) => sum + lag, 0) / lags.length
}

function deviation(lags: readonly number[]): number {
  const middle = mean(lags)
  return Math.sqrt(mean(lags.map((lag) => (lag - middle) ** 2)))
}

function percentile(lags: readonly number[], part: number): number {
  return lags[Math.max(0, Math.ceil(lags.length * part) - 1)] ?? 0
}
