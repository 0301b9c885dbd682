import { garbageCollection } from '../../controllers/garbage-collection.ts'
import { resourceQuotaController } from '../../controllers/resource-quota.ts'
import { callMsMax } from './controller-parts.ts'
import type { ControllerParts, Stop } from './controller-parts.ts'

/*
 * Controllers that follow the objects of all kinds. Their informers are expensive, so they only run
 * if the controller is enabled.
 */

export type GarbageCollectionParts = ControllerParts & {
  /** Waits until the catalog has the kinds of all definitions that this member has applied. */
  readonly kindsApplied: () => Promise<void>
}

/** @returns also the informer, which counts its failures. null: disabled */
export function startGarbageCollection(parts: GarbageCollectionParts): {
  readonly stops: readonly Stop[]
  readonly informer: { readonly failures: number } | null
} {
  const { store, clock, catalog, kindsApplied, enabled, log, clientOf, switched } = parts
  if (!enabled.has('garbagecollector')) return { stops: [], informer: null }
  const { controller, informer } = garbageCollection({
    ...{ store, clock, catalog, kindsApplied, timeoutMs: callMsMax, client: clientOf('garbagecollector') },
    onError: (key, cause) => log.warn({ object: key, err: cause }, 'dependents or owner not processed yet'),
  })
  informer.start()
  return { stops: [() => informer.close(), ...switched('garbagecollector', controller)], informer }
}

export function startQuotas(parts: ControllerParts): readonly Stop[] {
  const { store, clock, names, catalog, enabled, log, clientOf, eventsOf, switched } = parts
  if (!enabled.has('resourcequota')) return []
  const { controller, informer, close } = resourceQuotaController({
    ...{ store, clock, names, catalog },
    ...{ client: clientOf('resourcequota'), events: eventsOf('resourcequota') },
    onError: (namespace, cause) => log.warn({ namespace, err: cause }, 'usage of quotas not counted yet'),
  })
  informer.start()
  return [close, ...switched('resourcequota', controller)]
}
