import type { Checked, ResolvedCall } from '../check/checked.ts'
import { Scope } from '../check/scope.ts'
import type { Comprehension, Expr } from '../syntax/expr.ts'
import { ACCUMULATOR, OPERATOR } from '../syntax/expr.ts'
import type { CelType } from '../types.ts'
import { codePointCount } from '../values/code-points.ts'
import type { Sized } from './cost-rule.ts'
import type { Range } from './range.ts'
import { ONE, UNKNOWN, ZERO, add, exactly, multiply, union } from './range.ts'

export type CelCost = {
  /** In the units of the budget; Infinity if unlimited. */
  readonly min: number
  readonly max: number
}

/**
 * Estimates the cost of a checked expression from the sizes in the declared types. Unlike upstream,
 * fields of `dyn` values cost 1, as they do at run time.
 *
 * @source cel-go `checker/cost.go`
 */
export function estimateCost(checked: Checked): CelCost {
  return new Estimator(checked).estimate(checked.root).cost
}

/** The expected cost and value of a node. */
type Estimate = Value & { readonly cost: Range }

type Value = {
  readonly size: Range
  /** The declared type with its sizes, if the value is a part of a variable. */
  readonly declared: CelType | undefined
  /** Its elements or values, if the expression built it. */
  readonly element: Value | undefined
}

const NOTHING_KNOWN: Value = { size: UNKNOWN, declared: undefined, element: undefined }
const SCALAR: Value = { ...NOTHING_KNOWN, size: ONE }
/** Costs of upstream's literals, and of the binding that its `optMap` makes. */
const LIST_COST = exactly(10)
const MAP_COST = exactly(30)
const OPTIONAL_MAP_COST = { min: 1, max: 13 }

class Estimator {
  readonly #checked: Checked
  readonly #scope = new Scope<Value>()

  constructor(checked: Checked) {
    this.#checked = checked
  }

  estimate(expr: Expr): Estimate {
    switch (expr.kind) {
      case 'literal':
        return { ...SCALAR, cost: ZERO, size: literalSize(expr) }
      case 'ident':
        return { ...this.#variable(expr.name), cost: ONE }
      case 'select':
        return this.#select(expr)
      case 'call':
        return this.#call(expr)
      case 'list':
        return this.#literal(
          expr.elements.map(({ value }) => value),
          [],
          LIST_COST,
        )
      case 'map': {
        const values = expr.entries.map(({ value }) => value)
        const keys = expr.entries.map(({ key }) => key)
        return this.#literal(values, keys, MAP_COST)
      }
      case 'struct':
        return { ...NOTHING_KNOWN, cost: ZERO }
      case 'comprehension':
        return this.#comprehension(expr)
      case 'opt-map': {
        const target = this.estimate(expr.target)
        const body = this.#scope.within(expr.variable, target, () => this.estimate(expr.body))
        const cost = add(target.cost, OPTIONAL_MAP_COST, { min: 0, max: body.cost.max })
        return { ...body, cost }
      }
    }
  }

