import { fieldForbidden, invalid } from '../errors/field-error.ts'
import type { Findings } from '../errors/findings.ts'
import { textMember } from '../json.ts'
import type { JsonObject } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { fieldAt } from '../schema/path.ts'
import type { CheckBudget } from './check-budget.ts'
import { customLimits } from './limits.ts'
import { patternSize } from './pattern-size.ts'
import { compilePattern } from './pattern.ts'
import { childrenOf } from './schema-children.ts'

/**
 * Checks the size limits of a schema before it is processed in any other way. Compiles its regular
 * expressions, as long as their total size is within the limit.
 *
 * @returns whether the schema is small enough to be processed
 */
export function checkSize(json: JsonObject, at: Path, budget: CheckBudget, found: Findings): boolean {
  const { schemaNodesMax, schemaDepthMax, patternCharactersMax } = customLimits
  let nodes = 0
  const visit = (node: JsonObject, place: Path, depth: number): string | null => {
    nodes++
    if (nodes > schemaNodesMax) return `must have at most ${schemaNodesMax} schemas inside`
    if (depth > schemaDepthMax) return `must be at most ${schemaDepthMax} schemas deep`
    const pattern = textMember(node, 'pattern')
    budget.patternsSizeLeft -= patternSize(pattern.slice(0, patternCharactersMax)).work
    if (budget.patternsSizeLeft < 0) return patternsTooLarge()
    if (pattern !== '') checkPattern(pattern, place, found)
    for (const child of childrenOf(node, place)) {
      const words = visit(child.json, child.at, depth + 1)
      if (words !== null) return words
    }
    return null
  }
  const words = visit(json, at, 1)
  if (words !== null) found.add(fieldForbidden(at, words))
  return words === null
}

function checkPattern(pattern: string, at: Path, found: Findings): void {
  const compiled = compilePattern(pattern)
  if (typeof compiled !== 'string') return
  const words = `must be a valid regular expression, but isn't: ${compiled}`
  found.add(invalid(fieldAt(at, 'pattern'), pattern.slice(0, 256), words))
}

/** Returns the error for a definition whose regular expressions exceed their limit together. */
export function patternsTooLarge(): string {
  return `regular expressions of all versions must compile to at most ${customLimits.patternsSizeMax} instructions and ranges of characters together`
}
