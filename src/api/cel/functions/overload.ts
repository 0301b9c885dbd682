import type { CostRule } from '../cost/cost-rule.ts'
import { nominal } from '../cost/cost-rule.ts'
import type { Evaluation } from '../evaluate/evaluation.ts'
import type { CelType } from '../types.ts'
import type { CelFailure, CelValue } from '../values/value.ts'

export type Outcome = CelValue | CelFailure

/** One way to call a function, with types of its own. */
export type Overload = {
  /** The receiver of a method first. */
  readonly params: readonly CelType[]
  readonly result: CelType
  readonly isMethod: boolean
  readonly cost: CostRule
  /** @returns undefined if the arguments are not of the types of this overload */
  readonly apply: (args: readonly CelValue[], evaluation: Evaluation) => Outcome | undefined
}

/** Functions by name. */
export type FunctionEntry = readonly [name: string, ...overloads: readonly Overload[]]

/** A parameter: its type for the checker, and the test of values at run time. */
export type Param<T extends CelValue> = {
  readonly type: CelType
  readonly is: (value: CelValue) => value is T
}

export function call0(result: CelType, apply: () => Outcome, cost: CostRule = nominal): Overload {
  return {
    params: [],
    result,
    isMethod: false,
    cost,
    apply: (args) => (args.length === 0 ? apply() : undefined),
  }
}

export function call1<A extends CelValue>(
  a: Param<A>,
  result: CelType,
  apply: (a: A, evaluation: Evaluation) => Outcome,
  cost: CostRule = nominal,
): Overload {
  return {
    params: [a.type],
    result,
    isMethod: false,
    cost,
    apply: ([x], evaluation) => (x !== undefined && a.is(x) ? apply(x, evaluation) : undefined),
  }
}

export function call2<A extends CelValue, B extends CelValue>(
  a: Param<A>,
  b: Param<B>,
  result: CelType,
  apply: (a: A, b: B, evaluation: Evaluation) => Outcome,
  cost: CostRule = nominal,
): Overload {
  return {
    params: [a.type, b.type],
    result,
    isMethod: false,
    cost,
    apply: ([x, y], evaluation) =>
      x !== undefined && y !== undefined && a.is(x) && b.is(y) ? apply(x, y, evaluation) : undefined,
  }
}

export function call3<A extends CelValue, B extends CelValue, C extends CelValue>(
  a: Param<A>,
  b: Param<B>,
  c: Param<C>,
  result: CelType,
  apply: (args: readonly [A, B, C], evaluation: Evaluation) => Outcome,
  cost: CostRule = nominal,
): Overload {
  return {
    params: [a.type, b.type, c.type],
    result,
    isMethod: false,
    cost,
    apply: ([x, y, z], evaluation) => {
      if (x === undefined || y === undefined || z === undefined) return undefined
      return a.is(x) && b.is(y) && c.is(z) ? apply([x, y, z], evaluation) : undefined
    },
  }
}

/** Counts steps for a call that takes longer than its cost. */
export function slow(steps: number, overload: Overload): Overload {
  return {
    ...overload,
    apply: (args, evaluation) => {
      evaluation.step(steps)
      return overload.apply(args, evaluation)
    },
  }
}

/** Makes the first argument the receiver: `a.f(b)`. */
export function method(overload: Overload): Overload {
  return { ...overload, isMethod: true }
}
