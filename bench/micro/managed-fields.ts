/*
 * Measures what managedFields cost: CPU of writes and reads, and memory with many objects,
 * for ConfigMaps of 1 KB and Pods of 3 to 4 KB (sizes without managedFields). There is no network
 * and no consensus. The database is in memory for the CPU, and on disk for the memory.
 *
 *   node dist/bench/micro/managed-fields.js [--rounds 5] [--writes 2000] [--objects 50000]
 *     [--only cpu|memory]
 *
 * CPU is the time of the process for each request, the lowest of the rounds: other processes only
 * add to it. To compare two versions of the server, run them alternately.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { parseArgs } from 'node:util'
import type { VerbRequest, VerbResponse } from '../../src/registry/calls/verb.ts'
import { LevelKeyValueDatabases } from '../../src/store/disk/level-key-value-store.ts'
import type { KeyValueDatabases } from '../../src/store/disk/key-value-store.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'
import { systemClock } from '../../fixtures/system.ts'
import { measuredConfigMap, measuredPod, measuredPodStatus } from './measured-objects.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    writes: { type: 'string', default: '2000' },
    objects: { type: 'string', default: '50000' },
    only: { type: 'string', default: '' },
  },
})
const [rounds, writes, objects] = [Number(options.rounds), Number(options.writes), Number(options.objects)]

type Kind = {
  readonly plural: string
  readonly body: (name: string, at: number) => object
  /** A merge patch that changes one value. */
  readonly change: object
  readonly status: object | null
}

const kinds: readonly Kind[] = [
  { plural: 'configmaps', body: measuredConfigMap, change: { data: { changed: 'x' } }, status: null },
  {
    ...{ plural: 'pods', body: measuredPod },
    change: { metadata: { labels: { changed: 'x' } } },
    status: measuredPodStatus,
  },
]

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const never = new AbortController().signal

if (options.only !== 'memory') {
  console.log(`CPU of one request, node ${process.version}, lowest of ${rounds} rounds of ${writes}`)
  for (const kind of kinds) await measureCpu(kind)
}
if (options.only !== 'cpu') {
  console.log(`memory per object with ${objects} objects, in the heap and in buffers`)
  for (const kind of kinds) await measureMemory(kind)
}

async function measureCpu({ plural, body, change, status }: Kind): Promise<void> {
  const lowest = new Map<string, number>()
  for (let round = 0; round < rounds; round++) {
    const api = await open(plural)
    const name = (at: number): string => `a${at}`
    const body1 = (at: number): string => JSON.stringify(body(name(at), at))
    const bodies = Array.from({ length: writes }, (_, at) => body1(at))
    const measure = async (what: string, run: (at: number) => Promise<unknown>): Promise<void> => {
      collect()
      const before = process.cpuUsage()
      for (let at = 0; at < writes; at++) await run(at)
      const { user, system } = process.cpuUsage(before)
      lowest.set(what, Math.min(lowest.get(what) ?? Infinity, (user + system) / writes))
    }
    await measure('create', (at) => api.create(bodies[at] ?? ''))
    if (status !== null) await measure('status', (at) => api.patch(name(at), status, 'status'))
    await measure('patch', (at) => api.patch(name(at), change))
    const stored: string[] = []
    for (let at = 0; at < writes; at++) stored.push(await api.get(name(at)))
    // As controllers do: read, change, write back with all that was read.
    await measure('update', (at) => api.update(name(at), (stored[at] ?? '').replace('first', 'other')))
    await measure('get', (at) => api.get(name(at)))
    collect()
    const before = process.cpuUsage()
    for (let times = 0; times < 5; times++) await api.list()
    const { user, system } = process.cpuUsage(before)
    const us = (user + system) / writes / 5
    lowest.set('list, one object', Math.min(lowest.get('list, one object') ?? Infinity, us))
    await api.close()
  }
  for (const [what, us] of lowest) {
    console.log(`  ${`${plural}: ${what}`.padEnd(36)} ${us.toFixed(2).padStart(9)} us`)
  }
}

