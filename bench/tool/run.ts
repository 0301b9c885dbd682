import { assertNever } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { CodedError } from '../../base/coded-error.ts'
import type { Random } from '../../base/random.ts'
import { resolveEndpoint } from '../../src/credentials/endpoint.ts'
import type { BenchContext, Measured } from './context.ts'
import { environmentOf, loadNow } from './environment.ts'
import { BenchError } from './errors.ts'
import { FailureCounts } from './generator/failures.ts'
import { Generator } from './generator/generator.ts'
import { http2 } from './generator/protocol.ts'
import { labelOf } from './load.ts'
import type { HttpVersion, Load } from './load.ts'
import type { Sample } from './measures.ts'
import { Namespaces } from './namespaces.ts'
import type { BenchOptions } from './options.ts'
import { guessMs, planOf } from './plan.ts'
import type { BenchReport } from './report.ts'
import { runCalls } from './run-calls.ts'
import { runFailover } from './run-failover.ts'
import { runStaleness } from './run-staleness.ts'
import { runWatch } from './run-watch.ts'
import { progressText } from './tables.ts'
import { Target } from './target.ts'

export type Host = {
  /** The clock of the machine, shared with the threads of the generator. */
  readonly clock: Clock
  readonly random: Random
}

const nothingSelected =
  'none of the selected loads can be measured: watch, staleness and failover need HTTP/1.1'

/**
 * Maximum number of clients of a load that is used to warm up, so that compiled code is measured
 * instead of the first seconds of a process.
 */
const warmClientsMax = 64

/**
 * Measures the selected loads, round after round, and removes the created namespaces, also after an
 * interrupt.
 *
 * @throws BenchError `no-answer`, `not-possible` when nothing can be measured
 */
export async function runBench(options: BenchOptions, { clock, random }: Host): Promise<BenchReport> {
  const { endpoints, local, note, signal, seconds, rounds, threads } = options
  const loadBefore = loadNow()
  const startedMs = clock.wallMs()
  const prefix = `bench-${Buffer.from(random.bytes(4)).toString('hex')}`
  const namespaces = new Namespaces(endpoints, clock, prefix)
  const generator = new Generator(threads)
  const interrupt = (): void => generator.close()
  signal.addEventListener('abort', interrupt)
  try {
    const probed = await namespaces.make('probe')
    const target = await Target.probe(endpoints, local, `/api/v1/namespaces/${probed.name}`)
    const run = new Run({ target, generator, namespaces, clock, seconds, note }, options)
    await run.all()
    // Last, because a member needs time to apply a setting that was changed right before the run.
    const substitutes = await target.substitutes()
    return {
      environment: environmentOf(options.commit),
      run: {
        ...{ startedMs, durationMs: clock.wallMs() - startedMs, seconds, rounds, threads },
        ...{ endpoints: endpoints.map(({ name }) => name), server: target.version, isLocal: local !== null },
        ...{ loadBefore, loadAfter: loadNow() },
      },
      rows: run.rows,
      notes: [...target.notes, ...substitutes, ...run.notes],
    }
  } finally {
    signal.removeEventListener('abort', interrupt)
    generator.close()
    note(`removing the created namespaces (${prefix}-...)`)
    const left = await namespaces.tidy()
    if (left.length > 0) note(`deletion not confirmed: namespaces ${left.join(', ')}`)
  }
}

type Row = {
  readonly load: Load
  readonly label: string
  readonly rounds: Sample[]
  readonly counts: FailureCounts
}

class Run {
  readonly notes: string[] = []
  readonly #context: BenchContext
  readonly #options: BenchOptions
  readonly #rows: Row[] = []

  constructor(context: BenchContext, options: BenchOptions) {
    this.#context = context
    this.#options = options
  }

  /** Rows with at least one measurement. */
  get rows(): BenchReport['rows'] {
    return this.#rows
      .filter(({ rounds }) => rounds.length > 0)
      .map(({ load, label, rounds, counts }) => ({ load, label, rounds, failures: counts.list() }))
  }

