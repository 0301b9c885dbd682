/** The estimated size of a regular expression. */
export type PatternSize = {
  /** Upper estimate of the instructions. Counted repetitions are unrolled. */
  readonly instructions: number
  /**
   * Upper estimate of the work to compile it, in units of one instruction, which takes up to 8 µs:
   * the instructions, and the ranges of character classes. A Unicode class has hundreds of ranges,
   * and if case is ignored, each character of a range is looked up.
   */
  readonly work: number
}

/**
 * Estimates the size of a regular expression without compiling it, because compiling takes time and
 * memory for each instruction.
 */
export function patternSize(source: string): PatternSize {
  const weigh = ignoresCase(source) ? FOLDED : PLAIN
  const open: number[] = []
  let sum = 0
  let last = 0
  let ranges = 0
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
      sum += token.startsWith('\\Q') ? token.length : 1
      ranges += token.startsWith('[') ? rangesOfClass(token, weigh) : rangesOf(token, weigh)
    }
  }
  const instructions = open.reduce((total, outer) => total + outer, sum)
  return { instructions, work: instructions + ranges }
}

/**
 * The start or end of a group, a counted repetition, a class, a quoted text, an escape, or one
 * character.
 */
const TOKEN =
  /[()]|\{([0-9]{1,6})(?:,([0-9]{1,6})?)?\}|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|\\Q(?:(?!\\E).)*(?:\\E)?|\\[pP](?:\{[^}]*\}|.)|\\x\{[0-9A-Fa-f]+\}|\\.|./gsu

/**
 * Returns whether a flag group may set `i`; if so, case counts as ignored in the whole expression.
 */
export function ignoresCase(source: string): boolean {
  return /\(\?[A-Za-z-]*i/.test(source)
}

/** Work of one part of a class beyond that of the instruction. */
type Weights = {
  /** `\pL` */
  readonly unicode: number
  /** `\w`, `[:word:]` */
  readonly named: number
  /** Each part of a class in brackets. */
  readonly part: number
  /** Each character of a range. */
  readonly character: number
}

const PLAIN: Weights = { unicode: 40, named: 1, part: 1 / 8, character: 0 }
const FOLDED: Weights = { unicode: 64, named: 10, part: 1 / 4, character: 1 / 128 }

function rangesOf(token: string, { unicode, named }: Weights): number {
  if (/^\\[pP]/.test(token)) return unicode
  return /^(?:\\[dswDSW]|\[:)/.test(token) ? named : 0
}

/** The parts of a class: a named class, an escape, or one character. */
const PART =
  /\[:\^?[a-z]+:\]|\\[pP](?:\{[^}]*\}|.)|\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\[0-7]{1,3}|\\.|./gsu

function rangesOfClass(token: string, weigh: Weights): number {
  let ranges = 0
  let low = 0
  let isRange = false
  for (const [part] of token.slice(1, -1).matchAll(PART)) {
    ranges += weigh.part + rangesOf(part, weigh)
    const character = characterOf(part)
    if (isRange) ranges += foldedBetween(low, character) * weigh.character
    isRange = part === '-'
    if (!isRange) low = character
  }
  return ranges
}

function characterOf(part: string): number {
  const hexadecimal = /^\\x\{?([0-9A-Fa-f]+)/.exec(part)?.[1]
  if (hexadecimal !== undefined) return Number.parseInt(hexadecimal, 16)
  return part.codePointAt(/^\\[^0-7]/.test(part) ? 1 : 0) ?? 0
}

/** The characters that may have another case lie between these. */
const FOLDED_MIN = 0x41
const FOLDED_MAX = 0x1e943

/** Returns how many characters of a range are looked up for their other cases. */
function foldedBetween(low: number, high: number): number {
  if (low <= FOLDED_MIN && high >= FOLDED_MAX) return 0
  return Math.max(0, Math.min(high, FOLDED_MAX) - Math.max(low, FOLDED_MIN) + 1)
}
