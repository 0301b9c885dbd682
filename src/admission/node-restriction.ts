import { forbidden } from '../api/errors/standard-errors.ts'
import { equalJson, memberOf, objectMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { keyOf } from '../store/key.ts'
import type { AdmissionPlugin } from './chain.ts'
import { forbiddenNodeLabels } from './node-labels.ts'
import { mirrorPodViolation } from './node-pods.ts'

/** One write of a node, and how it is refused. */
type NodeWrite = {
  readonly node: string
  readonly names: Names
  readonly request: AdmissionRequest
  readonly refuse: (why: string) => never
}

/**
 * Restricts how nodes write some kinds: only their own objects (their Node, Pods that are bound to
 * them, the tokens of these Pods, their lease and their CSINode), and of claims only the status.
 *
 * @source upstream `plugin/pkg/admission/noderestriction`; the owners of a Node as in later
 * releases
 */
export function nodeRestriction({ names }: { readonly names: Names }): AdmissionPlugin {
  return {
    name: 'NodeRestriction',
    validate: (request) => {
      const { user } = request.context.request
      if (!user.groups.includes('system:nodes') || !user.name.startsWith(NODE_PREFIX)) return
      const refuse = (why: string): never => {
        const { definition, target, object } = request
        throw forbidden(resourceOf(definition), object?.metadata.name ?? target.name ?? '', why)
      }
      const node = nodeOf(user)
      if (node === '') refuse(`could not determine node from user ${JSON.stringify(user.name)}`)
      restrict({ node, names, request, refuse })
    },
  }
}

const NODE_PREFIX = 'system:node:'

function nodeOf({ name }: UserInfo): string {
  return name.slice(NODE_PREFIX.length)
}

function restrict(write: NodeWrite): void {
  const { names, request } = write
  const { group, plural } = request.definition
  switch (`${plural}.${group}`) {
    case 'pods.':
      restrictPod(write)
      return
    case 'nodes.':
      restrictNode(write)
      return
    case 'persistentvolumeclaims.':
      restrictClaim(write)
      return
    case 'serviceaccounts.':
      restrictToken(write)
      return
    case `leases.${names.group('coordination')}`:
      restrictLease(write)
      return
    case `csinodes.${names.group('storage')}`:
      if (nameOf(request) !== write.node)
        write.refuse('can only access CSINode with the same name as the requesting node')
      return
    default:
  }
}

function nameOf({ operation, object, target }: AdmissionRequest): string {
  return (operation === 'CREATE' ? object?.metadata.name : target.name) ?? ''
}

function restrictPod({ node, names, request, refuse }: NodeWrite): void {
  const { target, operation, object, oldObject } = request
  const own = JSON.stringify(node)
  const isOwn = (pod: AnyObject | null): boolean =>
    pod !== null && textMember(objectMember(pod, 'spec'), 'nodeName') === node
  switch (target.subresource) {
    case null: {
      if (operation === 'DELETE') {
        if (!isOwn(storedPod(request, target.name)))
          refuse(`node ${own} can only delete pods with spec.nodeName set to itself`)
        return
      }
      if (operation !== 'CREATE' || object === null)
        refuse(`unexpected operation "${operation}", node ${own} can only create and delete mirror pods`)
      const why = mirrorPodViolation(object as AnyObject, node, names, storedUid(request, node))
      if (why !== null) refuse(why)
      return
    }
    case 'status':
      if (operation !== 'UPDATE') refuse(`unexpected operation "${operation}"`)
      if (!isOwn(oldObject))
        refuse(`node ${own} can only update pod status for pods with spec.nodeName set to itself`)
      if (!equalJson({ ...object?.metadata.labels }, { ...oldObject?.metadata.labels }))
        refuse(`node ${own} cannot update labels through pod status`)
      return
    case 'eviction':
      if (!isOwn(storedPod(request, target.name ?? object?.metadata.name ?? null)))
        refuse(`node ${node} can only evict pods with spec.nodeName set to itself`)
      return
    default:
      refuse(
        `unexpected pod subresource ${JSON.stringify(target.subresource)}, only 'status' and 'eviction' are allowed`,
      )
  }
}

function storedPod({ reads, target }: AdmissionRequest, name: string | null): AnyObject | null {
  if (name === null || name === '' || name.includes('/')) return null
  const stored = reads.getOther(keyOf({ group: '', plural: 'pods', namespace: target.namespace ?? '', name }))
  return stored === null ? null : parseStored(stored)
}

/** @returns null: this node is not registered */
function storedUid({ reads }: AdmissionRequest, node: string): string | null {
  if (node.includes('/')) return null
  return reads.getOther(keyOf({ group: '', plural: 'nodes', namespace: '', name: node }))?.uid ?? null
}

function restrictNode({ node, names, request, refuse }: NodeWrite): void {
  const { operation, object, oldObject } = request
  const own = JSON.stringify(node)
  const name = nameOf(request)
  if (operation === 'CREATE' && object !== null) {
    if (memberOf(objectMember(object, 'spec'), 'configSource') !== undefined)
      refuse(`node ${own} is not allowed to create pods with a non-nil configSource`)
    const labels = forbiddenNodeLabels(object.metadata.labels ?? {}, {}, names)
    if (labels.length > 0)
      refuse(`node ${own} is not allowed to set the following labels: ${labels.join(', ')}`)
  }
  if (name !== node) refuse(`node ${own} is not allowed to modify node ${JSON.stringify(name)}`)
  // A missing owner would make the garbage collector delete the Node, and the node would register
  // again without its taints.
  const ownersOf = (of: AnyObject | null): JsonObject => ({ owners: of?.metadata.ownerReferences ?? [] })
  if (object !== null && !equalJson(ownersOf(object), ownersOf(oldObject)))
    refuse(`node ${own} is not allowed to modify ownerReferences`)
  if (operation !== 'UPDATE' || object === null || oldObject === null) return
  const taintsOf = (of: AnyObject): JsonObject => ({
    taints: memberOf(objectMember(of, 'spec'), 'taints') ?? [],
  })
  if (!equalJson(taintsOf(object), taintsOf(oldObject))) refuse(`node ${own} is not allowed to modify taints`)
  const labels = forbiddenNodeLabels(object.metadata.labels ?? {}, oldObject.metadata.labels ?? {}, names)
  if (labels.length > 0) refuse(`is not allowed to modify labels: ${labels.join(', ')}`)
}

/** Lets nodes update only the status of claims, to report that volumes have grown. */
function restrictClaim({ node, request, refuse }: NodeWrite): void {
  const { target, operation, object, oldObject } = request
  if (target.subresource !== 'status') refuse('may only update PVC status')
  if (operation !== 'UPDATE' || object === null || oldObject === null)
    refuse(`unexpected operation "${operation}"`)
  const rest = (of: AnyObject | null): JsonObject => {
    const status = objectMember(of ?? {}, 'status')
    const allowed = { capacity: null, conditions: null, resizeStatus: null, allocatedResources: null }
    const metadata = { ...of?.metadata, resourceVersion: '', managedFields: [] } as JsonObject
    return { spec: objectMember(of ?? {}, 'spec'), metadata, status: { ...status, ...allowed } }
  }
  if (!equalJson(rest(object), rest(oldObject)))
    refuse(
      `node ${JSON.stringify(node)} is not allowed to update fields other than status.capacity and status.conditions`,
    )
}

/** A node gets tokens for Pods that are bound to it, and only as long as they exist. */
function restrictToken({ node, request, refuse }: NodeWrite): void {
  const { target, operation, object } = request
  if (target.subresource !== 'token' || operation !== 'CREATE' || object === null) return
  const bound = objectMember(objectMember(object, 'spec'), 'boundObjectRef')
  const name = textMember(bound, 'name')
  const isPod = textMember(bound, 'apiVersion') === 'v1' && textMember(bound, 'kind') === 'Pod'
  if (!isPod || name === '') refuse('node requested token not bound to a pod')
  const uid = textMember(bound, 'uid')
  if (uid === '') refuse('node requested token with a pod binding without a uid')
  const pod = storedPod(request, name)
  if (pod === null) refuse(`pod ${JSON.stringify(name)} not found`)
  if (pod?.metadata.uid !== uid)
    refuse(
      `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    )
  if (textMember(objectMember(pod ?? {}, 'spec'), 'nodeName') !== node)
    refuse('node requested token bound to a pod scheduled on a different node')
}

function restrictLease({ node, names, request, refuse }: NodeWrite): void {
  const { nodeLeaseNamespace } = names
  if (request.target.namespace !== nodeLeaseNamespace)
    refuse(`can only access leases in the ${JSON.stringify(nodeLeaseNamespace)} system namespace`)
  if (nameOf(request) !== node) refuse('can only access node lease with the same name as the requesting node')
}
