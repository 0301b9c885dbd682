import type { Checked, ResolvedCall } from '../check/checked.ts'
import { Scope } from '../check/scope.ts'
import type { Outcome } from '../functions/overload.ts'
import type { Comprehension, Expr, Literal } from '../syntax/expr.ts'
import { ACCUMULATOR, OPERATOR } from '../syntax/expr.ts'
import { ArrayList } from '../values/array-list.ts'
import type { CelValue } from '../values/value.ts'
import { CelFailure, CelList, CelMap, CelOptional, CelTypeValue, CelUint } from '../values/value.ts'
import { mapLiteral } from './map-literal.ts'
import type { Step } from './step.ts'
import { hasField, selectField, selectOptional } from './select.ts'

/** Compiles a checked expression into functions that call each other. */
export function planOf(checked: Checked): Step {
  return new Planner(checked).plan(checked.root)
}

class Planner {
  readonly #checked: Checked
  readonly #scope = new Scope<number>()
  #slots = 0

  constructor(checked: Checked) {
    this.#checked = checked
  }

  plan(expr: Expr): Step {
    const type = this.#checked.typeNames.get(expr.id)
    if (type !== undefined) return constant(new CelTypeValue(type))
    switch (expr.kind) {
      case 'literal':
        return constant(literalValue(expr.value))
      case 'ident':
        return this.#ident(expr.name)
      case 'select':
        return this.#select(expr.operand, expr.field, expr.testOnly)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#list(expr.elements)
      case 'map':
        return mapLiteral(
          expr.entries.map(({ key, value, optional }) => ({
            key: this.plan(key),
            value: this.plan(value),
            optional,
          })),
        )
      case 'struct':
        return constant(new CelFailure(`unknown type '${expr.name}'`))
      case 'comprehension':
        return this.#comprehension(expr)
      case 'opt-map':
        return this.#optionalMap(expr.target, expr.variable, expr.body, expr.flat)
    }
  }

  #ident(name: string): Step {
    const slot = this.#scope.find(name)
    if (slot === undefined) {
      return ({ evaluation, lookUp }) => {
        evaluation.spend(1)
        return lookUp(name)
      }
    }
    return ({ evaluation, slots }) => {
      evaluation.spend(1)
      return slots[slot] ?? null
    }
  }

  #select(operand: Expr, field: string, testOnly: boolean): Step {
    const target = this.plan(operand)
    if (testOnly) return (frame) => hasField(target(frame), field)
    return (frame) => {
      const value = target(frame)
      frame.evaluation.spend(1)
      return selectField(value, field)
    }
  }

  #call(expr: Expr & { kind: 'call' }): Step {
    const [first, second, third] = expr.args
    if (expr.target === undefined && first !== undefined && second !== undefined) {
      if (expr.name === OPERATOR.and) return logical(this.plan(first), this.plan(second), false)
      if (expr.name === OPERATOR.or) return logical(this.plan(first), this.plan(second), true)
      if (expr.name === OPERATOR.conditional && third !== undefined)
        return conditional(this.plan(first), this.plan(second), this.plan(third))
      if (expr.name === OPERATOR.optionalSelect) return this.#optionalSelect(first, second)
    }
    if (expr.name === OPERATOR.notStrictlyFalse && first !== undefined)
      return notStrictlyFalse(this.plan(first))
    const call = this.#checked.calls.get(expr.id)
    if (call === undefined) return constant(new CelFailure(`unbound function: ${expr.name}`))
    return invocation(
      call,
      call.args.map((arg) => this.plan(arg)),
    )
  }

  #optionalSelect(operand: Expr, field: Expr): Step {
    const target = this.plan(operand)
    const name = field.kind === 'literal' && field.value.type === 'string' ? field.value.value : ''
    return (frame) => {
      const value = target(frame)
      frame.evaluation.spend(1)
      return selectOptional(value, name)
    }
  }

  #list(elements: readonly { value: Expr; optional: boolean }[]): Step {
    const steps = elements.map(({ value, optional }) => ({ step: this.plan(value), optional }))
    return (frame) => {
      const items: CelValue[] = []
      for (const { step, optional } of steps) {
        const item = step(frame)
        if (item instanceof CelFailure) return item
        if (!optional) items.push(item)
        else if (!(item instanceof CelOptional)) return new CelFailure('no such overload')
        else if (item.value !== undefined) items.push(item.value)
      }
      frame.evaluation.spend(LIST_COST)
      frame.evaluation.step(items.length)
      return new ArrayList(items)
    }
  }

  #comprehension(expr: Expr & Comprehension): Step {
    const range = this.plan(expr.range)
    const init = this.plan(expr.init)
    const accumulator = this.#slots++
    return this.#scope.within(ACCUMULATOR, accumulator, () => {
      const variable = this.#slots++
      const [condition, step] = this.#scope.within(expr.variable, variable, () => [
        this.plan(expr.condition),
        this.plan(expr.step),
      ])
      return loop({ range, init, condition, step, result: this.plan(expr.result), accumulator, variable })
    })
  }

  #optionalMap(target: Expr, variable: string, body: Expr, flat: boolean): Step {
    const optional = this.plan(target)
    const slot = this.#slots++
    const inner = this.#scope.within(variable, slot, () => this.plan(body))
    return (frame) => {
      const value = optional(frame)
      if (value instanceof CelFailure) return value
      if (!(value instanceof CelOptional)) return new CelFailure('no such overload')
      frame.evaluation.spend(1)
      if (value.value === undefined) return value
      frame.evaluation.spend(OPTIONAL_MAP_COST)
      frame.slots[slot] = value.value
      const mapped = inner(frame)
      if (mapped instanceof CelFailure || flat) return mapped
      return new CelOptional(mapped)
    }
  }
}

