import { badRequest } from '../../api/errors/standard-errors.ts'
import { equalUnder } from '../../api/schema/equal.ts'
import type { ObjectMeta } from '../../api/metadata/object.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import { podTemplateSpecSchema } from '../pods/pod-template-spec.ts'
import { templateOf } from './pod-owner.ts'

/**
 * The annotation with the number of the template of a DaemonSet. The controller labels Pods with
 * it, and does not replace a Pod whose label equals it: so it must change with the template.
 *
 * @source upstream `pkg/apis/apps/v1/conversion.go` and `pkg/registry/apps/daemonset/strategy.go`
 */
const KEY = 'deprecated.daemonset.template.generation'

/**
 * Returns a DaemonSet that is being created, with the number that the client sent, at least 1.
 *
 * @throws ApiError `BadRequest`
 */
export function withFirstTemplateGeneration(object: AnyObject): AnyObject {
  checkSent(object, undefined)
  const sent = parsed(object.metadata.annotations?.[KEY]) ?? 0n
  return withText(object, String(sent < 1n ? 1n : sent))
}

/**
 * Returns a changed DaemonSet with the next number if its template changed, else with the same one.
 * A DaemonSet that an older version of this server stored may lack it: it then counts as 1.
 *
 * @throws ApiError `BadRequest`
 */
export function withNextTemplateGeneration(object: AnyObject, current: AnyObject): AnyObject {
  checkSent(object, current.metadata.annotations?.[KEY])
  const before = parsed(current.metadata.annotations?.[KEY])
  if (equalUnder(podTemplateSpecSchema, templateOf(object), templateOf(current)))
    return withText(object, before === null ? undefined : String(before))
  return withText(object, String((before ?? 1n) + 1n))
}

/** Returns the DaemonSet with the number of `current`, as after an update of the status. */
export function withSameTemplateGeneration(object: AnyObject, current: AnyObject): AnyObject {
  return withText(object, current.metadata.annotations?.[KEY])
}

/** @throws ApiError `BadRequest`, in upstream's words */
function checkSent({ metadata }: AnyObject, stored: string | undefined): void {
  const sent = metadata.annotations?.[KEY]
  if (sent === undefined || sent === stored || parsed(sent) !== null) return
  const why = isInteger(sent) ? 'value out of range' : 'invalid syntax'
  throw badRequest(
    'DaemonSet in version "v1" cannot be handled as a DaemonSet: ' +
      `strconv.ParseInt: parsing ${JSON.stringify(sent.slice(0, 64))}: ${why}`,
  )
}

function isInteger(text: string): boolean {
  return /^[+-]?[0-9]+$/.test(text)
}

/** @returns null: absent, longer than 64 characters, or not a 64-bit integer */
function parsed(text: string | undefined): bigint | null {
  // A long text is not worth the cost of its conversion: leading zeros are of no use.
  if (text === undefined || text.length > 64 || !isInteger(text)) return null
  const value = BigInt(text.replace(/^\+/, ''))
  return BigInt.asIntN(64, value) === value ? value : null
}

function withText(object: AnyObject, text: string | undefined): AnyObject {
  const { annotations = {} } = object.metadata
  if (annotations[KEY] === text) return object
  const others = Object.fromEntries(Object.entries(annotations).filter(([key]) => key !== KEY))
  const all = text === undefined ? others : { ...others, [KEY]: text }
  const metadata: { annotations?: ObjectMeta['annotations'] } & ObjectMeta = { ...object.metadata }
  if (Object.keys(all).length === 0) delete metadata.annotations
  else metadata.annotations = all
  return { ...object, metadata }
}
