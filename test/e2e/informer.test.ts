/*
 * Goal: an informer of a client library written for existing servers sees every change, each once
 * and in order, while leaders are killed: one that is connected to a follower, and one that is
 * connected to a killed leader.
 * Method: @kubernetes/client-node against three real processes; the events of the
 * informers are compared with the acknowledged writes, with all events since the beginning, and
 * with a final list.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { NoReply } from '../support/drivers/api-client.ts'
import type { ApiClient, Body, Reply } from '../support/drivers/api-client.ts'
import { versionOf } from '../support/runs/cluster-traffic.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { patienceMs, until } from '../support/tools/until.ts'
import { watchedOf } from '../support/runs/version-table.ts'

const namespace = 'default'
const path = `/api/v1/namespaces/${namespace}/configmaps`
const writes = 100
const objects = 8

type ObservedEvent = {
  readonly what: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly name: string
  readonly version: string
}

/**
 * An informer that connects to the next server when it loses its own, as behind a load balancer.
 */
class Follower {
  readonly events: ObservedEvent[] = []
  readonly cache = new Map<string, string>()
  /** How many times it lost its server. */
  breaks = 0
  readonly #informer: ReturnType<typeof makeInformer<V1ConfigMap>>
  #stopping = false
  #refusals = 0

  constructor(cluster: ProcessCluster, servers: readonly string[]) {
    const config = new KubeConfig()
    config.loadFromFile(cluster.kubeconfig)
    const connect = (at: number): void => config.setCurrentContext(servers[at % servers.length] ?? '')
    connect(0)
    const core = config.makeApiClient(CoreV1Api)
    this.#informer = makeInformer(config, path, () => core.listNamespacedConfigMap({ namespace }))
    this.#informer.on('add', (object) => this.#keep('ADDED', object))
    this.#informer.on('update', (object) => this.#keep('MODIFIED', object))
    this.#informer.on('delete', (object) => this.#keep('DELETED', object))
    this.#informer.on('error', () => {
      if (this.#stopping) return
      this.breaks++
      again()
    })
    // The next server may be stopping or starting as well, and refuse the list.
    const again = (): void => {
      connect(this.breaks + this.#refusals)
      setTimeout(() => {
        this.#informer.start().catch(() => {
          this.#refusals++
          if (!this.#stopping) again()
        })
      }, 50)
    }
  }

  start(): Promise<void> {
    return this.#informer.start()
  }

  stop(): Promise<void> {
    this.#stopping = true
    return this.#informer.stop()
  }

  #keep(what: ObservedEvent['what'], object: V1ConfigMap): void {
    const { name = '', resourceVersion: version = '' } = object.metadata ?? {}
    this.events.push({ what, name, version })
    if (what === 'DELETED') this.cache.delete(name)
    else this.cache.set(name, version)
  }
}

/** Retries on the next member until a response names the outcome. */
async function insist(
  clients: readonly ApiClient[],
  ask: (client: ApiClient) => Promise<Reply>,
): Promise<Reply> {
  let last = 'no endpoint was tried'
  for (let [attempt, endMs] = [0, performance.now() + patienceMs]; performance.now() < endMs; attempt++) {
    try {
      const reply = await ask(clients[attempt % clients.length] as ApiClient)
      if (reply.status < 500 && reply.status !== 429) return reply
      last = reply.text
    } catch (cause) {
      if (!(cause instanceof NoReply)) throw cause
      last = cause.message
    }
    await sleep(25)
  }
  throw new Error(`no member responds: ${last}`)
}

