import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../../../base/random.ts'
import { namesOf } from '../../../src/api/metadata/names.ts'
import { NoReply } from '../drivers/api-client.ts'
import type { Reply } from '../drivers/api-client.ts'
import { customDefinition } from '../fixtures/custom-definition.ts'
import { ProcessCluster } from '../drivers/process-cluster.ts'
import type { MemberProcess } from '../drivers/process-cluster.ts'
import { SoakLoad } from './soak-load.ts'
import { until } from '../tools/until.ts'

type SoakOptions = {
  readonly seed: number
  readonly seconds: number
}

type SoakOutcome = {
  /** Small requests of a second user: the count, the failures as text, the slowest in ms. */
  readonly others: {
    readonly count: number
    readonly failures: readonly string[]
    readonly slowestMs: number
  }
  /** The maximum of resident memory, in MiB. */
  readonly residentMiB: number
  /** The budgets of requests, bodies and responses after the load. */
  readonly left: string
  /** Kinds of valid requests that were rejected as invalid. */
  readonly wrongAnswers: readonly string[]
  readonly table: readonly string[]
}

/** Runs the soak of `SOAK_SEED`, prints its table, and judges it. */
export async function judgedSoak(seconds: number): Promise<void> {
  const seed = Number(process.env['SOAK_SEED'] ?? 1)
  const { others, residentMiB, left, wrongAnswers, table } = await runSoak({ seed, seconds })
  for (const line of table) console.log(`# ${line}`)
  console.log(`# others: ${others.count} requests, the slowest ${others.slowestMs.toFixed(0)} ms`)
  console.log(`# seed ${seed}, ${residentMiB.toFixed(0)} MiB resident at most`)
  assert.deepEqual(others.failures, [])
  assert.deepEqual(wrongAnswers, [], 'overload is nothing that a client did wrong')
  assert.equal(left, '')
  assert.ok(residentMiB < 2048, `${residentMiB} MiB`)
}

/**
 * One durable member with a heap of 1 GiB, under any mixture of requests of one user, while a
 * second user continues to send small ones.
 */
async function runSoak(of: SoakOptions): Promise<SoakOutcome> {
  const cluster = await ProcessCluster.prepare({
    members: 1,
    nodeFlags: ['--max-old-space-size=1024'],
    // The state is in memory, too, and the test does not concern disks.
    config: { 'initial-storage-quota': '256Mi', 'initial-history-window': '5s' },
  })
  try {
    appendFileSync(join(cluster.directory, 'tokens.csv'), 'soak-token,heavy,u3,"system:masters"\n')
    const [member] = cluster.members
    if (member === undefined) throw new Error('one member')
    member.start()
    await member.waitReady()
    await define(member)
    return await soak(cluster, member, of)
  } finally {
    await cluster.remove()
  }
}

async function define({ client }: MemberProcess): Promise<void> {
  const version = {
    ...{ name: 'v1', served: true, storage: true },
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { 'x-kubernetes-preserve-unknown-fields': true } },
      },
    },
  }
  const body = customDefinition(namesOf('k8s.io'), { kind: 'Thing', versions: [version] })
  await client.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body)
  const path = '/apis/example.com/v1/namespaces/default/things'
  await until('things are served', async () => (await client.get(path)).status === 200)
}

async function soak(
  cluster: ProcessCluster,
  member: MemberProcess,
  { seed, seconds }: SoakOptions,
): Promise<SoakOutcome> {
  const { hostname, port } = new URL(member.url)
  const target = { host: hostname, port: Number(port), ca: cluster.credentials.ca, token: 'soak-token' }
  const load = new SoakLoad(target, new SeededRandom(seed))
  const others = new Others(member)
  const endMs = performance.now() + seconds * 1000
  const running = load.run()
  let residentMiB = 0
  const looking = setInterval(() => (residentMiB = Math.max(residentMiB, residentOf(member))), 250)
  while (performance.now() < endMs && member.running) {
    await others.once()
    await sleep(100)
  }
  clearInterval(looking)
  load.stop()
  await running
  if (!member.running) throw new Error(`the member ended\n${member.logTail()}`)
  const left = await leftBehind(member)
  const table = [...load.answers].map(([what, counts]) => {
    const reported = [...counts].sort(([, a], [, b]) => b - a).map(([answer, count]) => `${answer}: ${count}`)
    return `${what.padEnd(40)} ${reported.join(', ')}`
  })
  return { others, residentMiB, left, wrongAnswers: load.wrongAnswers, table }
}

/**
 * The second user: creates, reads and deletes a small object, and lists the namespaces, one request
 * after the other.
 */
class Others {
  count = 0
  slowestMs = 0
  readonly failures: string[] = []
  readonly #member: MemberProcess

  constructor(member: MemberProcess) {
    this.#member = member
  }

  async once(): Promise<void> {
    const { client } = this.#member
    const path = '/api/v1/namespaces/default/configmaps'
    const name = `small-${this.count}`
    await this.#note('create', 201, () => client.post(path, { metadata: { name }, data: { k: 'v' } }))
    await this.#note('get', 200, () => client.get(`${path}/${name}`))
    // Tables are produced piece by piece, as for the heavy requests of the first user.
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    await this.#note('table', 200, () => client.get('/api/v1/namespaces', { headers: { accept } }))
    await this.#note('delete', 200, () => client.delete(`${path}/${name}`))
  }

  async #note(what: string, wanted: number, call: () => Promise<Reply>): Promise<void> {
    const fromMs = performance.now()
    this.count++
    try {
      const { status, text } = await call()
      if (status !== wanted) this.failures.push(`${what}: ${status} ${text.slice(0, 300)}`)
    } catch (cause) {
      if (!(cause instanceof NoReply)) throw cause
      this.failures.push(`${what}: ${cause.message}`)
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - fromMs)
  }
}

/** @returns what is still held for clients that are gone; empty: nothing */
async function leftBehind(member: MemberProcess): Promise<string> {
  const names = ['orch_request_uploads', 'orch_request_body_memory_bytes', 'orch_response_waiting_bytes']
  let held = ''
  const isFree = async (): Promise<boolean> => {
    const { text } = await member.client.get('/metrics')
    held = names
      .filter((name) => !new RegExp(`^${name} 0$`, 'm').test(text))
      .map((name) => new RegExp(`^${name} .*$`, 'm').exec(text)?.[0] ?? name)
      .join(', ')
    return held === ''
  }
  await until('nothing is held for clients that are gone', isFree, () => held, 500)
  return held
}

function residentOf(member: MemberProcess): number {
  if (!member.running) return 0
  const { pid } = member
  const file = `/proc/${pid}/status`
  const status = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024
}
