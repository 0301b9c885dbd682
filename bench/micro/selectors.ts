/*
 * Measures the cost of watches with selectors for writers: CPU of status updates of one pod while
 * watches select other pods by label, by name, by node, and by a field without an index.
 *
 *   node dist/bench/micro/selectors.js [--watchers 1000] [--updates 60] [--rounds 5]
 *
 * The client is another process on the same machine and uses HTTP/2. CPU is that of the server
 * process, including garbage collection, and the median of the rounds.
 */
import { once } from 'node:events'
import * as http2 from 'node:http2'
import { parseArgs } from 'node:util'
import { formatTable } from '../../src/cli/terminal.ts'
import { MeasuredServer, pause } from './measured.ts'

const { values: options } = parseArgs({
  options: {
    watchers: { type: 'string', default: '1000' },
    updates: { type: 'string', default: '60' },
    rounds: { type: 'string', default: '5' },
  },
})
const [watchers, updates, rounds] = [
  Number(options.watchers),
  Number(options.updates),
  Number(options.rounds),
]
const streamsPerSession = 200
const pods = '/api/v1/namespaces/default/pods'

const kinds: readonly (readonly [what: string, query: ((at: number) => string) | null])[] = [
  ['none', null],
  ['by label', (at) => `labelSelector=${encodeURIComponent(`of=n${at}`)}`],
  ['by metadata.name', (at) => `fieldSelector=${encodeURIComponent(`metadata.name=p${at}`)}`],
  ['by spec.nodeName', (at) => `fieldSelector=${encodeURIComponent(`spec.nodeName=n${at}`)}`],
  ['by status.phase!=', () => `fieldSelector=${encodeURIComponent('status.phase!=Pending')}`],
]

const server = await MeasuredServer.start()
try {
  await run()
} finally {
  server.kill()
}

async function run(): Promise<void> {
  const client = connect()
  await ask(client, 'POST', pods, pod())
  // Warm-up.
  for (let round = 0; round < 3; round++) await update(client)
  const lines = [[`with ${watchers} watches`, `CPU ms for ${updates} updates`, 'ratio to no watches']]
  let alone = 0
  for (const [what, query] of kinds) {
    const sessions = query === null ? [] : await watch(query)
    await update(client)
    const cpu: number[] = []
    for (let round = 0; round < rounds; round++) {
      await server.printUsage(what)
      await update(client)
      // Events are sent after the last response, too.
      await pause(200)
      cpu.push((await server.printUsage(what)).cpuMs)
    }
    const median = cpu.sort((a, b) => a - b)[rounds >> 1] ?? 0
    if (query === null) alone = median
    lines.push([what, median.toFixed(0), (median / alone).toFixed(2)])
    for (const session of sessions) session.destroy()
    await pause(500)
  }
  for (const line of formatTable(lines)) console.log(line)
  client.destroy()
}

function connect(): http2.ClientHttp2Session {
  const { port, ca } = server.listening
  return http2.connect(`https://127.0.0.1:${port}`, { ca, servername: 'localhost' })
}

async function watch(query: (at: number) => string): Promise<http2.ClientHttp2Session[]> {
  const sessions: http2.ClientHttp2Session[] = []
  for (let from = 0; from < watchers; from += streamsPerSession) {
    const session = connect()
    sessions.push(session)
    const count = Math.min(streamsPerSession, watchers - from)
    const streams = Array.from({ length: count }, async (_, more) => {
      const path = `${pods}?watch=1&resourceVersion=0&${query(from + more)}`
      const stream = session.request({ ':path': path, authorization: server.listening.token })
      stream.on('error', () => undefined).resume()
      await once(stream, 'response')
    })
    await Promise.all(streams)
  }
  return sessions
}

async function update(client: http2.ClientHttp2Session): Promise<void> {
  for (let at = 0; at < updates; at++) {
    const status = { message: String(process.hrtime.bigint()) }
    await ask(client, 'PATCH', `${pods}/a/status`, { status })
  }
}

async function ask(
  client: http2.ClientHttp2Session,
  method: string,
  path: string,
  body: object,
): Promise<void> {
  const stream = client.request({
    ':path': path,
    ':method': method,
    authorization: server.listening.token,
    'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  })
  stream.end(JSON.stringify(body))
  const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  let text = ''
  for await (const chunk of stream) text += (chunk as Buffer).toString('utf8')
  if (Number(head[':status']) > 201) throw new Error(`${method} ${path}: ${text}`)
}

/** A pod of about 3 KB. */
function pod(): object {
  const env = Array.from({ length: 30 }, (_, at) => ({ name: `VARIABLE_${at}`, value: 'v'.repeat(60) }))
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a' },
    spec: { nodeName: 'elsewhere', containers: [{ name: 'c', image: 'registry.example/image:1', env }] },
  }
}
