/*
 * Three real members on this machine, real HTTPS, the load generator in this process: rates, latencies and the
 * CPU time of all server processes for each operation. Durability as shipped: an acknowledged write is on the disks
 * of a majority.
 */
import { createHistogram } from 'node:perf_hooks'
import type { RecordableHistogram } from 'node:perf_hooks'
import { ProcessCluster } from '../test/support/process-cluster.ts'
import { Http1Connection } from './support/http1-connection.ts'
import type { Endpoint } from './support/http1-connection.ts'
import { cpuMsOf, residentMiBOf } from './support/process-cpu.ts'

export type Row = {
  readonly work: string
  readonly operations: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU of all servers for one operation. */
  readonly cpuMs: number
  readonly generatorCpuMs: number
  readonly memoryMiB: readonly number[]
}

type Load = {
  readonly work: string
  readonly connections: number
  readonly seconds: number
  /** The bytes of request number `n` of connection `c`. */
  readonly request: (c: number, n: number) => Buffer
  readonly expect: number
  /** Which members the connections go to, in turn. */
  readonly members: readonly number[]
}

const kibibyte = 'x'.repeat(1000)
const namespacePath = '/api/v1/namespaces/bench/configmaps'

function requestBytes(method: string, path: string, body: string | null): Buffer {
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: localhost',
    'Authorization: Bearer test-admin-token',
    'Accept: application/json',
  ]
  if (body !== null) head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body ?? ''}`)
}

function configMap(name: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { payload: kibibyte },
  })
}

async function drive(
  load: Load,
  connection: Http1Connection,
  c: number,
  endMs: number,
  histogram: RecordableHistogram,
): Promise<number> {
  let done = 0
  for (let n = 0; performance.now() < endMs; n++) {
    const startedMs = performance.now()
    const received = await connection.send(load.request(c, n))
    if (received.status !== load.expect) throw new Error(`${load.work}: HTTP ${received.status}`)
    histogram.record(Math.max(1, Math.round((performance.now() - startedMs) * 1000)))
    done++
  }
  return done
}

async function measure(cluster: ProcessCluster, load: Load): Promise<Row> {
  const endpoints: Endpoint[] = load.members.map((at) => {
    const member = cluster.members[at]
    if (member === undefined) throw new Error(`no member ${at}`)
    return { host: '127.0.0.1', port: Number(new URL(member.url).port), ca: cluster.credentials.ca }
  })
  const connections = await Promise.all(
    Array.from({ length: load.connections }, (_, c) =>
      Http1Connection.open(endpoints[c % endpoints.length] as Endpoint),
    ),
  )
  const histogram = createHistogram()
  const serversBefore = cluster.members.map(({ pid }) => cpuMsOf(pid))
  const generatorBefore = process.cpuUsage()
  const startedMs = performance.now()
  const endMs = startedMs + load.seconds * 1000
  const counts = await Promise.all(
    connections.map((connection, c) => drive(load, connection, c, endMs, histogram)),
  )
  const elapsedS = (performance.now() - startedMs) / 1000
  const servers = cluster.members.reduce(
    (sum, { pid }, at) => sum + cpuMsOf(pid) - (serversBefore[at] ?? 0),
    0,
  )
  const generator = process.cpuUsage(generatorBefore)
  for (const connection of connections) connection.close()
  const operations = counts.reduce((sum, count) => sum + count, 0)
  return {
    work: load.work,
    operations,
    perSecond: operations / elapsedS,
    p50Ms: histogram.percentile(50) / 1000,
    p99Ms: histogram.percentile(99) / 1000,
    cpuMs: servers / operations,
    generatorCpuMs: (generator.user + generator.system) / 1000 / operations,
    memoryMiB: cluster.members.map(({ pid }) => Math.round(residentMiBOf(pid))),
  }
}

/** @param seconds each load runs */
export async function benchHttp(options: {
  readonly seconds: number
  readonly print: (row: Row) => void
}): Promise<readonly Row[]> {
  const cluster = await ProcessCluster.start({ members: 3 })
  try {
    const first = cluster.members[0]
    if (first === undefined) throw new Error('a cluster has members')
    await first.client.post('/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'bench' },
    })
    const leaderAt = cluster.members.indexOf(await cluster.leader())
    const followerAt = (leaderAt + 1) % cluster.members.length
    const everyone = [0, 1, 2]
    let run = 0
    const creating = (work: string, connections: number, members: readonly number[]): Load => {
      run++
      const mark = run
      return {
        work,
        connections,
        members,
        seconds: options.seconds,
        expect: 201,
        request: (c, n) => requestBytes('POST', namespacePath, configMap(`r${mark}-c${c}-n${n}`)),
      }
    }
    const reading = (work: string, connections: number, members: readonly number[], path: string): Load => {
      const request = requestBytes('GET', path, null)
      return { work, connections, members, seconds: options.seconds, expect: 200, request: () => request }
    }
    for (let n = 0; n < 1000; n++) {
      const made = await first.client.post(
        '/api/v1/namespaces/default/configmaps',
        JSON.parse(configMap(`l${n}`)),
      )
      if (made.status !== 201) throw new Error(made.text)
    }
    const one = '/api/v1/namespaces/default/configmaps/l7'
    const thousand = '/api/v1/namespaces/default/configmaps'
    const loads: readonly Load[] = [
      creating('create, 1 client', 1, [leaderAt]),
      creating('create, 64 clients, all members', 64, everyone),
      creating('create, 64 clients, leader', 64, [leaderAt]),
      reading('get, most recent, 64 clients, all members', 64, everyone, one),
      reading('get, most recent, 64 clients, a follower', 64, [followerAt], one),
      reading('get, any, 64 clients', 64, [followerAt], `${one}?resourceVersion=0`),
      reading('list 1,000, most recent, 8 clients', 8, [followerAt], thousand),
      reading('list 1,000, any, 8 clients', 8, [followerAt], `${thousand}?resourceVersion=0`),
    ]
    // A server is measured as it runs for weeks, not in its first seconds: the runtime compiles what is used.
    for (const load of [
      creating('warm', 64, everyone),
      reading('warm', 64, everyone, one),
      reading('warm', 8, everyone, thousand),
    ]) {
      await measure(cluster, load)
    }
    const rows: Row[] = []
    for (const load of loads) {
      const row = await measure(cluster, load)
      options.print(row)
      rows.push(row)
    }
    return rows
  } finally {
    await cluster.remove()
  }
}
