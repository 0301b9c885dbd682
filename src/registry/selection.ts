import { ApiError } from '../api/api-error.ts'
import { isJsonObject } from '../api/json.ts'
import type { Json } from '../api/json.ts'
import type { ObjectSchema, Schema } from '../api/schema/schema.ts'
import { COMMON_FIELDS, parseFieldSelector } from '../api/select/field-selector.ts'
import type { FieldSelector } from '../api/select/field-selector.ts'
import { parseLabelSelector } from '../api/select/label-selector.ts'
import { keyOf, partsOf, prefixOf } from '../store/key.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'
import { placeOf } from './definition.ts'
import { parseStored } from './encode.ts'
import type { AnyObject, ResourceDefinition, SelectableField } from './definition.ts'
import { malformed } from './options.ts'
import type { Target } from './request.ts'

/** Which objects of a collection a list, watch or deletecollection is about. */
export type Selection = {
  /** All of them lie under it. */
  readonly prefix: KeyPrefix
  /** The only one it can be; null: any under the prefix. */
  readonly key: Key | null
  /** Nothing under the prefix is left out. */
  readonly everything: boolean
  /** An object has to be parsed to tell whether it matches. */
  readonly reads: boolean
  readonly matches: (stored: StoredObject) => boolean
}

/** @throws ApiError `BadRequest` for a selector that cannot be read or names another field */
export function selectionOf(
  definition: ResourceDefinition,
  target: Target,
  selectors: { readonly labelSelector: string; readonly fieldSelector: string },
): Selection {
  const labels = read('labelSelector', selectors.labelSelector, parseLabelSelector)
  const known = [...COMMON_FIELDS, ...(definition.selectableFields ?? []).map(fieldName)]
  const fields = read('fieldSelector', selectors.fieldSelector, (text) => parseFieldSelector(text, known))
  const namespace = target.namespace ?? keyPart(fields.exact('metadata.namespace'))
  const name = target.name ?? keyPart(fields.exact('metadata.name'))
  const { scope } = definition
  const fieldsMatch = fields.isEmpty ? null : fieldMatcher(fields, definition)
  return {
    prefix: prefixOf({ ...placeOf(definition), namespace: scope === 'Cluster' ? null : namespace }),
    key: keyOfOne(definition, namespace, name),
    everything: labels.isEmpty && fields.isEmpty,
    reads: fields.requirements.some(({ field }) => !COMMON_FIELDS.includes(field)),
    matches: (stored) =>
      (labels.isEmpty || labels.matches(stored.labels)) && (fieldsMatch === null || fieldsMatch(stored)),
  }
}

/** The parser says what is wrong, this says with which parameter. */
function read<T>(parameter: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text)
  } catch (cause) {
    if (cause instanceof ApiError) throw malformed(parameter, text, cause.message)
    throw cause
  }
}

/** No key part holds a slash, so nothing can match a selector that names one; it is left to the matcher. */
function keyPart(text: string | null): string | null {
  return text === null || text === '' || text.includes('/') ? null : text
}

function keyOfOne(definition: ResourceDefinition, namespace: string | null, name: string | null): Key | null {
  const place = placeOf(definition)
  if (name === null || name.includes('/')) return null
  if (definition.scope === 'Cluster') return keyOf({ ...place, namespace: '', name })
  return namespace === null ? null : keyOf({ ...place, namespace, name })
}

function fieldName(field: string | SelectableField): string {
  return typeof field === 'string' ? field : field.name
}

function fieldMatcher(
  fields: FieldSelector,
  { schema, selectableFields = [] }: ResourceDefinition,
): (stored: StoredObject) => boolean {
  const made = selectableFields.filter((field) => typeof field !== 'string')
  return (stored) => {
    const { namespace, name } = partsOf(stored.key)
    let parsed: AnyObject | null = null
    return fields.matches((field) => {
      if (field === 'metadata.name') return name
      if (field === 'metadata.namespace') return namespace
      parsed ??= parseStored(stored)
      const own = made.find((one) => one.name === field)
      return own !== undefined ? own.textOf(parsed) : textAt(parsed, schema, field)
    })
  }
}

/** The text at a dotted path; empty when there is none, but what is not said to be so is `false`. */
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
