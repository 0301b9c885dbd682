import { assertNever } from '../../../base/assert.ts'
import { isJsonList, isJsonObject } from '../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../src/api/json.ts'
import type { IntegerSchema, ObjectSchema, Schema, StringSchema } from '../../../src/api/schema/schema.ts'

/** A value with one error, and the expected error message. */
export type Broken = {
  readonly what: string
  readonly object: JsonObject
  /** The path, as in causes. */
  readonly field: string
  /**
   * Reason of the cause; null: the object is rejected as a whole, for a wrong type or an unknown
   * member.
   */
  readonly reason: string | null
  /** A part of the message, besides the path. */
  readonly words: string
}

type Step = string | number
type Place = { readonly steps: readonly Step[]; readonly field: string }

/**
 * Violates each rule of a schema once, at its first place in an object: required members, closed
 * lists, types, ranges, lengths, rules and unknown members.
 *
 * @param object valid and full: absent members are not broken
 * @param seen the rules that were violated already, in other objects of the kind
 * @param isForgiven whether the server does not check this rule
 */
export function brokenObjects(
  { schema, object }: { readonly schema: ObjectSchema; readonly object: JsonObject },
  seen: Set<string>,
  isForgiven: (broken: Broken) => boolean,
): readonly Broken[] {
  const found: Broken[] = []
  lookAtStruct(schema, object, { steps: [], field: '' }, (shape, place, faults) => {
    for (const { value, at = place, ...reported } of faults) {
      const key = `${shape} ${reported.what}`
      const broken = { ...reported, field: at.field, object }
      if (seen.has(key) || isForgiven(broken)) continue
      seen.add(key)
      found.push({ ...broken, object: replaced(object, at.steps, value) })
    }
  })
  return found
}

type Fault = Pick<Broken, 'what' | 'reason' | 'words'> & {
  /** The replacement; undefined removes the member. */
  readonly value: Json | undefined
  /** Unset: at the value itself. */
  readonly at?: Place
}
type Report = (shape: string, place: Place, faults: readonly Fault[]) => void

function lookAtStruct(schema: ObjectSchema, value: JsonObject, place: Place, report: Report): void {
  const of = schema.definition ?? place.field
  const nonsense = inside(place, 'nonsense')
  const words = `unknown field "${nonsense.field}"`
  report(of, place, [{ what: 'a member too many', value: 1, reason: null, words, at: nonsense }])
  for (const [name, type] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(value, name)) continue
    const at = inside(place, name)
    const isRequired = schema.required?.includes(name) === true
    report(`${of}.${name}`, at, [...(isRequired ? missing(type) : []), ...faultsOf(type)])
    lookInside(type, value[name] as Json, at, { shape: `${of}.${name}`, report })
  }
}

type Inside = { readonly shape: string; readonly report: Report }

function lookInside(type: Schema, value: Json, place: Place, { shape, report }: Inside): void {
  if (type.type === 'object' && isJsonObject(value)) lookAtStruct(type, value, place, report)
  if (type.type === 'list' && isJsonList(value)) {
    const below = { shape: `${shape}[]`, report }
    if (value.length > 0) report(below.shape, indexed(place, 0), faultsOf(type.items))
    for (const [at, item] of value.entries()) lookInside(type.items, item, indexed(place, at), below)
  }
  if (type.type === 'map' && isJsonObject(value)) {
    const below = { shape: `${shape}{}`, report }
    for (const key of Object.keys(value).slice(0, 1)) {
      report(below.shape, indexed(place, key), faultsOf(type.values))
      lookInside(type.values, value[key] as Json, indexed(place, key), below)
    }
  }
}

/** A member with a default cannot be missing. */
function missing(type: Schema): readonly Fault[] {
  if (type.default !== undefined || type.always === true) return []
  const fault = { reason: 'FieldValueRequired', words: 'Required value' }
  const absent = { ...fault, what: 'nothing', value: undefined }
  const empty = type.nonEmpty === true ? emptyOf(type) : undefined
  return empty === undefined ? [absent] : [absent, { ...fault, what: 'empty', value: empty }]
}

