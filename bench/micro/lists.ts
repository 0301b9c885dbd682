/*
 * Measures the cost of long lists: CPU of a full list and of the same objects in pages, idle and
 * during writes; memory of lists with slow readers; the longest turn of the API thread; compressed
 * lists; initial events of a watch.
 *
 *   node dist/bench/micro/lists.js [--objects 50000] [--readers 50] [--rate 500] [--rounds 5]
 *
 * The client is another process on the same machine and uses HTTPS with HTTP/1.1, for slow readers
 * also with HTTP/2. Each slow reader has a connection of its own. CPU is that of the server
 * process, including garbage collection.
 */
import { once } from 'node:events'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import type { IncomingMessage } from 'node:http'
import { parseArgs } from 'node:util'
import { MeasuredServer, pause } from './measured.ts'

const { values: options } = parseArgs({
  options: {
    objects: { type: 'string', default: '50000' },
    readers: { type: 'string', default: '50' },
    rate: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '5' },
  },
})
const [objects, readers, rate] = [Number(options.objects), Number(options.readers), Number(options.rate)]
const rounds = Number(options.rounds)
const path = '/api/v1/namespaces/listed/configmaps'
/** Default window of HTTP/2. @source RFC 9113 section 6.9.2 */
const smallWindow = 65_535
const agent = new https.Agent({ keepAlive: true })

const server = await MeasuredServer.start()
try {
  await run()
} finally {
  server.kill()
}

async function run(): Promise<void> {
  await server.send({ kind: 'fill', objects, bytes: 900, namespace: 'listed' })
  console.log(`${objects} objects of 1 KB, node ${process.version}`)
  await read(path)
  await server.printUsage('filled, and listed once')
  const bytes = await measured('full list', () => read(path))
  console.log(`  ${(bytes / 2 ** 20).toFixed(1)} MiB`)
  await measured('pages of 500', pages)
  await measured('full list by a label that nothing has', () => read(`${path}?labelSelector=none`))
  await measured('pages of 500 by a label that nothing has', () =>
    read(`${path}?labelSelector=none&limit=500`),
  )
  await measured('full list, compressed', () => read(path, { 'accept-encoding': 'gzip' }))
  await measured('as a table', () => read(path, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' }))
  await measured('first events of a watch', firstEvents)
  await server.send({ kind: 'update', namespace: 'listed', perSecond: rate, objects })
  await pause(5000)
  await measuredCpu(`nothing but ${rate} writes/s for 5 s`, () => pause(5000))
  await measuredCpu(`full list, ${rate} writes/s`, () => read(path))
  await measuredCpu(`pages of 500, ${rate} writes/s`, pages)
  await server.send({ kind: 'update', namespace: 'listed', perSecond: 0, objects })
  await measuredSlowReaders('HTTP/1.1', slowHttp1)
  await measuredSlowReaders('HTTP/2, windows of 64 KiB', () => slowHttp2(smallWindow))
  await measuredSlowReaders('HTTP/2, windows of 4 MiB', () => slowHttp2(4 * 2 ** 20))
}

/** Calls `ask` once to warm up and once per round, and prints the median CPU time per object. */
async function measured<T>(what: string, ask: () => Promise<T>): Promise<T> {
  const cpu: number[] = []
  let last = await ask()
  await server.printUsage(`${what}, once`)
  for (let round = 0; round < rounds; round++) {
    last = await ask()
    cpu.push((await server.send<{ cpuMs: number }>({ kind: 'usage' })).cpuMs)
  }
  const median = cpu.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? NaN
  console.log(
    `${what}: ${((median * 1000) / objects).toFixed(2)} us for one object (${median.toFixed(0)} ms)`,
  )
  return last
}

async function measuredCpu(what: string, ask: () => Promise<unknown>): Promise<void> {
  const started = performance.now()
  await server.send({ kind: 'usage' })
  await ask()
  const { cpuMs } = await server.printUsage(what)
  console.log(`${what}: ${cpuMs.toFixed(0)} ms of CPU in ${(performance.now() - started).toFixed(0)} ms`)
}

async function pages(): Promise<void> {
  let token = ''
  do {
    const response = await ask(`${path}?limit=500${token === '' ? '' : `&continue=${token}`}`)
    let head = ''
    for await (const chunk of response)
      if (head.length < 1000) head += (chunk as Buffer).toString('latin1', 0, 1000)
    token = /"continue":"([^"]+)"/.exec(head.slice(0, 1000))?.[1] ?? ''
  } while (token !== '')
}

async function firstEvents(): Promise<void> {
  const response = await ask(`${path}?watch=1`)
  let lines = 0
  for await (const chunk of response) {
    for (const byte of chunk as Buffer) if (byte === 0x0a) lines++
    if (lines >= objects) break
  }
  response.destroy()
}

/** Measures the server's memory for clients that read only the first bytes of a full list. */
async function measuredSlowReaders(over: string, begin: () => Promise<() => void>): Promise<void> {
  const before = await server.printUsage(`before slow readers over ${over}`)
  const ends: (() => void)[] = []
  for (let at = 0; at < readers; at++) ends.push(await begin())
  await pause(3000)
  const during = await server.printUsage(`${readers} clients that do not read`)
  const each = ((during.heapMiB + during.buffersMiB - before.heapMiB - before.buffersMiB) * 1024) / readers
  const resident = ((during.residentMiB - before.residentMiB) * 1024) / readers
  console.log(
    `for each of them, ${over}: ${each.toFixed(0)} KiB of heap and buffers, ${resident.toFixed(0)} KiB resident`,
  )
  for (const end of ends) end()
  await pause(3000)
}

async function slowHttp1(): Promise<() => void> {
  const response = await ask(path, {}, false)
  response.pause()
  return () => response.destroy()
}

/** @param windowBytes flow-control window of the stream and the connection */
async function slowHttp2(windowBytes: number): Promise<() => void> {
  const { port, ca, token } = server.listening
  const session = http2.connect(`https://localhost:${port}`, {
    ca,
    settings: { initialWindowSize: windowBytes },
  })
  await once(session, 'connect')
  if (windowBytes > smallWindow) session.setLocalWindowSize(windowBytes)
  const stream = session.request({ ':path': path, authorization: token })
  stream.on('error', () => undefined)
  await once(stream, 'response')
  stream.pause()
  return () => session.destroy()
}

async function read(from: string, headers: Record<string, string> = {}): Promise<number> {
  const response = await ask(from, headers)
  let bytes = 0
  for await (const chunk of response) bytes += (chunk as Buffer).length
  return bytes
}

async function ask(
  from: string,
  headers: Record<string, string> = {},
  kept = true,
): Promise<IncomingMessage> {
  const { port, ca, token } = server.listening
  const request = https.get({
    ...{ host: 'localhost', port, ca, path: from, agent: kept ? agent : false },
    headers: { authorization: token, ...headers },
  })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`${from}: ${response.statusCode}`)
  return response
}
