import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../../../base/random.ts'
import type { ProcessCluster } from '../drivers/process-cluster.ts'
import { until } from '../tools/until.ts'
import { ControllerReplica } from '../workload/controller-replica.ts'
import { differences } from '../workload/end-state.ts'
import type { WorkloadState } from '../workload/end-state.ts'
import { startCluster, tokensFrom } from '../workload/identities.ts'
import type { Tokens } from '../workload/identities.ts'
import { Journal } from '../workload/journal.ts'
import { MemberClients } from '../workload/member-clients.ts'
import { NodeAgent } from '../workload/node-agent.ts'
import { Operator } from '../workload/operator.ts'
import { Scheduler } from '../workload/scheduler.ts'
import { WatchRecorder } from '../workload/watch-recorder.ts'
import type { StoredObject } from '../workload/watch-recorder.ts'
import { agreementViolations, historyViolations, leaderViolations } from '../workload/workload-checks.ts'

export type WorkloadRunOptions = {
  readonly deployments: number
  readonly replicas: number
  readonly nodes: number
  readonly kills: number
  readonly seed: number
}

const namespace = 'work'
const apps = `/apis/apps/v1/namespaces/${namespace}`
const podsPath = `/api/v1/namespaces/${namespace}/pods`

/** In each round: Pods deleted at random, Deployments scaled, and the sizes they get. */
const round = { deletions: 30, scaled: 8, sizeMax: 20 }

/**
 * The test's own controllers, scheduler and nodes work on Deployments of a cluster of three real
 * processes, while the leader is killed repeatedly, sizes are changed and Pods are deleted. Watches
 * record all events; checks compare them with the answers that each client got.
 */
export async function workloadRun(t: TestContext, options: WorkloadRunOptions): Promise<void> {
  const repeat = `repeat: WORKLOAD_SEED=${options.seed} node dist/test/run.js --long --only long/workload`
  const nodes = Array.from({ length: options.nodes }, (_, at) => `node-${at + 1}`)
  const cluster = await startCluster(nodes)
  const run = new Run(cluster, options, nodes)
  t.after(async () => {
    await run.stop()
    await cluster.remove()
  })
  try {
    await run.begin()
    await run.disturb()
    await run.judge()
  } catch (cause) {
    throw new Error(`${repeat}\n${String(cause)}`, { cause })
  }
}

class Run {
  readonly #cluster: ProcessCluster
  readonly #options: WorkloadRunOptions
  readonly #nodes: readonly string[]
  readonly #random: SeededRandom
  readonly #journal = new Journal()
  readonly #operator: Operator
  readonly #clients: MemberClients[] = []
  readonly #pods: WatchRecorder
  /** Another watch of the Pods, which begins at another member. */
  readonly #podsAgain: WatchRecorder
  readonly #replicaSets: WatchRecorder
  readonly #deployments: WatchRecorder
  readonly #agents: NodeAgent[] = []
  #scheduler: Scheduler | null = null
  #tokens: Tokens | null = null
  /** The controllers that run. */
  #controllers: ControllerReplica[] = []
  #started = 0
  /** Errors of components that are not failed requests. */
  readonly #bugs: unknown[] = []
  readonly #beganMs = performance.now()

  constructor(cluster: ProcessCluster, options: WorkloadRunOptions, nodes: readonly string[]) {
    this.#cluster = cluster
    this.#options = options
    this.#nodes = nodes
    this.#random = new SeededRandom(options.seed)
    const clients = cluster.members.map(({ client }) => client)
    this.#operator = new Operator(clients, this.#journal)
    this.#pods = new WatchRecorder(clients, podsPath, 0)
    this.#podsAgain = new WatchRecorder(clients, podsPath, 1)
    this.#replicaSets = new WatchRecorder(clients, `${apps}/replicasets`, 2)
    this.#deployments = new WatchRecorder(clients, `${apps}/deployments`, 0)
  }

