import { functions } from '../functions/functions.ts'
import type { Overload } from '../functions/overload.ts'
import type { Comprehension, Expr, Literal } from '../syntax/expr.ts'
import { ACCUMULATOR, OPERATOR } from '../syntax/expr.ts'
import type { CelType } from '../types.ts'
import {
  celBool,
  celBytes,
  celDouble,
  celDyn,
  celInt,
  celList,
  celMap,
  celNull,
  celOptional,
  celString,
  celTypeType,
  celUint,
} from '../types.ts'
import type { Checked, Fault, ResolvedCall } from './checked.ts'
import { Scope } from './scope.ts'
import { TYPE_NAMES } from './type-names.ts'
import { typeName } from './type-name.ts'
import { TypeSolver } from './type-solver.ts'

type Environment = {
  readonly variables: ReadonlyMap<string, CelType>
  readonly mixedLiterals: boolean
}

/** Checks the types of an expression. @returns faults if there are any */
export function checkExpression(root: Expr, environment: Environment): Checked | readonly Fault[] {
  const checker = new Checker(environment)
  checker.check(root)
  return checker.faults.length > 0 ? checker.faults : checker.finish(root)
}

class Checker {
  readonly faults: Fault[] = []
  readonly #environment: Environment
  readonly #solver = new TypeSolver()
  readonly #types = new Map<number, CelType>()
  readonly #calls = new Map<number, ResolvedCall>()
  readonly #typeNames = new Map<number, string>()
  readonly #used = new Set<string>()
  readonly #scope = new Scope<CelType>()

  constructor(environment: Environment) {
    this.#environment = environment
  }

  finish(root: Expr): Checked {
    const types = new Map<number, CelType>()
    const resolve = this.#solver.resolver()
    for (const [id, type] of this.#types) types.set(id, resolve(type))
    const { variables } = this.#environment
    return {
      root,
      types,
      calls: this.#calls,
      typeNames: this.#typeNames,
      variables,
      used: this.#used,
    }
  }

  check(expr: Expr): CelType {
    const type = this.#typeOf(expr)
    this.#types.set(expr.id, type)
    return type
  }

  #typeOf(expr: Expr): CelType {
    switch (expr.kind) {
      case 'literal':
        return LITERAL_TYPES[expr.value.type]
      case 'ident':
        return this.#ident(expr, expr.name) ?? this.#undeclared(expr, expr.name)
      case 'select':
        return this.#select(expr, expr.operand, expr.field, expr.testOnly)
      case 'call':
        return this.#call(expr, expr.name, expr.target, expr.args)
      case 'list':
        return this.#list(expr.elements)
      case 'map': {
        const keys = expr.entries.map(({ key }) => ({ value: key, optional: false }))
        const key = this.#elements(keys)
        this.#checkKey(key, expr)
        return celMap(key, this.#elements(expr.entries))
      }
      case 'struct':
        return this.#undeclared(expr, expr.name)
      case 'comprehension':
        return this.#comprehension(expr)
      case 'opt-map': {
        const target = this.#solver.shallow(this.check(expr.target))
        if (target.kind !== 'optional' && target.kind !== 'dyn')
          return this.#noOverload(expr, 'optMap', [target], true)
        const of = target.kind === 'optional' ? target.of : celDyn
        const body = this.#scope.within(expr.variable, of, () => this.check(expr.body))
        if (!expr.flat) return celOptional(body)
        const known = this.#solver.shallow(body)
        if (known.kind === 'optional' || known.kind === 'dyn') return known
        return this.#noOverload(expr, 'optFlatMap', [target, known], true)
      }
    }
  }

  #ident(expr: Expr, name: string): CelType | undefined {
    const local = this.#scope.find(name)
    if (local !== undefined) return local
    const declared = this.#environment.variables.get(name)
    if (declared !== undefined) {
      this.#used.add(name)
      return declared
    }
    if (!TYPE_NAMES.has(name)) return undefined
    this.#typeNames.set(expr.id, name)
    return celTypeType
  }

