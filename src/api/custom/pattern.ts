import { RE2JS } from 're2js'
import { customLimits } from './limits.ts'

/**
 * A regular expression of Go's `regexp`: without features that need backtracking, so that matching
 * takes linear time.
 *
 * @source github.com/google/re2/wiki/Syntax
 */
export type Pattern = {
  /** Returns whether the expression matches anywhere in the text. */
  readonly matches: (text: string) => boolean
  /** Number of instructions; matching takes about as many steps per character. */
  readonly size: number
}

/** @returns the pattern, or the error text */
export function compilePattern(source: string): Pattern | string {
  const size = source.length > customLimits.patternCharactersMax ? Infinity : estimatedSize(source)
  if (size > customLimits.patternSizeMax) {
    const { patternCharactersMax, patternSizeMax } = customLimits
    return `it is longer than ${patternCharactersMax} characters, or compiles to more than ${patternSizeMax} instructions`
  }
  try {
    const compiled = RE2JS.compile(source)
    return { matches: (text) => compiled.test(text), size: compiled.programSize() }
  } catch (cause) {
    return cause instanceof Error ? cause.message.slice(0, 200) : 'it cannot be read'
  }
}

/**
 * Returns an upper estimate of the number of compiled instructions. Compiling takes time and memory
 * for each, because counted repetitions are unrolled, so the estimate is made without compiling.
 */
export function estimatedSize(source: string): number {
  const open: number[] = []
  let sum = 0
  let last = 0
  for (const [token, low, high] of source.matchAll(TOKEN)) {
    if (token === '(') {
      open.push(sum)
      sum = 0
      last = 0
    } else if (token === ')') {
      last = sum + 2
      sum = (open.pop() ?? 0) + last
    } else if (low !== undefined) {
      const times = Math.max(Number(low), Number(high ?? low), 1)
      sum += last * (times - 1)
      last *= times
    } else {
      last = 1
      sum += 1
    }
  }
  return open.reduce((total, outer) => total + outer, sum)
}

/** The start or end of a group, a counted repetition, a class, an escape, or one character. */
const TOKEN =
  /[()]|\{([0-9]{1,6})(?:,([0-9]{1,6})?)?\}|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|\\[pP]\{[^}]*\}|\\.|./gsu
