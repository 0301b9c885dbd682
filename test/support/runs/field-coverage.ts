import { isJsonList, isJsonObject } from '../../../src/api/json.ts'
import type { Json, JsonObject } from '../../../src/api/json.ts'
import type { ObjectSchema, Schema } from '../../../src/api/schema/schema.ts'

/**
 * Records which fields of which definitions objects set, to find those never tested. Metadata,
 * which all kinds share, is left out.
 */
export class FieldCoverage {
  readonly #covered = new Set<string>()

  note(schema: Schema, value: Json): void {
    if (schema.type === 'object' && isJsonObject(value)) this.#noteStruct(schema, value)
    if (schema.type === 'list' && isJsonList(value)) for (const item of value) this.note(schema.items, item)
    if (schema.type === 'map' && isJsonObject(value)) {
      for (const item of Object.values(value)) this.note(schema.values, item)
    }
  }

  /** Returns the fields that no object set, such as `core.v1.Pod.spec`. */
  missing(schema: ObjectSchema): readonly string[] {
    const missing: string[] = []
    const seen = new Set<Schema>()
    const look = (type: Schema): void => {
      if (seen.has(type)) return
      seen.add(type)
      if (type.type === 'list') look(type.items)
      if (type.type === 'map') look(type.values)
      if (type.type !== 'object' || isMetadata(type)) return
      for (const [name, field] of Object.entries(type.properties)) {
        const place = `${type.definition ?? ''}.${name}`
        if (this.#covered.has(place)) look(field)
        else missing.push(place)
      }
    }
    look(schema)
    return missing
  }

  #noteStruct(schema: ObjectSchema, value: JsonObject): void {
    if (isMetadata(schema)) return
    for (const name of Object.keys(value)) {
      const type = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
      if (type === undefined) continue
      this.#covered.add(`${schema.definition ?? ''}.${name}`)
      this.note(type, value[name] as Json)
    }
  }
}

function isMetadata({ definition }: ObjectSchema): boolean {
  return definition === 'meta.v1.ObjectMeta'
}
