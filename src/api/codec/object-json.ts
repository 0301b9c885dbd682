import type { JsonObject } from '../json.ts'
import type { ApiObject } from '../object.ts'
import { utf8Length } from '../utf8.ts'

/** An object as it is stored: JSON text and where the machine cuts and splices it. */
export type ObjectText = {
  readonly text: string
  /** Bytes (UTF-8) before the closing quote of `"resourceVersion":""`: the digits go here. */
  readonly revisionOffset: number
  /** Bytes (UTF-8) of `{"kind":…,"apiVersion":…,`: a list item is `{` and what follows these. */
  readonly itemOffset: number
}

/**
 * Serializes an object for the store: kind and apiVersion first, then metadata in upstream's order with an
 * empty resourceVersion, then the rest in the order it came. Absent and `undefined` members are left out;
 * a resourceVersion the object carries is ignored.
 *
 * ```
 * {"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a",…,"resourceVersion":"",…},"data":{…}}
 *                                       ^ itemOffset                              ^ revisionOffset
 * ```
 */
export function encodeObject(object: ApiObject & JsonObject): ObjectText {
  const prefix = `{"kind":${JSON.stringify(object.kind)},"apiVersion":${JSON.stringify(object.apiVersion)},`
  const meta = object.metadata as JsonObject
  const beforeRevision = joined(meta, BEFORE_REVISION)
  const head = `${prefix}"metadata":{${beforeRevision}${beforeRevision === '' ? '' : ','}"resourceVersion":"`
  const after = joined(meta, [...AFTER_REVISION, ...Object.keys(meta).filter((name) => !KNOWN.has(name))])
  const rest = joined(
    object,
    Object.keys(object).filter((name) => !TOP.has(name)),
  )
  const text = `${head}"${after === '' ? '' : `,${after}`}}${rest === '' ? '' : `,${rest}`}}`
  return { text, revisionOffset: utf8Length(head), itemOffset: utf8Length(prefix) }
}

const TOP: ReadonlySet<string> = new Set(['kind', 'apiVersion', 'metadata'])
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
const KNOWN: ReadonlySet<string> = new Set([...BEFORE_REVISION, 'resourceVersion', ...AFTER_REVISION])

function joined(from: JsonObject, names: readonly string[]): string {
  let text = ''
  for (const name of names) {
    const value = Object.hasOwn(from, name) ? from[name] : undefined
    if (value === undefined) continue
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(value)}`
  }
  return text
}
