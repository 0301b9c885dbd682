/*
 * Loaded by `--import timeline-marks.js?directory=DIRECTORY` into every thread of the servers that
 * `timeline.js` starts; the code of the server never imports it. Appends a line to a file of the
 * thread for each hand-over: the name of the mark, the time in us on the monotonic clock of the
 * machine, and the CPU time of the process in us. A mark costs about 5 us.
 */
import { subscribe } from 'node:diagnostics_channel'
import fs from 'node:fs'
import { ServerResponse } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import { Duplex, Readable } from 'node:stream'
import { MessagePort, workerData } from 'node:worker_threads'

/** Interval of writing the marks to the file. */
const flushMs = 1000
/** More marks than these are dropped until the next flush. */
const marksMax = 100_000

const directory = new URL(import.meta.url).searchParams.get('directory') ?? ''
const thread = roleOf(workerData) ?? 'api'
const marks: string[] = []

function mark(name: string): void {
  if (marks.length >= marksMax) return
  const { user, system } = process.cpuUsage()
  marks.push(`${name}\t${Math.round(Number(process.hrtime.bigint()) / 1000)}\t${user + system}`)
}

function flush(): void {
  if (marks.length === 0) return
  fs.appendFileSync(`${directory}/${process.pid}.${thread}`, `${marks.join('\n')}\n`)
  marks.length = 0
}

function roleOf(data: unknown): string | null {
  if (typeof data !== 'object' || data === null || !('role' in data)) return null
  return typeof data.role === 'string' ? data.role : null
}

/** Returns the thread at the other end of the port. */
function peerOf(port: unknown): string {
  const data: unknown = workerData
  const own = typeof data === 'object' && data !== null ? Object.entries(data) : []
  return own.find(([, value]) => value === port)?.[0] ?? (thread === 'api' ? 'another thread' : 'api')
}

/** Replaces a method by one that calls `before`, and returns what the method returns. */
function precede(
  target: object,
  name: string,
  before: (self: object, first: unknown, second: unknown) => void,
): void {
  const method: unknown = Reflect.get(target, name)
  if (typeof method !== 'function') throw new TypeError(`there is no method ${name}`)
  Reflect.set(target, name, function replaced(this: object, ...words: unknown[]): unknown {
    before(this, words[0], words[1])
    return Reflect.apply(method, this, words) as unknown
  })
}

function isHttp2(stream: object): boolean {
  return stream.constructor.name.endsWith('Http2Stream')
}

function markThreads(): void {
  precede(MessagePort.prototype, 'postMessage', (port) => mark(`posts to ${peerOf(port)}`))
  const listen: unknown = Reflect.get(MessagePort.prototype, 'on')
  if (typeof listen !== 'function') throw new TypeError('there is no method on')
  Reflect.set(MessagePort.prototype, 'on', function on(this: object, event: string, handler: unknown) {
    const handle = (...words: readonly unknown[]): void => {
      mark(`wakes by ${peerOf(this)}`)
      if (typeof handler === 'function') Reflect.apply(handler, undefined, words)
      mark('has taken it')
    }
    return Reflect.apply(listen, this, [event, event === 'message' ? handle : handler]) as unknown
  })
}

function markPeers(): void {
  precede(Duplex.prototype, 'write', (stream) => {
    if (isHttp2(stream)) mark('sends to a peer')
  })
  precede(Readable.prototype, 'push', (stream, chunk) => {
    if (isHttp2(stream) && chunk !== null) mark('receives from a peer')
  })
}

function markDisk(): void {
  const sync = fs.fdatasyncSync
  fs.fdatasyncSync = (descriptor) => {
    mark('syncs')
    sync(descriptor)
    mark('has synced')
  }
  syncBuiltinESMExports()
}

function markRequests(): void {
  subscribe('http.server.request.start', () => mark('reads a request'))
  precede(ServerResponse.prototype, 'end', () => mark('responds'))
}

if (directory !== '') {
  markThreads()
  markPeers()
  markDisk()
  if (thread === 'api') markRequests()
  setInterval(flush, flushMs).unref()
}
