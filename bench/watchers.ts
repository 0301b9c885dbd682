/*
 * What many watchers of one member cost: memory of each, the longest turn of the api thread while they come, while they
 * are told events and while they leave, how late events are, with and without clients that do not read.
 *
 *   node dist/bench/watchers.js [--watchers 10000] [--slow 0] [--rate 10] [--seconds 20] [--framing lines|websocket|http2] [--objects 0]
 *
 * HTTPS, from another process on the same machine. --objects: what each is told first. Needs as many open files as watchers.
 */
import { once } from 'node:events'
import * as http2 from 'node:http2'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { parseArgs } from 'node:util'
import { MeasuredServer, pause } from './support/measured.ts'

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

/** Opened at once by the client; more wait. */
const openingMax = 50
const streamsPerSession = 200

class Tally {
  events = 0
  initial = 0
  readonly delaysMs: number[] = []

  /** Each event carries when it was written, by the clock both processes share. */
  take(text: string, now: bigint): void {
    for (let at = text.indexOf('"value":"'); at !== -1; at = text.indexOf('"value":"', at + 9)) {
      const written = /^\d+/.exec(text.slice(at + 9, at + 40))?.[0]
      if (written === undefined) continue
      this.events++
      if (this.delaysMs.length < 2_000_000) this.delaysMs.push(Number(now - BigInt(written)) / 1e6)
    }
  }

  quantile(part: number): number {
    const sorted = this.delaysMs.toSorted((a, b) => a - b)
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
  }
}

const server = await MeasuredServer.start()
const { listening } = server
try {
  await run()
} finally {
  server.kill()
}

async function run(): Promise<void> {
  if (Number(options.objects) > 0) {
    await server.tell({ kind: 'fill', objects: Number(options.objects), bytes: 900, namespace: 'watched' })
  }
  console.log(`${watchers} watchers, framing ${options.framing}, node ${process.version}`)
  const empty = await server.look('nobody is there')
  const tally = new Tally()
  const started = performance.now()
  const closers = await openAll(tally)
  await pause(2000)
  const opened = await server.look(`opened in ${((performance.now() - started - 2000) / 1000).toFixed(1)} s`)
  const each = ((opened.residentMiB - empty.residentMiB) * 1024) / watchers
  console.log(
    `  memory for each watcher: ${each.toFixed(1)} KiB (heap ${(((opened.heapMiB - empty.heapMiB) * 1024) / watchers).toFixed(1)})`,
  )
  await pause(10_000)
  await server.look('10 s without an event')
  const before = tally.events
  tally.delaysMs.length = 0
  await server.tell({ kind: 'update', namespace: 'watched', perSecond: rate, objects: 100 })
  await pause(seconds * 1000)
  await server.tell({ kind: 'update', namespace: 'watched', perSecond: 0, objects: 0 })
  await settled(tally)
  const told = await server.look(`${rate} events/s for ${seconds} s`)
  const expected = told.written * (watchers - slow)
  console.log(
    `  told to the ${watchers - slow} that read: ${tally.events - before} of ${expected}; late by ` +
      [0.5, 0.9, 0.99, 1].map((part) => `${tally.quantile(part).toFixed(1)}`).join(', ') +
      ' ms (50 %, 90 %, 99 %, all); CPU for one event of one watcher ' +
      `${((told.cpuMs * 1000) / Math.max(1, told.written * watchers)).toFixed(1)} us`,
  )
  for (const close of closers) close()
  await pause(5000)
  await server.look('all left')
}

async function openAll(tally: Tally): Promise<(() => void)[]> {
  const closers: (() => void)[] = []
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < watchers) {
      const at = next++
      closers.push(await openOne(tally, at < slow))
    }
  }
  if (options.framing === 'http2') {
    for (let from = 0; from < watchers; from += streamsPerSession) {
      closers.push(await openSession(tally, Math.min(streamsPerSession, watchers - from)))
    }
  } else await Promise.all(Array.from({ length: openingMax }, lane))
  return closers
}

async function openOne(tally: Tally, neverReads: boolean): Promise<() => void> {
  const socket: TLSSocket = connect({
    ...listening,
    host: '127.0.0.1',
    servername: 'localhost',
    ALPNProtocols: ['http/1.1'],
  })
  socket.on('error', () => undefined)
  // A server with too much to do gives up on a handshake.
  if (!(await happens(socket, 'secureConnect'))) return openOne(tally, neverReads)
  const upgrade =
    options.framing === 'websocket'
      ? 'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
      : ''
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: ${listening.token}\r\n${upgrade}\r\n`)
  if (!(await happens(socket, 'data'))) return openOne(tally, neverReads)
  if (neverReads) socket.pause()
  else socket.on('data', (bytes: Buffer) => tally.take(bytes.toString('latin1'), process.hrtime.bigint()))
  return () => socket.destroy()
}

/** Resolves when nobody was told anything for five seconds. */
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