  /** Starts all components. */
  async begin(): Promise<void> {
    await this.#operator.create('/api/v1/namespaces', { metadata: { name: namespace } })
    this.#tokens = await tokensFrom(this.#operator)
    await Promise.all(this.#recorders.map((recorder) => recorder.start()))
    const [journal, onBug] = [this.#journal, this.#onBug]
    for (const [at, node] of this.#nodes.entries()) {
      const clients = this.#clientsOf(this.#tokens.node(node), at)
      const address = `10.0.${at + 1}.1`
      this.#agents.push(new NodeAgent({ clients, node, address, namespace, journal, onBug }))
    }
    await Promise.all(this.#agents.map((agent) => agent.start()))
    const clients = this.#clientsOf(this.#tokens.scheduler, 1)
    this.#scheduler = new Scheduler({ clients, namespace, random: this.#random.fork(), journal, onBug })
    await this.#scheduler.start()
    this.#addController()
    this.#addController()
  }

  /** Creates the Deployments, and kills the leader in each of several rounds of changes. */
  async disturb(): Promise<void> {
    const { deployments, replicas, kills } = this.#options
    await Promise.all(
      this.#names.map((name) => this.#operator.create(`${apps}/deployments`, deployment(name, replicas))),
    )
    await this.#eventsReach((deployments * replicas) / 2)
    await this.#killLeader(() => Promise.resolve())
    this.#log('leader 1 was killed while the Pods were created')
    await this.#settled()
    for (let kill = 2; kill <= kills; kill++) {
      await this.#round(kill)
      // The changes of every other round begin before the work of the one before is done.
      if (kill % 2 === 1) await this.#settled()
    }
    await this.#settled()
  }

  /** Checks the record of all events, and the lists of all members. */
  async judge(): Promise<void> {
    const last = new Set(this.#pods.objects.values())
    for (const { client } of this.#cluster.members) {
      const list = async (path: string): Promise<readonly StoredObject[]> => {
        const { status, text } = await client.get(path)
        assert.equal(status, 200, text)
        return (JSON.parse(text) as { readonly items: readonly StoredObject[] }).items
      }
      const pods = await list(podsPath)
      assert.deepEqual(versionsOf(pods), versionsOf([...last]), 'the watch showed every change')
      const [replicaSets, stored] = [await list(`${apps}/replicasets`), await list(`${apps}/deployments`)]
      assert.deepEqual(this.#differences({ deployments: stored, replicaSets, pods }), [])
    }
    await until(
      'both watches of Pods have all events',
      () => this.#podsAgain.events.length >= this.#pods.events.length,
      () => `${this.#podsAgain.events.length} of ${this.#pods.events.length}`,
    )
    const violations = [
      ...this.#recorders.flatMap((recorder) => recorder.violations),
      ...agreementViolations(this.#pods.events, this.#podsAgain.events),
      ...historyViolations({
        ...{ pods: this.#pods.events, replicaSets: this.#replicaSets.events },
        ...{ journal: this.#journal, agents: this.#agentPods },
      }),
      ...leaderViolations(this.#journal.terms),
      ...this.#agents.flatMap(({ foreign }) => foreign.map((uid) => `Pod ${uid} was shown to another node`)),
    ]
    assert.deepEqual(violations, [])
    this.#notVacuous()
  }

  async stop(): Promise<void> {
    await Promise.allSettled([
      ...this.#controllers.map((controller) => controller.stop()),
      ...this.#agents.map((agent) => agent.stop()),
      ...this.#recorders.map((recorder) => recorder.stop()),
      this.#scheduler?.stop(),
    ])
    for (const clients of this.#clients) clients.close()
  }

  readonly #onBug = (cause: unknown): void => void this.#bugs.push(cause)

  get #names(): readonly string[] {
    return Array.from({ length: this.#options.deployments }, (_, at) => `d${at + 1}`)
  }

  get #recorders(): readonly WatchRecorder[] {
    return [this.#pods, this.#podsAgain, this.#replicaSets, this.#deployments]
  }

  /** The UIDs of the Pods that each node was given. */
  get #agentPods(): ReadonlyMap<string, ReadonlySet<string>> {
    return new Map(this.#nodes.map((node, at) => [node, this.#agents[at]?.pods ?? new Set()]))
  }

  #clientsOf(token: string, first: number): MemberClients {
    const clients = new MemberClients(this.#cluster, token, first)
    this.#clients.push(clients)
    return clients
  }

  #addController(): void {
    const tokens = this.#tokens ?? assert.fail('there are tokens')
    const at = this.#started++
    this.#controllers.push(
      new ControllerReplica({
        ...{ identity: `controller-${at + 1}`, namespace, journal: this.#journal, onBug: this.#onBug },
        electing: this.#clientsOf(tokens.manager, at),
        deployments: this.#clientsOf(tokens.deployments, at),
        replicaSets: this.#clientsOf(tokens.replicaSets, at),
      }),
    )
  }

  async #round(kill: number): Promise<void> {
    const scaled = Array.from({ length: round.scaled }, () => this.#random.pick(this.#names))
    const scale = (replicas: (name: string) => number): Promise<unknown> =>
      Promise.all([...new Set(scaled)].map((name) => this.#operator.scale(namespace, name, replicas(name))))
    const goal = this.#pods.events.length + round.deletions
    const deleting = this.#deletePods(round.deletions)
    await scale(() => 1 + this.#random.below(round.sizeMax))
    await this.#eventsReach(goal)
    if (kill === 2) await this.#endController((active) => active.kill())
    if (kill === 4) await this.#endController((active) => active.stop())
    await this.#killLeader(() => scale(() => this.#options.replicas))
    await deleting
    while (this.#controllers.length < 2) this.#addController()
    this.#log(`leader ${kill} was killed`)
  }

  /** Ends the active replica of the controller. */
  async #endController(end: (active: ControllerReplica) => Promise<void>): Promise<void> {
    await until('a controller leads', () => this.#controllers.some(({ isLeading }) => isLeading))
    const active = this.#controllers.find(({ isLeading }) => isLeading) ?? assert.fail('a controller leads')
    this.#controllers = this.#controllers.filter((one) => one !== active)
    await end(active)
    this.#log(`${active.identity} was ended while it led`)
  }

  /** @param absent called while the leader is away */
  async #killLeader(absent: () => Promise<unknown>): Promise<void> {
    const leader = await this.#cluster.leader()
    await leader.stop('SIGKILL')
    await absent()
    leader.start()
    await leader.waitReady()
  }

  async #deletePods(count: number): Promise<void> {
    for (let at = 0; at < count; at++) {
      const { name, uid } = this.#random.pick([...this.#pods.objects.values()]).metadata
      await this.#operator.delete(namespace, name, uid)
      await sleep(this.#random.below(100))
    }
  }

  /** Waits for this many events of Pods; fails when no further event occurs in time. */
  async #eventsReach(goal: number): Promise<void> {
    await this.#while(`${goal} events of Pods`, () => this.#pods.events.length < goal)
  }

  /** Waits until all Deployments have their size; fails when nothing changes in time. */
  async #settled(): Promise<void> {
    await this.#while('all Deployments have their size', () => this.#differences(this.#state).length > 0)
    this.#log(`all Deployments have their size, after ${this.#pods.events.length} events of Pods`)
  }

  async #while(what: string, isOpen: () => boolean): Promise<void> {
    const count = (): number => this.#recorders.reduce((sum, { events }) => sum + events.length, 0)
    const seen = (): string => {
      const leaders = this.#controllers.filter(({ isLeading }) => isLeading).map(({ identity }) => identity)
      const open = this.#differences(this.#state).slice(0, 20).join('\n')
      return `controllers that lead: ${leaders.join(', ')}; ${this.#bugs.map(String).join()}\n${open}`
    }
    while (isOpen()) {
      const before = count()
      await until(`more happens until ${what}`, () => !isOpen() || count() > before, seen, 100)
      assert.deepEqual(this.#bugs, [])
      const violations = this.#recorders.flatMap((recorder) => recorder.violations)
      assert.deepEqual(violations, [])
    }
  }

  get #state(): WorkloadState {
    const objectsOf = ({ objects }: WatchRecorder): readonly StoredObject[] => [...objects.values()]
    return {
      deployments: objectsOf(this.#deployments),
      replicaSets: objectsOf(this.#replicaSets),
      pods: objectsOf(this.#pods),
    }
  }

  #differences(state: WorkloadState): readonly string[] {
    const { deployments, replicas } = this.#options
    return differences(state, { deployments, replicas, nodes: new Set(this.#nodes) })
  }

  /** Checks that the run did what it was meant to do. */
  #notVacuous(): void {
    const { deployments, replicas, kills } = this.#options
    const created = this.#pods.events.filter(({ type }) => type === 'ADDED').length
    const deleted = this.#journal.deletions.filter(
      ({ by, outcome }) => by === 'test' && outcome === 'deleted',
    )
    const { terms, unknown } = this.#journal
    const breaks = this.#recorders.map((recorder) => recorder.breaks)
    assert.ok(created >= deployments * replicas + deleted.length, 'deleted Pods were replaced')
    assert.ok(deleted.length >= ((kills - 1) * round.deletions) / 2, 'Pods were deleted at random')
    assert.ok(
      new Set(terms.map(({ identity }) => identity)).size >= Math.min(kills - 1, 3),
      'leadership moved',
    )
    assert.ok(
      breaks.some((count) => count > 0),
      'watches moved to another member',
    )
    assert.ok(
      this.#agents.every(({ renewals, pods }) => renewals > 0 && pods.size > 0),
      'every node had Pods',
    )
    const lengths = terms.map(({ startMs, endMs }) => ((endMs ?? performance.now()) - startMs) / 1000)
    const loads = this.#agents.map(({ pods }) => pods.size).sort((a, b) => a - b)
    this.#log(
      `${created} Pods created, ${deleted.length} of them deleted at random; ${loads[0]} to ${loads.at(-1)} on ` +
        `each node; controllers led for ${lengths.map((length) => length.toFixed(0)).join(', ')} s; ${unknown} requests with an unknown outcome; ` +
        `${breaks.join(', ')} watches moved`,
    )
  }

  #log(what: string): void {
    console.log(`# ${((performance.now() - this.#beganMs) / 1000).toFixed(1)} s: ${what}`)
  }
}

function deployment(name: string, replicas: number): object {
  const labels = { app: name }
  const containers = [{ name: 'c', image: 'example.org/app:1' }]
  const template = { metadata: { labels }, spec: { containers } }
  const spec = { replicas, selector: { matchLabels: labels }, template }
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, labels }, spec }
}

function versionsOf(objects: readonly StoredObject[]): readonly string[] {
  return objects.map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`).sort()
}
