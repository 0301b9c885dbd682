import { parseJsonObject } from '../codec/json.ts'
import { jsonText } from '../codec/json-text.ts'
import { isJsonObject, memberOf, objectMember, textMember, withoutMembers } from '../json.ts'
import type { JsonObject } from '../json.ts'
import { utf8Length } from '../utf8.ts'
import { compareValues } from './compare-values.ts'
import { difference, emptySet, isEmptySet } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import { fieldsOf } from './fields-of.ts'
import type { ManagedEntry } from './managers.ts'
import type { MergeType } from './merge-type.ts'
import type { Conflicts } from './ownership.ts'

/**
 * The annotation in which client-side apply of kubectl stores the object that it applied last. When
 * kubectl migrates to server-side apply, it takes over the fields that still have the values of the
 * annotation without a conflict, and each apply updates the annotation.
 *
 * @source apiserver `fieldmanager/lastappliedmanager.go`, `lastappliedupdater.go`
 */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** Bytes of an annotation. Longer: the annotation is removed. */
const ANNOTATION_BYTES_MAX = 256 * 1024

/**
 * Returns the conflicts without the fields that client-side apply set and that have not changed
 * since.
 *
 * @param mergeWriteOnly merges write-only members, such as `stringData`, as each write does
 */
export function withoutAllowed(
  type: MergeType,
  live: JsonObject,
  conflicts: Conflicts,
  mergeWriteOnly: (config: JsonObject) => JsonObject,
): Conflicts {
  const allowed = fieldsOfLastApplied(type, live, mergeWriteOnly)
  const left = new Map<string, ManagedEntry>()
  for (const [identity, entry] of conflicts) {
    const fields = difference(entry.fields, allowed)
    if (!isEmptySet(fields)) left.set(identity, { ...entry, fields })
  }
  return left
}

function fieldsOfLastApplied(
  type: MergeType,
  live: JsonObject,
  mergeWriteOnly: (config: JsonObject) => JsonObject,
): FieldSet {
  const text = lastAppliedOf(live)
  const sent = text === '' ? null : objectOf(text)
  if (sent === null) return emptySet
  const last = mergeWriteOnly(sent)
  const { added, modified, removed } = compareValues(type, last, live)
  return [added, modified, removed].reduce(difference, fieldsOf(type, last))
}

/**
 * Returns the object with its annotation updated to the object that was just applied. An object
 * without the annotation stays as it is.
 *
 * @param config the applied object
 */
export function updatedLastApplied<Object extends JsonObject>(object: Object, config: JsonObject): Object {
  if (lastAppliedOf(object) === '') return object
  const text = jsonText(withAnnotation(config, null))
  return withAnnotation(object, utf8Length(text) <= ANNOTATION_BYTES_MAX ? text : null)
}

function lastAppliedOf(object: JsonObject): string {
  return textMember(objectMember(objectMember(object, 'metadata'), 'annotations'), LAST_APPLIED)
}

/** @param text null: without the annotation */
function withAnnotation<Object extends JsonObject>(object: Object, text: string | null): Object {
  const metadata = objectMember(object, 'metadata')
  const annotations = memberOf(metadata, 'annotations')
  if (!isJsonObject(annotations)) return object
  const others = withoutMembers(annotations, LAST_APPLIED)
  const next = text === null ? others : { ...others, [LAST_APPLIED]: text }
  return { ...object, metadata: { ...metadata, annotations: next } }
}

function objectOf(text: string): JsonObject | null {
  try {
    return parseJsonObject(text)
  } catch {
    return null
  }
}