  /** @throws BenchError `not-possible` when no load is left */
  async all(): Promise<void> {
    const { rounds, note, signal } = this.#options
    const plan = await this.#plan()
    for (const load of plan) {
      this.#rows.push({ load, label: labelOf(load), rounds: [], counts: new FailureCounts() })
    }
    await this.#warm(plan)
    for (let round = 1; round <= rounds; round++) {
      for (const [at, row] of this.#rows.entries()) {
        if (signal.aborted) {
          this.notes.push(`interrupted in round ${round} of ${rounds}`)
          return
        }
        const sample = await this.#measure(row, round)
        const place = `[${(round - 1) * plan.length + at + 1}/${rounds * plan.length}]`
        if (sample !== null) note(`${place} ${progressText({ ...row, failures: [] }, sample)}`)
      }
    }
  }

  async #plan(): Promise<readonly Load[]> {
    const { target, note } = this.#context
    const { selection, local, rounds, seconds } = this.#options
    const roles = await target.roles()
    const hasRoles = roles.includes('leader') && roles.includes('follower')
    const canFail = local !== null && hasRoles
    const http = await this.#supportedVersions(selection.http)
    const plan = planOf(selection, { modes: target.modes, http, hasRoles, canFail })
    if (selection.workloads.includes('failover') && !canFail)
      this.notes.push('failover is not measured: it needs a leader on this machine and other members')
    for (const given of target.notes) note(given)
    if (plan.length === 0) throw new BenchError('not-possible', this.notes[0] ?? nothingSelected)
    const minutes = Math.max(1, Math.round(guessMs(plan, { secondsEach: seconds, rounds }) / 60_000))
    note(`${plan.length} loads, ${rounds} round(s) of ${seconds} s each, about ${minutes} min in all:`)
    for (const load of plan) note(`  ${labelOf(load)}`)
    return plan
  }

  /** Returns these versions; if an endpoint does not support HTTP/2, removes it and adds a note. */
  async #supportedVersions(wanted: readonly HttpVersion[]): Promise<readonly HttpVersion[]> {
    if (!wanted.includes('2')) return wanted
    for (const endpoint of this.#context.target.endpoints) {
      try {
        const connection = await http2.open(await resolveEndpoint(endpoint))
        connection.close()
      } catch (cause) {
        const why = cause instanceof Error ? cause.message : String(cause)
        this.notes.push(`HTTP/2 is not measured: ${endpoint.name}: ${why}`)
        return wanted.filter((one) => one !== '2')
      }
    }
    return wanted
  }

  /** Runs one load of each kind of call without reporting its measurements. */
  async #warm(plan: readonly Load[]): Promise<void> {
    const { note, signal } = this.#options
    const first = new Map<string, Load>()
    for (const load of plan) {
      const isCall = load.kind !== 'failover' && load.kind !== 'watch' && load.kind !== 'staleness'
      if (isCall && load.clients <= warmClientsMax && !first.has(load.kind)) first.set(load.kind, load)
    }
    if (first.size > 0) note('warming up')
    for (const load of first.values()) {
      if (signal.aborted) return
      const row: Row = { load, label: labelOf(load), rounds: [], counts: new FailureCounts() }
      await this.#measure(row, 0)
    }
  }

  /** @returns null when it could not be measured; a note has the reason, except for an interrupt */
  async #measure(row: Row, round: number): Promise<Sample | null> {
    try {
      const { sample, failures } = await this.#run(row.load, `${round}`)
      for (const { words, count } of failures) row.counts.add(words, count)
      row.rounds.push(sample)
      return sample
    } catch (cause) {
      if (!(cause instanceof CodedError)) throw cause
      // An interrupt ends the threads, and with them the load: that is not reported as a failure.
      if (!this.#options.signal.aborted) this.notes.push(`${row.label}: ${cause.message}`)
      return null
    }
  }

  #run(load: Load, round: string): Promise<Measured> {
    switch (load.kind) {
      case 'livez':
      case 'get':
      case 'create':
      case 'update':
      case 'patch':
      case 'apply':
      case 'list':
        return runCalls(this.#context, load, round)
      case 'watch':
        return runWatch(this.#context, load)
      case 'staleness':
        return runStaleness(this.#context, load)
      case 'failover':
        return runFailover(this.#context, load)
      default:
        return assertNever(load)
    }
  }
}
