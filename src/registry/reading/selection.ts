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
import type { FieldValues, KnownMatch, ValueReader } from '../kinds/field-values.ts'
import { malformed } from '../calls/query-options.ts'
import type { Target } from '../calls/request.ts'

/** The objects of a collection that a list, watch or deletecollection applies to. */
export type Selection = {
  /** Prefix of all of their keys. */
  readonly prefix: KeyPrefix
  /** The only possible key; null: any under the prefix. */
  readonly key: Key | null
  /** Whether every object under the prefix matches. */
  readonly everything: boolean
  /** Whether an object must be parsed to decide if it matches, unless its values are known. */
  readonly parsesObjects: boolean
  readonly matches: (stored: StoredObject) => boolean
  /** As `matches`, without parsing. null: the object must be parsed. */
  readonly matchesKnown: (stored: StoredObject) => boolean | null
  /** Whether the object of an event matches after the event. */
  readonly matchesNow: (event: StoreEvent) => boolean
  /** Whether it matched before the event. */
  readonly matchedBefore: (event: StoreEvent) => boolean
  /** The events that a watch must be woken for; null: all under the prefix. */
  readonly interest: WatchInterest | null
}

/** @throws ApiError `BadRequest` for a selector that is malformed or names an unknown field */
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
  const matches = (stored: StoredObject, valueOf: ValueReader): boolean =>
    (labels.isEmpty || labels.matches(stored.labels)) && (fields.isEmpty || fields.matches(valueOf))
  let knownMatch: KnownMatch | null = null
  return {
    prefix: prefixOf({ namespace: scope === 'Cluster' ? null : namespace, ...placeOf(definition) }),
    key,
    everything,
    parsesObjects: fields.requirements.some(({ field }) => !COMMON_FIELDS.includes(field)),
    matches: (stored) => everything || matches(stored, values.reader(stored)),
    matchesKnown: (stored) => {
      if (!labels.isEmpty && !labels.matches(stored.labels)) return false
      knownMatch ??= values.matcher(fields)
      return knownMatch(stored)
    },
    matchesNow: (event) => everything || matches(event.object, (field) => values.now(event, field)),
    matchedBefore: (event) =>
      event.previous !== null &&
      (everything || matches(event.previous, (field) => values.before(event, field))),
    interest: key === null ? interestIn(fields, values) : { kind: 'key', key },
  }
}

/** Uses the first field that requires a single value. */
function interestIn(fields: FieldSelector, values: FieldValues): WatchInterest | null {
  // A namespace is part of the prefix already.
  const exact = fields.requirements.find(
    ({ field, operator }) => operator === '=' && field !== 'metadata.namespace',
  )
  return exact === undefined
    ? null
    : { kind: 'value', index: values.indexOf(exact.field), value: exact.value }
}

/** Adds the name of the parameter to the parser's error. */
function read<T>(parameter: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text)
  } catch (cause) {
    if (cause instanceof ApiError) throw malformed(parameter, text, cause.message)
    throw cause
  }
}

/** Returns null for a text with a slash, which no key part can contain; the matcher rejects it. */
function keyPart(text: string | null): string | null {
  return text === null || text === '' || text.includes('/') ? null : text
}

function keyOfOne(definition: ResourceDefinition, namespace: string | null, name: string | null): Key | null {
  const place = placeOf(definition)
  if (name === null || name.includes('/')) return null
  if (definition.scope === 'Cluster') return keyOf({ namespace: '', name, ...place })
  return namespace === null ? null : keyOf({ namespace, name, ...place })
}

function fieldName(field: string | SelectableField): string {
  return typeof field === 'string' ? field : field.name
}
