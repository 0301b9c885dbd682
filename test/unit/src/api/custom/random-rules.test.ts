/*
 * Goal: on random schemas, exactly the violated rules fail a write, at their paths; rules that an
 * update violates in unchanged values are reported as tolerated.
 * Method: each random rule has a predicate in plain code that decides the same. A second walk over
 * schema and object, which shares nothing with the evaluator, collects the paths of the violated
 * rules. A failure prints how to repeat it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { compileStructural } from '../../../../../src/api/custom/structural-schema.ts'
import { formatFindings } from '../../../../../src/api/errors/field-error.ts'
import { Findings } from '../../../../../src/api/errors/findings.ts'
import { equalJson, isJsonList, isJsonObject } from '../../../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'

const only = process.env['SEED']
const seeds = only === undefined ? Array.from({ length: 300 }, (_, at) => at + 1) : [Number(only)]

type Rule = {
  readonly rule: string
  readonly message: string
  /** Compares with the value before; such a rule is skipped for a new value. */
  readonly isTransition: boolean
  readonly holds: (value: Json, old: Json | undefined) => boolean
}

type Shape = {
  readonly kind: 'count' | 'text' | 'list' | 'keyed' | 'map' | 'struct'
  readonly rules: readonly Rule[]
  /** The shape of the items of a list or map; null for other kinds. */
  readonly items: Shape | null
  /** The shapes of the members of a struct. */
  readonly members: Readonly<Record<string, Shape>>
}

/** Makes random shapes; messages of rules are unique within one seed. */
class Shapes {
  readonly #random: SeededRandom
  #rules = 0

  constructor(random: SeededRandom) {
    this.#random = random
  }

  struct(depth: number): Shape {
    const members: Record<string, Shape> = {}
    for (const name of ['a', 'b', 'c']) members[name] = this.#any(depth - 1)
    return { kind: 'struct', rules: this.#some(this.#structRules()), items: null, members }
  }

  #any(depth: number): Shape {
    const kind = this.#random.below(depth > 0 ? 6 : 2)
    if (kind === 0) return this.#leaf('count', this.#countRules())
    if (kind === 1) return this.#leaf('text', this.#textRules())
    if (kind === 2) return { ...this.#leaf('list', this.#sizeRules()), items: this.#any(depth - 1) }
    if (kind === 3) return { ...this.#leaf('map', this.#sizeRules()), items: this.#any(depth - 1) }
    if (kind === 4) return { ...this.#leaf('keyed', this.#sizeRules()), items: this.#element(depth) }
    return this.struct(depth)
  }

  /** An element of a list of type map, whose key `k` has no rules. */
  #element(depth: number): Shape {
    const { members, ...element } = this.struct(depth - 1)
    const key: Shape = { kind: 'text', rules: [], items: null, members: {} }
    return { ...element, members: { ...members, k: key } }
  }

  #leaf(kind: Shape['kind'], rules: readonly Rule[]): Shape {
    return { kind, rules: this.#some(rules), items: null, members: {} }
  }

  #some(rules: readonly Rule[]): readonly Rule[] {
    return rules.filter(() => this.#random.below(3) === 0)
  }

  #rule(rule: string, holds: Rule['holds']): Rule {
    return { rule, message: `rule ${this.#rules++}`, isTransition: rule.includes('oldSelf'), holds }
  }

  #countRules(): readonly Rule[] {
    const least = this.#random.below(6)
    return [
      this.#rule(`self >= ${least}`, (value) => Number(value) >= least),
      this.#rule(`self % 2 == 0 || self > 7`, (value) => Number(value) % 2 === 0 || Number(value) > 7),
      this.#rule('self >= oldSelf', (value, old) => Number(value) >= Number(old)),
      this.#rule('self != oldSelf', (value, old) => value !== old),
    ]
  }

  #textRules(): readonly Rule[] {
    return [
      this.#rule(
        "self.startsWith('x') || self == ''",
        (value) => textOf(value) === '' || textOf(value).startsWith('x'),
      ),
      this.#rule('size(self) < 3', (value) => textOf(value).length < 3),
      this.#rule('self == oldSelf', (value, old) => value === old),
    ]
  }

  #sizeRules(): readonly Rule[] {
    const most = this.#random.below(4)
    return [
      this.#rule(`size(self) <= ${most}`, (value) => sizeOf(value) <= most),
      this.#rule('size(self) >= size(oldSelf)', (value, old) => sizeOf(value) >= sizeOf(old)),
    ]
  }

  #structRules(): readonly Rule[] {
    return [
      this.#rule('has(self.a) == has(self.b)', (value) => has(value, 'a') === has(value, 'b')),
      this.#rule('has(self.c) || !has(oldSelf.c)', (value, old) => has(value, 'c') || !has(old, 'c')),
    ]
  }
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : ''
}

