/*
 * Measures lists by field selector, as kubelets send them: CPU of a list of the Pods of one node,
 * when the values of the field are known, when each Pod must be parsed, and in pages of 5; CPU of a
 * list without a selector and of a status update, to which known values must not add anything; and
 * the memory of the known values.
 *
 *   node dist/bench/micro/field-lists.js [--pods 10000] [--nodes 500] [--lists 20] [--rounds 15]
 *
 * One process without network, consensus and disk. CPU is the time of the process for one request:
 * median of the rounds, quartiles in brackets. Known and parsed alternate, and ratios are taken
 * within a round. Pods have 6 KB with their managedFields. To compare two versions of the server,
 * run them alternately.
 */
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { JsonObject } from '../../src/api/json.ts'
import { objectMember } from '../../src/api/json.ts'
import { formatTable } from '../../src/cli/terminal.ts'
import type { VerbRequest, VerbResponse } from '../../src/registry/calls/verb.ts'
import type { ResourceDefinition } from '../../src/registry/kinds/definition.ts'
import { encode, parseStored } from '../../src/registry/kinds/encode.ts'
import { keyOf } from '../../src/store/key.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'
import { put, write } from '../../fixtures/store-kit.ts'
import { systemClock } from '../../fixtures/system.ts'
import { measuredPod, measuredPodStatus } from './measured-objects.ts'

const { values: options } = parseArgs({
  options: {
    pods: { type: 'string', default: '10000' },
    nodes: { type: 'string', default: '500' },
    lists: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '15' },
  },
})
const [pods, nodes] = [Number(options.pods), Number(options.nodes)]
const [lists, rounds] = [Number(options.lists), Number(options.rounds)]
/** A list that parses all Pods takes about a hundred times as long. */
const parsedLists = Math.max(1, Math.floor(lists / 20))

/** Pods in one command, whose size is limited. */
const batch = 250

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const never = new AbortController().signal
const deadline = (): number => systemClock.monotonicMs() + 600_000

const { registry, store, close } = await realRegistry('k8s.io')
const definition = registry.catalog.find('', 'v1', 'pods')
if (definition === null) throw new Error('the catalog has no pods')
const kind: ResourceDefinition = definition

const samples: Record<string, number[]> = {}
await fill()
const before = heldBytes()
const one = await listOf(kind, nodeSelector(0))
const memory = (heldBytes() - before) / pods
console.log(`${pods} Pods of ${nodes} nodes, ${rounds} rounds, node ${process.version}`)
console.log(`a list of one node: ${Math.ceil(pods / nodes)} Pods, ${one.bytes} bytes`)
console.log(`memory of known values: ${memory.toFixed(0)} bytes for each Pod`)
// The first round warms up.
for (let round = 0; round <= rounds; round++) {
  if (round === 1) for (const name of Object.keys(samples)) samples[name] = []
  const measures = [
    () => measure('one node, known', lists, (at) => listOf(kind, nodeSelector(at))),
    // Known values belong to one definition object: a copy of it is without known values.
    () => measure('one node, parsed', parsedLists, (at) => listOf({ ...kind }, nodeSelector(at))),
  ]
  for (const run of round % 2 === 0 ? measures : measures.toReversed()) await run()
  await measure('pages of 5 of one node, known', lists, pagesOf)
  await measure('all Pods, no selector', 1, () => listOf(kind, {}))
  await measure('status update', lists * 5, updateStatus)
}
const lines = [['request', 'CPU, ms', 'parsed / this']]
const parsed = samples['one node, parsed'] ?? []
for (const [name, taken] of Object.entries(samples)) {
  const ratios = parsed.map((ms, at) => ms / (taken[at] ?? NaN))
  const isList = name.includes('one node')
  lines.push([name, spread(taken, 3), isList ? spread(ratios, 1) : ''])
}
for (const line of formatTable(lines)) console.log(line)
await close()

