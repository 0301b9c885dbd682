import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { replyOf } from '../drivers/api-client.ts'
import type { ApiClient } from '../drivers/api-client.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import { endsWith } from '../tools/stop-after-test.ts'
import { untilReached } from '../tools/until.ts'

const counterPath = '/api/v1/namespaces/default/configmaps/counter'
const keysPath = '/api/v1/namespaces/default/configmaps/keys'

type ConfigMap = {
  readonly data: Readonly<Record<string, string>>
  readonly [member: string]: unknown
}

/**
 * Adds to a counter that others change too: get, update, and again after a conflict. Its own entry
 * in the counter shows whether an update without an answer took effect.
 */
class Adder {
  /** Additions that are known to have taken effect. */
  added = 0
  conflicts = 0
  /** Requests without an answer, or with one that is neither success nor conflict. */
  failures = 0
  /** Longest series of conflicts without a success. */
  conflictsInSeriesMax = 0
  #inSeries = 0
  readonly #key: string
  readonly #clients: readonly ApiClient[]
  readonly #additions: number
  #turn: number
  #stopped = false
  readonly done: Promise<void>

  constructor(key: string, clients: readonly ApiClient[], first: number, additions: number) {
    this.#key = key
    this.#clients = clients
    this.#turn = first
    this.#additions = additions
    this.done = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.done
  }

  async #run(): Promise<void> {
    while (this.added < this.#additions && !this.#stopped) {
      const client = this.#clients[this.#turn % this.#clients.length] as ApiClient
      const got = await replyOf(client.get(counterPath))
      if (got?.status !== 200) {
        await this.#fail()
        continue
      }
      const counter = JSON.parse(got.text) as ConfigMap
      const own = Number(counter.data[this.#key] ?? 0)
      assert.ok(own >= this.added, `${this.#key}: ${own} after ${this.added}: an addition was lost`)
      this.added = own
      if (own < this.#additions) await this.#add(client, counter)
    }
  }

  async #add(client: ApiClient, counter: ConfigMap): Promise<void> {
    const total = String(Number(counter.data['total'] ?? 0) + 1)
    const data = { ...counter.data, total, [this.#key]: String(this.added + 1) }
    const put = await replyOf(client.put(counterPath, { ...counter, data }))
    if (put?.status === 200) {
      this.added++
      this.#inSeries = 0
    } else if (put?.status === 409) {
      this.conflicts++
      this.conflictsInSeriesMax = Math.max(this.conflictsInSeriesMax, ++this.#inSeries)
    } else await this.#fail()
  }

  /** Counts a failure. The next attempt uses another member. */
  async #fail(): Promise<void> {
    this.failures++
    this.#turn++
    await sleep(20)
  }
}

/**
 * Concurrent clients add to one counter while the leader is killed repeatedly; then each of them
 * patches its own key of one object.
 */
export async function contentionRun(
  t: TestContext,
  of: { readonly clients: number; readonly additions: number; readonly kills: number },
): Promise<void> {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const clients = cluster.members.map((member) => member.client)
  const [first] = clients
  assert.ok(first !== undefined)
  for (const name of ['counter', 'keys']) {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { total: '0' } }
    assert.equal((await first.post('/api/v1/namespaces/default/configmaps', object)).status, 201)
  }
  await addTogether(t, cluster, of)
  await patchOwnKeys(clients, of.clients)
}

async function addTogether(
  t: TestContext,
  cluster: ProcessCluster,
  { clients: count, additions, kills }: Parameters<typeof contentionRun>[1],
): Promise<void> {
  const clients = cluster.members.map((member) => member.client)
  const beganMs = performance.now()
  const adders = Array.from({ length: count }, (_, at) => new Adder(`c${at}`, clients, at, additions))
  endsWith(t, ...adders)
  const working = Promise.all(adders.map(({ done }) => done))
  const expected = count * additions
  const known = (): number => adders.reduce((sum, { added }) => sum + added, 0)
  for (let kill = 1; kill <= kills; kill++) {
    const reached = untilReached('the sum of additions', (expected * kill) / (kills + 1), known)
    await Promise.race([reached, working])
    const leader = await cluster.leader()
    await leader.stop('SIGKILL')
    leader.start()
    await leader.waitReady()
  }
  await working
  const seconds = (performance.now() - beganMs) / 1000
  for (const client of clients) {
    const { data } = JSON.parse((await client.get(counterPath)).text) as ConfigMap
    assert.equal(Number(data['total']), expected)
    for (let at = 0; at < count; at++) assert.equal(Number(data[`c${at}`]), additions, `c${at}`)
  }
  const sum = (of: (adder: Adder) => number): number => adders.reduce((total, one) => total + of(one), 0)
  const longest = adders.map((one) => one.conflictsInSeriesMax).sort((a, b) => a - b)
  console.log(
    `# ${expected} additions by ${count} clients in ${seconds.toFixed(1)} s: ` +
      `${(sum((one) => one.conflicts) / expected).toFixed(1)} conflicts for each, ` +
      `longest series of one client: median ${longest[count >> 1]}, maximum ${longest.at(-1)}; ` +
      `${sum((one) => one.failures)} requests failed around ${kills} kills`,
  )
}

/**
 * A patch without a version never conflicts, however many clients write the object. Each client
 * stays with its member, so a member that loses all races would be noticed.
 */
async function patchOwnKeys(clients: readonly ApiClient[], count: number): Promise<void> {
  const patches = 10
  const waitsMs = clients.map((): number[] => [])
  const patchKey = async (at: number): Promise<void> => {
    const member = at % clients.length
    for (let value = 1; value <= patches; value++) {
      const beganMs = performance.now()
      const patched = await clients[member]?.patch(keysPath, { data: { [`c${at}`]: String(value) } })
      assert.equal(patched?.status, 200, patched?.text)
      waitsMs[member]?.push(performance.now() - beganMs)
    }
  }
  const beganMs = performance.now()
  await Promise.all(Array.from({ length: count }, (_, at) => patchKey(at)))
  const { data } = JSON.parse((await clients[0]?.get(keysPath))?.text ?? '') as ConfigMap
  for (let at = 0; at < count; at++) assert.equal(data[`c${at}`], String(patches), `c${at}`)
  const rows = waitsMs.map((of) => {
    const sorted = of.sort((a, b) => a - b)
    return `${sorted[sorted.length >> 1]?.toFixed(0)} to ${sorted.at(-1)?.toFixed(0)}`
  })
  const seconds = (performance.now() - beganMs) / 1000
  console.log(
    `# ${count * patches} patches in ${seconds.toFixed(1)} s; median to maximum of each member in ms: ${rows.join(', ')}`,
  )
}
