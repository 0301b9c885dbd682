import { isJsonList, isJsonObject, memberOf, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import type { Environment } from './environment.ts'
import { BenchFailure } from './errors.ts'
import type { FailureCount } from './generator/failures.ts'
import type { Load } from './load.ts'
import { isMeasure, measures, spreadOf } from './measures.ts'
import type { Measure, Sample, Spread } from './measures.ts'

/** Another one whenever a reader of results would misunderstand them. */
export const resultsSchema = 'orchctl-bench/1'

export type BenchRow = {
  readonly load: Load
  /** By which rows of two runs are the same. */
  readonly label: string
  /** In their order. */
  readonly rounds: readonly Sample[]
  /** Of all rounds. */
  readonly failures: readonly FailureCount[]
}

/** All that is told of one run, whatever it is written as. */
export type BenchReport = {
  readonly environment: Environment
  readonly run: {
    /** Wall clock, ms since 1970. */
    readonly startedMs: number
    readonly durationMs: number
    /** Of each load. */
    readonly seconds: number
    readonly rounds: number
    /** Of the load generator. */
    readonly threads: number
    readonly endpoints: readonly string[]
    /** What the servers say they are; empty: nothing. */
    readonly server: string
    /** The servers ran on this machine, and their CPU is known. */
    readonly isLocal: boolean
    /** Processes that wanted to run before and after, on average of a minute. */
    readonly loadBefore: number
    readonly loadAfter: number
  }
  readonly rows: readonly BenchRow[]
  readonly notes: readonly string[]
}

/** As `orchctl bench --json` writes it; bench/README.md describes it. */
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

/** What is needed of results that were written earlier. */
export type Results = {
  readonly commit: string
  readonly rows: ReadonlyMap<string, readonly Sample[]>
}

/** @param name of the file, for the message @throws BenchFailure `results` */
export function parseResults(text: string, name: string): Results {
  const value = parsed(text, name)
  if (textMember(value, 'schema') !== resultsSchema)
    throw new BenchFailure(
      'results',
      `${name} is no result of orchctl bench: its schema is not ${resultsSchema}`,
    )
  const rows = memberOf(value, 'rows')
  if (!isJsonList(rows)) throw new BenchFailure('results', `${name} has no rows`)
  const found = rows.map((row): readonly [string, readonly Sample[]] => {
    const rounds = isJsonObject(row) ? memberOf(row, 'rounds') : undefined
    if (!isJsonObject(row) || !isJsonList(rounds) || !rounds.every(isJsonObject))
      throw new BenchFailure('results', `${name} has a row without rounds`)
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
    // Said below.
  }
  throw new BenchFailure('results', `${name} is not JSON as orchctl bench writes it`)
}

function sampleOf(object: JsonObject): Sample {
  const known = Object.entries(object).filter(([name, value]) => isMeasure(name) && typeof value === 'number')
  return Object.fromEntries(known)
}
