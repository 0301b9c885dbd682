import type { CostRule } from '../cost/cost-rule.ts'
import { CHARACTER, sizeAt, traverse, traverseDeep } from '../cost/cost-rule.ts'
import { add, multiply, scale } from '../cost/range.ts'
import type { Range } from '../cost/range.ts'
import type { Evaluation } from '../evaluate/evaluation.ts'
import { celDyn, celInt, celList, celString } from '../types.ts'
import { characterText } from '../values/character-text.ts'
import { itemsOf } from '../values/concat-lists.ts'
import { lastIndexOfText, searchFor } from '../values/find-text.ts'
import type { CelList } from '../values/value.ts'
import { CelFailure } from '../values/value.ts'
import { formatText } from './format-text.ts'
import type { FunctionEntry, Outcome } from './overload.ts'
import { call1, call2, call3, method } from './overload.ts'
import { aString, anInt, listOf } from './params.ts'
import { replaceCost, replaceText, splitText } from './replace-text.ts'
import { quoteText } from './quote-text.ts'

const sameSize = traverse(0, 1, (size) => size)
const split = traverse(0, 2, ({ max }) => ({ min: 0, max }))
const texts = listOf(celString)

const join: CostRule = {
  actual: (_, result, evaluation) => Math.ceil(evaluation.sizeOf(result) * 2 * CHARACTER),
  estimate: (args) => {
    const count = sizeAt(args, 0)
    const elements = multiply(count, args[0]?.element?.size ?? { min: 0, max: Infinity })
    const gaps: Range = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) }
    const separator = args.length > 1 ? sizeAt(args, 1) : { min: 0, max: 0 }
    const size = add(elements, multiply(separator, gaps))
    return { cost: scale(size, CHARACTER), size }
  },
}

const format: CostRule = {
  actual: traverse(0).actual,
  estimate: (args) => ({ cost: scale(sizeAt(args, 0), CHARACTER) }),
}

/**
 * The strings extension, which counts characters in code points.
 *
 * @source cel-go `ext/strings.go`
 */
export const textExtensions: readonly FunctionEntry[] = [
  ['charAt', method(call2(aString, anInt, celString, charAt))],
  [
    'indexOf',
    method(call2(aString, aString, celInt, (text, part, run) => find([text, part, 0n], run), traverseDeep)),
    method(call3(aString, aString, anInt, celInt, find, traverseDeep)),
  ],
  [
    'lastIndexOf',
    method(
      call2(
        aString,
        aString,
        celInt,
        (text, part, run) => findLast(text, part, undefined, run),
        traverseDeep,
      ),
    ),
    method(
      call3(
        aString,
        aString,
        anInt,
        celInt,
        ([text, part, at], run) => findLast(text, part, at, run),
        traverseDeep,
      ),
    ),
  ],
  ['lowerAscii', method(call1(aString, celString, (text, run) => changeCase(text, 'lower', run), sameSize))],
  ['upperAscii', method(call1(aString, celString, (text, run) => changeCase(text, 'upper', run), sameSize))],
  [
    'replace',
    method(
      call3(aString, aString, aString, celString, (args, run) => replaceText(...args, -1n, run), replaceCost),
    ),
    method({
      params: [celString, celString, celString, celInt],
      result: celString,
      isMethod: true,
      cost: replaceCost,
      apply: ([text, from, to, count], run) => {
        if (typeof text !== 'string' || typeof from !== 'string') return undefined
        if (typeof to !== 'string' || typeof count !== 'bigint') return undefined
        return replaceText(text, from, to, count, run)
      },
    }),
  ],
  [
    'split',
    method(
      call2(aString, aString, celList(celString), (text, by, run) => splitText(text, by, -1n, run), split),
    ),
    method(call3(aString, aString, anInt, celList(celString), (args, run) => splitText(...args, run), split)),
  ],
  [
    'substring',
    method(
      call2(
        aString,
        anInt,
        celString,
        (text, start, run) => substring(text, start, undefined, run),
        sameSize,
      ),
    ),
    method(call3(aString, anInt, anInt, celString, (args, run) => substring(...args, run), sameSize)),
  ],
  ['trim', method(call1(aString, celString, trim, sameSize))],
  [
    'join',
    method(call1(texts, celString, (list, run) => joinTexts(list, '', run), join)),
    method(call2(texts, aString, celString, joinTexts, join)),
  ],
  ['format', method(call2(aString, listOf(celDyn), celString, formatText, format))],
  [
    'strings.quote',
    call1(
      aString,
      celString,
      quoteText,
      traverse(0, 1, ({ min, max }) => ({ min: min + 2, max: max * 2 + 2 })),
    ),
  ],
]

