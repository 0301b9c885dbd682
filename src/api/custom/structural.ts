import {
  isJsonList,
  isJsonObject,
  memberOf,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
} from '../json.ts'
import type { Json, JsonObject } from '../json.ts'

/** `''` if the schema has no type. */
export type StructuralType = '' | 'array' | 'boolean' | 'integer' | 'number' | 'object' | 'string'

/**
 * One node of the schema that a definition gives for a version. Junctors (`allOf` and the like)
 * contain nodes too, which only restrict values.
 *
 * @source apiextensions `pkg/apiserver/schema/structural.go`
 */
export type Structural = {
  readonly type: StructuralType
  readonly title: string
  readonly description: string
  readonly nullable: boolean
  /** null: no default. `default: null` in a definition means the same. */
  readonly default: Json
  readonly properties: ReadonlyMap<string, Structural>
  /**
   * Schema of members that `properties` lacks; false: no others are allowed; null: not specified.
   */
  readonly additional: Structural | boolean | null
  readonly items: Structural | null
  /** The `properties` that have or contain defaults. */
  readonly defaulted: ReadonlyMap<string, Structural>
  /** Whether a descendant has a default. */
  readonly holdsDefaults: boolean
  /** Whether it or a descendant is a set, a list of type map, or an embedded object. */
  readonly holdsShapes: boolean
  readonly preserveUnknown: boolean
  /** An embedded object, with kind, apiVersion and metadata. */
  readonly embedded: boolean
  readonly intOrString: boolean
  readonly listType: 'atomic' | 'set' | 'map' | null
  readonly listMapKeys: readonly string[]
  readonly mapType: 'atomic' | 'granular' | null
  readonly rules: ValueRules
  /** Rules written as expressions; see `rules/`. */
  readonly validations: readonly ValidationRule[]
}

/** A rule that an expression defines. Empty texts: not specified. */
export type ValidationRule = {
  readonly rule: string
  readonly message: string
  readonly messageExpression: string
  readonly reason: string
  readonly fieldPath: string
  /** null: not specified. */
  readonly optionalOldSelf: boolean | null
}

/** The constraints on a value beyond its type. null and empty: not specified. */
export type ValueRules = {
  readonly format: string
  readonly enum: readonly Json[]
  readonly minimum: Bound | null
  readonly maximum: Bound | null
  readonly multipleOf: number | bigint | null
  readonly lengthMin: number | null
  readonly lengthMax: number | null
  readonly pattern: string
  readonly itemsMin: number | null
  readonly itemsMax: number | null
  readonly propertiesMin: number | null
  readonly propertiesMax: number | null
  readonly required: readonly string[]
  readonly allOf: readonly Structural[]
  readonly anyOf: readonly Structural[]
  readonly oneOf: readonly Structural[]
  readonly not: Structural | null
  /** Whether there is any of the last four. */
  readonly hasJunctors: boolean
}

export type Bound = { readonly value: number | bigint; readonly exclusive: boolean }

/** Names of the extension markers in one domain: `x-orch-list-type` and the like. */
export type MarkerNames = {
  readonly preserveUnknown: string
  readonly embedded: string
  readonly intOrString: string
  readonly listType: string
  readonly listMapKeys: string
  readonly mapType: string
  readonly validations: string
}

/** @param prefix `schemaMarkerPrefix` of the domain's names */
export function markerNames(prefix: string): MarkerNames {
  return {
    preserveUnknown: `${prefix}preserve-unknown-fields`,
    embedded: `${prefix}embedded-resource`,
    intOrString: `${prefix}int-or-string`,
    listType: `${prefix}list-type`,
    listMapKeys: `${prefix}list-map-keys`,
    mapType: `${prefix}map-type`,
    validations: `${prefix}validations`,
  }
}

/**
 * Reads a schema. Keywords of a wrong type count as absent: definitions are type-checked when they
 * are written.
 *
 * @param json not deeper than JSON may be
 */
