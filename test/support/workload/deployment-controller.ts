import { createHash } from 'node:crypto'
import type {
  V1Deployment,
  V1DeploymentStatus,
  V1PodTemplateSpec,
  V1ReplicaSet,
} from '@kubernetes/client-node'
import { isRefusedWith } from './member-clients.ts'
import type { MemberClients } from './member-clients.ts'
import { controllerOf, keyOf, metaOf, referenceTo, targetOf } from './owned.ts'
import type { SharedInformer } from './shared-informer.ts'
import { WorkQueue } from './work-queue.ts'

const hashLabel = 'pod-template-hash'

export type DeploymentControllerOptions = {
  readonly clients: MemberClients
  readonly deployments: SharedInformer<V1Deployment>
  readonly replicaSets: SharedInformer<V1ReplicaSet>
  readonly onBug: (cause: unknown) => void
}

/**
 * Gives each Deployment one ReplicaSet of its size, and its status. Templates do not change, so
 * there is no rollout.
 */
export class DeploymentController {
  readonly #options: DeploymentControllerOptions
  readonly #queue: WorkQueue

  constructor(options: DeploymentControllerOptions) {
    this.#options = options
    this.#queue = new WorkQueue({ workers: 5, work: (key) => this.#sync(key), onBug: options.onBug })
    const enqueue = (deployment: V1Deployment): void => this.#queue.add(keyOf(deployment))
    options.deployments.on({ added: enqueue, updated: enqueue, deleted: enqueue })
    const enqueueOwner = (replicaSet: V1ReplicaSet): void => {
      const owner = controllerOf(replicaSet)
      if (owner !== undefined) this.#queue.add(`${metaOf(replicaSet).namespace}/${owner.name}`)
    }
    options.replicaSets.on({ added: enqueueOwner, updated: enqueueOwner, deleted: enqueueOwner })
  }

  /** To be called when the caches are complete. */
  start(): void {
    this.#queue.start()
  }

  stop(): Promise<void> {
    return this.#queue.stop()
  }

  async #sync(key: string): Promise<void> {
    const { namespace, name } = targetOf(key)
    const deployment = this.#options.deployments.get(name, namespace)
    if (deployment === undefined || deployment.metadata?.deletionTimestamp !== undefined) return
    const replicaSet = await this.#replicaSetOf(deployment)
    if (replicaSet === null) return
    const wanted = deployment.spec?.replicas ?? 1
    if (replicaSet.spec?.replicas === wanted) await this.#report(deployment, replicaSet)
    else await this.#resize(replicaSet, wanted)
  }

  /** @returns null: it was created now, and the cache will show it */
  async #replicaSetOf(deployment: V1Deployment): Promise<V1ReplicaSet | null> {
    const { uid, namespace } = metaOf(deployment)
    const owned = this.#options.replicaSets
      .list(namespace)
      .find((replicaSet) => controllerOf(replicaSet)?.uid === uid)
    if (owned !== undefined) return owned
    const body = replicaSetFor(deployment)
    try {
      await this.#options.clients.call(({ apps }) => apps.createNamespacedReplicaSet({ namespace, body }))
    } catch (cause) {
      // A creation whose answer was lost, or that the cache does not show yet.
      if (!isRefusedWith(cause, 409) || !(await this.#isOwn(body, namespace))) throw cause
    }
    return null
  }

  async #isOwn(body: V1ReplicaSet, namespace: string): Promise<boolean> {
    const { name } = metaOf(body)
    const stored = await this.#options.clients.call(({ apps }) =>
      apps.readNamespacedReplicaSet({ namespace, name }),
    )
    return controllerOf(stored)?.uid === controllerOf(body)?.uid
  }

  async #resize(replicaSet: V1ReplicaSet, replicas: number): Promise<void> {
    const { namespace, name } = metaOf(replicaSet)
    const { selector, ...spec } = replicaSet.spec ?? { selector: {} }
    const body = { ...replicaSet, spec: { ...spec, selector, replicas } }
    await this.#options.clients.call(({ apps }) =>
      apps.replaceNamespacedReplicaSet({ namespace, name, body }),
    )
  }

  async #report(deployment: V1Deployment, replicaSet: V1ReplicaSet): Promise<void> {
    const { namespace, name, generation } = metaOf(deployment)
    const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = replicaSet.status ?? {}
    const wanted = deployment.spec?.replicas ?? 1
    const status: V1DeploymentStatus = {
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      replicas,
      updatedReplicas: replicas,
      readyReplicas,
      availableReplicas,
      unavailableReplicas: Math.max(0, wanted - availableReplicas),
    }
    const { status: before } = deployment
    const isSame =
      before?.observedGeneration === status.observedGeneration &&
      (before?.replicas ?? 0) === replicas &&
      (before?.readyReplicas ?? 0) === readyReplicas &&
      (before?.availableReplicas ?? 0) === availableReplicas &&
      (before?.unavailableReplicas ?? 0) === status.unavailableReplicas
    if (isSame) return
    const body = { ...deployment, status }
    await this.#options.clients.call(({ apps }) =>
      apps.replaceNamespacedDeploymentStatus({ namespace, name, body }),
    )
  }
}

function replicaSetFor(deployment: V1Deployment): V1ReplicaSet {
  const { name, namespace } = metaOf(deployment)
  const template: V1PodTemplateSpec = deployment.spec?.template ?? {}
  const hash = createHash('sha256')
    .update(JSON.stringify(imagesOf(template)))
    .digest('hex')
    .slice(0, 10)
  const labels = { ...template.metadata?.labels, [hashLabel]: hash }
  return {
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels,
      ownerReferences: [referenceTo('Deployment', deployment)],
    },
    spec: {
      replicas: deployment.spec?.replicas ?? 1,
      selector: { matchLabels: labels },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }
}

function imagesOf({ spec }: V1PodTemplateSpec): readonly string[] {
  return spec?.containers.map(({ name, image = '' }) => `${name} ${image}`) ?? []
}