/** Creates one Pod, sets its status, and stores copies of it with other names and nodes. */
async function fill(): Promise<void> {
  const accounts = registry.catalog.find('', 'v1', 'serviceaccounts')
  const body = { metadata: { name: 'default' } }
  if (accounts !== null) await registry.create({ ...requestOf({}, body), definition: accounts })
  await registry.create(requestOf({}, measuredPod('first', 0)))
  await updateStatus(0, 'first')
  const key = keyOf({ group: '', plural: 'pods', namespace: 'default', name: 'first' })
  const stored = store.view().get(key)
  if (stored === null) throw new Error('the Pod was not created')
  const pod = parseStored(stored)
  for (let from = 0; from < pods; from += batch) {
    const operations = Array.from({ length: Math.min(batch, pods - from) }, (_, more) => {
      const name = nameOf(from + more)
      const spec: JsonObject = { ...objectMember(pod, 'spec'), nodeName: nodeOf(from + more) }
      const metadata = { ...pod.metadata, name, uid: `00000000-0000-4000-8000-${name.padStart(12, '0')}` }
      return {
        ...put(keyOf({ group: '', plural: 'pods', namespace: 'default', name }), ''),
        object: encode({ ...pod, metadata, spec }),
      }
    })
    await store.write(write(...operations), deadline())
  }
  await registry.delete({ ...requestOf({ gracePeriodSeconds: '0' }, {}), target: targetOf('first') })
  const settings = { ...store.settings, historyEventsMin: 0 }
  await store.write({ kind: 'change-settings', settings }, deadline())
  await store.write({ kind: 'trim', upTo: store.view().revision }, deadline())
}

function nameOf(at: number): string {
  return `app-${at}`
}

function nodeOf(at: number): string {
  return `node-${String(at % nodes).padStart(5, '0')}.example.internal`
}

function nodeSelector(at: number): Readonly<Record<string, string>> {
  return { fieldSelector: `spec.nodeName=${nodeOf(at)}` }
}

function targetOf(name: string | null, subresource: string | null = null): VerbRequest['target'] {
  return { namespace: 'default', name, subresource }
}

function requestOf(query: Readonly<Record<string, string>>, body?: object): VerbRequest {
  return {
    definition: kind,
    context: {
      user: { name: 'bench', uid: '', groups: ['system:masters'], extra: {} },
      userAgent: 'kubelet/v1.24.0 (linux/amd64)',
      ...{ deadlineMs: deadline(), signal: never, warn: () => undefined },
    },
    target: targetOf(null),
    query: new Map(Object.entries(query).map(([name, value]) => [name, [value]])),
    body: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
    contentType: 'application/json',
  }
}

type Listed = { readonly bytes: number; readonly next: string | null }

async function listOf(of: ResourceDefinition, query: Readonly<Record<string, string>>): Promise<Listed> {
  const response: VerbResponse = await registry.list({ ...requestOf(query), definition: of })
  if (response.kind !== 'pieces') throw new Error('the list was not returned in pieces')
  let [bytes, head] = [0, '']
  for await (const piece of response.pieces) {
    if (bytes === 0) head = Buffer.from(piece).toString('latin1', 0, 1000)
    bytes += piece.byteLength
  }
  return { bytes, next: /"continue":"([^"]+)"/.exec(head)?.[1] ?? null }
}

async function pagesOf(at: number): Promise<void> {
  let query: Readonly<Record<string, string>> = { ...nodeSelector(at), limit: '5' }
  for (;;) {
    const { next } = await listOf(kind, query)
    if (next === null) return
    query = { ...nodeSelector(at), limit: '5', continue: next }
  }
}

async function updateStatus(at: number, name = nameOf(at % pods)): Promise<void> {
  const status = objectMember(measuredPodStatus as JsonObject, 'status')
  const body = { status: { ...status, message: String(process.hrtime.bigint()) } }
  const contentType = 'application/merge-patch+json'
  await registry.patch({ ...requestOf({}, body), target: targetOf(name, 'status'), contentType })
}

/** Adds the CPU time of one request, in ms, to the samples of that name. */
async function measure(name: string, times: number, run: (at: number) => Promise<unknown>): Promise<void> {
  collect()
  const started = process.cpuUsage()
  for (let at = 0; at < times; at++) await run(at)
  const { user, system } = process.cpuUsage(started)
  const taken = (samples[name] ??= [])
  taken.push((user + system) / 1000 / times)
}

function spread(values: readonly number[], digits: number): string {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number): string =>
    (sorted[Math.floor(share * (sorted.length - 1))] ?? NaN).toFixed(digits)
  return `${at(0.5)} (${at(0.25)}-${at(0.75)})`
}

function heldBytes(): number {
  for (let times = 0; times < 3; times++) collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
