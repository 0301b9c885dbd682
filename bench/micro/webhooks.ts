/*
 * Measures what admission webhooks cost: the CPU of a create that no webhook matches, and of a
 * create without configured webhooks; and at a fixed rate the latency of creates that 50 webhooks
 * match, of creates without webhooks, and of the webhooks themselves: 50 calls at once by the HTTP
 * client of Node.js, without this server.
 *
 *   node dist/bench/micro/webhooks.js [--rounds 60] [--writes 300] [--seconds 10] [--rate 100] [--turns 3]
 *
 * The creates alternate between a registry with webhooks and one without; the ratio is the median
 * of the ratios of all pairs.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Registry as MetricsRegistry } from 'prom-client'
import { AdmissionMetrics } from '../../src/admission/admission-metrics.ts'
import { admissionObserver } from '../../src/admission/observer.ts'
import { WebhookSource } from '../../src/admission/webhooks/follow-webhooks.ts'
import { Freshness } from '../../src/admission/webhooks/freshness.ts'
import { mutatingWebhooks } from '../../src/admission/webhooks/mutating-webhooks.ts'
import { validatingWebhooks } from '../../src/admission/webhooks/validating-webhooks.ts'
import { WebhookCaller } from '../../src/admission/webhooks/webhook-caller.ts'
import { WebhookClients } from '../../src/outward/webhook-clients.ts'
import { AllWebhookStatistics } from '../../src/outward/webhook-statistics.ts'
import type { VerbRequest } from '../../src/registry/calls/verb.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'
import type { RealRegistry, RegistryParts } from '../../fixtures/real-registry.ts'
import { freshRandom, systemClock as clock } from '../../fixtures/system.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '60' },
    writes: { type: 'string', default: '300' },
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '100' },
    turns: { type: 'string', default: '3' },
  },
})
const rounds = Number(options.rounds)
const writes = Number(options.writes)
const seconds = Number(options.seconds)
const rate = Number(options.rate)
const turns = Number(options.turns)

const NEVER = new AbortController().signal
const serverProgram = fileURLToPath(new URL('webhook-server.js', import.meta.url))
const warmUpWrites = 100
const closing: (() => unknown)[] = []

/** The webhooks of a member, as `src/app` builds them. */
function webhooksOf({ names, store, catalog }: RegistryParts) {
  const source = new WebhookSource({ names, store, clock, catalog })
  source.start()
  const random = freshRandom()
  const clients = new WebhookClients({ clock, random, credentials: () => null })
  closing.push(
    () => source.close(),
    () => clients.close(),
  )
  const metrics = new AdmissionMetrics(new MetricsRegistry())
  const statistics = new AllWebhookStatistics(clock)
  const caller = new WebhookCaller({ clock, random, names, clients, statistics, metrics })
  // As on a member that other reads keep up to date.
  const reads = {
    get freshness() {
      return { asOfMs: clock.monotonicMs(), confirmedMs: clock.monotonicMs() }
    },
  }
  const barrier = (deadlineMs: number): Promise<void> => store.barrier(deadlineMs)
  const freshness = new Freshness({ store: { barrier, reads }, clock, source })
  const parts = { source, caller, freshness }
  return {
    webhooks: {
      mutating: (reinvoke: Parameters<typeof mutatingWebhooks>[0]['reinvoke']) =>
        mutatingWebhooks({ ...parts, ...(reinvoke === undefined ? {} : { reinvoke }) }),
      validating: () => validatingWebhooks(parts),
    },
    observer: admissionObserver({ clock, metrics }),
  }
}

const plain = await realRegistry('k8s.io')
const hooked = await realRegistry('k8s.io', { more: webhooksOf })
closing.push(plain.close, hooked.close)
for (const type of ['mutating', 'validating'] as const) {
  for (const name of ['a', 'b', 'c']) {
    const rules = [
      { operations: ['*'], apiGroups: ['apps', ''], apiVersions: ['*'], resources: ['pods', 'deployments'] },
    ]
    await configure(hooked, type, name, [webhookFor('https://localhost:1/', rules)])
  }
}
let warm = 0
// Warm-up: the engine compiles the code before it is measured.
for (const one of [plain, hooked, plain, hooked]) await creates(one, `warm${warm++}`)
const figures: { readonly without: number; readonly with: number }[] = []
for (let round = 0; round < rounds; round++) {
  const [first, second] = round % 2 === 0 ? [plain, hooked] : [hooked, plain]
  const [one, other] = [await creates(first, `r${round}`), await creates(second, `r${round}`)]
  figures.push(first === plain ? { without: one, with: other } : { without: other, with: one })
}
const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const withoutUs = median(figures.map(({ without }) => without))
const withUs = median(figures.map((one) => one.with))
const ratio = median(figures.map((one) => one.with / one.without))
console.log(
  `create: ${withoutUs.toFixed(1)} us without webhooks, ${withUs.toFixed(1)} us with six that do not match; ` +
    `median of the ratios of ${rounds} pairs: ${ratio.toFixed(3)}`,
)
await manyWebhooks()
for (const close of closing) await close()

/** @returns CPU of one create in us */
async function creates(of: RealRegistry, prefix: string): Promise<number> {
  const before = process.cpuUsage()
  for (let at = 0; at < writes; at++) await of.registry.create(configMap(of, `${prefix}-${at}`))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / writes
}