export function readStructural(json: JsonObject, markers: MarkerNames): Structural {
  const read = (of: JsonObject): Structural => readStructural(of, markers)
  const itemsJson = memberOf(json, 'items')
  const items = isJsonObject(itemsJson) ? read(itemsJson) : null
  const members = Object.entries(objectMember(json, 'properties'))
  const properties = new Map(members.flatMap(([name, of]) => (isJsonObject(of) ? [[name, read(of)]] : [])))
  const additional = additionalOf(json, read)
  const defaulted = new Map([...properties].filter(([, node]) => canFill(node)))
  const embedded = memberOf(json, markers.embedded) === true
  const listType = wordOf(json, markers.listType, ['atomic', 'set', 'map'])
  return {
    type: typeOf(json),
    title: textMember(json, 'title'),
    description: textMember(json, 'description'),
    nullable: memberOf(json, 'nullable') === true,
    default: memberOf(json, 'default') ?? null,
    properties,
    additional,
    items,
    defaulted,
    holdsDefaults: defaulted.size > 0 || canFill(items) || canFill(additional),
    holdsShapes:
      embedded ||
      listType === 'set' ||
      listType === 'map' ||
      [items, additional, ...properties.values()].some(hasShapes),
    preserveUnknown: memberOf(json, markers.preserveUnknown) === true,
    embedded,
    intOrString: memberOf(json, markers.intOrString) === true,
    listType,
    listMapKeys: textsMember(json, markers.listMapKeys),
    mapType: wordOf(json, markers.mapType, ['atomic', 'granular']),
    rules: readRules(json, read),
    validations: objectsMember(json, markers.validations).map(readValidation),
  }
}

function readValidation(json: JsonObject): ValidationRule {
  const optionalOldSelf = memberOf(json, 'optionalOldSelf')
  return {
    rule: textMember(json, 'rule'),
    message: textMember(json, 'message'),
    messageExpression: textMember(json, 'messageExpression'),
    reason: textMember(json, 'reason'),
    fieldPath: textMember(json, 'fieldPath'),
    optionalOldSelf: typeof optionalOldSelf === 'boolean' ? optionalOldSelf : null,
  }
}

function canFill(node: Structural['additional']): boolean {
  return typeof node === 'object' && node !== null && (node.default !== null || node.holdsDefaults)
}

function hasShapes(node: Structural['additional']): boolean {
  return typeof node === 'object' && node?.holdsShapes === true
}

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'] as const

function typeOf(json: JsonObject): StructuralType {
  return wordOf(json, 'type', TYPES) ?? ''
}

function additionalOf(json: JsonObject, read: (of: JsonObject) => Structural): Structural['additional'] {
  const additional = memberOf(json, 'additionalProperties')
  if (isJsonObject(additional)) return read(additional)
  return typeof additional === 'boolean' ? additional : null
}

function wordOf<T extends string>(json: JsonObject, name: string, known: readonly T[]): T | null {
  const word = textMember(json, name)
  return known.find((one) => one === word) ?? null
}

function readRules(json: JsonObject, read: (of: JsonObject) => Structural): ValueRules {
  const values = memberOf(json, 'enum')
  const notJson = memberOf(json, 'not')
  const [allOf = [], anyOf = [], oneOf = []] = ['allOf', 'anyOf', 'oneOf'].map((name) =>
    objectsMember(json, name).map(read),
  )
  const not = isJsonObject(notJson) ? read(notJson) : null
  return {
    format: textMember(json, 'format'),
    enum: isJsonList(values) ? values : [],
    minimum: boundOf(json, 'minimum', 'exclusiveMinimum'),
    maximum: boundOf(json, 'maximum', 'exclusiveMaximum'),
    multipleOf: amount(json, 'multipleOf'),
    lengthMin: count(json, 'minLength'),
    lengthMax: count(json, 'maxLength'),
    pattern: textMember(json, 'pattern'),
    itemsMin: count(json, 'minItems'),
    itemsMax: count(json, 'maxItems'),
    propertiesMin: count(json, 'minProperties'),
    propertiesMax: count(json, 'maxProperties'),
    required: textsMember(json, 'required'),
    ...{ allOf, anyOf, oneOf, not },
    hasJunctors: allOf.length + anyOf.length + oneOf.length > 0 || not !== null,
  }
}

function boundOf(json: JsonObject, name: string, exclusive: string): Bound | null {
  const value = amount(json, name)
  return value === null ? null : { value, exclusive: memberOf(json, exclusive) === true }
}

function amount(json: JsonObject, name: string): number | bigint | null {
  const value = memberOf(json, name)
  return typeof value === 'number' || typeof value === 'bigint' ? value : null
}

/** A number beyond 2^53 is rounded, which makes no difference for a count. */
function count(json: JsonObject, name: string): number | null {
  const value = amount(json, name)
  return value === null ? null : Number(value)
}
