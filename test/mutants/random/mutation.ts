/** The kinds of small random changes. */
export const operators = [
  'negate condition',
  'move boundary',
  'swap equality',
  'swap logic',
  'swap arithmetic',
  'add one',
  'flip boolean',
  'drop call',
  'drop early exit',
  'drop await',
  'drop element',
  'swap arguments',
  'drop default',
] as const

export type Operator = (typeof operators)[number]

/** One small change of one source file: `source.slice(start, end)` becomes `replacement`. */
export type Mutation = {
  readonly operator: Operator
  /** The source, as a path from the root. */
  readonly file: string
  /** Counted from 1. */
  readonly line: number
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** Returns the source with the change made. */
export function applied(source: string, { start, end, replacement }: Mutation): string {
  return source.slice(0, start) + replacement + source.slice(end)
}

/** Returns the place and the change in one line. */
export function describeMutation(source: string, mutation: Mutation): string {
  const { operator, start, end, replacement } = mutation
  return `${operator}: ${inOneLine(source.slice(start, end))} -> ${inOneLine(replacement) || 'nothing'}`
}

function inOneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= shownMax ? line : `${line.slice(0, shownMax - 1)}…`
}

const shownMax = 60
