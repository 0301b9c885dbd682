import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { objectMember, objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import type { LocalClient } from '../registry/local-client.ts'
import { keyOf, partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import { Controller, defaultControllerLimits } from './controller.ts'
import type { Reconciled } from './controller.ts'
import type { EventRecorder } from './event-recorder.ts'
import { isLostCreate } from './lost-race.ts'
import type { PodSummary } from './pod-summary.ts'
import { whileUnchanged } from './while-unchanged.ts'

export type EphemeralVolumesDependencies = {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  /** All Pods, as this member has applied them. */
  readonly pods: Informer<PodSummary>
  /** All claims. */
  readonly claims: Pick<Informer<unknown>, 'get' | 'subscribe'>
  readonly events: Pick<EventRecorder, 'record'>
  /**
   * Calls since the start of this member to create a claim, and those that failed, apart from lost
   * races.
   */
  readonly counts: EphemeralVolumeCounts
  readonly onError: (key: string, cause: unknown) => void
}

export type EphemeralVolumeCounts = { created: number; failed: number }

const limits = {
  ...defaultControllerLimits,
  // A quota or a foreign claim may be in the way of many Pods for days.
  backoffMsMax: 300_000,
  // Concurrent writes share log writes.
  concurrency: 16,
}

/**
 * Creates the claims of the ephemeral volumes of Pods, and creates them again if they are deleted
 * while the Pod lives. The garbage collector deletes them with their Pod.
 *
 * @source spec 2.5; upstream `pkg/controller/volume/ephemeral`
 */
export function ephemeralVolumes(dependencies: EphemeralVolumesDependencies): Controller {
  const { clock, pods, claims, onError } = dependencies
  const claimants = new Map<Key, Key>()
  const controller = new Controller({
    ...{ clock, onError, limits },
    reconcile: (key) => reconcile(dependencies, key as Key),
    keys: () => new Set(claimants.values()),
  })
  pods.subscribe(({ key, previous, ...change }) => {
    const value = change.kind === 'set' ? change.value : null
    for (const claim of claimsOf(key, previous)) claimants.delete(claim)
    const wanted = claimsOf(key, value)
    for (const claim of wanted) claimants.set(claim, key)
    const isNew = previous === null && wanted.length > 0
    if (isNew || wanted.some((claim) => claims.get(claim) === null)) controller.enqueue(key)
  })
  claims.subscribe(({ kind, key }) => {
    const pod = kind === 'removed' ? claimants.get(key) : undefined
    if (pod !== undefined) controller.enqueue(pod)
  })
  return controller
}

/** Returns the claims of the ephemeral volumes of a Pod; none if it is being deleted. */
function claimsOf(pod: Key, summary: PodSummary | null): readonly Key[] {
  if (summary === null || summary.terminating) return []
  const { namespace, name } = partsOf(pod)
  return summary.ephemeralVolumes.map((volume) =>
    keyOf({ group: '', plural: 'persistentvolumeclaims', namespace, name: `${name}-${volume}` }),
  )
}

async function reconcile(dependencies: EphemeralVolumesDependencies, key: Key): Promise<Reconciled> {
  const { catalog, client } = dependencies
  const [podKind, claimKind] = ['pods', 'persistentvolumeclaims'].map((plural) =>
    catalog.find('', 'v1', plural),
  )
  if (!podKind || !claimKind) return { kind: 'done' }
  const { namespace, name } = partsOf(key)
  const pod = await client.get(podKind, { namespace, name, subresource: null })
  if (pod === null || pod.metadata.deletionTimestamp !== undefined) return { kind: 'done' }
  for (const volume of objectsMember(objectMember(pod, 'spec'), 'volumes')) {
    if (!Object.hasOwn(volume, 'ephemeral')) continue
    const isEnsured = await ensureClaim(dependencies, { podKind, claimKind, pod, volume })
    if (!isEnsured) return { kind: 'again' }
  }
  return { kind: 'done' }
}

type Wanted = {
  readonly podKind: ResourceDefinition
  readonly claimKind: ResourceDefinition
  readonly pod: AnyObject
  readonly volume: JsonObject
}

/**
 * Creates the claim of a volume unless the Pod has it already. Reports and rethrows failures.
 *
 * @returns false: the Pod has changed, or another write came first
 */
async function ensureClaim(dependencies: EphemeralVolumesDependencies, wanted: Wanted): Promise<boolean> {
  const { client, events, counts } = dependencies
  const { podKind, claimKind, pod, volume } = wanted
  const { namespace = '', name = '', uid = '' } = pod.metadata
  const claim = claimFor(pod, volume)
  const target = { namespace, name: claim.metadata.name ?? '', subresource: null }
  try {
    const found = await client.get(claimKind, target)
    if (found === null) {
      counts.created++
      try {
        // The Pod may be gone, too: then the precondition fails.
        await client.create(claimKind, namespace, claim, whileUnchanged(podKind, pod))
      } catch (cause) {
        if (!isLostCreate(cause)) counts.failed++
        throw cause
      }
    } else if (!isControlledBy(found, uid)) {
      throw new ForeignClaimError(namespace, target.name, name)
    }
    return true
  } catch (cause) {
    if (isLostCreate(cause)) return false
    if (!(cause instanceof ApiError || cause instanceof ForeignClaimError)) throw cause
    const message = `ephemeral volume ${textMember(volume, 'name')}: ${cause.message}`
    const about = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid }
    events.record(about, { type: 'Warning', reason: 'FailedBinding', message })
    throw cause
  }
}

/** A claim that has the name of a volume's claim, but was made for something else. */
class ForeignClaimError extends Error {
  constructor(namespace: string, claim: string, pod: string) {
    super(`PVC ${namespace}/${claim} was not created for pod ${namespace}/${pod} (pod is not owner)`)
  }
}

function claimFor(pod: AnyObject, volume: JsonObject): AnyObject {
  const template = objectMember(objectMember(volume, 'ephemeral'), 'volumeClaimTemplate')
  const metadata = objectMember(template, 'metadata')
  const { name = '', namespace = '', uid = '' } = pod.metadata
  const owner = { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true, blockOwnerDeletion: true }
  return {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
    metadata: {
      ...{ name: `${name}-${textMember(volume, 'name')}`, namespace },
      ...(Object.hasOwn(metadata, 'labels') ? { labels: textsOf(objectMember(metadata, 'labels')) } : {}),
      ...(Object.hasOwn(metadata, 'annotations')
        ? { annotations: textsOf(objectMember(metadata, 'annotations')) }
        : {}),
      ownerReferences: [owner],
    },
    spec: objectMember(template, 'spec'),
  }
}

function textsOf(map: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.keys(map).map((name) => [name, textMember(map, name)]))
}

function isControlledBy({ metadata }: AnyObject, uid: string): boolean {
  return objectsMember(metadata, 'ownerReferences').some(
    (owner) => owner['controller'] === true && textMember(owner, 'uid') === uid,
  )
}
