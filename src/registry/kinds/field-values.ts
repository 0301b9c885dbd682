import { isJsonObject } from '../../api/json.ts'
import type { Json } from '../../api/json.ts'
import type { ObjectSchema, Schema } from '../../api/schema/schema.ts'
import { partsOf } from '../../store/key.ts'
import type { EventIndex, StoredObject, StoreEvent } from '../../store/object-store.ts'
import type { AnyObject, ResourceDefinition } from './definition.ts'
import { parseStored } from './encode.ts'

/**
 * Values for field selectors of one kind. The selectable values of an event are read once for all
 * watches and kept as long as the store keeps the event; others are not cached.
 */
export class FieldValues {
  readonly #definition: ResourceDefinition
  readonly #indexes = new Map<string, EventIndex>()
  readonly #now = new WeakMap<StoreEvent, Values>()
  readonly #before = new WeakMap<StoreEvent, Values>()

  constructor(definition: ResourceDefinition) {
    this.#definition = definition
  }

  /** Value after the event. */
  now(event: StoreEvent, field: string): string {
    return this.#kept(this.#now, event, event.object, field)
  }

  /** Value before the event; empty when there was no object. */
  before(event: StoreEvent, field: string): string {
    const { previous } = event
    return previous === null ? '' : this.#kept(this.#before, event, previous, field)
  }

  /** @returns function that parses the object on first use */
  reader(stored: StoredObject): (field: string) => string {
    let parsed: AnyObject | null = null
    return (field) => {
      const known = commonValue(stored, field)
      return known ?? this.#textOf((parsed ??= parseStored(stored)), field)
    }
  }

  /** Returns the index of a selectable field. */
  indexOf(field: string): EventIndex {
    let index = this.#indexes.get(field)
    if (index === undefined) {
      index = { valuesOf: (event) => this.#valuesOf(event, field) }
      this.#indexes.set(field, index)
    }
    return index
  }

  #valuesOf(event: StoreEvent, field: string): readonly string[] {
    const now = this.now(event, field)
    if (event.previous === null) return [now]
    const before = this.before(event, field)
    return before === now ? [now] : [now, before]
  }

  #kept(kept: WeakMap<StoreEvent, Values>, event: StoreEvent, stored: StoredObject, field: string): string {
    const known = commonValue(stored, field)
    if (known !== null) return known
    let values = kept.get(event)
    if (values === undefined) {
      values = this.#read(stored)
      kept.set(event, values)
    }
    return values.get(field) ?? ''
  }

  #read(stored: StoredObject): Values {
    const { selectableFields = [] } = this.#definition
    const parsed = parseStored(stored)
    const names = selectableFields.map((field) => (typeof field === 'string' ? field : field.name))
    return new Map(names.map((name) => [name, this.#textOf(parsed, name)]))
  }

  #textOf(object: AnyObject, field: string): string {
    const { schema, selectableFields = [] } = this.#definition
    for (const own of selectableFields) {
      if (typeof own !== 'string' && own.name === field) return own.textOf(object)
    }
    return textAt(object, schema, field)
  }
}

type Values = ReadonlyMap<string, string>

/** One per kind, as long as the kind exists. */
const valuesByDefinition = new WeakMap<ResourceDefinition, FieldValues>()

export function fieldValuesOf(definition: ResourceDefinition): FieldValues {
  let values = valuesByDefinition.get(definition)
  if (values === undefined) {
    values = new FieldValues(definition)
    valuesByDefinition.set(definition, values)
  }
  return values
}

/** Returns the value if the key has it. @returns null: the key does not have it */
function commonValue({ key }: StoredObject, field: string): string | null {
  if (field === 'metadata.name') return partsOf(key).name
  if (field === 'metadata.namespace') return partsOf(key).namespace
  return null
}

/** Returns the text at a dotted path; empty if absent, but `false` for an absent boolean. */
function textAt(object: AnyObject, schema: ObjectSchema, path: string): string {
  let value: Json | undefined = object
  let type: Schema | undefined = schema
  for (const member of path.split('.')) {
    value = isJsonObject(value) && Object.hasOwn(value, member) ? value[member] : undefined
    type = type?.type === 'object' ? type.properties[member] : undefined
  }
  if (value === undefined && type?.type === 'boolean') return 'false'
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : ''
}