/**
 * Measures creates through 50 validating webhooks that take 5 ms each and are called in parallel.
 */
async function manyWebhooks(): Promise<void> {
  const delayMs = 5
  const server = spawn(process.execPath, [serverProgram, String(delayMs)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [line] = (await once(server.stdout, 'data')) as [Buffer]
  const { port, authority } = JSON.parse(line.toString()) as {
    readonly port: number
    readonly authority: string
  }
  const rules = [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }]
  const caBundle = Buffer.from(authority).toString('base64')
  const webhooks = Array.from({ length: 50 }, (_, at) => ({
    ...webhookFor(`https://localhost:${port}/${at}`, rules),
    name: `hook${at}.example.com`,
  })).map((one) => ({ ...one, clientConfig: { ...one.clientConfig, caBundle } }))
  await configure(hooked, 'validating', 'many', webhooks)
  await new Promise((resolve) => setTimeout(resolve, 500))
  // Connects, and lets the engine compile the code.
  for (let at = 0; at < warmUpWrites; at++) await hooked.registry.create(configMap(hooked, `warm-many-${at}`))
  const agent = new Agent({ ca: authority, keepAlive: true, maxSockets: Infinity })
  const review = JSON.stringify({
    ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
    request: { uid: 'u', object: { data: { k: 'v'.repeat(900) } } },
  })
  const direct = async (): Promise<void> => {
    await Promise.all(
      webhooks.map(async (_, at) => post(new URL(`https://localhost:${port}/${at}`), agent, review)),
    )
  }
  const measurements = {
    [`50 webhooks of ${delayMs} ms, called directly`]: direct,
    'a create without webhooks': async (at: string) => plain.registry.create(configMap(plain, at)),
    [`a create through 50 webhooks of ${delayMs} ms`]: async (at: string) =>
      hooked.registry.create(configMap(hooked, at)),
  }
  for (let at = 0; at < warmUpWrites; at++) await direct()
  for (let turn = 0; turn < turns; turn++)
    for (const [what, act] of Object.entries(measurements)) await atRate(what, (at) => act(`${turn}-${at}`))
  agent.destroy()
  server.stdin.end()
}

/** Performs an action at the rate for some time; prints its latency and the CPU of this process. */
async function atRate(what: string, act: (at: number) => Promise<unknown>): Promise<void> {
  const [cpuBefore, beganMs] = [process.cpuUsage(), performance.now()]
  const took: number[] = []
  const running: Promise<void>[] = []
  let failed = 0
  for (let at = 0; at < seconds * rate; at++) {
    const dueMs = beganMs + (at * 1000) / rate
    await new Promise((resolve) => setTimeout(resolve, dueMs - performance.now()))
    const startedMs = performance.now()
    running.push(
      act(at).then(
        () => void took.push(performance.now() - startedMs),
        () => void failed++,
      ),
    )
  }
  await Promise.all(running)
  const { user, system } = process.cpuUsage(cpuBefore)
  const reached = took.length / ((performance.now() - beganMs) / 1000)
  took.sort((a, b) => a - b)
  const [p50, p99] = [0.5, 0.99].map((part) => took[Math.floor(took.length * part)]?.toFixed(1))
  console.log(
    `${what}: ${reached.toFixed(0)} of ${rate} each second, median ${p50} ms, p99 ${p99} ms, ` +
      `${((user + system) / 1000 / took.length).toFixed(2)} ms of CPU each, ${failed} failed`,
  )
}

/** Sends a request and waits for the whole answer. */
async function post(url: URL, agent: Agent, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const sent = request(url, { method: 'POST', agent, headers })
  sent.end(body)
  const [reply] = (await once(sent, 'response')) as [IncomingMessage]
  reply.resume()
  await once(reply, 'end')
}

function webhookFor(url: string, rules: readonly object[]) {
  return {
    ...{ name: 'hook.example.com', clientConfig: { url }, rules, sideEffects: 'None' },
    ...{ admissionReviewVersions: ['v1'], timeoutSeconds: 30 },
  }
}

async function configure(
  of: RealRegistry,
  type: 'mutating' | 'validating',
  name: string,
  webhooks: readonly object[],
): Promise<void> {
  const body = JSON.stringify({ metadata: { name }, webhooks })
  await of.registry.create(requestFor(of, `${type}webhookconfigurations`, body))
}

function configMap(of: RealRegistry, name: string): VerbRequest {
  return requestFor(of, 'configmaps', JSON.stringify({ metadata: { name }, data: { k: 'v'.repeat(900) } }))
}

function requestFor(of: RealRegistry, plural: string, body: string): VerbRequest {
  const group = plural === 'configmaps' ? '' : 'admissionregistration.k8s.io'
  const definition = of.registry.catalog.find(group, 'v1', plural)
  if (definition === null) throw new Error(`${plural} are not served`)
  return {
    definition,
    context: {
      user: { name: 'bench', uid: '', groups: ['system:masters'], extra: {} },
      userAgent: 'bench',
      deadlineMs: clock.monotonicMs() + 60_000,
      signal: NEVER,
      warn: () => undefined,
    },
    target: {
      namespace: definition.scope === 'Namespaced' ? 'default' : null,
      name: null,
      subresource: null,
    },
    query: new Map(),
    body: Buffer.from(body),
    contentType: 'application/json',
  }
}
