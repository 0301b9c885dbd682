import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { replyOf } from '../drivers/api-client.ts'
import type { ApiClient } from '../drivers/api-client.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { endsWith } from '../tools/stop-after-test.ts'
import { until } from '../tools/until.ts'

const NAMESPACE = 'limited'
const podsPath = `/api/v1/namespaces/${NAMESPACE}/pods`
const quotasPath = `/api/v1/namespaces/${NAMESPACE}/resourcequotas`

type Quota = { readonly status?: { readonly hard?: { pods?: string }; readonly used?: { pods?: string } } }

/** Creates Pods at one member after another until the quota refuses one. */
class Creator {
  created = 0
  /** Requests without an answer, or whose answer asks for a retry. */
  repeated = 0
  readonly #name: string
  readonly #clients: readonly ApiClient[]
  #turn: number
  #stopped = false
  readonly done: Promise<void>

  constructor(name: string, clients: readonly ApiClient[], first: number) {
    this.#name = name
    this.#clients = clients
    this.#turn = first
    this.done = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.done
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const client = this.#clients[this.#turn % this.#clients.length] as ApiClient
      const reply = await replyOf(client.post(podsPath, podOf(`${this.#name}-${this.created}`)))
      // After a request without an answer the Pod may be there already: it is the client's own.
      if (reply?.status === 201 || reply?.status === 409) {
        this.created++
        continue
      }
      if (reply?.status === 403) {
        assert.match(reply.text, /exceeded quota: q, requested: pods=1/)
        return
      }
      this.repeated++
      this.#turn++
      await sleep(20)
    }
  }
}

function podOf(name: string): object {
  const containers = [{ name: 'c', image: 'i' }]
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers } }
}

/**
 * Concurrent clients at all members use up a quota while the leader is killed repeatedly: there are
 * exactly as many Pods as it allows. Then one is deleted, and its place is free again.
 */
export async function quotaRun(
  t: TestContext,
  of: { readonly clients: number; readonly limit: number; readonly kills: number },
): Promise<void> {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const clients = cluster.members.map((member) => member.client)
  const [first] = clients
  assert.ok(first !== undefined)
  await makeQuota(first, of.limit)
  await useUp(t, cluster, of)
  for (const client of clients) {
    const { items } = JSON.parse((await client.get(podsPath)).text) as { readonly items: readonly unknown[] }
    assert.equal(items.length, of.limit)
    assert.equal((await quotaOf(client)).status?.used?.pods, quantity(of.limit))
  }
  const [pod = ''] = await podNames(first)
  assert.equal((await first.delete(`${podsPath}/${pod}?gracePeriodSeconds=0`)).status, 200)
  await until(
    'the place of a deleted Pod is free again',
    async () => (await first.post(podsPath, podOf('replacement'))).status === 201,
    () => 'refused',
  )
  assert.equal((await first.post(podsPath, podOf('too-many'))).status, 403)
}

async function makeQuota(client: ApiClient, limit: number): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }
  assert.equal((await client.post('/api/v1/namespaces', namespace)).status, 201)
  const spec = { hard: { pods: String(limit) } }
  const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec }
  assert.equal((await client.post(quotasPath, quota)).status, 201)
  await until(
    'the quota is in force',
    async () => (await quotaOf(client)).status?.hard?.pods === quantity(limit),
    () => 'not yet',
  )
}

async function quotaOf(client: ApiClient): Promise<Quota> {
  return JSON.parse((await client.get(`${quotasPath}/q`)).text) as Quota
}

/** Returns the canonical form of a number. */
function quantity(count: number): string {
  return count % 1000 === 0 ? `${count / 1000}k` : String(count)
}

async function podNames(client: ApiClient): Promise<readonly string[]> {
  const { items } = JSON.parse((await client.get(podsPath)).text) as {
    readonly items: readonly { readonly metadata: { readonly name: string } }[]
  }
  return items.map(({ metadata }) => metadata.name)
}

async function useUp(
  t: TestContext,
  cluster: ProcessCluster,
  { clients: count, limit, kills }: Parameters<typeof quotaRun>[1],
): Promise<void> {
  const clients = cluster.members.map((member) => member.client)
  const beganMs = performance.now()
  const creators = Array.from({ length: count }, (_, at) => new Creator(`c${at}`, clients, at))
  endsWith(t, ...creators)
  const working = Promise.all(creators.map(({ done }) => done))
  const known = (): number => creators.reduce((sum, { created }) => sum + created, 0)
  for (let kill = 1; kill <= kills; kill++) {
    const reached = until(
      `${kill} of ${kills + 1} parts are used`,
      () => known() >= (limit * kill) / (kills + 1),
      () => `${known()} of ${limit}`,
    )
    await Promise.race([reached, working])
    const leader = await cluster.leader()
    await leader.stop('SIGKILL')
    leader.start()
    await leader.waitReady()
  }
  await working
  const seconds = (performance.now() - beganMs) / 1000
  const repeated = creators.reduce((sum, one) => sum + one.repeated, 0)
  const each = creators.map(({ created }) => created).sort((a, b) => a - b)
  console.log(
    `# ${limit} Pods by ${count} clients in ${seconds.toFixed(1)} s: ${each[0]} to ${each.at(-1)} each, ` +
      `${repeated} requests repeated around ${kills} kills`,
  )
}
