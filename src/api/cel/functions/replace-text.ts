import type { CostRule } from '../cost/cost-rule.ts'
import { CHARACTER, sizeAt, traverse } from '../cost/cost-rule.ts'
import { scale } from '../cost/range.ts'
import type { Evaluation } from '../evaluate/evaluation.ts'
import { ArrayList } from '../values/array-list.ts'
import { searchFor } from '../values/find-text.ts'
import type { Outcome } from './overload.ts'

/** `replace`: reads the text and builds the result. */
export const replaceCost: CostRule = {
  actual: traverse(0, 2).actual,
  estimate: (args) => {
    const [text, from, to] = [sizeAt(args, 0), sizeAt(args, 1), sizeAt(args, 2)]
    return {
      cost: scale(text, 2 * CHARACTER),
      size: {
        min: resultSize(text.min, from.max, to.min, from.max <= to.min),
        max: resultSize(text.max, from.min, to.max, to.max <= from.min),
      },
    }
  },
}

/**
 * @param keeps for the minimum: replacing cannot shorten the text; for the maximum: cannot lengthen
 * it
 */
function resultSize(text: number, from: number, to: number, keeps: boolean): number {
  // An empty text is found between all characters.
  if (from === 0) return text + (text + 1) * (to === 0 ? 0 : to)
  if (keeps) return text
  const count = from === Infinity ? 0 : Math.ceil(text / from)
  return count === 0 || to === 0 ? 0 : count * to
}

/** Replaces the first matches. @param count negative for all */
export function replaceText(
  text: string,
  from: string,
  to: string,
  count: bigint,
  evaluation: Evaluation,
): Outcome {
  const countMax = count < 0n ? Infinity : Number(count)
  evaluation.step(text.length / 4)
  const find = searchFor(from)
  const parts: string[] = []
  let start = 0
  for (let matches = 0; matches < countMax; matches++) {
    const at = from === '' ? nextGap(text, start, matches) : find(text, start)
    if (at < 0) break
    evaluation.allocate(2 + (at - start + to.length) / 4)
    parts.push(text.slice(start, at), to)
    start = at + from.length
  }
  parts.push(text.slice(start))
  return parts.join('')
}

/**
 * Returns the next index between characters: 0, then the one after each character. @returns -1
 * after the last
 */
function nextGap(text: string, start: number, matches: number): number {
  if (matches === 0) return 0
  if (start >= text.length) return -1
  return start + ((text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1)
}

/** Splits a text, at every character if the separator is empty. @param count negative for all */
export function splitText(text: string, separator: string, count: bigint, evaluation: Evaluation): Outcome {
  if (count === 0n) return new ArrayList([])
  const countMax = count < 0n ? Infinity : Number(count)
  evaluation.step(text.length / 4)
  const find = searchFor(separator)
  const parts: string[] = []
  let start = 0
  while (parts.length < countMax - 1) {
    const at = separator === '' ? nextGap(text, start, 1) : find(text, start)
    if (at < 0 || (separator === '' && at >= text.length)) break
    evaluation.step(2)
    parts.push(text.slice(start, at))
    start = at + separator.length
  }
  if (separator !== '' || text !== '') parts.push(text.slice(start))
  return new ArrayList(parts)
}