function emptyOf(type: Schema): Json | undefined {
  if (type.type === 'string') return ''
  if (type.type === 'list') return []
  return type.type === 'map' ? {} : undefined
}

function faultsOf(type: Schema): readonly Fault[] {
  switch (type.type) {
    case 'string':
      return [mismatch(7, 'string'), ...ofText(type)]
    case 'boolean':
      return [mismatch('true', 'bool')]
    case 'integer':
      return [mismatch('7', type.format), mismatch(1.5, type.format), ...ofInteger(type)]
    case 'number':
      return [mismatch('7', 'float64')]
    case 'quantity':
      return [mismatch(true, 'quantity'), malformed('many')]
    case 'int-or-string':
      return [mismatch(true, 'int32'), mismatch(2 ** 31, 'int32')]
    case 'object':
      // The type alone does not decide which other values are allowed.
      return type.instead === undefined ? [mismatch([], 'object')] : [mismatch(7, 'object')]
    case 'list':
      return [mismatch({}, 'list')]
    case 'map':
      return [mismatch('a=b', 'map')]
    case 'any':
      return []
    default:
      return assertNever(type)
  }
}

function mismatch(value: Json, wanted: string): Fault {
  return { what: JSON.stringify(value), value, reason: null, words: `of type ${wanted}` }
}

function malformed(value: string): Fault {
  return { what: value, value, reason: null, words: '' }
}

function ofText(type: StringSchema): readonly Fault[] {
  const faults: Fault[] = []
  if (type.format === 'bytes') return [malformed('%%%')]
  if (type.format !== undefined) return [malformed('yesterday'), malformed('2026-13-01T00:00:00Z')]
  if (type.enum !== undefined) {
    const words = 'Unsupported value: "Nonsense"'
    faults.push({ what: 'Nonsense', value: 'Nonsense', reason: 'FieldValueNotSupported', words })
  }
  const { rule, lengthMax } = type
  const wrong =
    rule === undefined
      ? undefined
      : ['Not valid!', '../..', '%', 'a//b'].find((text) => rule(text).length > 0)
  if (wrong !== undefined) {
    faults.push({ what: wrong, value: wrong, reason: 'FieldValueInvalid', words: JSON.stringify(wrong) })
  }
  if (lengthMax !== undefined) {
    faults.push({
      what: 'too long',
      value: 'x'.repeat(lengthMax + 1),
      reason: 'FieldValueTooLong',
      words: `${lengthMax}`,
    })
  }
  return faults
}

function ofInteger({ format, minimum, maximum }: IntegerSchema): readonly Fault[] {
  const faults: Fault[] =
    format === 'int32' ? [mismatch(2 ** 31, 'int32'), mismatch(-(2 ** 31) - 1, 'int32')] : []
  for (const value of [
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum + 1]),
  ]) {
    // A value beyond 32 bits violates the type, which is another fault.
    if (format === 'int32' && Math.abs(value) >= 2 ** 31) continue
    faults.push({ what: String(value), value, reason: 'FieldValueInvalid', words: String(value) })
  }
  return faults
}

function inside({ steps, field }: Place, name: string): Place {
  return { steps: [...steps, name], field: field === '' ? name : `${field}.${name}` }
}

function indexed({ steps, field }: Place, step: Step): Place {
  return { steps: [...steps, step], field: `${field}[${step}]` }
}

/** @param value undefined: left out */
export function replaced(object: JsonObject, steps: readonly Step[], value: Json | undefined): JsonObject {
  return put(object, steps, value) as JsonObject
}

function put(before: Json | undefined, steps: readonly Step[], value: Json | undefined): Json | undefined {
  const [step, ...rest] = steps
  if (step === undefined) return value
  if (isJsonList(before)) {
    return before.map((item, at) => (at === step ? (put(item, rest, value) as Json) : item))
  }
  const draft: { [name: string]: Json } = { ...(isJsonObject(before) ? before : {}) }
  const next = put(draft[step], rest, value)
  if (next === undefined) delete draft[step]
  else draft[step] = next
  return draft
}
