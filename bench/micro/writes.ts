/*
 * Measures CPU of the write verbs without network, consensus and disk: decoding, admission,
 * validation, encoding and apply.
 *
 *   node dist/bench/micro/writes.js [--rounds 5] [--writes 4000]
 *
 * Each figure is the CPU time of the process per request, the minimum of the rounds: other
 * processes only add to it.
 */
import { parseArgs } from 'node:util'
import type { VerbResponse, Registry, VerbRequest } from '../../src/registry/calls/verb.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'
import { systemClock } from '../../fixtures/system.ts'

const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, writes: { type: 'string', default: '4000' } },
})
const rounds = Number(options.rounds)
const writes = Number(options.writes)

const value = 'v'.repeat(900)
const NEVER = new AbortController().signal
const NO_QUERY: VerbRequest['query'] = new Map()
const DRY_RUN: VerbRequest['query'] = new Map([['dryRun', ['All']]])

const { registry, close } = await realRegistry('k8s.io')
console.log(`CPU of one write of a ConfigMap of 1 KB, node ${process.version}, lowest of ${rounds} rounds`)
const lowest = new Map<string, number>()
for (let round = 0; round < rounds; round++) await measureAll(round)
for (const [what, us] of lowest) console.log(`  ${what.padEnd(28)} ${us.toFixed(1).padStart(8)} us`)
await close()

async function measureAll(round: number): Promise<void> {
  const name = (at: number): string => `r${round}-${at}`
  const body = (at: number, more = ''): string =>
    JSON.stringify({ metadata: { name: name(at) }, data: { k: value, more } })
  await measure('create', (at) => registry.create(request({ body: body(at) })))
  await measure('update', (at) => registry.update(request({ name: name(at), body: body(at, 'x') })))
  await measure('patch', (at) => registry.patch(patched(name(at), '{"data":{"more":"y"}}')))
  await measure('patch, nothing changes', (at) => registry.patch(patched(name(at), '{"data":{"more":"y"}}')))
  await measure('patch, dry run', (at) => registry.patch(patched(name(at), '{"data":{"more":"z"}}', DRY_RUN)))
  await measure('create, exists already', (at) => refused(registry.create(request({ body: body(at) }))))
  await measure('patch, refused (invalid)', (at) =>
    refused(registry.patch(patched(name(at), '{"metadata":{"labels":{"a b":"c"}}}'))),
  )
  await measure('delete', (at) => registry.delete(request({ name: name(at) })))
}

async function measure(what: string, run: (at: number) => Promise<VerbResponse | void>): Promise<void> {
  const before = process.cpuUsage()
  for (let at = 0; at < writes; at++) await run(at)
  const { user, system } = process.cpuUsage(before)
  const us = (user + system) / writes
  lowest.set(what, Math.min(lowest.get(what) ?? Infinity, us))
}

async function refused(call: Promise<VerbResponse>): Promise<void> {
  const refusal = await call.then(
    () => null,
    (cause: unknown) => cause,
  )
  if (refusal === null) throw new Error('this request should have been refused')
}

type RequestParts = {
  readonly name?: string
  readonly body?: string
  readonly contentType?: string
  readonly query?: VerbRequest['query']
}

function patched(name: string, body: string, query?: VerbRequest['query']): VerbRequest {
  return request({ name, body, contentType: 'application/merge-patch+json', ...(query && { query }) })
}

function request({ name, body = '', contentType = 'application/json', query }: RequestParts): VerbRequest {
  return {
    definition: configMaps(registry),
    context: {
      user: { name: 'bench', uid: '', groups: ['system:masters'], extra: {} },
      userAgent: 'bench',
      deadlineMs: systemClock.monotonicMs() + 60_000,
      signal: NEVER,
      warn: () => undefined,
    },
    target: { namespace: 'default', name: name ?? null, subresource: null },
    query: query ?? NO_QUERY,
    body: Buffer.from(body),
    contentType,
  }
}

function configMaps({ catalog }: Registry): VerbRequest['definition'] {
  const found = catalog.find('', 'v1', 'configmaps')
  if (found === null) throw new Error('the catalog has no ConfigMaps')
  return found
}
