import { assertNever } from '../../../base/assert.ts'
import { badRequest } from '../errors/standard-errors.ts'
import type { ApiError } from '../errors/api-error.ts'
import { NO_FRACTIONS } from '../codec/json-exact.ts'
import type { Fractions } from '../codec/json-exact.ts'
import { nameOfType } from '../codec/json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import { isJsonList, isJsonObject, setMember, textMember } from '../json.ts'
import type { Path } from './path.ts'
import { listIndex, mapKey, member, spellPath } from './path.ts'
import { checkScalar } from './scalar.ts'
import type { ScalarSchema } from './scalar.ts'
import type {
  IntegerSchema,
  IntOrStringSchema,
  ListSchema,
  MapSchema,
  ObjectSchema,
  Schema,
} from './schema.ts'
import { isZero, writesNull, zeroOf } from './zero.ts'

/** An object that conforms to its schema. */
export type Conformed = {
  /**
   * Has the types of the schema in canonical form: without unknown members except those in `kept`,
   * and without nulls and zeros that mean the same as absent, unless JSON has the null; see
   * `writesNull`. The identical object if it was canonical already.
   */
  readonly value: JsonObject
  /** Paths of unknown members that were dropped, at most `UNKNOWN_MAX`. */
  readonly unknown: readonly string[]
  /** Paths of unknown members that were kept, at most `UNKNOWN_MAX`; see `keepsUnknown`. */
  readonly kept: readonly string[]
}

/** Limit on the unknown members that are reported. */
export const UNKNOWN_MAX = 64

/**
 * Converts an object to the types of its kind: rejects other types and malformed scalars, drops
 * members that the schema lacks, treats null as absent, likewise a zero where it is equivalent to
 * absent, and formats times and quantities canonically. An empty list counts as absent, as in
 * protobuf.
 *
 * @param schema of the whole object, as `wholeObject` makes it
 * @param fractions numbers that the source text spells as fractions; they are not valid integers,
 * although the parsed object cannot show that
 * @throws ApiError BadRequest naming the path: the decode error of upstream
 */
export function conform(schema: ObjectSchema, object: JsonObject, fractions = NO_FRACTIONS): Conformed {
  const conformed = conformAt(schema, object, null, fractions)
  if (conformed.kind === 'mismatch') throw cannotBeHandled(object, conformed.words)
  return conformed
}

/**
 * Like `conform`, for an object inside of another one.
 *
 * @param at its path; null: the root
 */
export function conformAt(
  schema: ObjectSchema,
  object: JsonObject,
  at: Path | null,
  fractions = NO_FRACTIONS,
): ({ readonly kind: 'ok' } & Conformed) | { readonly kind: 'mismatch'; readonly words: string } {
  const walk: Walk = { unknown: [], kept: [], fractions, fractionsOf: new Map() }
  try {
    const value = conformObject(schema, object, at, walk)
    return { kind: 'ok', value, unknown: walk.unknown, kept: walk.kept }
  } catch (error) {
    if (error instanceof Mismatch) return { kind: 'mismatch', words: error.message }
    throw error
  }
}

/** The message of `fieldValidation` for an unknown member. There is a warning for each member. */
export function unknownFieldWords(path: string): string {
  return `unknown field "${path}"`
}

/** The warning for an unknown member that is kept. */
export function keptFieldWords(path: string): string {
  return `${unknownFieldWords(path)}: stored, but this release does not know what it means`
}

/**
 * The error of `fieldValidation=Strict`.
 *
 * @param findings not empty; messages of `unknownFieldWords`
 */
export function strictDecodingError(object: JsonObject, findings: readonly string[]): ApiError {
  return cannotBeHandled(object, `strict decoding error: ${findings.join(', ')}`)
}

