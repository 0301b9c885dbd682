import type { Evaluation } from '../evaluate/evaluation.ts'

/** A text whose characters are code points. */
export type CharacterText = {
  readonly size: number
  readonly slice: (start: number, end: number) => string
  /** Returns the index of a character in UTF-16 code units. `characterOf` is the reverse. */
  readonly unitOf: (character: number) => number
  readonly characterOf: (unit: number) => number
}

/** Returns the text by characters. An index is only built if some of them are two code units. */
export function characterText(text: string, evaluation: Evaluation): CharacterText {
  const size = evaluation.textSize(text)
  if (size === text.length) {
    const same = (index: number): number => index
    return { size, slice: (start, end) => text.slice(start, end), unitOf: same, characterOf: same }
  }
  evaluation.step(text.length)
  const starts: number[] = []
  for (let at = 0; at < text.length;) {
    starts.push(at)
    at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
  }
  const unitOf = (character: number): number => starts[character] ?? text.length
  return {
    size,
    unitOf,
    slice: (start, end) => text.slice(unitOf(start), unitOf(end)),
    characterOf: (unit) => indexIn(starts, unit),
  }
}

/** Binary search. */
function indexIn(sorted: readonly number[], value: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? Infinity) < value) low = middle + 1
    else high = middle
  }
  return low
}
