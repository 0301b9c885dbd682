import type { SeededRandom } from '../../../base/random.ts'
import type { Json, JsonObject } from '../../../src/api/json.ts'
import type { ObjectSchema, Schema } from '../../../src/api/schema/schema.ts'

const names = ['a', 'b', 'c', 'd'] as const

/** Returns a random struct, with members of any type that server-side apply distinguishes. */
export function randomStruct(random: SeededRandom, depth: number): ObjectSchema {
  const properties = names.slice(0, 2 + random.below(3)).map((name) => [name, randomType(random, depth)])
  return { type: 'object', properties: Object.fromEntries(properties) as ObjectSchema['properties'] }
}

function randomType(random: SeededRandom, depth: number): Schema {
  const kinds = ['scalar', 'scalar', 'set', 'atomic-list', 'map'] as const
  const deep = ['struct', 'keyed', 'keyed', 'map-of-structs', 'atomic-struct'] as const
  switch (depth > 0 ? random.pick([...kinds, ...deep]) : random.pick(kinds)) {
    case 'scalar':
      return { type: 'string' }
    case 'set':
      return { type: 'list', items: { type: 'string' }, listType: 'set' }
    case 'atomic-list':
      return { type: 'list', items: { type: 'string' } }
    case 'map':
      return { type: 'map', values: { type: 'string' } }
    case 'struct':
      return randomStruct(random, depth - 1)
    case 'atomic-struct':
      return { ...randomStruct(random, depth - 1), mapType: 'atomic' }
    case 'map-of-structs':
      return { type: 'map', values: randomStruct(random, depth - 1) }
    case 'keyed': {
      const { properties } = randomStruct(random, depth - 1)
      const items: ObjectSchema = { type: 'object', properties: { ...properties, name: { type: 'string' } } }
      return { type: 'list', items, listType: 'map', listMapKeys: ['name'] }
    }
  }
}

/**
 * Returns a random value that is not empty: empty structs, maps and lists count as absent.
 *
 * @returns null: no value
 */
export function randomValue(random: SeededRandom, schema: Schema): Json {
  switch (schema.type) {
    case 'object':
      return notEmpty(
        Object.entries(schema.properties).map(([name, of]) => [
          name,
          sometimes(random, () => randomValue(random, of)),
        ]),
      )
    case 'map':
      return notEmpty(names.map((key) => [key, sometimes(random, () => randomValue(random, schema.values))]))
    case 'list': {
      const items = names.flatMap((name) => {
        const item = sometimes(random, () => randomItem(random, schema.items, name))
        return item === null ? [] : [item]
      })
      return items.length === 0 ? null : items
    }
    default:
      return random.pick(['0', '1', '2'])
  }
}

function randomItem(random: SeededRandom, items: Schema, name: string): Json {
  if (items.type !== 'object') return name
  return { ...((randomValue(random, items) ?? {}) as JsonObject), name }
}

function sometimes(random: SeededRandom, make: () => Json): Json {
  return random.below(2) === 0 ? null : make()
}

function notEmpty(members: readonly (readonly [string, Json])[]): Json {
  const present = members.filter(([, value]) => value !== null)
  return present.length === 0 ? null : Object.fromEntries(present)
}
