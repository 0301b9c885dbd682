import { availableParallelism } from 'node:os'
import { runCheck } from './check.ts'
import type { Verdict } from './check.ts'
import { Copy, sourceOf } from './copy.ts'
import { seeds } from './mutant.ts'
import type { Check, Mutant } from './mutant.ts'
import { compiled, mutated } from './patch.ts'
import { patienceVariable } from '../support/tools/until.ts'

export type Tried = { readonly check: Check; readonly verdict: Verdict; readonly seconds: number }

/**
 * Returns a copy of the unchanged program. The files that mutants change are compiled in the same
 * way as mutants.
 */
export function unchanged(mutants: readonly Mutant[]): Copy {
  const copy = new Copy()
  for (const file of new Set(mutants.map((mutant) => mutant.file))) {
    copy.replace(file, compiled(sourceOf(file), file))
  }
  return copy
}

/** @returns the checks that did not pass: their verdict on a mutant proves nothing */
export async function baseline(copy: Copy, checks: readonly Check[]): Promise<Tried[]> {
  const tried = await inLanes(distinct(checks), (check) => timed(check, copy))
  return tried.filter(({ verdict }) => verdict.kind !== 'passed')
}

/**
 * Checks that the seed that failed with a mutant passes without it; otherwise it proves nothing
 * about the mutant.
 */
export async function confirmed(tried: Tried, copy: Copy): Promise<Tried> {
  const { verdict } = tried
  if (verdict.kind !== 'failed') return tried
  const seed = Number(verdict.finding.where.replace('seed ', ''))
  const without = await runCheck(seeds(seed, seed), copy)
  if (without.kind === 'passed') return tried
  return { ...tried, verdict: { kind: 'void', why: `seed ${seed} fails without the mutant too` } }
}

/** @throws StaleMutant */
export async function tryMutant(mutant: Mutant, checks: readonly Check[]): Promise<Tried[]> {
  const program = compiled(mutated(sourceOf(mutant.file), mutant), mutant.file)
  const copy = new Copy()
  try {
    copy.replace(mutant.file, program)
    const tried: Tried[] = []
    for (const check of checks) tried.push(await timed(check, copy, { [patienceVariable]: patienceMs }))
    return tried
  } finally {
    copy.remove()
  }
}

export function distinct(checks: readonly Check[]): readonly Check[] {
  return [...new Map(checks.map((check) => [JSON.stringify(check), check])).values()]
}

/** At most two: each check starts processes, and other suites need a core too. */
export const lanes = Math.min(2, availableParallelism())

/** Runs `act` for several items at a time. @returns the results in the order of `items` */
export async function inLanes<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array<R>(items.length)
  let next = 0
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await act(items[at] as T)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return results
}

/**
 * How long a test waits in ms for what a mutant may prevent. Shorter than without a mutant, as the
 * wait is often the finding.
 */
const patienceMs = '15000'

async function timed(check: Check, copy: Copy, env: NodeJS.ProcessEnv = {}): Promise<Tried> {
  const began = performance.now()
  const verdict = await runCheck(check, copy, { env })
  return { check, verdict, seconds: (performance.now() - began) / 1000 }
}