async function measureMemory({ plural, body, status }: Kind): Promise<void> {
  // On disk, as in a cluster: a database in memory would hold every object a second time.
  const directory = await mkdtemp(join(tmpdir(), 'managed-fields-'))
  const api = await open(plural, new LevelKeyValueDatabases(directory))
  const before = heldBytes()
  for (let at = 0; at < objects; at++) {
    await api.create(JSON.stringify(body(`a${at}`, at)))
    if (status !== null) await api.patch(`a${at}`, status, 'status')
  }
  await api.trim()
  const bytes = ((await settledBytes()) - before) / objects
  const text = await api.get('a1')
  const managed = /"managedFields":\[.*?\}\]\}/.exec(text)?.[0].length ?? 0
  console.log(
    `  ${plural.padEnd(12)} ${bytes.toFixed(0).padStart(6)} bytes; as JSON ${text.length}, of which managedFields ${managed}`,
  )
  await api.close()
  await rm(directory, { recursive: true })
}

/** Waits until the database has caught up: until then, memory holds what is not written yet. */
async function settledBytes(): Promise<number> {
  let [last, held] = [Infinity, heldBytes()]
  while (held < last * 0.99) {
    await new Promise((resolve) => setTimeout(resolve, 10_000))
    last = held
    held = heldBytes()
  }
  return held
}

function heldBytes(): number {
  for (let times = 0; times < 3; times++) collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

type Api = {
  readonly create: (body: string) => Promise<unknown>
  readonly update: (name: string, body: string) => Promise<unknown>
  readonly patch: (name: string, body: object, subresource?: string) => Promise<unknown>
  readonly get: (name: string) => Promise<string>
  readonly list: () => Promise<void>
  /** Removes the history. */
  readonly trim: () => Promise<void>
  readonly close: () => Promise<void>
}

async function open(plural: string, databases?: KeyValueDatabases): Promise<Api> {
  const { registry, store, close } = await realRegistry(
    'k8s.io',
    databases === undefined ? {} : { databases },
  )
  const definition = registry.catalog.find('', 'v1', plural)
  if (definition === null) throw new Error(`the catalog has no ${plural}`)
  const request = (
    name: string | null,
    body: string,
    type = 'application/json',
    subresource: string | null = null,
  ): VerbRequest => ({
    definition,
    context: {
      user: { name: 'bench', uid: '', groups: ['system:masters'], extra: {} },
      userAgent: subresource === null ? 'kubectl/v1.24.0 (linux/amd64)' : 'kubelet/v1.24.0 (linux/amd64)',
      deadlineMs: systemClock.monotonicMs() + 60_000,
      signal: never,
      warn: () => undefined,
    },
    target: { namespace: 'default', name, subresource },
    query: new Map(),
    body: Buffer.from(body),
    contentType: type,
  })
  const accounts = registry.catalog.find('', 'v1', 'serviceaccounts')
  if (accounts !== null) {
    const body = Buffer.from(JSON.stringify({ metadata: { name: 'default' } }))
    await registry.create({ ...request(null, ''), definition: accounts, body })
  }
  const merge = 'application/merge-patch+json'
  return {
    create: (body) => registry.create(request(null, body)),
    update: (name, body) => registry.update(request(name, body)),
    patch: (name, body, subresource) =>
      registry.patch(request(name, JSON.stringify(body), merge, subresource ?? null)),
    get: async (name) => textOf(await registry.get(request(name, ''))),
    list: async () => {
      const answer = await registry.list(request(null, ''))
      if (answer.kind !== 'pieces') throw new Error('the list was not returned in pieces')
      for await (const piece of answer.pieces) void piece
    },
    trim: async () => {
      const deadline = systemClock.monotonicMs() + 60_000
      await store.write(
        { kind: 'change-settings', settings: { ...store.settings, historyEventsMin: 0 } },
        deadline,
      )
      await store.write({ kind: 'trim', upTo: store.view().revision }, deadline)
    },
    close,
  }
}

function textOf(answer: VerbResponse): string {
  if (answer.kind !== 'document') throw new Error('the get did not return one document')
  return Buffer.from(answer.bytes).toString('utf8')
}
