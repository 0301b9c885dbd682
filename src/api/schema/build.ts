import { assert } from '../../../base/assert.ts'
import type { Json } from '../json.ts'
import type { NameRule } from '../metadata/name-rules.ts'
import type {
  BooleanSchema,
  InlinePart,
  IntegerSchema,
  ListSchema,
  MapSchema,
  ObjectSchema,
  Schema,
  ShapeCheck,
  StringSchema,
} from './schema.ts'

/**
 * Functions that declare a struct. Each member takes one line: its number in the protobuf message,
 * its description and its rules.
 *
 *     struct('core.v1.KeyToPath', 'Which key becomes which file.', {
 *       key: text(1, 'The key.', { required: true }),
 *       mode: int32(3, 'Mode bits of the file.', { optional: true, minimum: 0, maximum: 0o777 }),
 *     })
 */
export type Field = { readonly number: number; readonly schema: Schema; readonly required: boolean }

type Rules = {
  /**
   * Required in OpenAPI. An absent member or an empty text, list or map is `FieldValueRequired`,
   * unless the member is also `always`.
   */
  readonly required?: true
  /** Written to JSON even if it is the zero of its type; see `Schema`. */
  readonly always?: true
  /** The zero differs from absent (a pointer in upstream's types). */
  readonly optional?: true
  readonly default?: Json
}

type TextRules = Rules & Pick<StringSchema, 'enum' | 'known' | 'lengthMax'> & { readonly rule?: NameRule }
type NumberRules = Rules & Pick<IntegerSchema, 'minimum' | 'maximum'>
type ListRules = Rules &
  Pick<ListSchema, 'listType' | 'listMapKeys' | 'patchMergeKey' | 'patchStrategy' | 'itemsMax' | 'inMessage'>
type MapRules = Rules & Pick<MapSchema, 'mapType'>

export function text(number: number, words: string, rules: TextRules = {}): Field {
  return field(number, { type: 'string' }, words, rules)
}

/** Base64 in JSON. */
export function bytes(number: number, words: string, rules: TextRules = {}): Field {
  return field(number, { type: 'string', format: 'bytes' }, words, rules)
}

/**
 * A time to the second; see `microTime`. Written to JSON even if it is unset, unless `rules`
 * differ.
 */
export function time(number: number, words: string, rules: Rules = { always: true }): Field {
  return field(number, { type: 'string', format: 'date-time' }, words, rules)
}

export function microTime(number: number, words: string, rules: Rules = { always: true }): Field {
  return field(number, { type: 'string', format: 'micro-time' }, words, rules)
}

export function flag(number: number, words: string, rules: Rules = {}): Field {
  return field(number, { type: 'boolean' } satisfies BooleanSchema, words, rules)
}

export function int32(number: number, words: string, rules: NumberRules = {}): Field {
  return field(number, { type: 'integer', format: 'int32' }, words, rules)
}

export function int64(number: number, words: string, rules: NumberRules = {}): Field {
  return field(number, { type: 'integer', format: 'int64' }, words, rules)
}

export function double(number: number, words: string, rules: Rules = {}): Field {
  return field(number, { type: 'number' }, words, rules)
}

export function quantity(number: number, words: string, rules: Rules = {}): Field {
  return field(number, { type: 'quantity' }, words, rules)
}

export function intOrString(number: number, words: string, rules: Rules = {}): Field {
  return field(number, { type: 'int-or-string' }, words, rules)
}

/** Any JSON, kept as it came. */
export function any(number: number, words: string, rules: Rules = {}): Field {
  return field(number, { type: 'any' }, words, rules)
}

/**
 * A struct that is always present: absent and empty mean the same. Written to JSON even if it is
 * empty, unless `rules` differ.
 */
export function part(
  number: number,
  schema: ObjectSchema,
  words: string,
  rules: Rules = { always: true },
): Field {
  return field(number, schema, words, rules)
}

/** A struct that may be absent, which is not the same as empty. */
export function maybe(number: number, schema: ObjectSchema, words: string, rules: Rules = {}): Field {
  return field(number, schema, words, { optional: true, ...rules })
}

export function listOf(number: number, items: Schema, words: string, rules: ListRules = {}): Field {
  return field(number, { type: 'list', items }, words, rules)
}

export function texts(number: number, words: string, rules: ListRules = {}): Field {
  return listOf(number, { type: 'string' }, words, rules)
}

export function mapOf(number: number, values: Schema, words: string, rules: MapRules = {}): Field {
  return field(number, { type: 'map', values }, words, rules)
}

export function textMap(number: number, words: string, rules: MapRules = {}): Field {
  return mapOf(number, { type: 'string' }, words, rules)
}

/** Amounts by resource name. */
export function quantities(number: number, words: string, rules: MapRules = {}): Field {
  return mapOf(number, { type: 'quantity' }, words, rules)
}

type StructRules = Pick<ObjectSchema, 'keepsUnknown' | 'mapType' | 'patchStrategy' | 'unions'> & {
  readonly check?: ShapeCheck
  /**
   * Structs whose members are inlined into this one in JSON, by the field number of their own
   * message.
   */
  readonly inline?: readonly InlinePart[]
}

/** @param definition neutral name for OpenAPI, such as `core.v1.KeyToPath` */
export function struct(
  definition: string,
  description: string,
  fields: { readonly [name: string]: Field },
  { inline = [], ...rules }: StructRules = {},
): ObjectSchema {
  const properties: { [name: string]: Schema } = {}
  const protobuf: { [name: string]: number } = {}
  const required: string[] = []
  for (const { schema } of inline) {
    Object.assign(properties, schema.properties)
    required.push(...(schema.required ?? []))
  }
  for (const [name, { number, schema, required: isRequired }] of Object.entries(fields)) {
    assert(!Object.hasOwn(properties, name), `${definition} has one ${name}`)
    properties[name] = schema
    protobuf[name] = number
    if (isRequired) required.push(name)
  }
  return {
    type: 'object',
    definition,
    description,
    properties,
    protobuf,
    ...(required.length === 0 ? {} : { required }),
    ...(inline.length === 0 ? {} : { inline }),
    ...rules,
    ...checksOf(inline, rules.check),
  }
}

/** Joins the checks of the inlined structs with that of the struct itself. */
function checksOf(
  inline: readonly InlinePart[],
  own: ShapeCheck | undefined,
): { readonly check?: ShapeCheck } {
  const checks = inline.flatMap(({ schema }) => schema.check ?? [])
  if (own !== undefined) checks.push(own)
  const [only] = checks
  if (only === undefined) return {}
  const all: ShapeCheck = (value, at, found) => {
    for (const check of checks) check(value, at, found)
  }
  return { check: checks.length === 1 ? only : all }
}

function field(number: number, schema: Schema, description: string, given: Rules): Field {
  const { required = false, optional = false, ...rest } = given
  const always = given.always === true
  // A struct with a definition keeps its description, because other members may share the
  // definition.
  const isNamed = schema.type === 'object' && schema.definition !== undefined
  const marks = {
    ...(optional ? { zeroMatters: true as const } : {}),
    ...(required && !always ? { nonEmpty: true as const } : {}),
  }
  const rules = Object.assign({}, isNamed ? { memberDescription: description } : { description }, rest, marks)
  // Requests read schemas all the time: members with the same rules get one hidden class, which a
  // literal that begins with a spread would not have.
  return { number, required, schema: Object.assign({}, schema, rules) }
}
