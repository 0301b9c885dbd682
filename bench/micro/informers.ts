/*
 * Measures what controllers cost by following the store: CPU of a create with and without the
 * informer of the garbage collector, which follows all events, in alternating rounds; CPU and
 * longest turn of the list of all Pods that an informer begins with, as a whole and in slices.
 *
 *   node --expose-gc dist/bench/micro/informers.js [--creates 10000] [--rounds 8] [--pods 10000]
 *
 * Everything runs in this process. Without HTTP and consensus a create is cheaper than on a server,
 * so the ratios are upper bounds.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { realRegistry } from '../../fixtures/real-registry.ts'
import { systemClock } from '../../fixtures/system.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { formatTable } from '../../src/cli/terminal.ts'
import { garbageCollection } from '../../src/controllers/garbage-collection.ts'
import { podSummaryOf } from '../../src/controllers/pod-summary.ts'
import { Informer, defaultSlices } from '../../src/registry/informer.ts'
import type { AnyObject } from '../../src/registry/kinds/definition.ts'
import { LocalClient } from '../../src/registry/local-client.ts'
import { prefixOf } from '../../src/store/key.ts'

const { values: options } = parseArgs({
  options: {
    creates: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '8' },
    pods: { type: 'string', default: '10000' },
  },
})
const [creates, rounds, pods] = [Number(options.creates), Number(options.rounds), Number(options.pods)]

type Server = Awaited<ReturnType<typeof realRegistry>> & {
  readonly client: LocalClient
  readonly create: (plural: string, name: string, rest: JsonObject) => Promise<AnyObject>
}

async function open(): Promise<Server> {
  const server = await realRegistry('orch.io')
  const { registry } = server
  const user = { name: 'bench', uid: '', groups: ['system:masters'], extra: {} }
  const client = new LocalClient({ registry, clock: systemClock, user, timeoutMs: 10_000 })
  const create: Server['create'] = (plural, name, rest) => {
    const definition = registry.catalog.find('', 'v1', plural)
    if (definition === null) throw new Error(`no kind has the plural ${plural}`)
    const { kind } = definition
    return client.create(definition, 'default', { kind, apiVersion: 'v1', metadata: { name }, ...rest })
  }
  return { ...server, client, create }
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

/** Returns the CPU of one create in microseconds. */
async function createCost(follows: boolean): Promise<number> {
  const server = await open()
  const { store, client, registry } = server
  const collector = garbageCollection({
    ...{ store, client, clock: systemClock, catalog: registry.catalog, timeoutMs: 10_000 },
    kindsApplied: () => Promise.resolve(),
    onError: (key, cause) => console.error(key, cause),
  })
  if (follows) collector.informer.start()
  const data = { k: 'y'.repeat(1000) }
  for (let at = 0; at < 500; at++) await server.create('configmaps', `w${at}`, { data })
  globalThis.gc?.()
  const before = process.cpuUsage()
  for (let at = 0; at < creates; at++) {
    await server.create('configmaps', `c${at}`, { data })
    if (at % 8 === 0) await turn()
  }
  const spent = cpuMs(before)
  collector.informer.close()
  await server.close()
  return (spent * 1000) / creates
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}

async function measureCreates(): Promise<void> {
  const cost = { alone: [] as number[], followed: [] as number[], ratio: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    const first = await createCost(round % 2 === 0)
    const second = await createCost(round % 2 === 1)
    const [followed, alone] = round % 2 === 0 ? [first, second] : [second, first]
    cost.alone.push(alone)
    cost.followed.push(followed)
    cost.ratio.push(followed / alone)
  }
  const row = [cost.alone, cost.followed].map((values) => median(values).toFixed(1))
  const lines = [
    ['CPU µs of a create', 'with the garbage collector', 'median ratio'],
    [...row, median(cost.ratio).toFixed(3)],
  ]
  console.log(formatTable(lines).join('\n'))
}

async function measureLists(): Promise<void> {
  const server = await open()
  const env = Array.from({ length: 120 }, (_, at) => ({ name: `V${at}`, value: 'x'.repeat(50) }))
  const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i', env }] }
  for (let at = 0; at < pods; at++) await server.create('pods', `p${at}`, { spec })
  const lines = [[`list of ${pods} Pods`, 'CPU ms', 'longest turn ms']]
  for (const slices of [undefined, defaultSlices, undefined, defaultSlices]) {
    const informer = new Informer({
      ...{ store: server.store, clock: systemClock },
      prefix: prefixOf({ group: '', plural: 'pods', namespace: null }),
      parse: (stored) => podSummaryOf('mirror', stored),
      ...(slices === undefined ? {} : { slices }),
    })
    const before = process.cpuUsage()
    let sinceMs = performance.now()
    let longestMs = 0
    informer.start()
    for (let isListed = false; !isListed;) {
      longestMs = Math.max(longestMs, performance.now() - sinceMs)
      sinceMs = performance.now()
      isListed = informer.size === pods
      if (!isListed) await turn()
    }
    const what = slices === undefined ? 'as a whole' : 'in slices'
    lines.push([what, cpuMs(before).toFixed(0), longestMs.toFixed(1)])
    informer.close()
  }
  console.log(formatTable(lines).join('\n'))
  await server.close()
}

await measureCreates()
await measureLists()