/** Removes Unicode white space at both ends. */
function trim(text: string, evaluation: Evaluation): string {
  let start = 0
  while (start < text.length && isSpace(text.charCodeAt(start))) start++
  let end = text.length
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--
  evaluation.step((text.length - (end - start)) / TRIMMED_AT_ONCE)
  return text.slice(start, end)
}

/** Characters that are removed in one step; steps are counted in addition to the cost. */
const TRIMMED_AT_ONCE = 8

function isSpace(unit: number): boolean {
  if (unit <= 0x20) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)
  return unit >= 0x80 && OTHER_SPACES.has(unit)
}

const OTHER_SPACES: ReadonlySet<number> = new Set([
  ...[0x85, 0xa0, 0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008],
  ...[0x2009, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000],
])

/** Changes ASCII letters only. */
function changeCase(text: string, to: 'lower' | 'upper', evaluation: Evaluation): string {
  const change = (part: string): string => (to === 'lower' ? part.toLowerCase() : part.toUpperCase())
  if (!BEYOND_ASCII.test(text)) return change(text)
  // A function is called for each run of letters.
  evaluation.step(text.length / 2)
  return text.replace(/[A-Za-z]+/g, change)
}

const BEYOND_ASCII = /[^\0-\x7f]/

function charAt(text: string, index: bigint, evaluation: Evaluation): Outcome {
  const characters = characterText(text, evaluation)
  if (index < 0n || index > BigInt(characters.size)) return outOfRange(index)
  return characters.slice(Number(index), Number(index) + 1)
}

/** Characters that are searched in one step; steps are counted in addition to the cost. */
const SEARCHED_AT_ONCE = 8

function find([text, part, from]: readonly [string, string, bigint], evaluation: Evaluation): Outcome {
  if (part === '') return from
  const characters = characterText(text, evaluation)
  if (from < 0n || from > BigInt(characters.size)) return outOfRange(from)
  evaluation.step(text.length / SEARCHED_AT_ONCE)
  const at = searchFor(part)(text, characters.unitOf(Number(from)))
  return at < 0 ? -1n : BigInt(characters.characterOf(at))
}

function findLast(text: string, part: string, from: bigint | undefined, evaluation: Evaluation): Outcome {
  const characters = characterText(text, evaluation)
  const start = from ?? BigInt(characters.size)
  if (part === '') return start
  if (start < 0n || start > BigInt(characters.size)) return outOfRange(start)
  evaluation.step(text.length / SEARCHED_AT_ONCE)
  const at = lastIndexOfText(text, part, characters.unitOf(Number(start)))
  return at < 0 ? -1n : BigInt(characters.characterOf(at))
}

function substring(text: string, start: bigint, end: bigint | undefined, evaluation: Evaluation): Outcome {
  const characters = characterText(text, evaluation)
  const size = BigInt(characters.size)
  const last = end ?? size
  if (end !== undefined && start > end)
    return new CelFailure(`invalid substring range. start: ${start}, end: ${end}`)
  if (start < 0n || start > size) return outOfRange(start)
  if (last < 0n || last > size) return outOfRange(last)
  return characters.slice(Number(start), Number(last))
}

function joinTexts(list: CelList, separator: string, evaluation: Evaluation): Outcome {
  const items = itemsOf(list, evaluation)
  if (items instanceof CelFailure) return items
  const parts: string[] = []
  for (const item of items) {
    if (typeof item !== 'string') return new CelFailure('no such overload')
    evaluation.allocate((item.length + separator.length) / 4)
    parts.push(item)
  }
  return parts.join(separator)
}

function outOfRange(index: bigint): CelFailure {
  return new CelFailure(`index out of range: ${index}`)
}
