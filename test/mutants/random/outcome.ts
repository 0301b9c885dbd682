import type { Verdict } from '../check.ts'
import { nameOf } from '../mutant.ts'
import type { Check } from '../mutant.ts'

export type Outcome =
  | { readonly kind: 'noticed'; readonly by: string; readonly how: string }
  | { readonly kind: 'survived'; readonly checks: number }
  /** No check executes the code that the mutation changes. */
  | { readonly kind: 'unreached' }
  /** A check gave no result, and gives none without the mutation either: this proves nothing. */
  | { readonly kind: 'unchecked'; readonly by: string; readonly why: string }

/**
 * Runs the checks of a mutation until one notices it. A check that gives no result is run again
 * without the mutation, because it may be the check that is broken.
 *
 * @param run runs a check with the mutation, or without it
 */
export async function outcomeOf(
  checks: readonly Check[],
  run: (check: Check, program: 'mutated' | 'original') => Promise<Verdict>,
): Promise<Outcome> {
  if (checks.length === 0) return { kind: 'unreached' }
  for (const check of checks) {
    const verdict = await run(check, 'mutated')
    if (verdict.kind === 'passed') continue
    const by = nameOf(check)
    if (verdict.kind === 'failed') return { kind: 'noticed', by, how: verdict.finding.where }
    const without = await run(check, 'original')
    if (without.kind !== 'passed') return { kind: 'unchecked', by, why: verdict.why }
    return { kind: 'noticed', by, how: verdict.timedOut ? 'timeout' : verdict.why }
  }
  return { kind: 'survived', checks: checks.length }
}
