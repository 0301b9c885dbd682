import { present } from '../../base/assert.ts'
import type { ClientIdentity } from '../../src/credentials/credentials.ts'
import { resolveEndpoint } from '../../src/credentials/endpoint.ts'
import type { Endpoint, ResolvedEndpoint } from '../../src/credentials/endpoint.ts'
import { pause } from '../../tools/verify/pause.ts'
import { latencySample } from './context.ts'
import type { BenchContext, Measured } from './context.ts'
import { fill } from './fill.ts'
import { FailureCounts } from './generator/failures.ts'
import { collectionOf, configMap, requestBytes, withQuery } from './generator/requests.ts'
import { WireConnection } from './generator/wire-connection.ts'
import { LatencyHistogram } from './latency-histogram.ts'
import { benchLimits } from './limits.ts'
import type { Load } from './load.ts'
import { Acknowledged } from './staleness.ts'

type StalenessLoad = Load & { readonly kind: 'staleness' }

const name = 's0'
const payloadBytes = 100
const keepBytes = 4 * 1024

type SharedByClients = {
  readonly context: BenchContext
  /** Distinguishes the versions of this load from those of earlier ones. */
  readonly series: number
  readonly path: string
  readonly endMs: number
  readonly acknowledged: Acknowledged
  readonly failures: FailureCounts
}

type Seen = { readonly latencies: LatencyHistogram; readonly staleness: LatencyHistogram; stale: number }

/**
 * Measures the staleness of reads: one client writes versions of one object as fast as possible,
 * and other clients read it from the members at `load.place`.
 *
 * @throws BenchError
 */
export async function runStaleness(context: BenchContext, load: StalenessLoad): Promise<Measured> {
  const { target, clock, seconds } = context
  const namespace = await fill(context, { purpose: 'stale', prefix: 's', objects: 1, payloadBytes })
  const [readers, roles] = [await target.at(load.place, clock), await target.roles()]
  // The writer uses the leader if it is known. In that case the plan reads from a follower,
  // because the member that accepts a write is the first one to show it.
  const writer =
    target.endpoints.find((_, at) => roles[at] === 'leader') ??
    present(target.endpoints[0], 'there is an endpoint to write to')
  const startedMs = clock.monotonicMs()
  const shared: SharedByClients = {
    ...{ context, series: Math.floor(startedMs), path: `${collectionOf(namespace)}/${name}` },
    endMs: startedMs + seconds * 1000,
    ...{ acknowledged: new Acknowledged(), failures: new FailureCounts() },
  }
  const seen: Seen = { latencies: new LatencyHistogram(), staleness: new LatencyHistogram(), stale: 0 }
  const reading = Array.from({ length: load.clients }, (_, at) =>
    read(shared, seen, present(readers[at % readers.length], 'there is an endpoint to read from'), load),
  )
  await Promise.all([write(shared, writer), ...reading])
  const elapsedS = (clock.monotonicMs() - startedMs) / 1000
  const { latencies, staleness, stale } = seen
  const operations = latencies.total
  const bound = /^bounded=(\d+)$/.exec(load.mode)?.[1]
  const sample = {
    ...{ operations, perSecond: operations / elapsedS, failed: shared.failures.total },
    ...{ writesPerSecond: shared.acknowledged.count / elapsedS, ...latencySample(latencies) },
    staleShare: operations === 0 ? 0 : stale / operations,
    staleP99Ms: staleAt(staleness, operations, 0.99),
    staleMaxMs: stale === 0 ? 0 : staleness.quantile(1),
    ...(load.mode === 'any' ? {} : { boundMs: bound === undefined ? 0 : Number(bound) }),
  }
  return { sample, failures: shared.failures.list() }
}

/** Returns a quantile over all reads; the histogram contains only the stale ones. */
function staleAt(staleness: LatencyHistogram, reads: number, share: number): number {
  const rank = Math.ceil(reads * share) - (reads - staleness.total)
  return rank <= 0 ? 0 : staleness.quantile(rank / staleness.total)
}

async function write(shared: SharedByClients, endpoint: Endpoint): Promise<void> {
  const { path, acknowledged, series } = shared
  await repeat(shared, endpoint, async (connection, resolved) => {
    if (acknowledged.count >= benchLimits.acknowledgedMax) return false
    const body = configMap(name, payloadBytes, `${series}.${acknowledged.count}`)
    const { status } = await connection.ask(requestBytes(resolved, { method: 'PUT', path, body }))
    if (status === 401) await renewCredentials(connection, endpoint, resolved)
    if (status === 200) acknowledged.add(shared.context.clock.monotonicMs())
    else shared.failures.add(`write: HTTP ${status}`)
    return status === 200
  })
}

async function read(
  shared: SharedByClients,
  seen: Seen,
  endpoint: Endpoint,
  load: StalenessLoad,
): Promise<void> {
  const { context, path, acknowledged, failures, series } = shared
  const { query, consistency } = context.target.form(load.mode)
  const requested = { method: 'GET', path: withQuery(path, query), consistency } as const
  await repeat(shared, endpoint, async (connection, resolved) => {
    const request = requestBytes(resolved, requested)
    const askedMs = context.clock.monotonicMs()
    const { status, start } = await connection.ask(request, keepBytes)
    if (status === 401) await renewCredentials(connection, endpoint, resolved)
    if (status !== 200) {
      failures.add(`read: HTTP ${status}`)
      return false
    }
    seen.latencies.record(context.clock.monotonicMs() - askedMs)
    const [, written, version] = /"mark":"(\d+)\.(\d+)"/.exec(start) ?? []
    // A version from before this load counts as -1: version 0 of this load replaced it.
    const known = Number(written) === series ? Number(version) : -1
    const staleMs = acknowledged.stalenessMs(known, askedMs)
    if (staleMs > 0) {
      seen.stale++
      seen.staleness.record(staleMs)
    }
    return true
  })
}

/** Makes the next call use a new connection, and other credentials if there are any. */
async function renewCredentials(
  connection: WireConnection,
  { credentials }: Endpoint,
  resolved: ResolvedEndpoint,
): Promise<void> {
  connection.close()
  await credentials.renew(resolved.credentials)
}

/**
 * Repeats a call until the end of the load, and reconnects after failures.
 *
 * @param once returns whether it succeeded
 */
async function repeat(
  { context, endMs, failures }: SharedByClients,
  endpoint: Endpoint,
  once: (connection: WireConnection, resolved: ResolvedEndpoint) => Promise<boolean>,
): Promise<void> {
  const { clock } = context
  let connection: WireConnection | null = null
  let identity: ClientIdentity | null = null
  try {
    while (clock.monotonicMs() < endMs) {
      try {
        const resolved = await resolveEndpoint(endpoint)
        if (connection !== null && resolved.credentials.identity !== identity) connection.close()
        identity = resolved.credentials.identity
        if (connection?.isOpen !== true) connection = await WireConnection.open(resolved)
        if (await once(connection, resolved)) continue
      } catch (cause) {
        failures.add(cause instanceof Error ? cause.message : String(cause))
      }
      await pause(clock, benchLimits.backOffMs)
    }
  } finally {
    connection?.close()
  }
}
