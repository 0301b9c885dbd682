import type { ResourceAction } from '../../api/action.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import { allowed } from '../decision.ts'
import type { Authorizer, Decision } from '../decision.ts'
import { RuleIndex } from '../rule-index.ts'
import type { PolicyRule } from '../rules.ts'
import { GROUP_NODES, nodeOf } from '../user.ts'
import type { NodeGraph } from './node-graph.ts'
import { referenceTo } from '../../registry/kinds/node-references.ts'
import type { ReferencedResource } from '../../registry/kinds/node-references.ts'

export type NodeAuthorizerDependencies = {
  readonly names: Names
  readonly graph: Pick<NodeGraph, 'needs' | 'needsVolume' | 'isAttachedTo'>
  /** Rules for all nodes; objects that Pods refer to are decided by the graph. */
  readonly rules: readonly PolicyRule[]
}

/**
 * Allows nodes (`system:node:NAME` in the group `system:nodes`) the actions that they need to run
 * their Pods. Of Secrets, ConfigMaps, claims, volumes and tokens it allows only those of these
 * Pods, and of attachments, leases and CSINodes only those of the node. It has no opinion on other
 * users, or on anything that it does not allow.
 *
 * @source spec 5.7; upstream `plugin/pkg/auth/authorizer/node/node_authorizer.go`, release 1.24
 */
export function nodeAuthorizer(dependencies: NodeAuthorizerDependencies): Authorizer {
  const rules = new RuleIndex(dependencies.rules)
  return {
    name: 'Node',
    authorize: (user, action) => {
      if (!user.groups.includes(GROUP_NODES)) return noOpinion('')
      const node = nodeOf(user)
      if (node === null) return noOpinion('the name of the user does not name a node')
      const refusal = action.kind === 'path' ? UNDECIDED : decide(dependencies, node, action)
      if (refusal !== UNDECIDED) return refusal === null ? allowed : noOpinion(refusal)
      return rules.allows(action) ? allowed : noOpinion('')
    },
    rulesOf: (user) => ({ rules: [], unlisted: isNode(user) ? ['Node'] : [] }),
  }
}

function isNode(user: UserInfo): boolean {
  return user.groups.includes(GROUP_NODES) && nodeOf(user) !== null
}

/** The rules for all nodes decide. */
const UNDECIDED = Symbol('the rules for all nodes decide')

function decide(
  { names, graph }: NodeAuthorizerDependencies,
  node: string,
  action: ResourceAction,
): string | null | typeof UNDECIDED {
  const { group, resource, subresource } = action
  const unrelated = `no relationship found between node ${JSON.stringify(node)} and this object`
  const related = (isRelated: boolean): string | null => (isRelated ? null : unrelated)
  const needed = (kind: ReferencedResource): string | null =>
    related(graph.needs(node, referenceTo(kind, action.namespace, action.name)))
  if (group === '') {
    switch (resource) {
      case 'secrets':
      case 'configmaps':
        return readRefusal(action) ?? needed(resource)
      case 'persistentvolumeclaims':
        return (subresource === 'status' ? statusRefusal(action) : getRefusal(action)) ?? needed(resource)
      case 'persistentvolumes':
        return getRefusal(action) ?? related(graph.needsVolume(node, action.name))
      case 'serviceaccounts':
        return tokenRefusal(action) ?? needed(resource)
    }
  }
  if (group === names.group('storage') && resource === 'volumeattachments')
    return getRefusal(action) ?? related(graph.isAttachedTo(node, action.name))
  if (group === names.group('storage') && resource === 'csinodes') return ownObjectRefusal(action, node)
  if (group === names.group('coordination') && resource === 'leases') {
    const { nodeLeaseNamespace } = names
    if (action.namespace === nodeLeaseNamespace) return ownObjectRefusal(action, node)
    return `can only access leases in the namespace ${nodeLeaseNamespace}`
  }
  return UNDECIDED
}

/** A list or watch names one object by its field selector. */
function readRefusal({ verb, subresource, namespace, name }: ResourceAction): string | null {
  if (!['get', 'list', 'watch'].includes(verb)) return 'can only read resources of this type'
  if (subresource !== '') return 'cannot read subresources'
  if (namespace === '') return 'can only read resources of one namespace'
  return name === '' ? NO_NAME : null
}

function getRefusal({ verb, subresource, name }: ResourceAction): string | null {
  if (verb !== 'get') return 'can only get individual resources of this type'
  if (subresource !== '') return 'cannot get subresources'
  return name === '' ? NO_NAME : null
}

function statusRefusal({ verb, name }: ResourceAction): string | null {
  if (verb !== 'update' && verb !== 'patch') return 'can only update the status of this type'
  return name === '' ? NO_NAME : null
}

function tokenRefusal({ verb, subresource, name }: ResourceAction): string | null {
  if (verb !== 'create' || subresource !== 'token') return 'can only create tokens for individual accounts'
  return name === '' ? NO_NAME : null
}

/**
 * Checks the access to objects that have the name of their node. Admission checks the name of a new
 * one.
 */
function ownObjectRefusal({ verb, subresource, name }: ResourceAction, node: string): string | null {
  if (!['get', 'create', 'update', 'patch', 'delete'].includes(verb))
    return 'can only get, create, update, patch or delete its own object of this type'
  if (subresource !== '') return 'cannot access subresources'
  return verb === 'create' || name === node ? null : 'can only access the object with the name of the node'
}

const NO_NAME = 'the request names no object'

function noOpinion(reason: string): Decision {
  return { kind: 'no-opinion', reason }
}