function sizeOf(value: Json | undefined): number {
  if (isJsonList(value)) return value.length
  return isJsonObject(value) ? Object.keys(value).length : 0
}

function has(value: Json | undefined, name: string): boolean {
  return isJsonObject(value) && Object.hasOwn(value, name)
}

/** Returns the schema of a definition. */
function schemaOf({ kind, rules, items, members }: Shape): JsonObject {
  const shown = rules.map(({ rule, message }) => ({ rule, message }))
  const validations = rules.length === 0 ? {} : { 'x-orch-validations': shown }
  const inside = items === null ? {} : schemaOf(items)
  if (kind === 'count') return { type: 'integer', ...validations }
  if (kind === 'text') return { type: 'string', ...validations }
  if (kind === 'list') return { type: 'array', items: inside, ...validations }
  if (kind === 'map') return { type: 'object', additionalProperties: inside, ...validations }
  if (kind === 'keyed') {
    const keys = { 'x-orch-list-type': 'map', 'x-orch-list-map-keys': ['k'] }
    return { type: 'array', items: { ...inside, required: ['k'] }, ...keys, ...validations }
  }
  const properties = Object.entries(members).map(([name, of]) => [name, schemaOf(of)] as const)
  return { type: 'object', properties: Object.fromEntries(properties), ...validations }
}

function valueOf({ kind, items, members }: Shape, random: SeededRandom): Json {
  if (kind === 'count') return random.below(10)
  if (kind === 'text') return ['', 'x', 'xy', 'y', 'xyz'][random.below(5)] ?? ''
  if (kind === 'struct') {
    const present = Object.entries(members).filter(() => random.below(3) > 0)
    return Object.fromEntries(present.map(([name, of]) => [name, valueOf(of, random)]))
  }
  const names = ['p', 'q', 'r', 's'].slice(0, random.below(5))
  if (random.below(3) === 0) names.reverse()
  const inside = names.map((name) => {
    const value = items === null ? null : valueOf(items, random)
    return [name, kind === 'keyed' && isJsonObject(value) ? { ...value, k: name } : value] as const
  })
  return kind === 'map' ? Object.fromEntries(inside) : inside.map(([, value]) => value)
}

/** Returns a value with some parts of another one, so that many values stay as they were. */
function mixOf(a: Json, b: Json, random: SeededRandom): Json {
  if (random.below(3) === 0) return b
  if (isJsonList(a) && isJsonList(b)) {
    return b.map((value, at) => {
      const key = keyOf(value)
      const same = key === undefined ? a[at] : a.find((element) => keyOf(element) === key)
      return same === undefined ? value : mixOf(same, value, random)
    })
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return a
  const names = Object.keys(b).map((name) => {
    const [one, other] = [a[name], b[name]]
    return [name, one === undefined || other === undefined ? (other ?? null) : mixOf(one, other, random)]
  })
  return Object.fromEntries(names) as JsonObject
}

/** Returns a value with the elements of its lists of type map in reverse order. */
function reversed(value: Json): Json {
  if (isJsonList(value)) {
    const inside = value.map(reversed)
    return keyOf(inside[0]) === undefined ? inside : inside.reverse()
  }
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inside]) => [name, reversed(inside)]))
}

