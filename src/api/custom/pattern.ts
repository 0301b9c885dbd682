import { RE2JS } from 're2js'
import { customLimits } from './limits.ts'
import { patternSize } from './pattern-size.ts'
import { statesOf } from './pattern-states.ts'

/**
 * A regular expression of Go's `regexp`: without features that need backtracking, so that matching
 * takes linear time.
 *
 * @source github.com/google/re2/wiki/Syntax
 */
export type Pattern = {
  /** Returns whether the expression matches anywhere in the text. */
  readonly matches: (text: string) => boolean
  /** Number of instructions. */
  readonly size: number
  /** Returns the steps that matching a text may take, at most: more for the first texts. */
  readonly steps: (text: string) => number
}

/** @returns the pattern, or the error text */
export function compilePattern(source: string): Pattern | string {
  const { patternCharactersMax, patternSizeMax } = customLimits
  if (source.length > patternCharactersMax || patternSize(source).work > patternSizeMax) {
    return `it is longer than ${patternCharactersMax} characters, or compiles to more than ${patternSizeMax} instructions and ranges of characters`
  }
  try {
    const compiled = RE2JS.compile(source)
    const size = compiled.programSize()
    return { matches: (text) => compiled.test(text), size, steps: stepsOf(compiled, size) }
  } catch (cause) {
    return cause instanceof Error ? cause.message.slice(0, 200) : 'it cannot be read'
  }
}

/**
 * Matching a text takes some steps, and some more for each character: few if the expression has few
 * states and they are made, and otherwise as many as it has instructions.
 */
function stepsOf(compiled: RE2JS, size: number): Pattern['steps'] {
  const stepsAState = (size + OVERHEAD) / INSTRUCTIONS_A_STEP
  let isFast: boolean | null = null
  let warmUpLeft = 0
  return (text) => {
    const most = STEPS_A_TEXT + Math.ceil(text.length * stepsAState)
    let counting = 0
    if (isFast === null) {
      const { count, steps } = statesOf(compiled)
      isFast = count !== null
      warmUpLeft = (count ?? 0) * stepsAState
      counting = steps
    }
    if (!isFast) return most + counting
    const charactersAStep = ASCII.test(text) ? ASCII_CHARACTERS_A_STEP : CHARACTERS_A_STEP
    const warmUp = Math.min(warmUpLeft, text.length * stepsAState)
    warmUpLeft -= warmUp
    return counting + STEPS_A_TEXT + Math.ceil(text.length / charactersAStep + warmUp)
  }
}

const STEPS_A_TEXT = 2
/** The constant cost of matching one character, in instructions. */
const OVERHEAD = 10
const INSTRUCTIONS_A_STEP = 2
const ASCII_CHARACTERS_A_STEP = 8
const CHARACTERS_A_STEP = 2
const ASCII = /^[\0-\x7f]*$/
