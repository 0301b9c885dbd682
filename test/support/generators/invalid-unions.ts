import { isJsonList, isJsonObject } from '../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../src/api/json.ts'
import type { ObjectSchema, Schema } from '../../../src/api/schema/schema.ts'
import { replaced } from './invalid-objects.ts'
import type { FullObjects } from './full-object.ts'
import { unions } from './full-object-hints.ts'

/** A union with no member, or with two. */
export type BrokenUnion = { readonly what: string; readonly object: JsonObject; readonly field: string }

/** Unions that may have no member, or get a default. */
const mayBeEmpty = [
  'core.v1.Volume',
  'core.v1.EnvVar',
  'core.v1.VolumeMount',
  'core.v1.VolumeProjection',
  'core.v1.ContainerState',
]
/** The server does not check this union. */
const mayBeTwo = ['core.v1.ContainerState']

/**
 * Returns the object with each union broken, once, at its first place in the object.
 *
 * @param seen what was broken already, in other objects of the kind
 */
export function brokenUnions(
  of: { readonly schema: ObjectSchema; readonly object: JsonObject; readonly maker: FullObjects },
  seen: Set<string>,
): readonly BrokenUnion[] {
  const { schema, object, maker } = of
  const broken: BrokenUnion[] = []
  eachStruct(schema, object, { steps: [], field: '' }, (shape, value, { steps, field }) => {
    const name = shape.definition ?? ''
    const members = unions[name]
    if (members === undefined || seen.has(name)) return
    seen.add(name)
    const rest = Object.fromEntries(Object.entries(value).filter(([member]) => !members.includes(member)))
    if (!mayBeEmpty.includes(name)) {
      broken.push({ what: `${name} of nothing`, object: replaced(object, steps, rest), field })
    }
    const other = members.find(
      (member) => !Object.hasOwn(value, member) && Object.hasOwn(shape.properties, member),
    )
    if (other === undefined || mayBeTwo.includes(name)) return
    const both = { ...value, [other]: maker.value(shape.properties[other] as Schema, 0) }
    broken.push({ what: `${name} of two`, object: replaced(object, steps, both), field })
  })
  return broken
}

type Place = { readonly steps: readonly (string | number)[]; readonly field: string }

function eachStruct(
  schema: Schema,
  value: Json,
  place: Place,
  look: (schema: ObjectSchema, value: JsonObject, place: Place) => void,
): void {
  if (schema.type === 'list' && isJsonList(value)) {
    for (const [at, item] of value.entries()) {
      eachStruct(schema.items, item, { steps: [...place.steps, at], field: `${place.field}[${at}]` }, look)
    }
  }
  if (schema.type !== 'object' || !isJsonObject(value)) return
  look(schema, value, place)
  for (const [name, type] of Object.entries(schema.properties)) {
    if (!Object.hasOwn(value, name)) continue
    const field = place.field === '' ? name : `${place.field}.${name}`
    eachStruct(type, value[name] as Json, { steps: [...place.steps, name], field }, look)
  }
}