/** Returns whether values are equal, whatever the order of lists of type map. */
function isEqual({ kind, items, members }: Shape, a: Json, b: Json): boolean {
  const byKey = (list: readonly Json[]): JsonObject =>
    Object.fromEntries(list.map((element) => [keyOf(element) ?? '', element]))
  if (kind === 'keyed' && isJsonList(a) && isJsonList(b)) return isEqual(mapOf(items), byKey(a), byKey(b))
  if (items !== null && isJsonList(a) && isJsonList(b)) {
    return a.length === b.length && a.every((value, at) => isEqual(items, value, b[at] ?? null))
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return equalJson(a, b)
  const names = Object.keys(a)
  const isSame = (name: string): boolean => {
    const of = items ?? members[name]
    return of !== undefined && name in b && isEqual(of, a[name] ?? null, b[name] ?? null)
  }
  return names.length === Object.keys(b).length && names.every(isSame)
}

function mapOf(items: Shape | null): Shape {
  return { kind: 'map', rules: [], items, members: {} }
}

/** Returns the key of an element of a list of type map. */
function keyOf(value: Json | undefined): string | undefined {
  return isJsonObject(value) && typeof value['k'] === 'string' ? value['k'] : undefined
}

type Violations = { readonly fatal: Set<string>; readonly tolerated: Set<string> }

/** A value, the one that it replaces, and the nearest replaced one around it. */
type Place = {
  readonly path: string
  readonly value: Json
  /** The value of `oldSelf` in a rule; undefined where values have no identity. */
  readonly old: Json | undefined
  /** The value that has to be unchanged for violations to be tolerated; null: no update. */
  readonly compared: { readonly shape: Shape; readonly value: Json; readonly old: Json } | null
}

function collect(shape: Shape, { path, value, old, compared }: Place, violations: Violations): void {
  for (const { message, isTransition, holds } of shape.rules) {
    if ((isTransition && old === undefined) || holds(value, old)) continue
    const isSame = compared !== null && isEqual(compared.shape, compared.value, compared.old)
    const to = isSame && !isTransition ? violations.tolerated : violations.fatal
    to.add(`${path}: ${message}`)
  }
  const visit = (
    of: Shape,
    step: string,
    inside: Json,
    before: Json | undefined,
    at: Json | undefined,
  ): void => {
    const nearest = at === undefined ? compared : { shape: of, value: inside, old: at }
    const next = { path: `${path}${step}`, value: inside, old: before, compared: compared && nearest }
    collect(of, next, violations)
  }
  if (isJsonList(value) && shape.items !== null) {
    const replaced =
      compared !== null && isJsonList(compared.old) && compared.value === value ? compared.old : null
    for (const [at, element] of value.entries()) {
      const same = replaced?.find((other) => keyOf(other) === keyOf(element))
      const oldElement = isJsonList(old) ? old.find((other) => keyOf(other) === keyOf(element)) : undefined
      if (shape.kind === 'keyed') visit(shape.items, `[${at}]`, element, oldElement, same)
      else visit(shape.items, `[${at}]`, element, undefined, undefined)
    }
    return
  }
  if (!isJsonObject(value)) return
  const replaced =
    compared !== null && isJsonObject(compared.old) && compared.value === value ? compared.old : {}
  for (const [name, inside] of Object.entries(value)) {
    const of = shape.items ?? shape.members[name]
    if (of === undefined) continue
    const before = isJsonObject(old) ? old[name] : undefined
    visit(of, shape.kind === 'map' ? `[${name}]` : `.${name}`, inside, before, replaced[name])
  }
}

function objectOf(spec: Json): JsonObject {
  return { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'x' }, spec }
}

function shownOf(findings: Findings): readonly string[] {
  return formatFindings(findings.list)
    .map(({ field, message }) => `${field}: ${message.replace(/^.*: (rule \d+)$/, '$1')}`)
    .sort()
}

void test('exactly the violated rules fail a create or an update, at their paths', () => {
  const seen = { fatal: 0, tolerated: 0, none: 0 }
  for (const seed of seeds) {
    const random = new SeededRandom(seed)
    const shape = new Shapes(random).struct(3)
    const schema = { type: 'object', properties: { spec: schemaOf(shape) } }
    const { validate } = compileStructural(schema, namesOf('orch.io'))
    const before = valueOf(shape, random)
    for (let left = 4; left > 0; left--) {
      const isNew = left === 4
      const value = isNew
        ? before
        : left === 3
          ? reversed(before)
          : mixOf(before, valueOf(shape, random), random)
      const violations: Violations = { fatal: new Set(), tolerated: new Set() }
      const compared = isNew ? null : { shape, value, old: before }
      collect(shape, { path: 'spec', value, old: isNew ? undefined : before, compared }, violations)
      const [found, tolerated] = [new Findings(), new Findings()]
      validate(objectOf(value), isNew ? null : { object: objectOf(before), tolerated }, found)
      const again = `SEED=${seed} node --test dist/test/unit/src/api/custom/random-rules.test.js`
      assert.deepEqual(shownOf(found), [...violations.fatal].sort(), again)
      assert.deepEqual(shownOf(tolerated), [...violations.tolerated].sort(), again)
      if (violations.fatal.size > 0) seen.fatal++
      if (violations.tolerated.size > 0) seen.tolerated++
      if (violations.fatal.size === 0) seen.none++
    }
  }
  if (only !== undefined) return
  for (const count of Object.values(seen)) assert.ok(count > 50, `enough of each: ${JSON.stringify(seen)}`)
})
