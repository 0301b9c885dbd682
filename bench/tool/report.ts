import { isJsonList, isJsonObject, memberOf, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import type { Environment } from './environment.ts'
import { BenchError } from './errors.ts'
import type { FailureCount } from './generator/failures.ts'
import type { Load } from './load.ts'
import { isMeasure, measures, spreadOf } from './measures.ts'
import type { Measure, Sample, Spread } from './measures.ts'

/** Changes whenever older readers would misinterpret the file. */
export const resultsSchema = 'orchctl-bench/1'

export type BenchRow = {
  readonly load: Load
  /** Identifies the same load in two runs. */
  readonly label: string
  /** One sample for each round, in their order. */
  readonly rounds: readonly Sample[]
  /** Failures of all rounds. */
  readonly failures: readonly FailureCount[]
}

/** The report of a run, independent of its format. */
export type BenchReport = {
  readonly environment: Environment
  readonly run: {
    /** Wall clock, ms since 1970. */
    readonly startedMs: number
    readonly durationMs: number
    /** Duration of each load in s. */
    readonly seconds: number
    readonly rounds: number
    /** Threads of the generator. */
    readonly threads: number
    readonly endpoints: readonly string[]
    /** Version that the first endpoint reports; empty: none. */
    readonly server: string
    /** The servers run on this machine, so their CPU time is known. */
    readonly isLocal: boolean
    /** Load average before and after. */
    readonly loadBefore: number
    readonly loadAfter: number
  }
  readonly rows: readonly BenchRow[]
  readonly notes: readonly string[]
}

/** The format of `orchctl bench --json`, described in bench/README.md. */
export function jsonOf({ environment, run, rows, notes }: BenchReport): string {
  const written = rows.map(({ label, load, rounds, failures }) => {
    const names = Object.keys(measures).filter(isMeasure)
    const spreads = names.flatMap((name): readonly (readonly [Measure, Spread])[] => {
      const spread = spreadOf(rounds, name)
      return spread === null ? [] : [[name, spread]]
    })
    return { label, load, measures: Object.fromEntries(spreads), rounds, failures }
  })
  return JSON.stringify({ schema: resultsSchema, environment, run, rows: written, notes }, null, 2)
}

/** The parts of a results file that a comparison needs. */
export type Results = {
  readonly commit: string
  readonly rows: ReadonlyMap<string, readonly Sample[]>
}

/** @param name of the file, for messages @throws BenchError `results` */
export function parseResults(text: string, name: string): Results {
  const value = parsed(text, name)
  if (textMember(value, 'schema') !== resultsSchema)
    throw new BenchError(
      'results',
      `${name} is not a result of orchctl bench: its schema is not ${resultsSchema}`,
    )
  const rows = memberOf(value, 'rows')
  if (!isJsonList(rows)) throw new BenchError('results', `${name} has no rows`)
  const found = rows.map((row): readonly [string, readonly Sample[]] => {
    const rounds = isJsonObject(row) ? memberOf(row, 'rounds') : undefined
    if (!isJsonObject(row) || !isJsonList(rounds) || !rounds.every(isJsonObject))
      throw new BenchError('results', `${name} has a row without rounds`)
    return [textMember(row, 'label'), rounds.map(sampleOf)]
  })
  const environment = memberOf(value, 'environment')
  const commit =
    environment !== undefined && isJsonObject(environment) ? textMember(environment, 'commit') : ''
  return { commit: commit === '' ? 'unknown' : commit, rows: new Map(found) }
}

function parsed(text: string, name: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value)) return value
  } catch {
    // Reported below.
  }
  throw new BenchError('results', `${name} is not JSON as orchctl bench writes it`)
}

function sampleOf(object: JsonObject): Sample {
  const known = Object.entries(object).filter(([name, value]) => isMeasure(name) && typeof value === 'number')
  return Object.fromEntries(known)
}
