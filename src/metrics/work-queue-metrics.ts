import { Counter, Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { BucketCounts, BucketHistogram } from './bucket-histogram.ts'

/** The part of a work queue that is measured. */
export type MeasuredQueue = {
  readonly depth: number
  readonly adds: number
  readonly retries: number
  readonly errors: number
  /** For each key in progress, the ms since its processing began. */
  workingMs(): readonly number[]
  /** Sets what is called when a key was taken, with its wait, and when it was processed. */
  observe(observer: { readonly waited: (ms: number) => void; readonly worked: (ms: number) => void }): void
}

type Measured = {
  readonly name: string
  readonly queue: MeasuredQueue
  readonly waited: BucketCounts
  readonly worked: BucketCounts
}

/** From 10 ns to 10 s. @source client-go `util/workqueue`, component-base `metrics/prometheus` */
const bounds = Object.freeze([1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10])

/** The work queues of the controllers, each under a fixed name. Followers have empty queues. */
export class WorkQueueMetrics {
  readonly #measured: Measured[] = []

  add(name: string, queue: MeasuredQueue): void {
    const waited = new BucketCounts(bounds)
    const worked = new BucketCounts(bounds)
    queue.observe({
      waited: (ms) => waited.observe(ms / 1000),
      worked: (ms) => worked.observe(ms / 1000),
    })
    this.#measured.push({ name, queue, waited, worked })
  }

  register(register: Registry): void {
    this.#gauge(register, 'depth', 'Keys that wait for their controller, by queue.', ({ depth }) => depth)
    this.#gauge(
      register,
      'unfinished_work_seconds',
      'Sum of the times for which the keys in progress have been processed, by queue.',
      (queue) => queue.workingMs().reduce((sum, ms) => sum + ms, 0) / 1000,
    )
    this.#gauge(
      register,
      'longest_running_processor_seconds',
      'Longest time for which a key in progress has been processed, by queue.',
      (queue) => queue.workingMs().reduce((most, ms) => Math.max(most, ms), 0) / 1000,
    )
    this.#counter(register, 'adds_total', 'Keys that were added, by queue.', ({ adds }) => adds)
    this.#counter(
      register,
      'retries_total',
      'Keys that were added for a later retry, by queue.',
      ({ retries }) => retries,
    )
    this.#counter(
      register,
      'errors_total',
      'Keys whose processing failed with an error, by queue.',
      ({ errors }) => errors,
      'orch_controller',
    )
    this.#histogram(register, 'queue_duration_seconds', 'Time that a key waited, by queue.', 'waited')
    this.#histogram(register, 'work_duration_seconds', 'Time to process a key, by queue.', 'worked')
  }

  #gauge(register: Registry, name: string, help: string, read: (queue: MeasuredQueue) => number): void {
    const measured = this.#measured
    new Gauge({
      ...{ name: `workqueue_${name}`, help, labelNames: ['name'], registers: [register] },
      collect() {
        for (const one of measured) this.set({ name: one.name }, read(one.queue))
      },
    })
  }

  #counter(
    register: Registry,
    name: string,
    help: string,
    read: (queue: MeasuredQueue) => number,
    prefix = 'workqueue',
  ): void {
    const measured = this.#measured
    new Counter({
      ...{ name: `${prefix}_${name}`, help, labelNames: ['name'], registers: [register] },
      collect() {
        this.reset()
        for (const one of measured) this.inc({ name: one.name }, read(one.queue))
      },
    })
  }

  #histogram(register: Registry, name: string, help: string, of: 'waited' | 'worked'): void {
    const shape = { name: `workqueue_${name}`, help, labelNames: ['name'] as const, buckets: bounds }
    new BucketHistogram<'name'>(register, shape, () =>
      this.#measured.map((one) => ({ labels: { name: one.name }, counts: one[of] })),
    )
  }
}
