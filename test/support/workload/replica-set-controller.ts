import type { V1Pod, V1ReplicaSet } from '@kubernetes/client-node'
import { Expectations } from './expectations.ts'
import type { Journal } from './journal.ts'
import { failureOf, isRefusedWith } from './member-clients.ts'
import type { MemberClients } from './member-clients.ts'
import {
  controllerOf,
  creationAnnotation,
  isActive,
  isReady,
  keyOf,
  metaOf,
  referenceTo,
  targetOf,
} from './owned.ts'
import type { SharedInformer } from './shared-informer.ts'
import { WorkQueue } from './work-queue.ts'

export type ReplicaSetControllerOptions = {
  readonly clients: MemberClients
  readonly replicaSets: SharedInformer<V1ReplicaSet>
  readonly pods: SharedInformer<V1Pod>
  readonly journal: Journal
  /** Unique among all controllers that ever run: the beginning of the ids of creations. */
  readonly identity: string
  readonly onBug: (cause: unknown) => void
}

/** The most Pods that are created or deleted before the cache has to show them. */
const burst = 500

/** Keeps the Pods of each ReplicaSet at its size, as upstream's does. */
export class ReplicaSetController {
  readonly #options: ReplicaSetControllerOptions
  readonly #queue: WorkQueue
  readonly #expectations = new Expectations()
  #creations = 0
  #isStopped = false

  constructor(options: ReplicaSetControllerOptions) {
    this.#options = options
    this.#queue = new WorkQueue({ workers: 5, work: (key) => this.#sync(key), onBug: options.onBug })
    const enqueue = (replicaSet: V1ReplicaSet): void => this.#queue.add(keyOf(replicaSet))
    options.replicaSets.on({ added: enqueue, updated: enqueue, deleted: enqueue })
    options.pods.on({
      added: (pod) => {
        this.#expectations.creationObserved(ownerKeyOf(pod), creationOf(pod))
        this.#observe(pod)
      },
      updated: (pod) => this.#observe(pod),
      deleted: (pod) => {
        this.#expectations.deletionObserved(ownerKeyOf(pod), metaOf(pod).uid)
        this.#queue.add(ownerKeyOf(pod))
      },
    })
  }

  /** To be called when the caches are complete. */
  start(): void {
    this.#queue.start()
  }

  /** Sends no further request; resolves when all requests have been answered. */
  stop(): Promise<void> {
    this.#isStopped = true
    return this.#queue.stop()
  }