  #isVariable(name: string): boolean {
    return this.#scope.find(name) !== undefined || this.#environment.variables.has(name)
  }

  #select(expr: Expr, operand: Expr, field: string, testOnly: boolean): CelType {
    const qualified = testOnly ? undefined : qualifiedName(expr)
    if (qualified !== undefined && TYPE_NAMES.has(qualified.name) && !this.#isVariable(qualified.root)) {
      this.#typeNames.set(expr.id, qualified.name)
      return celTypeType
    }
    const type = this.#fieldType(expr, this.check(operand), field)
    return testOnly ? celBool : type
  }

  #fieldType(expr: Expr, operand: CelType, field: string): CelType {
    const type = this.#solver.shallow(operand)
    switch (type.kind) {
      case 'map':
        return type.value
      case 'object':
        return type.fieldOf(field)?.type ?? this.#fault(expr, `undefined field '${field}'`)
      case 'optional': {
        const inner = this.#fieldType(expr, type.of, field)
        return inner.kind === 'optional' ? inner : celOptional(inner)
      }
      case 'dyn':
        return celDyn
      case 'param':
        this.#solver.assign(celDyn, type)
        return celDyn
      default:
        return this.#fault(expr, `type '${this.#show(type)}' does not support field selection`)
    }
  }

  #call(expr: Expr, name: string, target: Expr | undefined, args: readonly Expr[]): CelType {
    if (name === OPERATOR.optionalSelect) return this.#optionalSelect(expr, args)
    if (name === OPERATOR.and || name === OPERATOR.or) {
      for (const arg of args) this.#expect(arg, this.check(arg), celBool)
      return celBool
    }
    const namespace = target === undefined ? undefined : qualifiedName(target)
    if (namespace !== undefined && !this.#isVariable(namespace.root)) {
      const full = `${namespace.name}.${name}`
      const overloads = functions.get(full)
      if (overloads !== undefined) return this.#resolve(expr, full, args, overloads, false)
    }
    const all = target === undefined ? args : [target, ...args]
    const overloads = functions.get(name)
    if (overloads !== undefined) return this.#resolve(expr, name, all, overloads, target !== undefined)
    for (const arg of all) this.check(arg)
    return this.#undeclared(expr, name)
  }

  #resolve(
    expr: Expr,
    name: string,
    args: readonly Expr[],
    overloads: readonly Overload[],
    isMethod: boolean,
  ): CelType {
    const types = args.map((arg) => this.check(arg))
    let result: CelType | undefined
    const matching = overloads.filter((overload) => {
      if (overload.isMethod !== isMethod) return false
      const [own, ...params] = this.#solver.instantiate([overload.result, ...overload.params])
      if (own === undefined || !this.#solver.assignAll(types, params)) return false
      result = result === undefined || this.#isSame(result, own) ? own : celDyn
      return true
    })
    if (result === undefined) return this.#noOverload(expr, name, types, isMethod)
    this.#calls.set(expr.id, { name, args, overloads: matching })
    return result
  }

  #optionalSelect(expr: Expr, [operand, field]: readonly Expr[]): CelType {
    const isText = field?.kind === 'literal' && field.value.type === 'string'
    if (operand === undefined || !isText || field.value.type !== 'string')
      return this.#fault(expr, 'unsupported optional field selection')
    this.check(field)
    const type = this.#fieldType(expr, this.check(operand), field.value.value)
    return type.kind === 'optional' ? type : celOptional(type)
  }

  #list(elements: readonly { value: Expr; optional: boolean }[]): CelType {
    return celList(this.#elements(elements))
  }

  /** Returns the type that all values can be used as. */
  #elements(values: readonly { value: Expr; optional: boolean }[]): CelType {
    let joined: CelType | undefined
    for (const { value, optional } of values) {
      const type = optional ? this.#unwrap(value) : this.check(value)
      if (joined === undefined) {
        joined = type
        continue
      }
      const join = this.#solver.join(joined, type)
      if (join === undefined && !this.#environment.mixedLiterals) {
        this.#fault(value, `expected type '${this.#show(joined)}' but found '${this.#show(type)}'`)
      }
      joined = join ?? celDyn
    }
    return joined ?? this.#solver.fresh()
  }

  /** Checks `?value` in a literal. */
  #unwrap(value: Expr): CelType {
    const type = this.#solver.shallow(this.check(value))
    if (type.kind === 'optional') return type.of
    if (type.kind === 'dyn') return celDyn
    return this.#fault(value, `expected type 'optional_type(dyn)' but found '${this.#show(type)}'`)
  }

  #checkKey(key: CelType, expr: Expr): void {
    const { kind } = this.#solver.shallow(key)
    if (!KEY_KINDS.has(kind)) this.#fault(expr, `unsupported key type: ${this.#show(key)}`)
  }

  #comprehension(expr: Expr & Comprehension): CelType {
    const element = this.#elementOf(expr.range, this.check(expr.range))
    const init = this.check(expr.init)
    return this.#scope.within(ACCUMULATOR, init, () => {
      this.#scope.within(expr.variable, element, () => {
        this.#expect(expr.condition, this.check(expr.condition), celBool)
        this.#expect(expr.step, this.check(expr.step), init)
      })
      return this.check(expr.result)
    })
  }

  #elementOf(range: Expr, type: CelType): CelType {
    const known = this.#solver.shallow(type)
    if (known.kind === 'list') return known.element
    if (known.kind === 'map') return known.key
    if (known.kind === 'dyn') return celDyn
    if (known.kind === 'param') {
      this.#solver.assign(celDyn, known)
      return celDyn
    }
    const shown = this.#show(known)
    return this.#fault(
      range,
      `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    )
  }

  #expect(expr: Expr, actual: CelType, expected: CelType): void {
    if (this.#solver.assign(actual, expected)) return
    this.#fault(expr, `expected type '${this.#show(expected)}' but found '${this.#show(actual)}'`)
  }

  #isSame(a: CelType, b: CelType): boolean {
    return this.#show(a) === this.#show(b)
  }

  #show(type: CelType): string {
    return typeName(this.#solver.resolve(type))
  }

  #undeclared(expr: Expr, name: string): CelType {
    return this.#fault(expr, `undeclared reference to '${name}' (in container '')`)
  }

  #noOverload(expr: Expr, name: string, types: readonly CelType[], isMethod: boolean): CelType {
    const [receiver = '', ...rest] = types.map((type) => this.#show(type))
    const applied = isMethod ? `${receiver}.(${rest.join(', ')})` : `(${[receiver, ...rest].join(', ')})`
    return this.#fault(expr, `found no matching overload for '${name}' applied to '${applied}'`)
  }

  /** @returns `dyn`, which no other check rejects */
  #fault(expr: Expr, message: string): CelType {
    this.faults.push({ at: expr.at, message })
    return celDyn
  }
}

const LITERAL_TYPES: Readonly<Record<Literal['type'], CelType>> = {
  bool: celBool,
  int: celInt,
  uint: celUint,
  double: celDouble,
  string: celString,
  bytes: celBytes,
  null: celNull,
}

const KEY_KINDS: ReadonlySet<CelType['kind']> = new Set(['bool', 'int', 'uint', 'string', 'dyn', 'param'])

/** Returns `a.b.c` as one name, and its first part. */
function qualifiedName(expr: Expr): { root: string; name: string } | undefined {
  const parts: string[] = []
  let current = expr
  while (current.kind === 'select' && !current.testOnly) {
    parts.unshift(current.field)
    current = current.operand
  }
  if (current.kind !== 'ident') return undefined
  return { root: current.name, name: [current.name, ...parts].join('.') }
}
