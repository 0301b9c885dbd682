import { affix, regexMatch, searchText } from '../cost/cost-rule.ts'
import { celBool } from '../types.ts'
import { searchFor } from '../values/find-text.ts'
import type { CelRegex } from '../values/regex.ts'
import { CelFailure } from '../values/value.ts'
import type { Evaluation } from '../evaluate/evaluation.ts'
import type { FunctionEntry, Outcome } from './overload.ts'
import { call2, method } from './overload.ts'
import { aString } from './params.ts'

/** The standard functions of texts. */
export const texts: readonly FunctionEntry[] = [
  ['startsWith', method(call2(aString, aString, celBool, (text, part) => text.startsWith(part), affix))],
  ['endsWith', method(call2(aString, aString, celBool, (text, part) => text.endsWith(part), affix))],
  [
    'contains',
    method(
      call2(
        aString,
        aString,
        celBool,
        (text, part, evaluation) => {
          evaluation.step(text.length / 4)
          return searchFor(part)(text, 0) >= 0
        },
        searchText,
      ),
    ),
  ],
  [
    'matches',
    call2(aString, aString, celBool, matches, regexMatch),
    method(call2(aString, aString, celBool, matches, regexMatch)),
  ],
]

function matches(text: string, pattern: string, evaluation: Evaluation): Outcome {
  const regex = evaluation.regexOf(pattern)
  if (regex instanceof CelFailure) return regex
  evaluation.step(regexSteps(text.length, regex.size))
  return regex.matches(text)
}

/** Steps of starting a match. */
const MATCH_STEPS = 10

/**
 * Finding a match takes longer than deciding whether there is one, especially if case is ignored.
 */
export function findSteps(length: number, { size, ignoresCase }: CelRegex): number {
  return regexSteps(length, size) * (ignoresCase ? 4 : 2)
}

/** Each character may visit each instruction; a step stands for about eight of these visits. */
export function regexSteps(length: number, size: number): number {
  return MATCH_STEPS + ((length + 1) * size) / 8
}
