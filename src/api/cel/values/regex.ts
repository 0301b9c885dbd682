import { RE2JS } from 're2js'
import { ignoresCase, patternSize } from '../../custom/pattern-size.ts'
import { celLimits } from '../limits.ts'

/** A regular expression of Go's `regexp`, which matches in linear time. */
export type CelRegex = {
  /** Number of instructions; matching visits at most as many per character. */
  readonly size: number
  /** Whether a part of it may match letters of either case. */
  readonly ignoresCase: boolean
  /** Returns whether it matches anywhere in the text. */
  readonly matches: (text: string) => boolean
  /**
   * Returns the matches in the text.
   *
   * @param before called before each search, with the index where it begins
   */
  readonly find: (text: string, countMax: number, before: (start: number) => void) => readonly string[]
}

/**
 * Returns an upper estimate of the work to compile a pattern, in instructions.
 *
 * @returns 0 if the pattern is too large to be compiled
 */
export function compilationWork(pattern: string): number {
  if (pattern.length > celLimits.patternCharactersMax) return 0
  const { work } = patternSize(pattern)
  return work > celLimits.patternSizeMax ? 0 : work
}

/** @returns the error if the pattern is not a regular expression */
export function compileRegex(pattern: string): CelRegex | string {
  const { patternCharactersMax, patternSizeMax } = celLimits
  if (pattern.length > patternCharactersMax || patternSize(pattern).work > patternSizeMax)
    return `regular expression has more than ${patternCharactersMax} characters or ${patternSizeMax} instructions and ranges of characters`
  try {
    const compiled = RE2JS.compile(pattern)
    return {
      size: compiled.programSize(),
      ignoresCase: ignoresCase(pattern),
      matches: (text) => compiled.test(text),
      find: (text, countMax, before) => findIn(compiled, text, { countMax, before }),
    }
  } catch (cause) {
    return cause instanceof Error ? cause.message.slice(0, 200) : 'error parsing regexp'
  }
}

type Finding = { readonly countMax: number; readonly before: (start: number) => void }

function findIn(compiled: RE2JS, text: string, { countMax, before }: Finding): string[] {
  const matcher = compiled.matcher(text)
  const found: string[] = []
  let end = 0
  for (let isFirst = true; found.length < countMax; isFirst = false) {
    before(end)
    if (!matcher.find()) break
    const match = matcher.group() ?? ''
    // As in Go: an empty match next to the one before does not count.
    if (isFirst || match !== '' || matcher.start() !== end) found.push(match)
    end = matcher.end()
  }
  return found
}
