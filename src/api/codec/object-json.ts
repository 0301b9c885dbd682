import { assert } from '../../../base/assert.ts'
import { memberOf, setMember } from '../json.ts'
import type { Json, JsonObject, JsonObjectDraft } from '../json.ts'
import type { ApiObject } from '../metadata/object.ts'
import { utf8Length } from '../utf8.ts'
import { jsonText } from './json-text.ts'

/** An object as stored: JSON text, and the offsets where the state machine inserts and cuts. */
export type ObjectText = {
  readonly text: string
  /** Bytes (UTF-8) before the closing quote of `"resourceVersion":""`: the digits go here. */
  readonly revisionOffset: number
  /** Bytes (UTF-8) of `{"kind":…,"apiVersion":…,`: a list item is `{` and what follows these. */
  readonly itemOffset: number
}

/**
 * Serializes an object for the store: kind and apiVersion first, then metadata in upstream's order
 * with an empty resourceVersion, then the rest in the order it came. Left out are absent and
 * `undefined` members, the resourceVersion the object carries, and members of metadata that
 * `ObjectMeta` does not have.
 *
 * ```
 * {"kind":"Lease","apiVersion":"v1","metadata":{"name":"a",…,"resourceVersion":"",…},"spec":{…}}
 *                                   ^ itemOffset                                ^ revisionOffset
 * ```
 */
export function encodeObject(object: ApiObject & JsonObject): ObjectText {
  const prefix = `{"kind":${JSON.stringify(object.kind)},"apiVersion":${JSON.stringify(object.apiVersion)},`
  const metadata: JsonObjectDraft = {}
  copy(object.metadata, metadata, BEFORE_REVISION)
  metadata['resourceVersion'] = ''
  copy(object.metadata, metadata, AFTER_REVISION)
  const head = `${prefix}"metadata":${jsonText(metadata)}`
  const rest: JsonObjectDraft = {}
  for (const name of Object.keys(object)) if (!HEAD.has(name)) setMember(rest, name, object[name] as Json)
  const tail = jsonText(rest)
  const text = tail === '{}' ? `${head}}` : `${head},${tail.slice(1)}`
  // Only scalars precede it, and inside of a string its quotes would be escaped.
  const revisionAt = text.indexOf(EMPTY_REVISION, prefix.length) + EMPTY_REVISION.length - 1
  assert(revisionAt > prefix.length, 'metadata has a resourceVersion')
  return { text, revisionOffset: utf8Length(text, revisionAt), itemOffset: utf8Length(prefix) }
}

const HEAD: ReadonlySet<string> = new Set(['kind', 'apiVersion', 'metadata'])
const EMPTY_REVISION = '"resourceVersion":""'
const BEFORE_REVISION = ['name', 'generateName', 'namespace', 'selfLink', 'uid']
const AFTER_REVISION = [
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
]

function copy(from: JsonObject, to: JsonObjectDraft, names: readonly string[]): void {
  for (const name of names) {
    const value = memberOf(from, name)
    if (value !== undefined) to[name] = value
  }
}
