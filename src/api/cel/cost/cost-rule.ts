import type { Evaluation } from '../evaluate/evaluation.ts'
import type { CelFailure, CelValue } from '../values/value.ts'
import { CelList, CelMap } from '../values/value.ts'
import type { Range } from './range.ts'
import { ONE, add, exactly, multiply, scale } from './range.ts'

/**
 * The cost of a call: exact, after the call, and estimated, from the sizes of its arguments. The
 * receiver of a method is the first argument.
 *
 * @source cel-go `interpreter/runtimecost.go`, `checker/cost.go`; apiserver
 * `pkg/cel/library/cost.go`
 */
export type CostRule = {
  readonly actual: (
    args: readonly CelValue[],
    result: CelValue | CelFailure,
    evaluation: Evaluation,
  ) => number
  readonly estimate: (args: readonly Sized[]) => CallEstimate
}

/** The expected size of a value. */
export type Sized = {
  readonly size: Range
  /** Undefined if it is no list. */
  readonly element: { readonly size: Range; readonly isText: boolean } | undefined
}

export type CallEstimate = {
  readonly cost: Range
  /** Size of the result; absent if nothing is known of it. */
  readonly size?: Range
}

/** Cost of a character, and of a character of a regular expression. */
export const CHARACTER = 0.1
const REGEX_CHARACTER = 0.25

export const nominal: CostRule = { actual: () => 1, estimate: () => ({ cost: ONE }) }

/** Returns the rule of a function that reads one argument, `passes` times. */
export function traverse(at: number, passes = 1, resultSize?: (size: Range) => Range): CostRule {
  return {
    actual: (args, _, evaluation) => Math.ceil(evaluation.sizeOf(args[at] ?? null) * CHARACTER * passes),
    estimate: (args) => {
      const size = sizeAt(args, at)
      const cost = scale(size, CHARACTER * passes)
      return resultSize === undefined ? { cost } : { cost, size: resultSize(size) }
    },
  }
}

/**
 * `startsWith` and `endsWith`. As upstream, the estimate depends on the size of the affix, the
 * exact cost on the size of the receiver.
 */
export const affix: CostRule = {
  actual: traverse(0).actual,
  estimate: (args) => ({ cost: scale(sizeAt(args, 1), CHARACTER) }),
}

/** A comparison reads at most as much as the shorter value has. */
export const comparison: CostRule = {
  actual: ([a = null, b = null], _, evaluation) => Math.ceil(evaluation.smallerSize(a, b) * CHARACTER),
  estimate: (args) => {
    const max = Math.min(sizeAt(args, 0).max, sizeAt(args, 1).max)
    return { cost: scale({ min: max > 0 ? 1 : 0, max }, CHARACTER) }
  },
}

export const joinTexts: CostRule = {
  actual: ([a = null, b = null], _, evaluation) =>
    Math.ceil((evaluation.sizeOf(a) + evaluation.sizeOf(b)) * CHARACTER),
  estimate: (args) => {
    const size = add(sizeAt(args, 0), sizeAt(args, 1))
    return { cost: scale(size, CHARACTER), size }
  },
}

export const joinLists: CostRule = {
  actual: () => 1,
  estimate: (args) => ({ cost: ONE, size: add(sizeAt(args, 0), sizeAt(args, 1)) }),
}

export const searchList: CostRule = {
  actual: (args, _, evaluation) => evaluation.sizeOf(args[1] ?? null),
  estimate: (args) => ({ cost: sizeAt(args, 1) }),
}

/** A search for a text in another one. */
export const searchText: CostRule = {
  actual: ([text = null, part = null], _, evaluation) =>
    Math.ceil(evaluation.sizeOf(text) * CHARACTER) * Math.ceil(evaluation.sizeOf(part) * CHARACTER),
  estimate: (args) => ({
    cost: multiply(scale(sizeAt(args, 0), CHARACTER), scale(sizeAt(args, 1), CHARACTER)),
  }),
}

export const regexMatch: CostRule = {
  actual: ([text = null, pattern = null], _, evaluation) =>
    Math.ceil((evaluation.sizeOf(text) + 1) * CHARACTER) *
    Math.ceil(evaluation.sizeOf(pattern) * REGEX_CHARACTER),
  estimate: (args) => ({
    cost: multiply(scale(add(sizeAt(args, 0), ONE), CHARACTER), scale(sizeAt(args, 1), REGEX_CHARACTER)),
  }),
}

/** `find` and `findAll`, which return parts of the text. */
export const regexFind: CostRule = {
  actual: regexMatch.actual,
  estimate: (args) => ({ ...regexMatch.estimate(args), size: { min: 0, max: sizeAt(args, 0).max } }),
}

/** `sum`, `min` and the like, which read a whole list, or a text. */
export const traverseDeep: CostRule = {
  actual: ([value = null], _, evaluation) => traversalCost(value, evaluation),
  estimate: ([value]) => {
    const { size, element } = value ?? { size: ONE, element: undefined }
    if (element === undefined) return { cost: scale(size, CHARACTER) }
    const each = element.isText ? add(ONE, scale(element.size, CHARACTER)) : ONE
    return { cost: multiply(size, each) }
  },
}

/** Returns the rule of a function whose cost is always the same. */
export function fixed(cost: number): CostRule {
  return { actual: () => cost, estimate: () => ({ cost: exactly(cost) }) }
}

export function sizeAt(args: readonly Sized[], at: number): Range {
  return args[at]?.size ?? ONE
}

/**
 * Returns the cost of reading all values in a list or map. Each value is also a step, because parts
 * may be shared.
 */
function traversalCost(value: CelValue | CelFailure, evaluation: Evaluation): number {
  evaluation.step(1)
  if (typeof value === 'string' || value instanceof Uint8Array) return Math.floor(value.length * CHARACTER)
  let cost = 0
  if (value instanceof CelList) {
    for (let at = 0; at < value.size; at++) cost += traversalCost(value.at(at), evaluation)
    return cost
  }
  if (!(value instanceof CelMap)) return 1
  for (const key of value.keys())
    cost += traversalCost(key, evaluation) + traversalCost(value.get(key) ?? null, evaluation)
  return cost
}