/** Makes, changes and deletes. @returns versions that were acknowledged, by name and version */
async function writeAll(
  clients: readonly ApiClient[],
  beforeWrite: (write: number) => Promise<void>,
): Promise<ReadonlySet<string>> {
  const acknowledged = new Set<string>()
  for (let write = 0; write < writes; write++) {
    await beforeWrite(write)
    const name = `seen-${write % objects}`
    const body = { metadata: { name }, data: { write: String(write) } }
    const round = Math.floor(write / objects) % 4
    const reply = await insist(clients, (client) => {
      if (round === 0) return client.post(path, body)
      if (round === 3) return client.delete(`${path}/${name}`)
      return client.patch(`${path}/${name}`, body)
    })
    // A first try without a response may have taken effect; the retry then finds it done.
    const expected = round === 0 ? [201, 409] : round === 3 ? [200, 404] : [200]
    assert.ok(expected.includes(reply.status), `${name}: ${reply.text}`)
    if (reply.status < 300 && round !== 3) acknowledged.add(`${name} ${versionOf(reply.text)}`)
  }
  return acknowledged
}

async function eventsSince(client: ApiClient, version: string): Promise<readonly ObservedEvent[]> {
  const { status, text } = await client.get(`${path}?watch=1&timeoutSeconds=3&resourceVersion=${version}`)
  const { events } = watchedOf({ status, text, retryAfter: null })
  return events.map(({ type, object }) => ({
    what: type as ObservedEvent['what'],
    name: object.metadata?.name ?? '',
    version: object.metadata?.resourceVersion ?? '',
  }))
}

void test('informers see every change once and in order while leaders are killed', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const first = await cluster.leader()
  const [second, third] = cluster.members.filter((member) => member !== first)
  if (second === undefined || third === undefined) assert.fail('there are three members')
  const begin = versionOf((await first.client.get(path)).text)
  const before = (JSON.parse((await first.client.get(path)).text) as Body & { items: V1ConfigMap[] }).items
  const staying = new Follower(cluster, [second.name, third.name])
  const moving = new Follower(cluster, [first.name, third.name, second.name])
  t.after(() => Promise.all([staying.stop(), moving.stop()]))
  await staying.start()
  await moving.start()
  const clients = [second.client, third.client]
  const acknowledged = await writeAll(clients, async (write) => {
    if (write === 30) await first.stop('SIGKILL')
    if (write === 55) {
      first.start()
      await first.waitReady()
    }
    if (write === 75) {
      const next = await cluster.leader()
      if (next !== first) await next.stop('SIGKILL')
      if (next !== first) next.start()
    }
  })
  await cluster.waitReady()
  const last = versionOf((await third.client.get(path)).text)
  assert.ok(acknowledged.size > writes / 2)
  // The watch times out: on a busy machine possibly before it sent all events.
  let events: readonly ObservedEvent[] = []
  const missing = (): readonly string[] => {
    const reported = new Set(events.map(({ name, version }) => `${name} ${version}`))
    return [...acknowledged].filter((write) => !reported.has(write))
  }
  await until(
    'each write that was acknowledged is an event',
    async () => {
      events = await eventsSince(third.client, begin)
      return missing().length === 0
    },
    () => `no events: ${missing().join(', ')}`,
  )
  for (const follower of [staying, moving]) {
    const mine = (): readonly ObservedEvent[] => follower.events.slice(before.length)
    await until(
      'it received the exact number of changes',
      () => mine().length >= events.length,
      () => `${mine().length} of ${events.length}`,
    )
    assert.deepEqual(mine(), events, `every change up to ${last}, once, in order`)
  }
  const { items } = JSON.parse((await third.client.get(path)).text) as Body & { items: V1ConfigMap[] }
  const listed = new Map(items.map(({ metadata }) => [metadata?.name ?? '', metadata?.resourceVersion ?? '']))
  const sorted = (cache: ReadonlyMap<string, string>) => [...cache].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const { cache } of [staying, moving]) assert.deepEqual(sorted(cache), sorted(listed))
  assert.ok(moving.breaks > 0, 'its server was killed')
  console.log(
    `# ${events.length} changes, ${acknowledged.size} acknowledged with their version; one informer lost its server ` +
      `${staying.breaks} times, the other ${moving.breaks} times, and both saw every change`,
  )
})
