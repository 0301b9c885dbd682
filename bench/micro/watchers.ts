/*
 * Measures the cost of many watchers of one member: memory per watcher, the longest turn of the API
 * thread while they connect, receive events and disconnect, and the delay of events. With --slow,
 * that many of the watchers connect later and do not read at first. The delay of the others is
 * measured before and after the slow ones connect. At the end the slow ones read what they missed.
 *
 *   node dist/bench/micro/watchers.js [--watchers 10000] [--slow 0] [--rate 10] [--seconds 20]
 *     [--framing lines|websocket|http2] [--objects 0]
 *
 * The clients are in another process on the same machine and use HTTPS; slow watchers never use
 * HTTP/2. --objects is the number of initial events of each watcher that is not slow. Both
 * processes need as many open files as there are watchers, fewer with HTTP/2.
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import * as http2 from 'node:http2'
import { get } from 'node:https'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { parseArgs } from 'node:util'
import { LatencyHistogram } from '../tool/latency-histogram.ts'
import { formatTable } from '../../src/cli/terminal.ts'
import { MeasuredServer, pause } from './measured.ts'

const { values: options } = parseArgs({
  options: {
    watchers: { type: 'string', default: '10000' },
    slow: { type: 'string', default: '0' },
    rate: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '20' },
    framing: { type: 'string', default: 'lines' },
    objects: { type: 'string', default: '0' },
  },
})
const [watchers, slow, rate] = [Number(options.watchers), Number(options.slow), Number(options.rate)]
const seconds = Number(options.seconds)
const path = '/api/v1/namespaces/watched/configmaps?watch=1'

/** Concurrent connection attempts; more wait. */
const openingMax = 50
const streamsPerSession = 200

class Tally {
  events = 0
  delays = new LatencyHistogram()

  /** Each event carries the time of its write, on the clock that both processes share. */
  take(text: string, now: bigint): void {
    for (let at = text.indexOf('"value":"'); at !== -1; at = text.indexOf('"value":"', at + 9)) {
      const written = /^\d+/.exec(text.slice(at + 9, at + 40))?.[0]
      if (written === undefined) continue
      this.events++
      this.delays.record(Number(now - BigInt(written)) / 1e6)
    }
  }
}

/**
 * Connections of the slow watchers, paused from their first bytes until the second phase is over.
 */
const paused: TLSSocket[] = []
let closed = 0
/** Number of updates by the server in the latest phase: each is one event for every watcher. */
let lastWritten = 0

const server = await MeasuredServer.start()
const { listening } = server
try {
  await run()
} finally {
  server.kill()
}

async function run(): Promise<void> {
  if (Number(options.objects) > 0) {
    await server.send({ kind: 'fill', objects: Number(options.objects), bytes: 900, namespace: 'watched' })
  }
  console.log(`${watchers} watchers, framing ${options.framing}, node ${process.version}`)
  const empty = await server.printUsage('no watchers')
  const [fast, slowTally] = [new Tally(), new Tally()]
  const started = performance.now()
  const closers = await openAll(fast, { count: watchers - slow, isSlow: false })
  await pause(2000)
  const opened = await server.printUsage(
    `opened in ${((performance.now() - started - 2000) / 1000).toFixed(1)} s`,
  )
  const each = ((opened.residentMiB - empty.residentMiB) * 1024) / (watchers - slow)
  console.log(
    `  memory for each watcher: ${each.toFixed(1)} KiB (heap ${(((opened.heapMiB - empty.heapMiB) * 1024) / (watchers - slow)).toFixed(1)})`,
  )
  await pause(10_000)
  await server.printUsage('10 s without an event')
  const lines = [['', 'events', 'of', 'p50 ms', 'p90 ms', 'p99 ms', 'longest ms']]
  lines.push(await events(fast, 'readers, without slow watchers'))
  if (slow > 0) {
    closers.push(...(await openAll(slowTally, { count: slow, isSlow: true })))
    await server.printUsage(`with ${slow} slow watchers connected`)
    const before = slowTally.events
    lines.push(await events(fast, `readers, with ${slow} slow watchers`))
    const written = lastWritten
    for (const socket of paused) socket.resume()
    await settled(slowTally)
    await server.printUsage('slow watchers have caught up')
    const missed = slowTally.events - before
    lines.push([`slow watchers, once they read`, `${missed}`, `${written * slow}`])
  }
  for (const line of formatTable(lines)) console.log(line)
  console.log(`watches that the server ended: ${closed}`)
  for (const close of closers) close()
  await pause(5000)
  await server.printUsage('all disconnected')
}

