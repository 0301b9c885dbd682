import type { V1Deployment, V1Pod, V1ReplicaSet } from '@kubernetes/client-node'
import { DeploymentController } from './deployment-controller.ts'
import type { Journal } from './journal.ts'
import { LeaderElection } from './leader-election.ts'
import type { MemberClients } from './member-clients.ts'
import { ReplicaSetController } from './replica-set-controller.ts'
import { SharedInformer } from './shared-informer.ts'

export type ControllerReplicaOptions = {
  readonly identity: string
  readonly namespace: string
  /** The clients of the user that may write the Lease. */
  readonly electing: MemberClients
  /** The clients of the service account of each controller. */
  readonly deployments: MemberClients
  readonly replicaSets: MemberClients
  readonly journal: Journal
  readonly onBug: (cause: unknown) => void
}

/** One run of the controllers, from the beginning of a term to its end. */
class Reconciliation {
  readonly #informers: readonly { start(): Promise<void>; stop(): Promise<void> }[]
  readonly #controllers: readonly { start(): void; stop(): Promise<void> }[]

  /** @param identity of this term */
  constructor(options: ControllerReplicaOptions, identity: string) {
    const { namespace, journal, onBug } = options
    const [apps, core] = [`/apis/apps/v1/namespaces/${namespace}`, `/api/v1/namespaces/${namespace}`]
    // The service account of this controller may read all three kinds.
    const clients = options.deployments
    const deployments = new SharedInformer<V1Deployment>(clients, `${apps}/deployments`, (apis) =>
      apis.apps.listNamespacedDeployment({ namespace }),
    )
    const replicaSets = new SharedInformer<V1ReplicaSet>(clients, `${apps}/replicasets`, (apis) =>
      apis.apps.listNamespacedReplicaSet({ namespace }),
    )
    const pods = new SharedInformer<V1Pod>(clients, `${core}/pods`, (apis) =>
      apis.core.listNamespacedPod({ namespace }),
    )
    this.#informers = [deployments, replicaSets, pods]
    this.#controllers = [
      new DeploymentController({ clients, deployments, replicaSets, onBug }),
      new ReplicaSetController({
        ...{ clients: options.replicaSets, replicaSets, pods, journal, identity, onBug },
      }),
    ]
    this.#start().catch(onBug)
  }

  async #start(): Promise<void> {
    await Promise.all(this.#informers.map((informer) => informer.start()))
    for (const controller of this.#controllers) controller.start()
  }

  async stop(): Promise<void> {
    const controllers = this.#controllers.map((controller) => controller.stop())
    await Promise.all([...this.#informers.map((informer) => informer.stop()), ...controllers])
  }
}

/**
 * One of several controllers that compete for a Lease. It works while it leads, with caches of its
 * own term: upstream's process ends when it loses the Lease, and begins with empty caches.
 */
export class ControllerReplica {
  readonly identity: string
  readonly #options: ControllerReplicaOptions
  readonly #election: LeaderElection
  #terms = 0
  #active: Reconciliation | null = null
  readonly #ends: Promise<void>[] = []

  constructor(options: ControllerReplicaOptions) {
    const { identity, electing: clients, onBug } = options
    this.identity = identity
    this.#options = options
    this.#election = new LeaderElection({
      ...{ clients, namespace: 'kube-system', name: 'kube-controller-manager', identity, onBug },
      onStarted: () => this.#begin(),
      onStopped: () => this.#end(),
    })
  }

  get isLeading(): boolean {
    return this.#election.isLeading
  }

  /** Ends as a killed process does: its Lease stays, and it reads no answer. */
  async kill(): Promise<void> {
    await this.#election.abandon()
    await Promise.all(this.#ends)
  }

  /** Ends as a stopped process does: it gives its Lease back. */
  async stop(): Promise<void> {
    await this.#election.release()
    await Promise.all(this.#ends)
  }

  #begin(): void {
    const { identity, journal } = this.#options
    journal.terms.push({ identity, startMs: performance.now(), endMs: null })
    this.#active = new Reconciliation(this.#options, `${identity}-${++this.#terms}`)
  }

  #end(): void {
    const { identity, journal } = this.#options
    const term = journal.terms.findLast((one) => one.identity === identity)
    if (term !== undefined) term.endMs = performance.now()
    journal.abandon(`${identity}-${this.#terms}`)
    if (this.#active !== null) this.#ends.push(this.#active.stop())
    this.#active = null
  }
}
