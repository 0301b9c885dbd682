import { formatCheck } from './formats.ts'
import type { FormatCheck } from './formats.ts'
import { KnownValues } from './known-values.ts'
import { compilePattern } from './pattern.ts'
import type { Pattern } from './pattern.ts'
import type { ValueRules } from './structural.ts'

/** The compiled rules of a schema: compiled at their first use, and released with their schema. */
export type CompiledRules = {
  readonly known: KnownValues
  /** A text: why it cannot be matched. null: there is no pattern. */
  readonly pattern: Pattern | string | null
  /** null: no format, or an unknown one. */
  readonly format: FormatCheck | null
}

const compiled = new WeakMap<ValueRules, CompiledRules>()

export function compiledRules(rules: ValueRules): CompiledRules {
  let found = compiled.get(rules)
  if (found === undefined) {
    found = {
      known: new KnownValues(rules.enum),
      pattern: rules.pattern === '' ? null : compilePattern(rules.pattern),
      format: formatCheck(rules.format),
    }
    compiled.set(rules, found)
  }
  return found
}
