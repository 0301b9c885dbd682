/*
 * Measures what encryption at rest costs where nothing is encrypted: the CPU of creating, reading
 * and listing ConfigMaps on the plain store, and on the store that encrypts, with no configuration
 * and with one for Secrets only.
 *
 *   node dist/bench/micro/encryption.js [--pairs 100]
 *
 * --pairs is the number of rounds, in each of which all three stores are measured, so that other
 * load of the machine affects all equally; ratios are medians of the rounds.
 */
import { parseArgs } from 'node:util'
import { namesOf } from '../../src/api/metadata/names.ts'
import { EncryptedStore } from '../../src/encryption/encrypted-store.ts'
import { parseEncryptionFile } from '../../src/encryption/encryption-file.ts'
import { keysOfRules } from '../../src/encryption/keys-of-rules.ts'
import { noEncryption } from '../../src/encryption/resource-keys.ts'
import type { EncryptionKeys } from '../../src/encryption/resource-keys.ts'
import type { Registry } from '../../src/registry/calls/verb.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'
import type { RealRegistry } from '../../fixtures/real-registry.ts'
import { freshRandom, systemClock } from '../../fixtures/system.ts'

const { values: options } = parseArgs({ options: { pairs: { type: 'string', default: '100' } } })
const rounds = Number(options.pairs)
const [writes, reads, lists] = [40, 200, 4]
const value = 'v'.repeat(900)
const NEVER = new AbortController().signal
const names = namesOf('k8s.io')
let bytes = 0

function secretsOnly(): EncryptionKeys {
  const secret = Buffer.alloc(32, 1).toString('base64')
  const file = `{kind: EncryptionConfiguration, apiVersion: apiserver.config.k8s.io/v1, resources: [
    {resources: [secrets], providers: [{aesgcm: {keys: [{name: one, secret: ${secret}}]}}]}]}`
  const rules = parseEncryptionFile(file, { names, builtIn: definitionsFor(names) })
  const kms = (): never => {
    throw new Error('no key management service is configured')
  }
  return keysOfRules(rules, { random: freshRandom(), kms })
}

function encrypting(keys: EncryptionKeys): Promise<RealRegistry> {
  return realRegistry('k8s.io', {
    encrypted: (store) => {
      const encrypted = new EncryptedStore(store, { cacheBytesMax: 0, onSealed: () => undefined })
      encrypted.use(keys)
      return encrypted
    },
  })
}

const variants = {
  'plain store': await realRegistry('k8s.io'),
  'not configured': await encrypting(noEncryption),
  'Secrets configured': await encrypting(secretsOnly()),
}
type Variant = keyof typeof variants
type Figure = { readonly create: number; readonly get: number; readonly list: number }
const figures = new Map<Variant, Figure[]>()
const order = Object.keys(variants) as Variant[]
for (let round = -10; round < rounds; round++) {
  order.push(order.shift() as Variant)
  for (const name of order) {
    const figure = await measure(variants[name].registry, round)
    // The first rounds warm up.
    if (round >= 0) figures.set(name, [...(figures.get(name) ?? []), figure])
  }
}
console.log(`CPU per operation on ConfigMaps of 1 KB, node ${process.version}, ${rounds} rounds`)
console.log(`Lowest, and median of the ratios to the plain store in the same round; ${bytes} bytes listed`)
const plain = figures.get('plain store') ?? []
for (const [name, own] of [...figures].sort()) {
  const shown = (['create', 'get', 'list'] as const).map((of) => {
    const least = Math.min(...own.map((figure) => figure[of]))
    const ratios = own.map((figure, at) => figure[of] / (plain[at]?.[of] ?? 1)).sort((a, b) => a - b)
    const median = ratios[Math.floor(ratios.length / 2)] ?? 1
    return `${of} ${least.toFixed(1)} us (${median.toFixed(3)})`
  })
  console.log(`  ${name.padEnd(20)}${shown.join('   ')}`)
}
for (const { close } of Object.values(variants)) await close()

/** Returns the CPU time of one operation of each kind in microseconds. */
async function measure(registry: Registry, round: number): Promise<Figure> {
  const definition = registry.catalog.find('', 'v1', 'configmaps')
  if (definition === null) throw new Error('the catalog has no ConfigMaps')
  const call = (name: string | null) => ({
    definition,
    context: {
      user: { name: 'bench', uid: '', groups: ['system:masters'], extra: {} },
      userAgent: 'bench',
      deadlineMs: systemClock.monotonicMs() + 60_000,
      signal: NEVER,
      warn: () => undefined,
    },
    target: { namespace: 'default', name, subresource: null },
    query: new Map<string, readonly string[]>([['limit', ['200']]]),
    body: new Uint8Array(0),
    contentType: '',
  })
  const create = await cpuOf(writes, async (at) => {
    const object = { metadata: { name: `p${round}-${at}` }, data: { k: value } }
    const body = Buffer.from(JSON.stringify(object))
    await registry.create({ ...call(null), query: new Map(), body, contentType: 'application/json' })
  })
  const get = await cpuOf(reads, async (at) => {
    await registry.get({ ...call(`p${round}-${at % writes}`), query: new Map() })
  })
  const list = await cpuOf(lists, async () => {
    const answer = await registry.list(call(null))
    if (answer.kind !== 'pieces') throw new Error('the list was not returned in pieces')
    for await (const piece of answer.pieces) bytes += piece.byteLength
  })
  return { create, get, list }
}

async function cpuOf(count: number, act: (at: number) => Promise<void>): Promise<number> {
  const from = process.cpuUsage()
  for (let at = 0; at < count; at++) await act(at)
  const { user, system } = process.cpuUsage(from)
  return (user + system) / count
}
