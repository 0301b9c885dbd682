import { objectMember, textMember } from '../../api/json.ts'
import { ephemeralVolumes } from '../../controllers/ephemeral-volumes.ts'
import type { EphemeralVolumeCounts } from '../../controllers/ephemeral-volumes.ts'
import { listedNames } from '../../controllers/event-subject.ts'
import { podGarbageCollection } from '../../controllers/pod-garbage-collection.ts'
import { PodIndex, claimOf, releasedClaims } from '../../controllers/pod-index.ts'
import type { PodSummary } from '../../controllers/pod-summary.ts'
import { needsProtectionStep, storageProtection } from '../../controllers/storage-protection.ts'
import type { StorageProtectionDependencies } from '../../controllers/storage-protection.ts'
import type { Informer } from '../../registry/informer.ts'
import { partsOf } from '../../store/key.ts'
import { protectionFinalizer } from '../../registry/kinds/protection-finalizer.ts'
import type { ProtectedKind } from '../../registry/kinds/protection-finalizer.ts'
import { callMsMax, coreInformer } from './controller-parts.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

export type PodControllersParts = ControllerParts & {
  /** All Pods; the owner starts the informer later, and closes it. */
  readonly pods: Informer<PodSummary>
  /** Maximum number of ended Pods to keep. 0: no limit. */
  readonly endedPodsMax: number
  /** Read by metrics. */
  readonly ephemeralVolumes: EphemeralVolumeCounts
}

const podControllers = ['podgc', 'pvc-protection', 'ephemeral-volume'] as const

/** Starts the controllers that follow the Pods. */
export function startPods(parts: PodControllersParts): readonly Stop[] {
  const { store, clock, catalog, pods, enabled, endedPodsMax: endedMax, log } = parts
  const { clientOf, eventsOf, switched } = parts
  if (!podControllers.some((name) => enabled.has(name))) return []
  const index = new PodIndex()
  pods.subscribe(({ key, previous, ...change }) =>
    index.change(key, previous, change.kind === 'set' ? change.value : null),
  )
  const nodes = coreInformer(parts, 'nodes', () => true as const)
  const untilCurrent = async (): Promise<void> => {
    await store.barrier(clock.monotonicMs() + callMsMax)
    await Promise.all([pods.takeIn(), nodes.takeIn()])
  }
  const collecting = podGarbageCollection({
    ...{ clock, catalog, pods, index, nodes, untilCurrent, endedMax },
    ...{ client: clientOf('podgc'), events: eventsOf('podgc') },
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'Pods not deleted yet'),
  })
  const claims = protectedObjects(parts, 'persistentvolumeclaims')
  const protecting = storageProtection({
    ...{ clock, catalog, ...claims, client: clientOf('pvc-protection'), events: eventsOf('pvc-protection') },
    useOf: async (key) => {
      await untilCurrent()
      const users = index.usersOf(claimOf(key)).map((pod) => partsOf(pod).name)
      if (users.length > 0)
        return { kind: 'used', by: `Pods that use the claim: ${listedNames(users.sort())}` }
      const isUnknown = pods.lacksObjectsIn(partsOf(key).namespace)
      return isUnknown
        ? { kind: 'unknown', because: 'Pods of the namespace cannot be decrypted' }
        : { kind: 'unused' }
    },
    onReleased: (listener) => pods.subscribe((change) => releasedClaims(index, change).forEach(listener)),
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'claim not released yet'),
  })
  const creating = ephemeralVolumes({
    ...{ clock, catalog, pods, claims: claims.objects, counts: parts.ephemeralVolumes },
    ...{ client: clientOf('ephemeral-volume'), events: eventsOf('ephemeral-volume') },
    onError: (key, cause) =>
      log.warn({ object: key, err: cause }, 'claim of an ephemeral volume not created yet'),
  })
  const informers = [nodes, claims.objects]
  for (const informer of informers) informer.start()
  return [
    ...informers.map((informer) => () => informer.close()),
    ...switched('podgc', collecting),
    ...switched('pvc-protection', protecting),
    ...switched('ephemeral-volume', creating),
  ]
}

export function startVolumes(parts: ControllerParts): readonly Stop[] {
  const { clock, catalog, enabled, log, clientOf, eventsOf, switched } = parts
  if (!enabled.has('pv-protection')) return []
  const volumes = protectedObjects(parts, 'persistentvolumes')
  const protecting = storageProtection({
    ...{ clock, catalog, ...volumes, client: clientOf('pv-protection'), events: eventsOf('pv-protection') },
    useOf: async (_, volume) => {
      if (textMember(objectMember(volume, 'status'), 'phase') !== 'Bound') return { kind: 'unused' }
      // The event is in another namespace than the claim. Users of that namespace may lack the
      // permission to see the name of the claim.
      return { kind: 'used', by: 'the volume is bound to a claim' }
    },
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'volume not released yet'),
  })
  volumes.objects.start()
  return [() => volumes.objects.close(), ...switched('pv-protection', protecting)]
}

function protectedObjects(
  parts: ControllerParts,
  plural: ProtectedKind,
): Pick<StorageProtectionDependencies, 'plural' | 'finalizer' | 'objects'> {
  const finalizer = protectionFinalizer(parts.names, plural)
  const objects = coreInformer(parts, plural, (stored) => needsProtectionStep(finalizer, stored))
  return { plural, finalizer, objects }
}
