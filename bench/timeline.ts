/*
 * Draws the timeline of one request to a quiet cluster of three: what each thread of each member
 * does, when, and the CPU time of the member since its previous mark. One client sends requests to
 * the leader one by one, with a pause of `--pause` ms after each.
 *
 *   node dist/bundle/bench/timeline.js [--request create|get] [--requests 400] [--pause 20]
 *     [--one]
 *
 * --one: only the request of median duration, mark by mark. Otherwise medians over all requests; a
 * mark is listed if at least half of the requests have it, so heartbeats and timers are not. The
 * marks themselves cost about 5 us each.
 */
import { readFileSync, readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { makeDirectoriesSync } from '../base/make-directories.ts'
import { fetchStatus } from '../src/cli/cluster-status.ts'
import { localServers } from '../src/cli/bench-local.ts'
import { formatTable } from '../src/cli/terminal.ts'
import type { Endpoint } from '../src/credentials/endpoint.ts'
import { MachineClock } from '../src/host/machine-clock.ts'
import { pause } from '../tools/verify/pause.ts'
import { Namespaces } from './tool/namespaces.ts'
import { collectionOf, configMap, requestBytes } from './tool/generator/requests.ts'
import { WireConnection } from './tool/generator/wire-connection.ts'
import { OwnCluster, takeDown, terminal } from './own-cluster.ts'

const { values: options } = parseArgs({
  options: {
    request: { type: 'string', default: 'create' },
    requests: { type: 'string', default: '400' },
    pause: { type: 'string', default: '20' },
    one: { type: 'boolean', default: false },
  },
})
if (!['create', 'get'].includes(options.request)) throw new Error('--request must be create or get')
const [requests, pauseMs] = [Number(options.requests), Number(options.pause)]
/** Requests sent before the measured ones, so that most of the code is compiled. */
const warmUp = 600
const payloadBytes = 1000
/** Longer than the interval at which the marks are written. */
const settleMs = 2500
/** A mark is listed if this share of the requests has it. */
const shareMin = 0.5

type Mark = {
  readonly name: string
  readonly us: number
  /** CPU time of the process until then. */
  readonly cpuUs: number
  /** CPU time of the process since its previous mark, on whichever thread. */
  costUs: number
}
type Lane = { readonly member: string; readonly thread: string; readonly marks: readonly Mark[] }
type Row = { readonly us: number; readonly cells: readonly string[] }
type Sent = { readonly beginUs: number; readonly endUs: number }

const results = resolve('.build/bench')
const [directory, marksDirectory] = [`${results}/timeline-cluster`, `${results}/timeline-marks`]
const clock = new MachineClock()

rmSync(marksDirectory, { recursive: true, force: true })
makeDirectoriesSync(marksDirectory)
const hook = new URL('timeline-marks.js', import.meta.url)
hook.searchParams.set('directory', marksDirectory)
try {
  // The members are started with the environment of this process.
  process.env['NODE_OPTIONS'] = `--import ${hook.href}`
  const cluster = await OwnCluster.up(directory)
  delete process.env['NODE_OPTIONS']
  await run(cluster)
} finally {
  await takeDown(directory)
  rmSync(marksDirectory, { recursive: true, force: true })
}

async function run({ endpoints }: OwnCluster): Promise<void> {
  const pids = localServers(terminal, directory, endpoints)?.pids() ?? []
  const statuses = await Promise.all(endpoints.map(fetchStatus))
  const leader = endpoints.find((_, at) => statuses[at]?.role === 'leader')
  if (leader === undefined || pids.length !== endpoints.length) throw new Error('the cluster is not complete')
  const { name: namespace } = await new Namespaces(endpoints, clock, 'timeline').make('one')
  const sent = await sendAll(leader, namespace)
  await pause(clock, settleMs)
  let followers = 0
  const names = new Map<number, string>()
  for (const [at, endpoint] of endpoints.entries()) {
    names.set(pids[at] ?? 0, endpoint === leader ? 'leader' : `follower ${++followers}`)
  }
  print(lanesIn(marksDirectory, names), sent)
}

async function sendAll({ credentials, ...endpoint }: Endpoint, namespace: string): Promise<readonly Sent[]> {
  const resolved = { ...endpoint, credentials: await credentials.current() }
  const connection = await WireConnection.open(resolved)
  const sent: Sent[] = []
  for (let at = 0; at < warmUp + requests; at++) {
    const collection = collectionOf(namespace)
    const bytes = requestBytes(
      resolved,
      options.request === 'get' && at > 0
        ? { method: 'GET', path: `${collection}/o0` }
        : { method: 'POST', path: collection, body: configMap(`o${at}`, payloadBytes) },
    )
    const beginUs = nowUs()
    const { status } = await connection.ask(bytes)
    if (status >= 300) throw new Error(`the server responded with ${status}`)
    if (at < warmUp) continue
    sent.push({ beginUs, endUs: nowUs() })
    await pause(clock, pauseMs)
  }
  return sent
}

function nowUs(): number {
  return Number(process.hrtime.bigint()) / 1000
}

/** Returns the marks of each thread. */
function lanesIn(path: string, names: ReadonlyMap<number, string>): readonly Lane[] {
  const lanes = readdirSync(path).flatMap((file) => {
    const [pid = '', thread = ''] = file.split('.')
    const member = names.get(Number(pid))
    if (member === undefined) return []
    const lines = readFileSync(join(path, file), 'utf8').trimEnd().split('\n')
    const marks = lines.map((line) => {
      const [name = '', us = '', cpuUs = ''] = line.split('\t')
      return { name, us: Number(us), cpuUs: Number(cpuUs), costUs: 0 }
    })
    return [{ member, thread, marks }]
  })
  for (const member of names.values()) {
    const all = lanes.filter((lane) => lane.member === member).flatMap(({ marks }) => marks)
    all.sort((a, b) => a.us - b.us)
    for (const [at, mark] of all.entries()) mark.costUs = mark.cpuUs - (all[at - 1]?.cpuUs ?? mark.cpuUs)
  }
  return lanes
}

function print(lanes: readonly Lane[], sent: readonly Sent[]): void {
  const byDuration = sent.toSorted((a, b) => a.endUs - a.beginUs - (b.endUs - b.beginUs))
  const middle = byDuration[Math.floor(sent.length / 2)]
  if (middle === undefined) return
  const rows: readonly Row[] = [
    { us: 0, cells: ['client', '', 'sends', '', ''] },
    { us: middle.endUs - middle.beginUs, cells: ['client', '', 'has read', '', ''] },
    ...lanes.flatMap((lane) => (options.one ? rowsOfOne(lane, middle) : rowsOf(lane, sent))),
  ].toSorted((a, b) => a.us - b.us)
  const head = ['MS', 'MEMBER', 'THREAD', 'WHAT', 'CPU US', 'OF REQUESTS']
  const body = rows.map(({ us, cells }) => [(us / 1000).toFixed(2), ...cells])
  for (const line of formatTable([head, ...body])) console.log(line)
}

function rowsOfOne({ member, thread, marks }: Lane, { beginUs }: Sent): readonly Row[] {
  const endUs = beginUs + pauseMs * 1000
  return marks
    .filter(({ us }) => us >= beginUs && us < endUs)
    .map(({ us, name, costUs }) => ({
      us: us - beginUs,
      cells: [member, thread, name, costUs.toFixed(0), ''],
    }))
}

/**
 * Returns the usual marks of the thread, with their median times and costs. A mark is identified by
 * its name and its number among the marks of that name in one request, because the order of the
 * peers varies.
 */
function rowsOf({ member, thread, marks }: Lane, sent: readonly Sent[]): readonly Row[] {
  const found = new Map<string, Mark[]>()
  for (const [at, { beginUs }] of sent.entries()) {
    const endUs = sent[at + 1]?.beginUs ?? Infinity
    const counts = new Map<string, number>()
    for (const mark of marks) {
      if (mark.us < beginUs || mark.us >= endUs) continue
      const nth = (counts.get(mark.name) ?? 0) + 1
      counts.set(mark.name, nth)
      const id = `${mark.name} (${nth})`
      found.set(id, [...(found.get(id) ?? []), { ...mark, us: mark.us - beginUs }])
    }
  }
  return [...found].flatMap(([id, same]) => {
    if (same.length < sent.length * shareMin) return []
    const cost = median(same.map(({ costUs }) => costUs)).toFixed(0)
    const share = `${Math.round((100 * same.length) / sent.length)} %`
    return { us: median(same.map(({ us }) => us)), cells: [member, thread, id, cost, share] }
  })
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}
