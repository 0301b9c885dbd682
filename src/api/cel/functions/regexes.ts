import { regexFind } from '../cost/cost-rule.ts'
import type { Evaluation } from '../evaluate/evaluation.ts'
import { celList, celString } from '../types.ts'
import { ArrayList } from '../values/array-list.ts'
import { CelFailure } from '../values/value.ts'
import type { FunctionEntry } from './overload.ts'
import { call2, call3, method } from './overload.ts'
import { aString, anInt } from './params.ts'
import { findSteps } from './texts.ts'

/**
 * The regex library of upstream.
 *
 * @source apiserver `pkg/cel/library/regex.go`
 */
export const regexes: readonly FunctionEntry[] = [
  [
    'find',
    method(
      call2(
        aString,
        aString,
        celString,
        (text, pattern, evaluation) => {
          const found = matchesOf(text, pattern, 1, evaluation)
          return found instanceof CelFailure ? found : (found[0] ?? '')
        },
        regexFind,
      ),
    ),
  ],
  [
    'findAll',
    method(
      call2(
        aString,
        aString,
        celList(celString),
        (text, pattern, evaluation) => listOfMatches(text, pattern, Infinity, evaluation),
        regexFind,
      ),
    ),
    method(
      call3(
        aString,
        aString,
        anInt,
        celList(celString),
        ([text, pattern, count], evaluation) =>
          listOfMatches(text, pattern, count < 0n ? Infinity : Number(count), evaluation),
        regexFind,
      ),
    ),
  ],
]

function listOfMatches(
  text: string,
  pattern: string,
  countMax: number,
  evaluation: Evaluation,
): ArrayList | CelFailure {
  const found = matchesOf(text, pattern, countMax, evaluation)
  return found instanceof CelFailure ? found : new ArrayList([...found])
}

function matchesOf(
  text: string,
  pattern: string,
  countMax: number,
  evaluation: Evaluation,
): readonly string[] | CelFailure {
  const regex = evaluation.regexOf(pattern)
  if (regex instanceof CelFailure) return regex
  // Each search may read all of the rest, to find out which alternative matches.
  return regex.find(text, countMax, (start) => evaluation.step(findSteps(text.length - start, regex)))
}
