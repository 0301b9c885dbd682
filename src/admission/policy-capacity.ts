import { jsonText } from '../api/codec/json-text.ts'
import { withoutMembers } from '../api/json.ts'
import { forbidden } from '../api/errors/standard-errors.ts'
import { limits } from '../config/limits.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { keyOf, prefixOf } from '../store/key.ts'

/** A kind of policy. Writes in a namespace are compared with all objects of the kind there. */
export type PolicyKind = { readonly kind: string; readonly plural: string }

/**
 * Refuses a LimitRange or ResourceQuota that is new or grows, if its namespace already has the
 * maximum number or size of them. `policyAnnouncement` makes the number exact; concurrent requests
 * that change metadata may exceed the bytes by what they add.
 *
 * @throws ApiError `Forbidden`
 */
export function checkCapacityFor({ kind, plural }: PolicyKind, request: AdmissionRequest): void {
  const { definition, target, object, oldObject, reads } = request
  if (definition.group !== '' || definition.plural !== plural) return
  if (object === null || target.namespace === null || target.subresource !== null) return
  if (oldObject !== null && !isLonger(object, oldObject)) return
  const name = object.metadata.name ?? target.name ?? ''
  const all = reads.listOther(prefixOf({ group: '', plural, namespace: target.namespace }))
  const own = keyOf({ group: '', plural, namespace: target.namespace, name })
  const others = all.filter(({ key }) => key !== own)
  const where = `namespace ${JSON.stringify(target.namespace)} has`
  const refuse = (why: string): never => {
    throw forbidden(resourceOf(definition), name, `${why}: delete some of them, or merge them`)
  }
  if (others.length >= limits.namespacePoliciesMax) {
    const most = `at most ${limits.namespacePoliciesMax} are supported`
    refuse(`${where} ${others.length} objects of the kind ${kind}, and ${most}`)
  }
  const bytes = others.reduce((sum, { byteLength }) => sum + byteLength, 0)
  if (bytes > limits.namespacePolicyBytesMax) {
    const most = `more than ${limits.namespacePolicyBytesMax}`
    refuse(`${where} objects of the kind ${kind} with ${bytes} bytes together, which is ${most}`)
  }
}

function isLonger(object: AnyObject, oldObject: AnyObject): boolean {
  return lengthOf(object) > lengthOf(oldObject)
}

/** @returns the length of an object without the metadata that the server changes by itself */
function lengthOf(object: AnyObject): number {
  const metadata = withoutMembers(object.metadata, 'managedFields', 'resourceVersion', 'generation')
  return jsonText({ ...object, metadata }).length
}