/** Costs of upstream's literals, and of the binding that its `optMap` makes. */
const LIST_COST = 10
const OPTIONAL_MAP_COST = 12

function constant(value: Outcome): Step {
  return () => value
}

function literalValue(literal: Literal): CelValue {
  if (literal.type === 'null') return null
  return literal.type === 'uint' ? new CelUint(literal.value) : literal.value
}

function invocation({ overloads }: ResolvedCall, steps: readonly Step[]): Step {
  return (frame) => {
    const args: CelValue[] = []
    for (const step of steps) {
      const arg = step(frame)
      if (arg instanceof CelFailure) return arg
      args.push(arg)
    }
    for (const { apply, cost } of overloads) {
      const result = apply(args, frame.evaluation)
      if (result === undefined) continue
      frame.evaluation.spend(cost.actual(args, result, frame.evaluation))
      return result
    }
    frame.evaluation.spend(1)
    return new CelFailure('no such overload')
  }
}

/** The condition of `all` and `exists`, which go on after an error: a later element may decide. */
function notStrictlyFalse(operand: Step): Step {
  return (frame) => {
    const value = operand(frame)
    frame.evaluation.spend(1)
    return value !== false
  }
}

/** `&&` and `||`: one operand that decides makes an error of the other irrelevant. */
function logical(left: Step, right: Step, decisive: boolean): Step {
  return (frame) => {
    frame.evaluation.step(1)
    const a = left(frame)
    if (a === decisive) return a
    const b = right(frame)
    if (b === decisive) return b
    if (a instanceof CelFailure) return a
    if (b instanceof CelFailure) return b
    return typeof a === 'boolean' && typeof b === 'boolean' ? b : new CelFailure('no such overload')
  }
}

function conditional(condition: Step, yes: Step, no: Step): Step {
  return (frame) => {
    frame.evaluation.step(1)
    const decision = condition(frame)
    if (decision instanceof CelFailure) return decision
    if (typeof decision !== 'boolean') return new CelFailure('no such overload')
    return decision ? yes(frame) : no(frame)
  }
}

type Loop = {
  readonly range: Step
  readonly init: Step
  readonly condition: Step
  readonly step: Step
  readonly result: Step
  readonly accumulator: number
  readonly variable: number
}

function loop({ range, init, condition, step, result, accumulator, variable }: Loop): Step {
  return (frame) => {
    const over = range(frame)
    if (over instanceof CelFailure) return over
    const elements = elementsOf(over)
    if (elements === undefined) return new CelFailure('no such overload')
    const { slots, evaluation } = frame
    slots[accumulator] = init(frame)
    for (const element of elements) {
      evaluation.step(1)
      slots[variable] = element
      if (condition(frame) !== true) break
      slots[accumulator] = step(frame)
    }
    return result(frame)
  }
}

function elementsOf(value: CelValue): Iterable<Outcome> | undefined {
  if (value instanceof CelMap) return value.keys()
  return value instanceof CelList ? listElements(value) : undefined
}

function* listElements(list: CelList): Iterable<Outcome> {
  for (let at = 0; at < list.size; at++) yield list.at(at)
}