/** Runs one phase. @returns its row of the table */
async function events(tally: Tally, label: string): Promise<string[]> {
  const before = tally.events
  tally.delays = new LatencyHistogram()
  await server.send({ kind: 'update', namespace: 'watched', perSecond: rate, objects: 100 })
  await pause(seconds * 1000)
  await server.send({ kind: 'update', namespace: 'watched', perSecond: 0, objects: 0 })
  await settled(tally)
  const usage = await server.printUsage(`${rate} events/s for ${seconds} s`)
  lastWritten = usage.written
  const count = tally.events - before
  console.log(
    `  CPU for one event of one watcher ${((usage.cpuMs * 1000) / Math.max(1, count)).toFixed(1)} us`,
  )
  const delays = [0.5, 0.9, 0.99, 1].map((part) => tally.delays.quantile(part).toFixed(1))
  return [label, `${count}`, `${usage.written * (watchers - slow)}`, ...delays]
}

type Opened = { readonly count: number; readonly isSlow: boolean }

async function openAll(tally: Tally, { count, isSlow }: Opened): Promise<(() => void)[]> {
  const closers: (() => void)[] = []
  const since = isSlow ? await versionNow() : null
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      next++
      closers.push(await openOne(tally, since))
    }
  }
  if (options.framing === 'http2' && !isSlow) {
    for (let from = 0; from < count; from += streamsPerSession) {
      closers.push(await openSession(tally, Math.min(streamsPerSession, count - from)))
    }
  } else await Promise.all(Array.from({ length: openingMax }, lane))
  return closers
}

/**
 * @param since the watch begins after this version, and its events are not read until the socket is
 * resumed; null: the watch begins with the current objects and is read at once
 */
async function openOne(tally: Tally, since: string | null): Promise<() => void> {
  const socket: TLSSocket = connect({
    ...listening,
    host: '127.0.0.1',
    servername: 'localhost',
    ALPNProtocols: ['http/1.1'],
  })
  socket.on('error', () => undefined)
  // A busy server may time out a handshake.
  if (!(await happens(socket, 'secureConnect'))) return openOne(tally, since)
  const upgrade =
    options.framing === 'websocket'
      ? 'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
      : ''
  const from = since === null ? '' : `&resourceVersion=${since}`
  socket.write(
    `GET ${path}${from} HTTP/1.1\r\nhost: x\r\nauthorization: ${listening.token}\r\n${upgrade}\r\n`,
  )
  if (!(await happens(socket, 'data'))) return openOne(tally, since)
  socket.on('data', (bytes: Buffer) => tally.take(bytes.toString('latin1'), process.hrtime.bigint()))
  if (since !== null) {
    socket.pause()
    paused.push(socket)
  }
  let isLeaving = false
  socket.once('close', () => (closed += isLeaving ? 0 : 1))
  return () => {
    isLeaving = true
    socket.destroy()
  }
}

/** Returns the current version; a watch from it has no initial events. */
async function versionNow(): Promise<string> {
  const { port, ca, token } = listening
  const requested = get({
    ...{ host: 'localhost', port, ca, path: '/api/v1/namespaces/watched/configmaps?limit=1' },
    ...{ agent: false, headers: { authorization: token } },
  })
  const [response] = (await once(requested, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += (chunk as Buffer).toString('utf8')
  const version = /"resourceVersion":"(\d+)"/.exec(text)?.[1]
  if (version === undefined) throw new Error(`no version of ${text.slice(0, 200)}`)
  return version
}

/** Resolves when the watchers of this tally have received nothing for five seconds. */
async function settled(tally: Tally): Promise<void> {
  let quiet = 0
  for (let last = tally.events; quiet < 10; last = tally.events) {
    await pause(500)
    quiet = tally.events === last ? quiet + 1 : 0
  }
}

/** @returns false when the socket closed first */
function happens(socket: TLSSocket, event: 'secureConnect' | 'data'): Promise<boolean> {
  return new Promise((resolve) => {
    socket.once(event, () => resolve(true))
    socket.once('close', () => resolve(false))
  })
}

async function openSession(tally: Tally, streams: number): Promise<() => void> {
  const session = http2.connect(`https://127.0.0.1:${listening.port}`, {
    ...listening,
    servername: 'localhost',
  })
  await once(session, 'connect')
  await Promise.all(
    Array.from({ length: streams }, async () => {
      const stream = session.request({ ':path': path, authorization: listening.token })
      await once(stream, 'response')
      stream.on('error', () => undefined)
      stream.on('data', (bytes: Buffer) => tally.take(bytes.toString('latin1'), process.hrtime.bigint()))
    }),
  )
  return () => session.destroy()
}
