import { RE2JS } from 're2js'
import { estimatedSize } from '../../custom/pattern.ts'
import { celLimits } from '../limits.ts'

/** A regular expression of Go's `regexp`, which matches in linear time. */
export type CelRegex = {
  /** Number of instructions; matching takes about as many steps per character. */
  readonly size: number
  /** Returns whether it matches anywhere in the text. */
  readonly matches: (text: string) => boolean
  /** Returns the matches in the text, at most a number of them if one is given. */
  readonly find: (text: string, countMax?: number) => readonly string[]
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
      find: (text, countMax = Infinity) => findIn(compiled, text, countMax),
    }
  } catch (cause) {
    return cause instanceof Error ? cause.message.slice(0, 200) : 'error parsing regexp'
  }
}

function findIn(compiled: RE2JS, text: string, countMax: number): string[] {
  const matcher = compiled.matcher(text)
  const found: string[] = []
  while (found.length < countMax && matcher.find()) found.push(matcher.group() ?? '')
  return found
}
