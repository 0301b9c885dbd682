import type { Clock } from '../../base/clock.ts'
import { forbidden } from '../api/errors/standard-errors.ts'
import { equalJson, memberOf, textMember } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import type { AccessReviewer } from '../registry/kinds/access-reviewer.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { yieldToEventLoop } from '../registry/shared/yield-budget.ts'
import type { AdmissionPlugin } from './chain.ts'

export type OwnerReferencesDependencies = {
  readonly clock: Clock
  readonly reviewers: Pick<AccessReviewer, 'authorize'>
  /** Returns the kind of an owner; null: it is not served. */
  readonly kindOf: (
    apiVersion: string,
    kind: string,
  ) => Pick<ResourceDefinition, 'group' | 'version' | 'plural' | 'scope'> | null
}

/**
 * To change the owners of an object, a user needs permission to delete it; to make the deletion of
 * an owner wait for the object, permission to change the finalizers of the owner.
 *
 * @source upstream `plugin/pkg/admission/gc`
 */
export function ownerReferencesPermissionEnforcement(
  dependencies: OwnerReferencesDependencies,
): AdmissionPlugin {
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    // An authorizer may be a webhook.
    callsOut: true,
    concerns: ({ operation, object, oldObject, definition, target }) =>
      (operation === 'CREATE' || operation === 'UPDATE') &&
      object !== null &&
      !(definition.group === '' && definition.plural === 'pods' && target.subresource === 'status') &&
      !equalJson(ownersJson(object), ownersJson(oldObject)),
    validate: async (request) => {
      const { object, oldObject } = request
      if (object === null) return
      if (request.operation !== 'CREATE') await checkDeletion(dependencies, request)
      const before = new Set(blocking(oldObject).map((owner) => textMember(owner, 'uid')))
      const kindOf = remembered(dependencies.kindOf)
      let checked = 0
      for (const owner of blocking(object)) {
        if (before.has(textMember(owner, 'uid'))) continue
        // A Promise that is settled already does not let other requests run.
        if (++checked % CHECKS_OF_TURN === 0) await yieldToEventLoop(dependencies.clock)
        await checkOwner({ ...dependencies, kindOf }, request, owner)
      }
    },
  }
}

/**
 * Owners whose permissions are checked before other requests may run. It takes some milliseconds.
 */
const CHECKS_OF_TURN = 100

type KindOf = OwnerReferencesDependencies['kindOf']

/**
 * Returns the function with a cache: the owners of one object have few kinds, and a lookup searches
 * all kinds.
 */
function remembered(kindOf: KindOf): KindOf {
  const known = new Map<string, ReturnType<KindOf>>()
  return (apiVersion, kind) => {
    const key = `${apiVersion} ${kind}`
    const found = known.get(key)
    if (found !== undefined) return found
    const made = kindOf(apiVersion, kind)
    known.set(key, made)
    return made
  }
}

function ownersJson(object: AnyObject | null): Json {
  return [...(object?.metadata.ownerReferences ?? [])]
}

function blocking(object: AnyObject | null): readonly JsonObject[] {
  return (object?.metadata.ownerReferences ?? []).filter(
    (owner) => memberOf(owner, 'blockOwnerDeletion') === true,
  )
}

function refuse({ definition, target, object }: AdmissionRequest, why: string): never {
  throw forbidden(resourceOf(definition), object?.metadata.name ?? target.name ?? '', why)
}

async function checkDeletion(
  { reviewers }: OwnerReferencesDependencies,
  request: AdmissionRequest,
): Promise<void> {
  const { definition, target, context } = request
  const verdict = await reviewers.authorize(context.request.user, {
    ...{ kind: 'resource', verb: 'delete', group: definition.group, version: definition.version },
    ...{ resource: definition.plural, subresource: '' },
    ...{ namespace: target.namespace ?? '', name: target.name ?? '' },
  })
  if (!verdict.allowed)
    refuse(request, `cannot set an ownerRef on a resource you can't delete: ${verdict.reason}`)
}

async function checkOwner(
  { reviewers, kindOf }: OwnerReferencesDependencies,
  request: AdmissionRequest,
  owner: JsonObject,
): Promise<void> {
  const { target, context } = request
  const [apiVersion = '', kind = '', name = ''] = ['apiVersion', 'kind', 'name'].map((one) =>
    textMember(owner, one),
  )
  const found = kindOf(apiVersion, kind)
  if (found === null) {
    const words = 'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for'
    refuse(request, `${words} APIVersion ${apiVersion} Kind ${kind}: no matches for kind`)
  }
  const verdict = await reviewers.authorize(context.request.user, {
    ...{ kind: 'resource', verb: 'update', group: found.group, version: found.version },
    ...{ resource: found.plural, subresource: 'finalizers' },
    ...{ namespace: found.scope === 'Namespaced' ? (target.namespace ?? '') : '', name },
  })
  if (verdict.allowed) return
  const words =
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"
  refuse(request, `${words}: ${verdict.reason}`)
}
