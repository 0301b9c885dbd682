import { ApiError } from '../../api/errors/api-error.ts'
import { COMMON_FIELDS, parseFieldSelector } from '../../api/selectors/field-selector.ts'
import type { FieldSelector } from '../../api/selectors/field-selector.ts'
import { parseLabelSelector } from '../../api/selectors/label-selector.ts'
import { keyOf, prefixOf } from '../../store/key.ts'
import type { Key, KeyPrefix } from '../../store/key.ts'
import type { StoredObject, StoreEvent, WatchInterest } from '../../store/object-store.ts'
import { placeOf } from '../kinds/definition.ts'
import type { ResourceDefinition, SelectableField } from '../kinds/definition.ts'
import { fieldValuesOf } from '../kinds/field-values.ts'
import type { FieldValues } from '../kinds/field-values.ts'
import { malformed } from '../calls/query-options.ts'
import type { Target } from '../calls/request.ts'

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
  /** Whether the object is one of them as an event leaves it, and whether it was before. */
  readonly matchesNow: (event: StoreEvent) => boolean
  readonly matchedBefore: (event: StoreEvent) => boolean
  /** Which events a watch has to be woken for; null: all under the prefix. */
  readonly interest: WatchInterest | null
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
  const values = fieldValuesOf(definition)
  const key = keyOfOne(definition, namespace, name)
  const everything = labels.isEmpty && fields.isEmpty
  const matches = (stored: StoredObject, valueOf: (field: string) => string): boolean =>
    (labels.isEmpty || labels.matches(stored.labels)) && (fields.isEmpty || fields.matches(valueOf))
  return {
    prefix: prefixOf({ ...placeOf(definition), namespace: scope === 'Cluster' ? null : namespace }),
    key,
    everything,
    reads: fields.requirements.some(({ field }) => !COMMON_FIELDS.includes(field)),
    matches: (stored) => everything || matches(stored, values.reader(stored)),
    matchesNow: (event) => everything || matches(event.object, (field) => values.now(event, field)),
    matchedBefore: (event) =>
      event.previous !== null &&
      (everything || matches(event.previous, (field) => values.before(event, field))),
    interest: key === null ? interestIn(fields, values) : { kind: 'key', key },
  }
}

/** By the first field that can have one value only. */
function interestIn(fields: FieldSelector, values: FieldValues): WatchInterest | null {
  // A namespace is a prefix already.
  const exact = fields.requirements.find(
    ({ field, operator }) => operator === '=' && field !== 'metadata.namespace',
  )
  return exact === undefined
    ? null
    : { kind: 'value', index: values.indexOf(exact.field), value: exact.value }
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
