import { runInBatches } from '../../base/batches.ts'
import type { Clock } from '../../base/clock.ts'
import type { Informer } from '../registry/informer.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import type { LocalClient } from '../registry/local-client.ts'
import type { OtherRevision } from '../store/command.ts'
import { keyOf, partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import { Controller, defaultControllerLimits } from './controller.ts'
import type { Reconciled } from './controller.ts'
import { isLostRace } from './lost-race.ts'
import type { EventRecorder } from './event-recorder.ts'
import type { PodIndex } from './pod-index.ts'
import type { PodSummary } from './pod-summary.ts'
import { whileAbsent } from './while-unchanged.ts'

export type PodGarbageCollectionDependencies = {
  readonly clock: Clock
  readonly catalog: Catalog
  readonly client: LocalClient
  /** All Pods, and their index, as this member has applied them. */
  readonly pods: Informer<PodSummary>
  readonly index: PodIndex
  /** All nodes, as this member has applied them. */
  readonly nodes: Informer<true>
  /** Waits until the Pods and nodes are those of the most recent state. */
  readonly untilCurrent: () => Promise<void>
  readonly events: Pick<EventRecorder, 'record'>
  /** Maximum number of ended Pods to keep. 0: no limit. */
  readonly endedMax: number
  readonly onError: (key: string, cause: unknown) => void
}

/** A new node may be registered after its first Pods are bound to it. @source upstream: 40 s */
const absentMsMin = 40_000
/** Minimum time between two checks of the Pods that have ended: each sorts them by age. */
const endedCheckMs = 20_000
/** Pods deleted concurrently, so that they share log writes. */
const deletedAtOnce = 32

const limits = {
  ...defaultControllerLimits,
  // The delay between the checks of an absent node.
  backoffMsMin: 10_000,
  backoffMsMax: 10_000,
}

/** The key of the Pods that have ended; a node name has no spaces. */
const ENDED = 'ended pods'

type Collector = PodGarbageCollectionDependencies & {
  /** When an absent node was first looked up, in monotonic ms. Bounded by the nodes of Pods. */
  readonly absentSinceMs: Map<string, number>
  endedCheckedMs: number
}

/**
 * Deletes Pods that no node will ever end, because their node does not exist any more, and the
 * oldest ones of those that have ended, if there are too many. Pods without a node need no
 * collector: their deletion has no grace period.
 *
 * @source upstream `pkg/controller/podgc`
 */
export function podGarbageCollection(dependencies: PodGarbageCollectionDependencies): Controller {
  const { clock, pods, index, nodes, endedMax, onError } = dependencies
  const collector = { ...dependencies, absentSinceMs: new Map<string, number>(), endedCheckedMs: -Infinity }
  const controller = new Controller({
    ...{ clock, onError, limits },
    reconcile: (key) => (key === ENDED ? deleteEnded(collector) : deleteOnAbsent(collector, key)),
    keys: () => [ENDED, ...[...index.nodes()].filter((node) => !isThere(collector, node))],
  })
  pods.subscribe((change) => {
    if (change.kind === 'removed') {
      if (!index.hasPodsOn(change.previous.node)) collector.absentSinceMs.delete(change.previous.node)
      return
    }
    const { node } = change.value
    if (node !== '' && !isThere(collector, node)) controller.enqueue(node)
    if (endedMax > 0 && index.endedCount > endedMax) controller.enqueue(ENDED)
  })
  nodes.subscribe(({ kind, key }) => {
    const { name } = partsOf(key)
    if (kind === 'set') collector.absentSinceMs.delete(name)
    else controller.enqueue(name)
  })
  return controller
}

function isThere({ nodes }: Collector, name: string): boolean {
  return nodes.get(nodeKey(name)) !== null
}

function nodeKey(name: string): Key {
  return keyOf({ group: '', plural: 'nodes', namespace: '', name })
}

async function deleteOnAbsent(collector: Collector, node: string): Promise<Reconciled> {
  const { clock, index, absentSinceMs } = collector
  if (isThere(collector, node) || !index.hasPodsOn(node)) {
    absentSinceMs.delete(node)
    return { kind: 'done' }
  }
  const sinceMs = absentSinceMs.get(node) ?? clock.monotonicMs()
  absentSinceMs.set(node, sinceMs)
  if (clock.monotonicMs() - sinceMs < absentMsMin) return { kind: 'again' }
  const isDue = (pod: PodSummary): boolean => pod.node === node && !isThere(collector, node)
  const because = `Deleted: its node ${node} does not exist`
  const onlyWhile = whileAbsent(nodeKey(node))
  await deletePods(collector, index.podsOn(node), { isDue, because, onlyWhile })
  // Pods whose version has changed are left for the next attempt.
  return { kind: 'again' }
}

async function deleteEnded(collector: Collector): Promise<Reconciled> {
  const { clock, index, endedMax, endedCheckedMs } = collector
  if (endedMax === 0 || index.endedCount <= endedMax) return { kind: 'done' }
  const nowMs = clock.monotonicMs()
  if (nowMs - endedCheckedMs < endedCheckMs) return { kind: 'again' }
  collector.endedCheckedMs = nowMs
  const isDue = ({ ended }: PodSummary): boolean => ended && index.endedCount > endedMax
  const because = `Deleted: more than ${endedMax} Pods have ended`
  await deletePods(collector, index.oldestEnded(index.endedCount - endedMax), { isDue, because })
  return { kind: 'again' }
}

type Reason = {
  /** Called for each Pod in the most recent state: its node may have come back. */
  readonly isDue: (pod: PodSummary) => boolean
  /** For the event about the Pod. */
  readonly because: string
  /** A leader that stalled deletes nothing if this no longer holds. Unset: no precondition. */
  readonly onlyWhile?: OtherRevision
}

/**
 * Deletes Pods without a grace period, on condition that each still has the version that this
 * member has applied.
 */
async function deletePods(collector: Collector, keys: readonly Key[], reason: Reason): Promise<void> {
  // This member may not have applied the newest writes yet.
  const batches = { size: deletedAtOnce, before: () => collector.untilCurrent() }
  const { failures } = await runInBatches(keys, batches, (key) => deletePod(collector, key, reason))
  if (failures.length > 0) throw failures[0]
}

async function deletePod(
  { catalog, client, pods, events }: Collector,
  key: Key,
  { isDue, because, onlyWhile }: Reason,
): Promise<void> {
  const definition = catalog.find('', 'v1', 'pods')
  const pod = pods.get(key)
  // Only finalizers keep a Pod whose deletion already has no grace period.
  if (definition === null || pod === null || pod.forced || !isDue(pod)) return
  const { namespace, name } = partsOf(key)
  const target = { namespace, name, subresource: null }
  try {
    await client.delete(definition, target, { metadata: pod }, { gracePeriodSeconds: 0 }, onlyWhile)
    const about = { apiVersion: 'v1', kind: 'Pod', namespace, name, uid: pod.uid }
    events.record(about, { type: 'Normal', reason: 'PodGarbageCollected', message: because })
  } catch (cause) {
    if (!isLostRace(cause)) throw cause
  }
}
