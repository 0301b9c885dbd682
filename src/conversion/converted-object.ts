import { Findings } from '../api/errors/findings.ts'
import { formatFindings } from '../api/errors/field-error.ts'
import { shortJson } from '../api/errors/short-text.ts'
import { isJsonObject, memberOf, textMember, withoutMembers } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import { validateAnnotations, validateLabels } from '../api/metadata/object-meta.ts'
import type { ObjectMeta } from '../api/metadata/object.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'

export type CheckedObject =
  | { readonly kind: 'object'; readonly object: AnyObject }
  /** @param what `converted object` or `metadata in object` @param why one line */
  | { readonly kind: 'invalid'; readonly what: string; readonly why: string }

/**
 * Checks one object that a webhook returned for `sent`, and gives it the metadata of `sent`. Only
 * labels and annotations are those of the webhook.
 *
 * @source apiextensions-apiserver `webhook_converter.go`, validateConvertedObject and
 * restoreObjectMeta
 */
export function convertedObject(
  sent: AnyObject,
  returned: Json | undefined,
  apiVersion: string,
): CheckedObject {
  if (!isJsonObject(returned)) return wrong('it is not an object')
  const version = textMember(returned, 'apiVersion')
  if (version !== apiVersion) {
    return wrong(`invalid groupVersion (expected: ${apiVersion}, received: ${shown(version)})`)
  }
  const kind = textMember(returned, 'kind')
  if (kind !== sent.kind) return wrong(`invalid kind (expected: ${sent.kind}, received: ${shown(kind)})`)
  const metadata = memberOf(returned, 'metadata')
  if (!isJsonObject(metadata)) return wrongMetadata('missing metadata in converted object')
  for (const [name, word] of IDENTITY) {
    const before = sent.metadata[name] ?? ''
    const after = textMember(metadata, name)
    if (before !== after) return wrong(`must have the same ${word}: ${shown(before)} != ${shown(after)}`)
  }
  const accepted = labelsAndAnnotationsOf(metadata, sent.metadata)
  if (typeof accepted === 'string') return wrongMetadata(accepted)
  const restored = withoutMembers(sent.metadata, 'labels', 'annotations')
  return { kind: 'object', object: { ...returned, apiVersion, kind, metadata: { ...restored, ...accepted } } }
}

const IDENTITY = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const

function wrong(why: string): CheckedObject {
  return { kind: 'invalid', what: 'converted object', why }
}

function wrongMetadata(why: string): CheckedObject {
  return { kind: 'invalid', what: 'metadata in object', why }
}

type LabelsAndAnnotations = Pick<ObjectMeta, 'labels' | 'annotations'>

/**
 * Returns labels and annotations of the webhook, or why they are invalid. Labels that it did not
 * change are not checked, and neither are annotations if it changed none.
 */
function labelsAndAnnotationsOf(metadata: JsonObject, before: ObjectMeta): LabelsAndAnnotations | string {
  const accepted: { labels?: Record<string, string>; annotations?: Record<string, string> } = {}
  const found = new Findings()
  for (const name of ['labels', 'annotations'] as const) {
    const given = memberOf(metadata, name) ?? null
    if (given === null) continue
    const field = `metadata.${name}`
    if (!isTextMap(given))
      return `invalid ${field} in converted object: ${shortJson(given, 64)} is not a map of strings`
    accepted[name] = given
    const known = before[name] ?? {}
    const changed = Object.entries(given).filter(
      ([key, value]) => !Object.hasOwn(known, key) || known[key] !== value,
    )
    if (name === 'labels') validateLabels(Object.fromEntries(changed), field, found)
    else if (changed.length > 0) validateAnnotations(given, field, found)
  }
  const [first] = formatFindings(found.list)
  return first === undefined ? accepted : `${first.field}: ${first.message}`
}

function isTextMap(value: Json): value is Record<string, string> {
  return isJsonObject(value) && Object.values(value).every((one) => typeof one === 'string')
}

function shown(text: string): string {
  return text.length <= 253 ? text : `${text.slice(0, 253)}...`
}
