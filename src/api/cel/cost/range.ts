/** A range of sizes or costs; the maximum is Infinity if it is unlimited. */
export type Range = { readonly min: number; readonly max: number }

export const UNKNOWN: Range = { min: 0, max: Infinity }
export const ZERO: Range = { min: 0, max: 0 }
export const ONE: Range = { min: 1, max: 1 }

export function exactly(value: number): Range {
  return { min: value, max: value }
}

export function add(...ranges: readonly Range[]): Range {
  let [min, max] = [0, 0]
  for (const range of ranges) {
    min += range.min
    max += range.max
  }
  return { min, max }
}

export function multiply(a: Range, b: Range): Range {
  return { min: times(a.min, b.min), max: times(a.max, b.max) }
}

/** Multiplies by a factor and rounds up. */
export function scale(range: Range, factor: number): Range {
  return { min: Math.ceil(range.min * factor), max: Math.ceil(range.max * factor) }
}

export function union(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) }
}

/** Zero times Infinity is zero, not NaN. */
function times(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b
}
