import type { V1Binding, V1Node, V1Pod } from '@kubernetes/client-node'
import type { SeededRandom } from '../../../base/random.ts'
import type { Journal } from './journal.ts'
import { failureOf, isRefusedWith } from './member-clients.ts'
import type { MemberClients } from './member-clients.ts'
import { keyOf, metaOf, targetOf } from './owned.ts'
import { SharedInformer } from './shared-informer.ts'
import { WorkQueue } from './work-queue.ts'

export type SchedulerOptions = {
  readonly clients: MemberClients
  readonly namespace: string
  readonly random: SeededRandom
  readonly journal: Journal
  readonly onBug: (cause: unknown) => void
}

const unfinished = 'status.phase!=Succeeded,status.phase!=Failed'

/**
 * Binds each Pod to the node with the fewest Pods. After a binding whose answer was lost it decides
 * again, usually for another node: the server must refuse that if the Pod is bound.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #pods: SharedInformer<V1Pod>
  readonly #nodes: SharedInformer<V1Node>
  readonly #queue: WorkQueue
  /** Nodes of Pods whose binding the cache does not show yet, by UID. */
  readonly #assumed = new Map<string, string>()

  constructor(options: SchedulerOptions) {
    const { clients, namespace, onBug } = options
    this.#options = options
    this.#pods = new SharedInformer<V1Pod>(
      clients,
      `/api/v1/namespaces/${namespace}/pods`,
      ({ core }) => core.listNamespacedPod({ namespace, fieldSelector: unfinished }),
      unfinished,
    )
    this.#nodes = new SharedInformer<V1Node>(clients, '/api/v1/nodes', ({ core }) => core.listNode())
    this.#queue = new WorkQueue({ workers: 8, work: (key) => this.#schedule(key), onBug })
    const observe = (pod: V1Pod): void => {
      if (pod.spec?.nodeName === undefined) this.#queue.add(keyOf(pod))
      else this.#assumed.delete(metaOf(pod).uid)
    }
    this.#pods.on({
      added: observe,
      updated: observe,
      deleted: (pod) => void this.#assumed.delete(metaOf(pod).uid),
    })
  }

  async start(): Promise<void> {
    await Promise.all([this.#pods.start(), this.#nodes.start()])
    this.#queue.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#pods.stop(), this.#nodes.stop(), this.#queue.stop()])
  }

  async #schedule(key: string): Promise<void> {
    const { namespace, name } = targetOf(key)
    const pod = this.#pods.get(name, namespace)
    if (pod === undefined || pod.spec?.nodeName !== undefined) return
    const { uid, deletionTimestamp } = metaOf(pod)
    if (deletionTimestamp !== undefined || this.#assumed.has(uid)) return
    const node = this.#leastLoaded(namespace)
    this.#assumed.set(uid, node)
    const binding = this.#options.journal.bind(uid, node)
    const body: V1Binding = { metadata: { name, namespace, uid }, target: { kind: 'Node', name: node } }
    try {
      await this.#options.clients.call(({ core }) =>
        core.createNamespacedPodBinding({ namespace, name, body }),
      )
      binding.outcome = 'bound'
    } catch (cause) {
      const failure = failureOf(cause)
      if (failure === null) throw cause
      binding.outcome = failure.kind
      this.#assumed.delete(uid)
      // The Pod was deleted: the cache will show it. After other failures the queue tries again.
      if (!isRefusedWith(cause, 404)) throw cause
    }
  }

  #leastLoaded(namespace: string): string {
    const loads = new Map(this.#nodes.list('').map((node) => [metaOf(node).name, 0]))
    const load = (node: string): void => void loads.set(node, (loads.get(node) ?? 0) + 1)
    for (const { spec } of this.#pods.list(namespace)) if (spec?.nodeName !== undefined) load(spec.nodeName)
    for (const node of this.#assumed.values()) load(node)
    const least = Math.min(...loads.values())
    return this.#options.random.pick([...loads.keys()].filter((node) => loads.get(node) === least))
  }
}
