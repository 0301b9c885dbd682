import { memberOf, objectMember, textMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { podReferences } from '../registry/kinds/node-references.ts'

/**
 * Returns why a node may not create a Pod; null: it is a mirror of a static Pod of that node, which
 * uses no other objects.
 *
 * @param uid of the Node; null: it is not registered
 * @source upstream `plugin/pkg/admission/noderestriction`, admitPodCreate
 */
export function mirrorPodViolation(
  pod: AnyObject,
  node: string,
  names: Names,
  uid: string | null,
): string | null {
  const own = JSON.stringify(node)
  const annotation = names.label('config.mirror')
  const { annotations = {}, ownerReferences = [] } = pod.metadata
  if (annotations[annotation] === undefined)
    return `pod does not have ${JSON.stringify(annotation)} annotation, node ${own} can only create mirror pods`
  if (textMember(objectMember(pod, 'spec'), 'nodeName') !== node)
    return `node ${own} can only create pods with spec.nodeName set to itself`
  if (ownerReferences.length > 1)
    return `node ${own} can only create pods with a single owner reference set to itself`
  const [owner] = ownerReferences
  const isNode = textMember(owner ?? {}, 'apiVersion') === 'v1' && textMember(owner ?? {}, 'kind') === 'Node'
  if (owner === undefined || !isNode || textMember(owner, 'name') !== node)
    return `node ${own} can only create pods with an owner reference set to itself`
  if (memberOf(owner, 'controller') !== true)
    return `node ${own} can only create pods with a controller owner reference set to itself`
  if (memberOf(owner, 'blockOwnerDeletion') === true)
    return `node ${own} must not set blockOwnerDeletion on an owner reference`
  const given = textMember(owner, 'uid')
  if (uid !== null && given !== uid) return `node ${node} UID mismatch: expected ${uid} got ${given}`
  return usedObjects(pod, own)
}

const USES = [
  ['serviceaccounts', 'a service account'],
  ['secrets', 'secrets'],
  ['configmaps', 'configmaps'],
  ['persistentvolumeclaims', 'persistentvolumeclaims'],
] as const

function usedObjects(pod: AnyObject, own: string): string | null {
  const { references } = podReferences(pod, null)
  for (const [resource, words] of USES) {
    if (references.some((one) => one.startsWith(`${resource}/`)))
      return `node ${own} can not create pods that reference ${words}`
  }
  return null
}