  #observe(pod: V1Pod): void {
    if (pod.metadata?.deletionTimestamp !== undefined)
      this.#expectations.deletionObserved(ownerKeyOf(pod), metaOf(pod).uid)
    this.#queue.add(ownerKeyOf(pod))
  }

  async #sync(key: string): Promise<void> {
    const { namespace, name } = targetOf(key)
    const replicaSet = this.#options.replicaSets.get(name, namespace)
    if (replicaSet === undefined) {
      this.#expectations.forget(key)
      return
    }
    const { uid, deletionTimestamp } = metaOf(replicaSet)
    const pods = this.#options.pods
      .list(namespace)
      .filter((pod) => controllerOf(pod)?.uid === uid && isActive(pod))
    let failure: Error | null = null
    if (this.#expectations.isSatisfied(key) && deletionTimestamp === undefined)
      failure = await this.#manage(key, replicaSet, pods)
    await this.#report(replicaSet, pods)
    if (failure !== null) throw failure
  }

  /** @returns the first failure */
  #manage(key: string, replicaSet: V1ReplicaSet, pods: readonly V1Pod[]): Promise<Error | null> {
    const missing = (replicaSet.spec?.replicas ?? 1) - pods.length
    if (missing > 0) return this.#create(key, replicaSet, Math.min(missing, burst))
    if (missing < 0) return this.#delete(key, excess(pods, Math.min(-missing, burst)))
    return Promise.resolve(null)
  }

  async #create(key: string, replicaSet: V1ReplicaSet, count: number): Promise<Error | null> {
    const ids = Array.from({ length: count }, () => `${this.#options.identity}-${++this.#creations}`)
    this.#expectations.expectCreations(key, ids)
    let failure: Error | null = null
    // Batches grow while all requests succeed, so that a server that refuses every Pod gets few
    // requests.
    for (let [from, size] = [0, 1]; from < count; [from, size] = [from + size, size * 2]) {
      const batch = ids.slice(from, from + size)
      if (failure !== null || this.#isStopped) {
        for (const id of ids.slice(from)) this.#expectations.creationObserved(key, id)
        break
      }
      const failures = await Promise.all(batch.map((id) => this.#createOne(key, replicaSet, id)))
      failure = failures.find((one) => one !== null) ?? null
    }
    return failure
  }

  async #createOne(key: string, replicaSet: V1ReplicaSet, id: string): Promise<Error | null> {
    const { namespace, name, uid, resourceVersion } = metaOf(replicaSet)
    const { template, replicas = 1 } = replicaSet.spec ?? {}
    const labels = template?.metadata?.labels ?? {}
    const body: V1Pod = {
      metadata: {
        generateName: `${name}-`,
        labels,
        annotations: { [creationAnnotation]: id },
        ownerReferences: [referenceTo('ReplicaSet', replicaSet)],
      },
      ...(template?.spec === undefined ? {} : { spec: template.spec }),
    }
    const creation = this.#options.journal.create({
      ...{ id, owner: uid, replicas, ownerVersion: Number(resourceVersion) },
    })
    try {
      const pod = metaOf(
        await this.#options.clients.call(({ core }) => core.createNamespacedPod({ namespace, body })),
      )
      creation.outcome = 'created'
      creation.pod = { name: pod.name, uid: pod.uid, version: Number(pod.resourceVersion) }
      return null
    } catch (cause) {
      const failure = failureOf(cause)
      if (failure === null || !(cause instanceof Error)) throw cause
      creation.outcome = failure.kind
      this.#expectations.creationObserved(key, id)
      return cause
    }
  }

  async #delete(key: string, pods: readonly V1Pod[]): Promise<Error | null> {
    const uids = pods.map((pod) => metaOf(pod).uid)
    this.#expectations.expectDeletions(key, uids)
    const failures = await Promise.all(pods.map((pod) => this.#deleteOne(key, pod)))
    return failures.find((one) => one !== null) ?? null
  }

  async #deleteOne(key: string, pod: V1Pod): Promise<Error | null> {
    const { namespace, name, uid } = metaOf(pod)
    if (this.#isStopped) return null
    const deletion = this.#options.journal.delete(uid, 'controller')
    const body = { preconditions: { uid } }
    try {
      await this.#options.clients.call(({ core }) => core.deleteNamespacedPod({ namespace, name, body }))
      deletion.outcome = 'deleted'
      return null
    } catch (cause) {
      const failure = failureOf(cause)
      if (failure === null || !(cause instanceof Error)) throw cause
      deletion.outcome = failure.kind
      this.#expectations.deletionObserved(key, uid)
      return isRefusedWith(cause, 404) ? null : cause
    }
  }

  async #report(replicaSet: V1ReplicaSet, pods: readonly V1Pod[]): Promise<void> {
    const { namespace, name, generation } = metaOf(replicaSet)
    const ready = pods.filter(isReady).length
    const { status: before } = replicaSet
    const isSame =
      before?.observedGeneration === generation &&
      before?.replicas === pods.length &&
      (before.readyReplicas ?? 0) === ready &&
      (before.availableReplicas ?? 0) === ready
    if (isSame || this.#isStopped) return
    const status = {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      ...{ replicas: pods.length, fullyLabeledReplicas: pods.length },
      ...{ readyReplicas: ready, availableReplicas: ready },
    }
    const body = { ...replicaSet, status }
    await this.#options.clients.call(({ apps }) =>
      apps.replaceNamespacedReplicaSetStatus({ namespace, name, body }),
    )
  }
}

/**
 * Pods that are not bound are deleted first, then those that are not ready; among equals, the one
 * that was written last.
 */
function excess(pods: readonly V1Pod[], count: number): readonly V1Pod[] {
  const rank = (pod: V1Pod): number => (pod.spec?.nodeName === undefined ? 0 : isReady(pod) ? 2 : 1)
  const version = (pod: V1Pod): number => Number(metaOf(pod).resourceVersion)
  return pods.toSorted((a, b) => rank(a) - rank(b) || version(b) - version(a)).slice(0, count)
}

/** Returns the key of the ReplicaSet of a Pod; empty without one. */
function ownerKeyOf(pod: V1Pod): string {
  const owner = controllerOf(pod)
  return owner === undefined ? '' : `${metaOf(pod).namespace}/${owner.name}`
}

function creationOf({ metadata }: V1Pod): string {
  return metadata?.annotations?.[creationAnnotation] ?? ''
}
