import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { replyOf } from '../drivers/api-client.ts'
import type { ApiClient } from '../drivers/api-client.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { endsWith } from '../tools/stop-after-test.ts'
import { until } from '../tools/until.ts'

const NAMESPACE = 'many'
const servicesPath = `/api/v1/namespaces/${NAMESPACE}/services`

type ServiceList = {
  readonly items: readonly {
    readonly spec: {
      readonly clusterIP: string
      readonly ports: readonly { readonly nodePort: number }[]
    }
  }[]
}

/** The Services that clients create: each by one client. */
class Work {
  created = 0
  #taken = 0
  #isStopped = false
  readonly #count: number

  constructor(count: number) {
    this.#count = count
  }

  /** Returns the name of the next Service; null: all were returned. */
  next(): string | null {
    return this.#taken < this.#count ? `s${this.#taken++}` : null
  }

  get isStopped(): boolean {
    return this.#isStopped
  }

  stop(): Promise<void> {
    this.#isStopped = true
    return Promise.resolve()
  }
}

/**
 * Concurrent clients at all members create Services with node ports while the leader is killed:
 * each gets a cluster IP and a node port of its own. Nothing stays claimed after their deletion.
 */
export async function servicesRun(
  t: TestContext,
  of: { readonly clients: number; readonly services: number },
): Promise<void> {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const clients = cluster.members.map((member) => member.client)
  const [first] = clients
  assert.ok(first !== undefined)
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } }
  assert.equal((await first.post('/api/v1/namespaces', namespace)).status, 201)
  // The claim of the Service of the API server.
  const before = 1
  await claimsAre(first, before)
  const work = new Work(of.services)
  endsWith(t, work)
  await createAll(cluster, work, of)
  const { items } = JSON.parse((await first.get(servicesPath)).text) as ServiceList
  assert.equal(items.length, of.services)
  const ips = items.map(({ spec }) => spec.clusterIP)
  const ports = items.flatMap(({ spec }) => spec.ports.map(({ nodePort }) => nodePort))
  assert.equal(new Set(ips).size, of.services, 'each Service has a cluster IP of its own')
  assert.equal(new Set(ports).size, of.services, 'each Service has a node port of its own')
  for (const client of clients) await claimsAre(client, before + 2 * of.services)
  assert.equal((await first.delete(servicesPath)).status, 200)
  for (const client of clients) await claimsAre(client, before)
  const [clusterIP, nodePort] = [ips[0], ports[0]]
  assert.equal((await first.post(servicesPath, serviceOf('again', { clusterIP, nodePort }))).status, 201)
}

async function createAll(
  cluster: ProcessCluster,
  work: Work,
  { clients: count, services }: Parameters<typeof servicesRun>[1],
): Promise<void> {
  const clients = cluster.members.map((member) => member.client)
  const working = Promise.all(Array.from({ length: count }, (_, at) => createSome(clients, work, at)))
  await Promise.race([
    working,
    until(
      'half of the Services are created',
      () => work.created >= services / 2,
      () => `${work.created} of ${services}`,
    ),
  ])
  const leader = await cluster.leader()
  await leader.stop('SIGKILL')
  leader.start()
  await leader.waitReady()
  await working
}

/** @param first the member that it begins with; after a failed request it turns to the next one */
async function createSome(clients: readonly ApiClient[], work: Work, first: number): Promise<void> {
  let turn = first
  for (let name = work.next(); name !== null && !work.isStopped;) {
    const client = clients[turn % clients.length] as ApiClient
    const reply = await replyOf(client.post(servicesPath, serviceOf(name)))
    // After a request without a response the Service may exist already: it is the client's own.
    if (reply?.status === 201 || reply?.status === 409) {
      work.created++
      name = work.next()
      continue
    }
    turn++
    await sleep(20)
  }
}

/** Values that a Service names. Unset: the server picks them. */
type NamedValues = { readonly clusterIP?: string | undefined; readonly nodePort?: number | undefined }

function serviceOf(name: string, named: NamedValues = {}): object {
  const { clusterIP, nodePort } = named
  const ports = [{ port: 80, ...(nodePort === undefined ? {} : { nodePort }) }]
  const spec = { type: 'NodePort', ports, ...(clusterIP === undefined ? {} : { clusterIP }) }
  return { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec }
}

async function claimsIn(client: ApiClient): Promise<number> {
  const { text } = await client.get('/metrics')
  const line = /^apiserver_storage_objects\{[^}]*"serviceclaims\.internal"[^}]*\} (\d+)$/m.exec(text)
  return Number(line?.[1] ?? 0)
}

/** A member may apply a write after the response of another one. */
async function claimsAre(client: ApiClient, count: number): Promise<void> {
  let seen = -1
  await until(
    `a member has ${count} claims`,
    async () => {
      seen = await claimsIn(client)
      return seen === count
    },
    () => `${seen}`,
  )
}
