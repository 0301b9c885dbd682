import { isJsonObject } from '../../api/json.ts'
import type { Json } from '../../api/json.ts'
import type { ObjectSchema, Schema } from '../../api/schema/schema.ts'
import { COMMON_FIELDS, FieldSelector } from '../../api/selectors/field-selector.ts'
import type { FieldRequirement } from '../../api/selectors/field-selector.ts'
import { SELECTOR_LENGTH_MAX } from '../../api/selectors/label-selector.ts'
import { partsOf } from '../../store/key.ts'
import type { EventIndex, StoredObject, StoreEvent } from '../../store/object-store.ts'
import type { AnyObject, ResourceDefinition } from './definition.ts'
import { fieldValueLimits } from '../shared/registry-limits.ts'
import { parseStored } from './encode.ts'
import { SharedRows } from './shared-rows.ts'
import type { Row } from './shared-rows.ts'

/**
 * Values for field selectors of one kind. A version of an object is parsed once for all lists and
 * watches. As versions never change, its values are exact in every state that has it: a list of any
 * revision, after a restore, an installed snapshot or a compaction. They are kept as long as memory
 * has the version.
 */
export class FieldValues {
  readonly #definition: ResourceDefinition
  readonly #indexes = new Map<string, EventIndex>()
  /**
   * Position in a row of each field that a selector has named; at most the selectable fields of the
   * kind.
   */
  readonly #columns = new Map<string, number>()
  /** An older row may lack the columns that came later: the object is then parsed again. */
  readonly #rows = new WeakMap<StoredObject, Row>()

  constructor(definition: ResourceDefinition) {
    this.#definition = definition
  }

  /** Value after the event. */
  now(event: StoreEvent, field: string): string {
    return this.#valueOf(event.object, field)
  }

  /** Value before the event; empty when there was no object. */
  before(event: StoreEvent, field: string): string {
    const { previous } = event
    return previous === null ? '' : this.#valueOf(previous, field)
  }

  /** @returns function that parses the object on first use, unless its values are known */
  reader(stored: StoredObject): ValueReader {
    return (field) => this.#valueOf(stored, field)
  }

  /** Returns a function that compares objects with a selector, if it can without parsing them. */
  matcher({ requirements }: FieldSelector): KnownMatch {
    const [inKey, inRow] = [requirements.filter(isInKey), requirements.filter((one) => !isInKey(one))]
    // Compiled, because a list calls it for each object under its prefix.
    const cells = inRow.map(({ field, operator, value }) => {
      return { column: this.#columnOf(field), isEqual: operator === '=', value }
    })
    const width = cells.reduce((most, { column }) => Math.max(most, column + 1), 0)
    const keys = new FieldSelector(inKey)
    const rows = this.#rows
    return (stored) => {
      const row = rows.get(stored.origin ?? stored)
      if (row === undefined || row.length < width) return null
      for (const { column, isEqual, value } of cells) {
        if ((row[column] === value) !== isEqual) return false
      }
      return keys.isEmpty || keys.matches((field) => commonValue(stored, field) ?? '')
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

  #valueOf(stored: StoredObject, field: string): string {
    const inKey = commonValue(stored, field)
    if (inKey !== null) return inKey
    const column = this.#columnOf(field)
    return this.#rows.get(stored.origin ?? stored)?.[column] ?? this.#read(stored)[column] ?? ''
  }

  #columnOf(field: string): number {
    const known = this.#columns.get(field)
    if (known !== undefined) return known
    const column = this.#columns.size
    this.#columns.set(field, column)
    return column
  }

  #read(stored: StoredObject): Row {
    const parsed = parseStored(stored)
    const values = [...this.#columns.keys()].map((field) => selectable(this.#textOf(parsed, field)))
    const row = sharedRows.of(values)
    this.#rows.set(stored.origin ?? stored, row)
    return row
  }

  #textOf(object: AnyObject, field: string): string {
    const { schema, selectableFields = [] } = this.#definition
    for (const own of selectableFields) {
      if (typeof own !== 'string' && own.name === field) return own.textOf(object)
    }
    return textAt(object, schema, field)
  }
}

/** Returns the value of a field. */
export type ValueReader = (field: string) => string

/** Whether an object matches. null: it must be parsed to find out. */
export type KnownMatch = (stored: StoredObject) => boolean | null

const sharedRows = new SharedRows(fieldValueLimits.sharedRowsBytes)

/** Stands for each value that is longer than any selector, so that no selector can name it. */
const tooLong = '-'.repeat(SELECTOR_LENGTH_MAX + 1)

function selectable(text: string): string {
  return text.length > SELECTOR_LENGTH_MAX ? tooLong : text
}

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

function isInKey({ field }: FieldRequirement): boolean {
  return COMMON_FIELDS.includes(field)
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
