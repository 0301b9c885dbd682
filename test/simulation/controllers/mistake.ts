import type { Consensus } from '../../../raft/index.ts'
import type { AdmissionPlugin } from '../../../src/admission/chain.ts'
import type { Registry, VerbRequest } from '../../../src/registry/calls/verb.ts'
import type { Outcome } from '../../../src/store/command.ts'

/**
 * Deliberate bugs, each of which some checker has to find: controllers overwrite what other members
 * wrote since they read it; their writes ignore the fencing token; only the controllers of the
 * first leader work; the usage of a quota is stored although other members changed it; a namespace
 * is emptied although it was deleted and created again.
 */
export type Mistake =
  'no-preconditions' | 'no-fencing' | 'no-successor' | 'no-quota-conditions' | 'no-deletion-conditions'
export const mistakes: readonly Mistake[] = [
  'no-preconditions',
  'no-fencing',
  'no-successor',
  'no-quota-conditions',
  'no-deletion-conditions',
]

/** Returns the registry as controllers with the mistake use it. */
export function registryWith(mistake: Mistake | null, registry: Registry): Registry {
  switch (mistake) {
    case 'no-preconditions':
      return {
        ...registry,
        update: async (request) => registry.update(await overwriting(registry, request)),
        delete: (request) => registry.delete(changed(request, withoutPreconditions)),
      }
    case 'no-fencing':
      return { ...registry, update: (request) => registry.update(unfenced(request)) }
    case 'no-deletion-conditions':
      return {
        ...registry,
        deleteCollection: (request) => registry.deleteCollection(unfenced(request)),
      }
    case 'no-successor':
    case 'no-quota-conditions':
    case null:
      return registry
  }
}

/**
 * Returns the plugin; with the mistake `no-quota-conditions`, without the conditions of its
 * commands.
 */
export function pluginWith(mistake: Mistake | null, plugin: AdmissionPlugin): AdmissionPlugin {
  if (mistake !== 'no-quota-conditions' || plugin.callsOut === true) return plugin
  return {
    ...plugin,
    extraConditions: () => [],
    extraOperations: (request) =>
      (plugin.extraOperations?.(request) ?? []).map((operation) => ({ ...operation, conditions: [] })),
  }
}

/**
 * Returns the consensus as the controllers of a member see it.
 *
 * @param leads whether the member acts as the leader, given whether it is the leader
 */
export function consensusSeen(
  consensus: Consensus<Outcome>,
  leads: (isLeader: boolean) => boolean,
): Consensus<Outcome> {
  return new Proxy(consensus, {
    get: (target, name) => {
      if (name === 'status') {
        const { status } = target
        const role = leads(status.role === 'leader') ? 'leader' : 'follower'
        return role === status.role ? status : { ...status, role }
      }
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

type Body = {
  readonly metadata?: { readonly resourceVersion?: string | undefined }
  readonly preconditions?: unknown
}

function bodyOf(bytes: Uint8Array): Body {
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as Body
}

function changed(request: VerbRequest, change: (body: Body) => Body): VerbRequest {
  return { ...request, body: Buffer.from(JSON.stringify(change(bodyOf(request.body)))) }
}

/** Returns the same update with the newest version as its precondition. */
async function overwriting(registry: Registry, request: VerbRequest): Promise<VerbRequest> {
  const target = { ...request.target, subresource: null }
  const answer = await registry.get({ ...request, target, body: new Uint8Array(0), contentType: '' })
  const newest = answer.kind === 'document' ? bodyOf(answer.bytes).metadata : undefined
  const resourceVersion = newest?.resourceVersion
  return changed(request, (body) => ({ ...body, metadata: { ...body.metadata, resourceVersion } }))
}

function withoutPreconditions(body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'preconditions'))
}

function unfenced(request: VerbRequest): VerbRequest {
  const { definition, context, target, query, body, contentType } = request
  return { definition, context, target, query, body, contentType }
}
