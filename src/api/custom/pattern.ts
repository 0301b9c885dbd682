import { RE2JS } from 're2js'
import { customLimits } from './limits.ts'
import { patternSize } from './pattern-size.ts'

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
  const { patternCharactersMax, patternSizeMax } = customLimits
  if (source.length > patternCharactersMax || patternSize(source).work > patternSizeMax) {
    return `it is longer than ${patternCharactersMax} characters, or compiles to more than ${patternSizeMax} instructions and ranges of characters`
  }
  try {
    const compiled = RE2JS.compile(source)
    return { matches: (text) => compiled.test(text), size: compiled.programSize() }
  } catch (cause) {
    return cause instanceof Error ? cause.message.slice(0, 200) : 'it cannot be read'
  }
}
