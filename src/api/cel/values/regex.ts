import { RE2JS } from 're2js'
import { estimatedSize } from '../../custom/pattern.ts'
import { celLimits } from '../limits.ts'

/** A regular expression of Go's `regexp`, which matches in linear time. */
export type CelRegex = {
  /** Number of instructions; matching takes about as many steps per character. */
  readonly size: number
  /** Returns whether it matches anywhere in the text. */
  readonly matches: (text: string) => boolean
  /**
   * Returns the matches in the text.
   *
   * @param before called before each search, with where it begins
   */
  readonly find: (text: string, countMax: number, before: (start: number) => void) => readonly string[]
}

/** @returns the error if the pattern is not a regular expression */
export function compileRegex(pattern: string): CelRegex | string {
  const { patternCharactersMax, patternSizeMax } = celLimits
  if (pattern.length > patternCharactersMax || estimatedSize(pattern) > patternSizeMax)
    return `regular expression has more than ${patternCharactersMax} characters or ${patternSizeMax} instructions`
  try {
    const compiled = RE2JS.compile(pattern)
    return {
      size: compiled.programSize(),
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
  for (let start = 0; found.length < countMax; start = matcher.end()) {
    before(start)
    if (!matcher.find()) break
    found.push(matcher.group() ?? '')
  }
  return found
}
