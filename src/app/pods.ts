import type { Clock } from '../../base/clock.ts'
import type { Names } from '../api/metadata/names.ts'
import type { Config } from '../config/config.ts'
import { podSummaryOf } from '../controllers/pod-summary.ts'
import type { PodSummary } from '../controllers/pod-summary.ts'
import { Informer, defaultSlices } from '../registry/informer.ts'
import { prefixOf } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'

export type PodsOptions = {
  readonly names: Names
  readonly store: ObjectStore
  readonly clock: Clock
}

/**
 * Follows the Pods. Each version is parsed once for all listeners. The caller starts the informer
 * once all listeners are subscribed, and closes it.
 */
export function podInformer({ names, store, clock }: PodsOptions): Informer<PodSummary> {
  const mirror = names.label('config.mirror')
  return new Informer({
    ...{ store, clock, prefix: prefixOf({ group: '', plural: 'pods', namespace: null }) },
    parse: (stored) => podSummaryOf(mirror, stored),
    slices: defaultSlices,
  })
}

/**
 * Returns whether the authorizer of nodes or a controller follows the Pods. If not, no Pod is
 * parsed.
 */
export function needsPods(config: Config): boolean {
  const { controllers } = config
  return (
    config['authorization-mode'].includes('Node') ||
    controllers.has('ephemeral-volume') ||
    controllers.has('podgc') ||
    controllers.has('pvc-protection')
  )
}
