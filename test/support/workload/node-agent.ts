import { setTimeout as sleep } from 'node:timers/promises'
import { PatchStrategy, V1MicroTime, setHeaderOptions } from '@kubernetes/client-node'
import type { V1Lease, V1Node, V1Pod } from '@kubernetes/client-node'
import type { Journal } from './journal.ts'
import { failureOf, isRefusedWith } from './member-clients.ts'
import type { Apis, MemberClients } from './member-clients.ts'
import { isReady, keyOf, metaOf, targetOf } from './owned.ts'
import { SharedInformer } from './shared-informer.ts'
import { WorkQueue } from './work-queue.ts'

export type NodeAgentOptions = {
  /** The clients of the user of this node. */
  readonly clients: MemberClients
  readonly node: string
  /** The address of the node; its Pods have addresses in the same /24. */
  readonly address: string
  readonly namespace: string
  readonly journal: Journal
  readonly onBug: (cause: unknown) => void
}

/** The times of upstream's agents. */
const leaseSeconds = 40
const renewalMs = 10_000
const retryMs = 200
const leases = 'kube-node-lease'
const strategic = setHeaderOptions('Content-Type', PatchStrategy.StrategicMergePatch)

/** The agent of a node: registers the node, renews its Lease, and runs Pods without containers. */
export class NodeAgent {
  /** The UIDs of all Pods that were bound to this node. */
  readonly pods = new Set<string>()
  /** Pods of other nodes, which its watch must not show. */
  readonly foreign: string[] = []
  readonly #options: NodeAgentOptions
  readonly #informer: SharedInformer<V1Pod>
  readonly #queue: WorkQueue
  #renewals = 0
  #isStopped = false
  readonly #wake = new AbortController()
  #done: Promise<void> = Promise.resolve()

  constructor(options: NodeAgentOptions) {
    const { clients, node, namespace, onBug } = options
    this.#options = options
    const selector = `spec.nodeName=${node}`
    this.#informer = new SharedInformer<V1Pod>(
      clients,
      `/api/v1/namespaces/${namespace}/pods`,
      ({ core }) => core.listNamespacedPod({ namespace, fieldSelector: selector }),
      selector,
    )
    this.#queue = new WorkQueue({ workers: 4, work: (key) => this.#sync(key), onBug })
    const observe = (pod: V1Pod): void => {
      const { uid } = metaOf(pod)
      if (pod.spec?.nodeName === node) this.pods.add(uid)
      else this.foreign.push(uid)
      this.#queue.add(keyOf(pod))
    }
    this.#informer.on({ added: observe, updated: observe })
  }

  get renewals(): number {
    return this.#renewals
  }

  async start(): Promise<void> {
    const node = await this.#insist((apis) => this.#register(apis))
    if (node === null) return
    this.#done = this.#renew(node).catch(this.#options.onBug)
    await this.#informer.start()
    this.#queue.start()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#wake.abort()
    await Promise.all([this.#informer.stop(), this.#queue.stop(), this.#done])
  }

  async #register({ core }: Apis): Promise<V1Node> {
    const { node: name, address } = this.#options
    try {
      await core.createNode({ body: { metadata: { name }, spec: {} } })
    } catch (cause) {
      if (!isRefusedWith(cause, 409)) throw cause
    }
    const now = new Date().toISOString()
    const ready = {
      ...{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'ready' },
      ...{ lastHeartbeatTime: now, lastTransitionTime: now },
    }
    const capacity = { cpu: '64', memory: '256Gi', pods: '110' }
    const addresses = [{ type: 'InternalIP', address }]
    const body = { status: { conditions: [ready], addresses, capacity, allocatable: capacity } }
    return core.patchNodeStatus({ name, body }, strategic)
  }

  async #renew(node: V1Node): Promise<void> {
    const { node: name } = this.#options
    const { uid } = metaOf(node)
    const owner = { apiVersion: 'v1', kind: 'Node', name, uid }
    const spec = { holderIdentity: name, leaseDurationSeconds: leaseSeconds }
    while (!this.#isStopped) {
      const lease = await this.#insist(async ({ coordination }): Promise<V1Lease> => {
        const renewed = { ...spec, renewTime: new V1MicroTime() }
        try {
          const stored = await coordination.readNamespacedLease({ namespace: leases, name })
          const body = { ...stored, spec: { ...stored.spec, ...renewed } }
          return await coordination.replaceNamespacedLease({ namespace: leases, name, body })
        } catch (cause) {
          if (!isRefusedWith(cause, 404)) throw cause
          const body = { metadata: { name, ownerReferences: [owner] }, spec: renewed }
          return coordination.createNamespacedLease({ namespace: leases, body })
        }
      })
      if (lease !== null) this.#renewals++
      await sleep(renewalMs, undefined, { signal: this.#wake.signal }).catch(() => undefined)
    }
  }

  async #sync(key: string): Promise<void> {
    const { namespace, name } = targetOf(key)
    const pod = this.#informer.get(name, namespace)
    if (pod === undefined) return
    if (pod.metadata?.deletionTimestamp !== undefined) await this.#remove(pod)
    else if (pod.status?.phase !== 'Running' || !isReady(pod)) await this.#run(pod)
  }

  async #run(pod: V1Pod): Promise<void> {
    const { namespace, name, uid } = metaOf(pod)
    const { address } = this.#options
    const now = new Date().toISOString()
    const conditions = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
      ...{ type, status: 'True', lastTransitionTime: now },
    }))
    const podIP = address.replace(/\d+$/, String(2 + (this.pods.size % 250)))
    const containerStatuses = pod.spec?.containers.map(({ name: container, image = '' }) => ({
      ...{ name: container, image, imageID: image, ready: true, started: true, restartCount: 0 },
      state: { running: { startedAt: now } },
    }))
    const status = {
      ...{ phase: 'Running', startTime: now, hostIP: address, podIP, podIPs: [{ ip: podIP }] },
      ...{ conditions, containerStatuses },
    }
    const body = { metadata: { uid }, status }
    try {
      await this.#options.clients.call(({ core }) =>
        core.patchNamespacedPodStatus({ namespace, name, body }, strategic),
      )
    } catch (cause) {
      // Deleted since; 409 is the refusal of another UID.
      if (!isRefusedWith(cause, 404, 409)) throw cause
    }
  }

  /**
   * Deletes a Pod whose containers have ended: without a grace period, and only the Pod with this
   * UID.
   */
  async #remove(pod: V1Pod): Promise<void> {
    const { namespace, name, uid } = metaOf(pod)
    const deletion = this.#options.journal.delete(uid, 'agent')
    const body = { gracePeriodSeconds: 0, preconditions: { uid } }
    try {
      await this.#options.clients.call(({ core }) => core.deleteNamespacedPod({ namespace, name, body }))
      deletion.outcome = 'deleted'
    } catch (cause) {
      const failure = failureOf(cause)
      if (failure === null) throw cause
      deletion.outcome = failure.kind
      if (!isRefusedWith(cause, 404, 409)) throw cause
    }
  }

  /** Repeats a request until it succeeds. @returns null: the agent was stopped */
  async #insist<Result>(act: (apis: Apis) => Promise<Result>): Promise<Result | null> {
    while (!this.#isStopped) {
      try {
        return await this.#options.clients.call(act)
      } catch (cause) {
        if (failureOf(cause) === null) throw cause
      }
      await sleep(retryMs)
    }
    return null
  }
}