  #variable(name: string): Value {
    const local = this.#scope.find(name)
    if (local !== undefined) return local
    const declared = this.#checked.variables.get(name)
    return declared === undefined ? SCALAR : declaredValue(declared)
  }

  #select(expr: Expr & { kind: 'select' }): Estimate {
    if (this.#checked.typeNames.has(expr.id)) return { ...SCALAR, cost: ONE }
    const operand = this.estimate(expr.operand)
    if (expr.testOnly) return { ...SCALAR, cost: operand.cost }
    return { ...this.#part(operand, expr, expr.field), cost: add(operand.cost, ONE) }
  }

  /** Returns what is known of a field, element or value of a container. */
  #part(container: Value, expr: Expr, field: string | undefined): Value {
    const part = partOf(container.declared, field)
    if (part !== undefined) return declaredValue(part)
    return container.element ?? this.#unknown(expr)
  }

  #unknown(expr: Expr): Value {
    return isScalar(this.#typeOf(expr)) ? SCALAR : NOTHING_KNOWN
  }

  #call(expr: Expr & { kind: 'call' }): Estimate {
    const [first, second, third] = expr.args
    if (expr.name === OPERATOR.conditional && first && second && third)
      return this.#conditional(first, second, third)
    if ((expr.name === OPERATOR.and || expr.name === OPERATOR.or) && first && second) {
      const [left, right] = [this.estimate(first), this.estimate(second)]
      return { ...SCALAR, cost: { min: left.cost.min, max: left.cost.max + right.cost.max } }
    }
    if (expr.name === OPERATOR.optionalSelect && first && second?.kind === 'literal') {
      const operand = this.estimate(first)
      const field = second.value.type === 'string' ? second.value.value : undefined
      return { ...this.#part(operand, expr, field), cost: add(operand.cost, ONE) }
    }
    const call = this.#checked.calls.get(expr.id)
    return call === undefined ? { ...NOTHING_KNOWN, cost: ZERO } : this.#invocation(expr, call)
  }

  #conditional(condition: Expr, yes: Expr, no: Expr): Estimate {
    const [decision, a, b] = [this.estimate(condition), this.estimate(yes), this.estimate(no)]
    return {
      cost: add(decision.cost, union(a.cost, b.cost)),
      size: union(a.size, b.size),
      declared: a.declared === b.declared ? a.declared : undefined,
      element: a.element && b.element ? unionOf(a.element, b.element) : undefined,
    }
  }

  #invocation(expr: Expr, { name, args, overloads }: ResolvedCall): Estimate {
    const estimates = args.map((arg) => this.estimate(arg))
    const sized = estimates.map((estimate, at) => this.#sized(estimate, args[at]))
    let cost: Range | undefined
    let size: Range | undefined
    for (const overload of overloads) {
      const call = overload.cost.estimate(sized)
      cost = cost === undefined ? call.cost : union(cost, call.cost)
      if (call.size !== undefined) size = size === undefined ? call.size : union(size, call.size)
    }
    const total = add(cost ?? ZERO, ...estimates.map((estimate) => estimate.cost))
    const [first, second] = estimates
    if (first !== undefined && (name === OPERATOR.index || name === OPERATOR.optionalIndex))
      return { ...this.#part(first, expr, undefined), cost: total }
    if (first !== undefined && name === 'dyn') return { ...first, cost: total }
    const known = this.#unknown(expr)
    const element = name === OPERATOR.add ? joinedElement(first, second) : undefined
    return { ...known, size: size ?? known.size, element, cost: total }
  }

  #sized(value: Value, expr: Expr | undefined): Sized {
    const type = expr === undefined ? undefined : this.#typeOf(expr)
    if (type?.kind !== 'list') return { size: value.size, element: undefined }
    const declared = partOf(value.declared, undefined)
    const known = declared === undefined ? value.element : declaredValue(declared)
    const isText = type.element.kind === 'string' || type.element.kind === 'bytes'
    return { size: value.size, element: { size: known?.size ?? UNKNOWN, isText } }
  }

  #literal(values: readonly Expr[], keys: readonly Expr[], base: Range): Estimate {
    const elements = values.map((value) => this.estimate(value))
    const costs = [...elements, ...keys.map((key) => this.estimate(key))].map(({ cost }) => cost)
    return {
      cost: add(base, ...costs),
      size: exactly(values.length),
      declared: undefined,
      element:
        elements.length === 0 ? undefined : elements.slice(1).reduce<Value>(unionOf, elements[0] ?? SCALAR),
    }
  }

  #comprehension(expr: Expr & Comprehension): Estimate {
    const range = this.estimate(expr.range)
    const init = this.estimate(expr.init)
    return this.#scope.within(ACCUMULATOR, init, () => {
      const [condition, step] = this.#scope.within(expr.variable, this.#iterated(range, expr), () => [
        this.estimate(expr.condition),
        this.estimate(expr.step),
      ])
      const result = this.estimate(expr.result)
      const loop = multiply(range.size, add(condition.cost, step.cost))
      const cost = add(range.cost, init.cost, result.cost, loop)
      if (expr.init.kind !== 'list') return { ...SCALAR, cost }
      return { cost, size: range.size, declared: undefined, element: step.element }
    })
  }

  /** Returns what is known of the variable of a loop: an element of a list, a key of a map. */
  #iterated(range: Value, expr: Expr & Comprehension): Value {
    const { declared } = range
    if (declared?.kind === 'list') return declaredValue(declared.element)
    if (declared?.kind === 'map') return declaredValue(declared.key)
    const type = this.#typeOf(expr.range)
    if (type.kind !== 'list') return NOTHING_KNOWN
    return range.element ?? (isScalar(type.element) ? SCALAR : NOTHING_KNOWN)
  }

  #typeOf(expr: Expr): CelType {
    return this.#checked.types.get(expr.id) ?? { kind: 'dyn' }
  }
}

function literalSize(expr: Expr & { kind: 'literal' }): Range {
  const { value } = expr
  if (value.type === 'string') return exactly(codePointCount(value.value))
  return value.type === 'bytes' ? exactly(value.value.length) : ONE
}

function declaredValue(declared: CelType): Value {
  return { size: declaredSize(declared), declared, element: undefined }
}

function declaredSize(type: CelType): Range {
  switch (type.kind) {
    case 'string':
    case 'bytes':
    case 'list':
    case 'map':
    case 'dyn':
      return { min: 0, max: type.maxSize ?? Infinity }
    case 'object':
      // As upstream: its fields are bounded by the schema.
      return ZERO
    case 'optional':
      return declaredSize(type.of)
    default:
      return isScalar(type) ? ONE : UNKNOWN
  }
}

function isScalar(type: CelType): boolean {
  return type.kind === 'optional' ? isScalar(type.of) : SCALARS.has(type.kind)
}

const SCALARS: ReadonlySet<CelType['kind']> = new Set([
  'bool',
  'int',
  'uint',
  'double',
  'duration',
  'timestamp',
])

/** Returns the declared type of a field, or of an element or value if there is no field. */
function partOf(container: CelType | undefined, field: string | undefined): CelType | undefined {
  switch (container?.kind) {
    case 'list':
      return container.element
    case 'map':
      return container.value
    case 'object':
      return field === undefined ? undefined : container.fieldOf(field)?.type
    case 'optional':
      return partOf(container.of, field)
    default:
      return undefined
  }
}

function unionOf(a: Value, b: Value): Value {
  if (a === b) return a
  return {
    size: union(a.size, b.size),
    declared: a.declared === b.declared ? a.declared : undefined,
    element: a.element && b.element ? unionOf(a.element, b.element) : undefined,
  }
}

/** Returns what is known of the elements of `a + b`. An empty literal contributes no elements. */
function joinedElement(a: Value | undefined, b: Value | undefined): Value | undefined {
  const [left, right] = [elementOf(a), elementOf(b)]
  if (left === undefined) return a?.size.max === 0 ? right : undefined
  if (right === undefined) return b?.size.max === 0 ? left : undefined
  return unionOf(left, right)
}

function elementOf(value: Value | undefined): Value | undefined {
  const declared = partOf(value?.declared, undefined)
  return declared === undefined ? value?.element : declaredValue(declared)
}
