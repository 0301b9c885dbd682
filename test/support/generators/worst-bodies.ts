import { isJsonList, isJsonObject } from '../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../src/api/json.ts'
import type { ListSchema, MapSchema, Schema, StringSchema } from '../../../src/api/schema/schema.ts'
import { wholeObject } from '../../../src/api/schema/shared.ts'
import type { ResourceDefinition } from '../../../src/registry/kinds/definition.ts'
import { replaced } from './invalid-objects.ts'
import { variantsOf } from './full-object.ts'
import type { FullObjects } from './full-object.ts'

/**
 * A list, map or string of a kind's schema that can be filled up to a limit, and an object that
 * contains it.
 */
export type Place = {
  readonly definition: ResourceDefinition
  /** Such as `core.v1.PodSpec.containers`. */
  readonly key: string
  readonly steps: readonly (string | number)[]
  readonly schema: ListSchema | MapSchema | StringSchema
  readonly object: JsonObject
}

/** Valid and all different, valid and all the same, or each wrong. */
export const fillings = ['distinct', 'equal', 'wrong'] as const
export type Filling = (typeof fillings)[number]

/**
 * Returns each list, map and string of a kind once, metadata included.
 *
 * @param seen keys of places that other kinds have too
 */
export function placesOf(maker: FullObjects, definition: ResourceDefinition, seen: Set<string>): Place[] {
  const found: Place[] = []
  const schema = wholeObject(definition.schema)
  for (let variant = 0; variant < variantsOf(definition); variant++) {
    const object = maker.object(definition, variant)
    const look = (key: string, of: Schema, value: Json, steps: Place['steps']): void => {
      if (of.type === 'object') {
        if (!isJsonObject(value)) return
        for (const [name, type] of Object.entries(of.properties)) {
          const inside = value[name]
          if (inside !== undefined) look(`${of.definition ?? key}.${name}`, type, inside, [...steps, name])
        }
        return
      }
      if (of.type !== 'list' && of.type !== 'map' && of.type !== 'string') return
      if (!seen.has(key)) found.push({ definition, key, steps, schema: of, object })
      seen.add(key)
      if (of.type === 'list' && isJsonList(value)) {
        value.forEach((item, at) => look(`${key}[]`, of.items, item, [...steps, at]))
      } else if (of.type === 'map' && isJsonObject(value)) {
        for (const name of Object.keys(value).slice(0, 1)) {
          look(`${key}{}`, of.values, value[name] as Json, [...steps, name])
        }
      }
    }
    look(definition.kind, schema, object, [])
  }
  return found
}

/** Returns the object with `count` elements, members or characters at the place. */
export function filledBy(maker: FullObjects, place: Place, filling: Filling, count: number): JsonObject {
  return replaced(place.object, place.steps, valueFor(maker, place.schema, filling, count))
}

function valueFor(maker: FullObjects, schema: Place['schema'], filling: Filling, count: number): Json {
  if (schema.type === 'string') return textFor(schema, filling, count)
  const inside = schema.type === 'list' ? schema.items : schema.values
  const same = holdsItself(inside, []) ? distinctValue(maker, inside, 0) : maker.value(inside, 0)
  const element = (at: number): Json => {
    if (filling === 'equal') return same
    return filling === 'wrong' ? wrongValue(inside, at) : distinctValue(maker, inside, at)
  }
  if (schema.type === 'list') return Array.from({ length: count }, (_, at) => element(at))
  const key = filling === 'wrong' ? 'not a key/' : 'example.com/k'
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`${key}${at}`, element(at)]))
}

/**
 * Returns whether the schema contains itself, so that no value can have all members.
 *
 * @param around the enclosing structs
 */
function holdsItself(schema: Schema, around: readonly string[]): boolean {
  if (schema.type === 'list') return holdsItself(schema.items, around)
  if (schema.type === 'map') return holdsItself(schema.values, around)
  if (schema.type !== 'object') return false
  const { definition } = schema
  if (definition !== undefined && around.includes(definition)) return true
  const inside = definition === undefined ? around : [...around, definition]
  return Object.values(schema.properties).some((type) => holdsItself(type, inside))
}

/** Objects differ in their top-level texts and numbers only, which hold the keys of elements. */
function distinctValue(maker: FullObjects, schema: Schema, at: number): Json {
  if (schema.type === 'string' && schema.enum === undefined) return distinctText(maker, schema, at)
  if (schema.type === 'integer') return (at % 60_000) + 1
  if (holdsItself(schema, []) && schema.type !== 'object') return []
  if (schema.type !== 'object') return maker.value(schema, at)
  const draft: { [name: string]: Json } = {}
  for (const [name, type] of Object.entries(schema.properties)) {
    if (type.type === 'string' && type.enum === undefined) draft[name] = distinctText(maker, type, at)
    else if (type.type === 'integer') draft[name] = (at % 60_000) + 1
    else if (schema.required?.includes(name) === true) draft[name] = maker.value(type, 0)
  }
  return draft
}

/**
 * Returns a text of one of many forms (words, addresses, ranges, domains), so that some are valid
 * at any place.
 */
function distinctText(maker: FullObjects, schema: StringSchema, at: number): string {
  if (schema.format !== undefined) return maker.value(schema, at) as string
  const bytes = `${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`
  return [`w${at}`, `10.${bytes}`, `10.${bytes}/32`, `w${at}.example.com`, `example.com/w${at}`][at % 5] ?? ''
}

function wrongValue(schema: Schema, at: number): Json {
  if (schema.type === 'integer') return -1 - at
  if (schema.type === 'object') return {}
  if (schema.type === 'list') return []
  if (schema.type === 'map') return { '/': '/' }
  if (schema.type === 'boolean') return false
  return schema.type === 'string' || schema.type === 'quantity' ? ` ${at}/..` : at
}

function textFor(schema: StringSchema, filling: Filling, count: number): string {
  if (schema.format === 'bytes') return 'QUJD'.repeat(Math.ceil(count / 4))
  if (filling === 'equal') return '9'.repeat(count)
  return (filling === 'wrong' ? ' /' : 'a.').repeat(Math.ceil(count / 2))
}
