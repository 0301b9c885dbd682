import type { CelType } from '../types.ts'
import { celDyn } from '../types.ts'

/**
 * Unifies types: decides whether a value of one type can be used as another, and remembers what
 * type variables stand for. An attempt that fails leaves no trace.
 */
export class TypeSolver {
  readonly #bound = new Map<string, CelType>()
  /** Variables that the current attempt bound, with the types before it. */
  readonly #trail: (readonly [string, CelType | undefined])[] = []
  #created = 0

  fresh(): CelType {
    return { kind: 'param', name: `_var${this.#created++}` }
  }

  /** Returns types of an overload with type variables of their own. */
  instantiate(types: readonly CelType[]): CelType[] {
    const fresh = new Map<string, CelType>()
    const rename = (name: string): CelType => {
      const known = fresh.get(name) ?? this.fresh()
      fresh.set(name, known)
      return known
    }
    return types.map((type) => replaceParams(type, rename))
  }

  /** Returns whether all actual types can be used as the expected ones, and binds variables. */
  assignAll(actual: readonly CelType[], expected: readonly CelType[]): boolean {
    if (actual.length !== expected.length) return false
    this.#trail.length = 0
    const isAssignable = actual.every((type, at) => {
      const other = expected[at]
      return other !== undefined && this.#assign(type, other)
    })
    if (!isAssignable) this.#undo()
    return isAssignable
  }

  assign(actual: CelType, expected: CelType): boolean {
    return this.assignAll([actual], [expected])
  }

  /** @returns the type that both values can be used as; undefined if there is none but `dyn` */
  join(a: CelType, b: CelType): CelType | undefined {
    if (!this.assign(b, a) && !this.assign(a, b)) return undefined
    return this.#isAsGeneral(a, b) ? a : b
  }

  /** Returns the type that a variable is bound to, or the variable if it is not bound. */
  shallow(type: CelType): CelType {
    let current = type
    while (current.kind === 'param') {
      const bound = this.#bound.get(current.name)
      if (bound === undefined) break
      current = bound
    }
    this.#shorten(type, current)
    return current
  }

  /** Binds each variable of a chain directly to its end, so that later lookups are short. */
  #shorten(type: CelType, end: CelType): void {
    let current = type
    while (current.kind === 'param' && current !== end) {
      const next = this.#bound.get(current.name)
      if (next === undefined || next === end) return
      this.#set(current.name, end)
      current = next
    }
  }

  /** Returns the type with every variable replaced; those that are not bound are `dyn`. */
  resolve(type: CelType): CelType {
    const known = this.shallow(type)
    if (known.kind === 'param') return celDyn
    return replaceParts(known, (part) => this.resolve(part))
  }

  /** Returns `resolve` with a cache for shared parts, for use when all variables are bound. */
  resolver(): (type: CelType) => CelType {
    const resolved = new Map<CelType, CelType>()
    const resolve = (type: CelType): CelType => {
      const shallow = this.shallow(type)
      if (shallow.kind === 'param') return celDyn
      const known = resolved.get(shallow) ?? replaceParts(shallow, resolve)
      resolved.set(shallow, known)
      return known
    }
    return resolve
  }

  /** Returns whether a type is, or contains, `dyn` wherever the other one does. */
  #isAsGeneral(a: CelType, b: CelType): boolean {
    const [x, y] = [this.shallow(a), this.shallow(b)]
    if (x.kind === 'dyn') return true
    if (y.kind === 'dyn') return false
    const others = partsOf(y)
    return partsOf(x).every((part, at) => {
      const other = others[at]
      return other === undefined || this.#isAsGeneral(part, other)
    })
  }

  #assign(actual: CelType, expected: CelType): boolean {
    const [a, e] = [this.shallow(actual), this.shallow(expected)]
    if (e.kind === 'param') return (a.kind === 'param' && a.name === e.name) || this.#bind(e.name, a)
    if (a.kind === 'param') return this.#bind(a.name, e)
    if (a.kind === 'dyn' || e.kind === 'dyn') return true
    if (a.kind === 'null') return e.kind === 'null' || NULLABLE.has(e.kind)
    if (e.kind === 'null') return NULLABLE.has(a.kind)
    return this.#assignSame(a, e)
  }

  #assignSame(a: CelType, e: CelType): boolean {
    switch (a.kind) {
      case 'list':
        return e.kind === 'list' && this.#assign(a.element, e.element)
      case 'map':
        return e.kind === 'map' && this.#assign(a.key, e.key) && this.#assign(a.value, e.value)
      case 'optional':
        return e.kind === 'optional' && this.#assign(a.of, e.of)
      case 'object':
      case 'opaque':
      case 'param':
        return e.kind === a.kind && e.name === a.name
      case 'bool':
      case 'int':
      case 'uint':
      case 'double':
      case 'string':
      case 'bytes':
      case 'null':
      case 'duration':
      case 'timestamp':
      case 'dyn':
      case 'type':
        return e.kind === a.kind
    }
  }

  #bind(name: string, type: CelType): boolean {
    if (this.#occurs(name, type)) return false
    this.#set(name, type)
    return true
  }

  #set(name: string, type: CelType): void {
    this.#trail.push([name, this.#bound.get(name)])
    this.#bound.set(name, type)
  }

  #occurs(name: string, type: CelType): boolean {
    const known = this.shallow(type)
    if (known.kind === 'param') return known.name === name
    return partsOf(known).some((part) => this.#occurs(name, part))
  }

  #undo(): void {
    while (this.#trail.length > 0) {
      const [name, before] = this.#trail.pop() ?? ['', undefined]
      if (before === undefined) this.#bound.delete(name)
      else this.#bound.set(name, before)
    }
  }
}

/** Types besides `null` that `null` may be compared with. */
const NULLABLE: ReadonlySet<CelType['kind']> = new Set(['object', 'opaque', 'duration', 'timestamp'])

/**
 * Returns the types inside a type, without those of the fields of an object, which its name
 * implies.
 */
function partsOf(type: CelType): readonly CelType[] {
  switch (type.kind) {
    case 'list':
      return [type.element]
    case 'map':
      return [type.key, type.value]
    case 'optional':
      return [type.of]
    default:
      return []
  }
}

function replaceParts(type: CelType, replace: (part: CelType) => CelType): CelType {
  switch (type.kind) {
    case 'list':
      return { ...type, element: replace(type.element) }
    case 'map':
      return { ...type, key: replace(type.key), value: replace(type.value) }
    case 'optional':
      return { ...type, of: replace(type.of) }
    default:
      return type
  }
}

function replaceParams(type: CelType, rename: (name: string) => CelType): CelType {
  if (type.kind === 'param') return rename(type.name)
  return replaceParts(type, (part) => replaceParams(part, rename))
}
