import { ApiError } from '../errors/api-error.ts'
import { findingLimits } from '../limits.ts'
import { pathsOf } from './field-set.ts'
import type { ManagedEntry } from './managers.ts'
import type { Conflicts } from './ownership.ts'
import { spellSteps } from './step.ts'

/**
 * The error of an apply that would change fields of other managers: one cause per field, up to
 * `findingsMax`.
 *
 * @param conflicts not empty
 * @source apiserver `fieldmanager/internal/conflict.go`
 */
export function applyConflict(conflicts: Conflicts): ApiError {
  const entries = [...conflicts.values()]
  const shown: FieldConflict[] = []
  let count = 0
  for (const { words, path } of pathsIn(entries)) {
    if (count++ < findingLimits.findingsMax) shown.push({ words, field: spellSteps(path) })
  }
  return new ApiError('Conflict', messageOf(shown, count), {
    causes: shown.map(({ words, field }) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with ${words}`,
      field,
    })),
  })
}

type FieldConflict = { readonly words: string; readonly field: string }

function* pathsIn(
  entries: readonly ManagedEntry[],
): Generator<{ readonly words: string; readonly path: readonly string[] }> {
  for (const entry of entries) {
    const words = wordsOf(entry)
    for (const path of pathsOf(entry.fields)) yield { words, path }
  }
}

function messageOf(shown: readonly FieldConflict[], count: number): string {
  const [first] = shown
  if (first !== undefined && count === 1) {
    return `Apply failed with 1 conflict: conflict with ${first.words}: ${first.field}`
  }
  const byManager = new Map<string, string[]>()
  for (const { words, field } of shown) byManager.set(words, [...(byManager.get(words) ?? []), field])
  const lines = [...byManager]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([words, fields]) => [`conflicts with ${words}:`, ...fields.map((field) => `- ${field}`)])
  if (shown.length < count) lines.push(`and ${count - shown.length} more`)
  return `Apply failed with ${count} conflicts: ${lines.join('\n')}`
}

function wordsOf({ manager, operation, apiVersion, subresource, time }: ManagedEntry): string {
  const name = JSON.stringify(manager)
  const where = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`
  if (operation !== 'Update') return `${name}${where}`
  return `${name}${where} using ${apiVersion}${time === null ? '' : ` at ${time}`}`
}
