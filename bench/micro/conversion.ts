/*
 * Measures what a conversion webhook costs: the CPU of this process for each object of a list in
 * the stored version, of a list that a webhook in another process converts to another version, and
 * of the latter list again, when the converted objects are cached.
 *
 *   node dist/bench/micro/conversion.js [--objects 1000] [--bytes 900] [--rounds 30]
 *
 * The lists take turns, and each ratio is the median of the rounds.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ConversionWebhooks } from '../../src/conversion/conversion-webhooks.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { WebhookClients } from '../../src/outward/webhook-clients.ts'
import type { VerbRequest } from '../../src/registry/calls/verb.ts'
import type { ResourceDefinition } from '../../src/registry/kinds/definition.ts'
import { parseStored } from '../../src/registry/kinds/encode.ts'
import { customKinds } from '../../src/resources/crd/custom-kind.ts'
import { keyOf } from '../../src/store/key.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'
import { freshRandom, systemClock as clock } from '../../fixtures/system.ts'

const { values: options } = parseArgs({
  options: {
    objects: { type: 'string', default: '1000' },
    bytes: { type: 'string', default: '900' },
    rounds: { type: 'string', default: '30' },
  },
})
const [count, bytes, rounds] = [Number(options.objects), Number(options.bytes), Number(options.rounds)]
const NEVER = new AbortController().signal
const group = 'bench.example'
const names = namesOf('k8s.io')

const server = spawn(process.execPath, [fileURLToPath(new URL('webhook-server.js', import.meta.url)), '0'], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
const [line] = (await once(server.stdout, 'data')) as [Buffer]
const { port, authority } = JSON.parse(line.toString()) as {
  readonly port: number
  readonly authority: string
}
const random = freshRandom()
const clients = new WebhookClients({ clock, random, credentials: () => null })
const failuresOf = () => ({ failed: (why: string) => console.error(why), succeeded: () => undefined })
const converter = new ConversionWebhooks({ clock, random, names, clients, failuresOf })
const { registry, store, catalog, close } = await realRegistry('k8s.io', { converter })

const definitions = catalog.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')
if (definitions === null) throw new Error('customresourcedefinitions are not served')
await registry.create(request(definitions, bodyOf(definition())))
await registry.patch({
  ...request(definitions, bodyOf({ status: definition().status })),
  target: { namespace: null, name: definition().metadata.name, subresource: 'status' },
  contentType: 'application/merge-patch+json',
})
const key = keyOf({ ...definitions, namespace: '', name: definition().metadata.name })
const kinds = reloadDefinition()
for (let at = 0; at < count; at++) {
  const object = {
    ...{ apiVersion: `${group}/v1`, kind: 'Gadget', metadata: { name: `g${at}` } },
    spec: { text: 'v'.repeat(bytes) },
  }
  await registry.create(request(kinds.v1, bodyOf(object)))
}
const figures: { readonly stored: number; readonly converted: number; readonly cached: number }[] = []
for (let round = -5; round < rounds; round++) {
  // This also empties the cache of converted objects.
  const { v1, v2 } = reloadDefinition()
  const converted = await listed(v2)
  const cached = await listed(v2)
  // The first list after a reload compiles the schema and caches which objects it leaves unchanged.
  await listed(v1)
  const stored = await listed(v1)
  // The first rounds warm up.
  if (round >= 0) figures.push({ stored, converted, cached })
}
console.log(`CPU for each object of a list of ${count}, node ${process.version}, ${rounds} rounds`)
for (const list of ['stored', 'converted', 'cached'] as const) {
  const us = median(figures.map((one) => one[list]))
  const ratio = median(figures.map((one) => one[list] / one.stored))
  console.log(`  ${list.padEnd(10)} ${us.toFixed(1).padStart(6)} us, ratio ${ratio.toFixed(2)}`)
}
await close()
clients.close()
server.stdin.end()

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

/** Serves the stored definition as if it had just been written. */
function reloadDefinition(): { readonly v1: ResourceDefinition; readonly v2: ResourceDefinition } {
  const stored = store.view().get(key)
  if (stored === null) throw new Error('the definition is not stored')
  catalog.setCustom(customKinds(parseStored(stored), names))
  return { v1: kindOf('v1'), v2: kindOf('v2') }
}

/** @returns CPU of this process for each object, in us */
async function listed(of: ResourceDefinition): Promise<number> {
  const before = process.cpuUsage()
  const answer = await registry.list(request(of, new Uint8Array(0)))
  if (answer.kind !== 'pieces') throw new Error('the list was not returned in pieces')
  for await (const piece of answer.pieces) void piece
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

function bodyOf(object: object): Buffer {
  return Buffer.from(JSON.stringify(object))
}

function definition() {
  const caBundle = Buffer.from(authority).toString('base64')
  const webhook = {
    conversionReviewVersions: ['v1'],
    clientConfig: { url: `https://localhost:${port}/`, caBundle },
  }
  const spec = { type: 'object', properties: { text: { type: 'string' } } }
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }
  const kindNames = { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' }
  return {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    metadata: { name: `gadgets.${group}` },
    spec: {
      ...{ group, names: kindNames, scope: 'Namespaced', conversion: { strategy: 'Webhook', webhook } },
      versions: ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === 'v1', schema })),
    },
    status: {
      acceptedNames: kindNames,
      conditions: [{ type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
    },
  }
}

function kindOf(version: string): ResourceDefinition {
  const found = catalog.find(group, version, 'gadgets')
  if (found === null) throw new Error(`gadgets of ${version} are not served`)
  return found
}

function request(of: ResourceDefinition, body: Uint8Array): VerbRequest {
  return {
    definition: of,
    context: {
      user: { name: 'bench', uid: '', groups: ['system:masters'], extra: {} },
      userAgent: 'bench',
      deadlineMs: clock.monotonicMs() + 60_000,
      signal: NEVER,
      warn: () => undefined,
    },
    target: { namespace: of.scope === 'Namespaced' ? 'default' : null, name: null, subresource: null },
    query: new Map(),
    body,
    contentType: 'application/json',
  }
}