function cannotBeHandled(object: JsonObject, why: string): ApiError {
  const kind = textMember(object, 'kind')
  const version = textMember(object, 'apiVersion').split('/').at(-1) ?? ''
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`)
}

type Walk = {
  readonly unknown: string[]
  readonly kept: string[]
  readonly fractions: Fractions
  /** Fractions inside of a container, looked up once for all its members. */
  readonly fractionsOf: Map<Path, Fractions>
}

/** Thrown from the depth of a walk to `conformAt`. */
class Mismatch extends Error {}

function conformValue(schema: Schema, value: Json, path: Path, walk: Walk): Json {
  switch (schema.type) {
    case 'object':
      if (isJsonObject(value)) return conformObject(schema, value, path, walk)
      return conformInstead(schema, value, path, walk)
    case 'map':
      if (!isJsonObject(value)) throw mismatch(value, path, 'map')
      return conformMap(schema, value, path, walk)
    case 'list':
      if (!isJsonList(value)) throw mismatch(value, path, 'list')
      return conformList(schema, value, path, walk)
    case 'integer':
    case 'int-or-string':
      if (walk.fractions.size > 0) checkSpelling(schema, path, walk)
      return conformScalar(schema, value, path)
    case 'string':
    case 'boolean':
    case 'number':
    case 'quantity':
    case 'any':
      return conformScalar(schema, value, path)
    default:
      return assertNever(schema)
  }
}

function conformScalar(schema: ScalarSchema, value: Json, path: Path): Json {
  const checked = checkScalar(schema, value)
  if (checked.kind === 'ok') return checked.value
  if (checked.kind === 'mismatch') throw mismatch(value, path, checked.wanted)
  throw new Mismatch(`${spellPath(path)}: ${checked.words}`)
}

function checkSpelling(schema: IntegerSchema | IntOrStringSchema, path: Path, walk: Walk): void {
  const spelled = fractionsAround(path, walk).get(path.step)
  if (typeof spelled !== 'string') return
  const wanted = schema.type === 'integer' ? schema.format : 'int32'
  throw cannotUnmarshal(`number ${spelled.slice(0, NUMBER_SHOWN_MAX)}`, path, wanted)
}

function fractionsAround({ parent }: Path, walk: Walk): Fractions {
  if (parent === null) return walk.fractions
  let inside = walk.fractionsOf.get(parent)
  if (inside === undefined) {
    const found = fractionsAround(parent, walk).get(parent.step)
    inside = typeof found === 'object' ? found : NO_FRACTIONS
    walk.fractionsOf.set(parent, inside)
  }
  return inside
}

function conformObject(schema: ObjectSchema, object: JsonObject, path: Path | null, walk: Walk): JsonObject {
  const names = Object.keys(object)
  const isRebuilt = names.length > COPIED_MEMBERS_MAX
  let draft: JsonObjectDraft | null = isRebuilt ? {} : null
  for (const name of names) {
    const value = object[name] as Json
    const type = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    if (type === undefined) {
      const isKept = schema.keepsUnknown === true && value !== null
      const found = isKept ? walk.kept : walk.unknown
      if (found.length < UNKNOWN_MAX) found.push(spellPath(member(path, name)))
      if (isKept) {
        if (isRebuilt) setMember((draft ??= {}), name, value)
        continue
      }
    } else {
      const next = value === null ? null : conformValue(type, value, member(path, name), walk)
      const isPresent = next !== null && !isOmitted(type, next, name, schema)
      if (isPresent || writesNull(type)) {
        const given = isPresent ? next : null
        if (given === value && !isRebuilt) continue
        draft ??= { ...object }
        setMember(draft, name, given)
        continue
      }
    }
    if (isRebuilt) continue
    draft ??= { ...object }
    delete draft[name]
  }
  return draft ?? object
}

/**
 * Larger objects have mostly unknown members: copying the few known ones is faster than copying all
 * and deleting the unknown ones.
 */
const COPIED_MEMBERS_MAX = 256

function conformInstead(schema: ObjectSchema, value: Json, path: Path, walk: Walk): Json {
  const other = schema.instead?.find(({ type }) =>
    type === 'list' ? isJsonList(value) : typeof value === 'boolean',
  )
  if (other === undefined) throw mismatch(value, path, 'object')
  return conformValue(other, value, path, walk)
}

/**
 * Returns whether a member is dropped as equivalent to absent. A required member is kept,
 * so that validation can reject its zero, unless it has a default or is written as null.
 */
function isOmitted(schema: Schema, value: Json, name: string, struct: ObjectSchema): boolean {
  if (schema.zeroMatters === true || schema.type === 'object' || !isZero(schema, value)) return false
  if (schema.default !== undefined || writesNull(schema)) return true
  return schema.always !== true && struct.required?.includes(name) !== true
}

function conformMap(schema: MapSchema, map: JsonObject, path: Path, walk: Walk): JsonObject {
  const { values } = schema
  const plain = values.type === 'string' && values.format === undefined
  let draft: JsonObjectDraft | null = null
  for (const key of Object.keys(map)) {
    const value = map[key] as Json
    if (plain && typeof value === 'string') continue
    const next = value === null ? zeroOf(values) : conformValue(values, value, mapKey(path, key), walk)
    if (next === value) continue
    draft ??= { ...map }
    setMember(draft, key, next)
  }
  return draft ?? map
}

function conformList(schema: ListSchema, list: readonly Json[], path: Path, walk: Walk): readonly Json[] {
  let draft: Json[] | null = null
  for (let at = 0; at < list.length; at++) {
    const value = list[at] as Json
    const next =
      value === null ? zeroOf(schema.items) : conformValue(schema.items, value, listIndex(path, at), walk)
    if (next === value) continue
    draft ??= [...list]
    draft[at] = next
  }
  return draft ?? list
}

function mismatch(value: Json, path: Path, wanted: string): Mismatch {
  let what = nameOfType(value)
  // As upstream: the number is only shown where another number would be valid.
  const isNumber = typeof value === 'number' || typeof value === 'bigint'
  if (isNumber && wanted.startsWith('int')) what += ` ${value.toString().slice(0, NUMBER_SHOWN_MAX)}`
  return cannotUnmarshal(what, path, wanted)
}

function cannotUnmarshal(what: string, path: Path, wanted: string): Mismatch {
  return new Mismatch(`json: cannot unmarshal ${what} into field ${spellPath(path)} of type ${wanted}`)
}

/** Characters of a number that an error shows. */
const NUMBER_SHOWN_MAX = 64
