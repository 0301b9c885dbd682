import { Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { ProvenMode, ReadProof } from '../registry/calls/consistency.ts'

const modes = {
  linearizable: 0,
  lease: 1,
  bounded: 2,
  any: 3,
  log: 4,
  'not-older-than': 5,
  exact: 6,
} as const satisfies Record<ProvenMode, number>

/**
 * - `total`: from the first line of the request to the end of its response; not of watches
 * - `read_index`: waiting for a quorum, or for an entry of its own
 * - `apply`: waiting until that index is applied here
 * - `encode`: from the choice of the state until the last byte was written; not of watches
 */
const phases = { total: 0, read_index: 1, apply: 2, encode: 3 } as const
type Phase = keyof typeof phases

/** Upper bounds, in s. */
const bounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const phaseCount = Object.keys(phases).length
/** Counts of one phase of one mode: within each bound, beyond them all, and the sum in s. */
const width = bounds.length + 2

const shape = {
  name: 'orch_read_seconds',
  help: 'Duration of gets, lists and starts of watches, by consistency mode and phase.',
  labelNames: ['mode', 'phase'] as const,
  buckets: bounds,
}

type Labels = 'mode' | 'phase'
type Told = Awaited<ReturnType<Histogram<Labels>['get']>>

/**
 * Durations of reads by consistency mode. It counts by itself, because four observations of an
 * ordinary histogram cost a tenth of a get.
 */
export class ReadMetrics extends Histogram<Labels> {
  /** Name and type, for the registry. */
  readonly #empty = new Histogram<Labels>({ ...shape, registers: [] })
  readonly #counts = new Float64Array(Object.keys(modes).length * phaseCount * width)

  constructor(register: Registry) {
    super({ ...shape, registers: [register] })
  }

  /** @param endMs null: it continues, as watches do */
  read({ mode, waitedMs, fixedMs }: ReadProof, startedMs: number, endMs: number | null): void {
    this.#count(mode, 'read_index', waitedMs.confirm)
    this.#count(mode, 'apply', waitedMs.apply)
    if (endMs === null) return
    this.#count(mode, 'encode', endMs - fixedMs)
    this.#count(mode, 'total', endMs - startedMs)
  }

  override async get(): Promise<Told> {
    const values: Told['values'] = []
    for (const mode of keysOf(modes)) for (const phase of keysOf(phases)) this.#tell(values, mode, phase)
    return { ...(await this.#empty.get()), values }
  }

  /** Called by the registry. */
  getForPromString(): Promise<Told> {
    return this.get()
  }

  #count(mode: ProvenMode, phase: Phase, ms: number): void {
    const seconds = ms / 1000
    const at = startOf(mode, phase)
    let bucket = 0
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket++
    this.#add(at + bucket, 1)
    this.#add(at + width - 1, seconds)
  }

  #add(at: number, value: number): void {
    this.#counts[at] = (this.#counts[at] ?? 0) + value
  }

  /** Emits nothing for a mode without reads. */
  #tell(values: Told['values'], mode: ProvenMode, phase: Phase): void {
    const at = startOf(mode, phase)
    let count = 0
    const buckets = [...bounds, '+Inf'].map((le, place) => {
      count += this.#counts[at + place] ?? 0
      return { metricName: `${shape.name}_bucket`, labels: { mode, phase, le }, value: count }
    })
    if (count === 0) return
    const labels = { mode, phase }
    values.push(
      ...buckets,
      { metricName: `${shape.name}_sum`, labels, value: this.#counts[at + width - 1] ?? 0 },
      { metricName: `${shape.name}_count`, labels, value: count },
    )
  }
}

function startOf(mode: ProvenMode, phase: Phase): number {
  return (modes[mode] * phaseCount + phases[phase]) * width
}

function keysOf<Key extends string>(record: Readonly<Record<Key, number>>): readonly Key[] {
  return Object.keys(record) as Key[]
}
