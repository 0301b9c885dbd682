import { assertNever } from '../../../base/assert.ts'
import type { SeededRandom } from '../../../base/random.ts'
import { setMember } from '../../../src/api/json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../../../src/api/json.ts'
import type { IntegerSchema, ObjectSchema, Schema, StringSchema } from '../../../src/api/schema/schema.ts'

/**
 * Which members an object has. `full`: every member, none of them zero. `zero`: every struct, list
 * and map, and the other members whose zero differs from absent, as zero; lists and maps have one
 * zero. `random`: some members, some of them zero. `least`: only the members that are always
 * present, with their zero.
 */
export type Fill = 'full' | 'zero' | 'random' | 'least'

/** Schemas may be recursive. Below this depth there are no structs, lists and maps. */
const depthMax = 14

/**
 * Returns an object of the types of the schema in canonical form, so that decoding its encoding
 * gives exactly this object. It respects closed lists and ranges, and no other rules.
 *
 * @param schema of the whole object or of a struct; apiVersion and kind are random texts
 */
export function randomObject(schema: ObjectSchema, random: SeededRandom, fill: Fill): JsonObject {
  return struct(schema, { random, fill, depth: 0 })
}

type Making = { readonly random: SeededRandom; readonly fill: Fill; readonly depth: number }

function struct(schema: ObjectSchema, making: Making): JsonObject {
  const draft: JsonObjectDraft = {}
  for (const [name, type] of Object.entries(schema.properties)) {
    const value = member(type, schema.required?.includes(name) === true, making)
    if (value !== undefined) setMember(draft, name, value)
  }
  return draft
}

function member(type: Schema, required: boolean, making: Making): Json | undefined {
  const { random, fill, depth } = making
  const hasZero = ['integer', 'number', 'boolean', 'object'].includes(type.type)
  const isAlways = type.default === undefined && (type.always === true || (required && hasZero))
  const mayBeZero = type.zeroMatters === true || isAlways
  const isLarge = type.type === 'object' || type.type === 'list' || type.type === 'map'
  if (depth > depthMax && isLarge && !isAlways) return undefined
  const deeper = { ...making, depth: depth + 1 }
  if (type.type === 'object') return structMember(type, isAlways, deeper)
  if (fill === 'full') return other(type, deeper)
  if (isLarge)
    return fill === 'zero' || (fill === 'random' && random.chance(0.5)) ? other(type, deeper) : undefined
  if (fill === 'least') return isAlways ? zero(type) : undefined
  if (fill === 'zero') return mayBeZero ? zero(type) : undefined
  if (!isAlways && random.chance(0.4)) return undefined
  return mayBeZero && random.chance(0.3) ? zero(type) : other(type, deeper)
}

/** An empty struct is only present if that differs from absent. */
function structMember(type: ObjectSchema, isAlways: boolean, making: Making): JsonObject | undefined {
  const { random, fill } = making
  const isOptional = type.zeroMatters === true
  const isThere = fill === 'full' || fill === 'zero' || (fill === 'random' && random.chance(0.5))
  const value = struct(type, isThere ? making : { ...making, fill: 'least' })
  if (isAlways) return value
  if (isOptional) return isThere ? value : undefined
  return Object.keys(value).length === 0 ? undefined : value
}

/** Returns a value other than zero, unless zeros are requested. */
function other(type: Schema, making: Making): Json {
  const { random, fill } = making
  switch (type.type) {
    case 'string':
      return string(type, random)
    case 'boolean':
      return true
    case 'integer':
      return integer(type, random)
    case 'number':
      return (random.below(2 ** 31) - 2 ** 30 + 0.5) / 3
    case 'quantity':
      return random.pick(['1', '250m', '3Gi', '64Mi', '7k', '-5'])
    case 'int-or-string':
      return random.chance(0.5) ? 1 + random.below(65_535) : word(random)
    case 'any':
      return random.pick<Json>([{ a: [1, 'x', null, { b: false }] }, [word(random)], 'text', 7, true])
    case 'object':
      return struct(type, making)
    case 'list': {
      const count = fill === 'zero' ? 1 : 1 + random.below(2)
      return Array.from({ length: count }, () => element(type.items, making))
    }
    case 'map': {
      const map: JsonObjectDraft = {}
      const count = fill === 'zero' ? 1 : 1 + random.below(3)
      for (let at = 0; at < count; at++) {
        const key = fill === 'zero' ? '' : random.chance(0.05) ? '__proto__' : word(random)
        setMember(map, key, element(type.values, making))
      }
      return map
    }
    default:
      return assertNever(type)
  }
}

function element(type: Schema, making: Making): Json {
  const isTime = type.type === 'string' && type.format !== undefined && type.format !== 'bytes'
  if (type.type === 'list' && making.fill === 'zero') return []
  return making.fill === 'zero' && type.type !== 'object' && !isTime ? zero(type) : other(type, making)
}

function zero(type: Schema): Json {
  switch (type.type) {
    case 'string':
      if (type.format === undefined || type.format === 'bytes') return ''
      return type.format === 'micro-time' ? '1970-01-01T00:00:00.000000Z' : '1970-01-01T00:00:00Z'
    case 'boolean':
      return false
    case 'integer':
    case 'number':
    case 'int-or-string':
      return 0
    case 'quantity':
      return '0'
    case 'list':
      return []
    case 'object':
    case 'map':
    case 'any':
      return {}
    default:
      return assertNever(type)
  }
}

function string(type: StringSchema, random: SeededRandom): string {
  switch (type.format) {
    case undefined:
      return type.enum === undefined ? word(random) : random.pick(type.enum.filter((text) => text !== ''))
    case 'bytes':
      return Buffer.from(random.bytes(1 + random.below(20))).toString('base64')
    case 'date-time':
      return isoSeconds(random)
    case 'micro-time':
      return isoSeconds(random).replace('Z', `.${String(random.below(1_000_000)).padStart(6, '0')}Z`)
    default:
      return assertNever(type.format)
  }
}

/** A time in the years 1 to 9999 except the first second, which is the zero time of upstream. */
function isoSeconds(random: SeededRandom): string {
  const seconds = random.chance(0.8)
    ? random.below(2 ** 32)
    : random.pick([-62_135_596_799, -1, 253_402_300_799])
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

function integer(type: IntegerSchema, random: SeededRandom): number {
  const bits = type.format === 'int32' ? 31 : random.pick([7, 14, 31, 53])
  const low = Math.max(type.minimum ?? -(2 ** bits) + 1, -Number.MAX_SAFE_INTEGER)
  const high = Math.min(type.maximum ?? 2 ** bits - 1, Number.MAX_SAFE_INTEGER)
  const value = low + Math.floor((random.next() / 2 ** 32) * (high - low + 1))
  return value === 0 ? Math.max(1, low) : value
}

const letters = ['a', 'B', '7', '-', '.', '/', '"', '\\', ' ', 'é', '\uff5e', '\ufeff', '\u{1f600}', '\u0001']

function word(random: SeededRandom): string {
  const length = random.chance(0.05) ? 40 + random.below(200) : 1 + random.below(9)
  return Array.from({ length }, () => random.pick(letters)).join('')
}
