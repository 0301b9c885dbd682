import * as http2 from 'node:http2'
import { Agent, request as httpsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import type { SeededRandom } from '../../../base/random.ts'
import { bodyLimits } from '../../../src/api/limits.ts'

export type Target = {
  readonly host: string
  readonly port: number
  readonly ca: string
  readonly token: string
}

type SoakRequest = {
  readonly method: string
  readonly path: string
  readonly body?: Buffer | undefined
  readonly headers?: Readonly<Record<string, string>>
}

const MiB = 1024 * 1024
/**
 * Elements of the value that takes longest to parse for its size: nearly as many as a body may
 * have.
 */
const DENSE_OBJECTS = Math.floor(bodyLimits.valuesMax * 0.48)
const things = '/apis/example.com/v1/namespaces/default/things'
const configMaps = '/api/v1/namespaces/default/configmaps'
const patchTypes = ['application/merge-patch+json', 'application/json-patch+json'] as const
const accepts = [
  'application/json',
  'application/yaml',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/vnd.kubernetes.protobuf, application/json',
]

/**
 * One user that sends requests of every kind continuously, each kind in concurrent loops, until it
 * is stopped. Responses are counted and not checked.
 */
export class SoakLoad {
  /** The number of each response, by kind of request. */
  readonly answers = new Map<string, Map<string, number>>()
  readonly #target: Target
  readonly #random: SeededRandom
  readonly #agent: Agent
  readonly #sockets = new Set<TLSSocket>()
  readonly #sessions = new Set<http2.ClientHttp2Session>()
  readonly #dense: Buffer
  #stopped = false

  constructor(target: Target, random: SeededRandom) {
    this.#dense = Buffer.from(`[${Array.from({ length: DENSE_OBJECTS }, () => '{}').join(',')}]`)
    this.#target = target
    this.#random = random
    this.#agent = new Agent({ keepAlive: true, maxSockets: 200, ca: target.ca, servername: 'localhost' })
  }

  async run(): Promise<void> {
    const loops: readonly (readonly [what: string, lanes: number, once: () => Promise<string>])[] = [
      ['large create', 40, () => this.#create('')],
      ['large create, dry run', 40, () => this.#create('?dryRun=All')],
      ['refused create', 10, () => this.#refused()],
      ['patch of a large object', 20, () => this.#patch()],
      ['delete', 2, () => this.#ask({ method: 'DELETE', path: `${things}/t${this.#random.below(8)}` })],
      ['list', 10, () => this.#list()],
      ['list or object that is not read', 10, () => this.#unread(1)],
      ['watch that is not read', 30, () => this.#unread(2)],
      ['upload that stands still', 60, () => this.#upload(0)],
      ['upload that comes slowly', 20, () => this.#upload(2000)],
      ['connection without a request', 30, () => this.#upload(null)],
      ['creates at once over HTTP/2', 2, () => this.#manyStreams()],
      ['watches over HTTP/2 that are not read', 2, () => this.#unreadStreams()],
    ]
    await Promise.all(
      loops.flatMap(([what, lanes, once]) => Array.from({ length: lanes }, () => this.#loop(what, once))),
    )
  }

  stop(): void {
    this.#stopped = true
    this.#agent.destroy()
    for (const socket of this.#sockets) socket.destroy()
    for (const session of this.#sessions) session.destroy()
  }

  /** The kinds of request of which a valid one was rejected as invalid. */
  get wrongAnswers(): readonly string[] {
    return [...this.answers].flatMap(([what, counts]) => (counts.has('400') ? [what] : []))
  }

  async #loop(what: string, once: () => Promise<string>): Promise<void> {
    const counts = new Map<string, number>()
    const known = this.answers.get(what) ?? counts
    this.answers.set(what, known)
    while (!this.#stopped) {
      const answer = await once().catch(() => 'cut off')
      if (this.#stopped) return
      known.set(answer, (known.get(answer) ?? 0) + 1)
      await sleep(answer === '429' ? 100 + this.#random.below(400) : 20)
    }
  }

  #create(query: string): Promise<string> {
    const name = `t${this.#random.below(8)}`
    const kind = this.#random.below(3)
    if (kind === 0)
      return this.#ask({ method: 'POST', path: `${configMaps}${query}`, body: this.#configMap(name) })
    const head = `{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"${name}"},"spec":`
    // Either as many values as a body may have, or much text.
    const spec = kind === 1 ? this.#dense : Buffer.from(JSON.stringify('x'.repeat(this.#random.below(MiB))))
    const body = Buffer.concat([Buffer.from(head), spec, Buffer.from('}')])
    return this.#ask({ method: 'POST', path: `${things}${query}`, body })
  }

  #configMap(name: string): Buffer {
    const data = Array.from({ length: 20_000 }, (_, at) => `"k${at}":"${this.#random.below(1000)}"`)
    const head = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{`
    return Buffer.from(`${head}${data.join(',')}}}`)
  }

  /** Sends an invalid request. Only a malformed body may be answered with 400. */
  async #refused(): Promise<string> {
    const labels = Array.from({ length: 5000 }, (_, at) => `"-${at}":"-"`).join(',')
    const [body, isBad] = [
      ['{"metadata":{"name":"A B"},"data":1}', true] as const,
      [`{"metadata":{"name":"a","labels":{${labels}}}}`, false] as const,
      ['['.repeat(MiB), true] as const,
      ['{"metadata":{"name":"a"},"data":', true] as const,
    ][this.#random.below(4)] ?? ['', false]
    const answer = await this.#ask({ method: 'POST', path: configMaps, body: Buffer.from(body) })
    return answer === '400' && isBad ? 'refused with the reason' : answer
  }

  #patch(): Promise<string> {
    const type = patchTypes[this.#random.below(2)] ?? patchTypes[0]
    const annotations = { at: String(this.#random.below(1e6)) }
    const merge = { metadata: { annotations } }
    const operations = [{ op: 'add', path: '/metadata/annotations', value: annotations }]
    const body = Buffer.from(JSON.stringify(type === patchTypes[0] ? merge : operations))
    const path = `${this.#random.below(2) === 0 ? things : configMaps}/t${this.#random.below(8)}`
    return this.#ask({ method: 'PATCH', path, body, headers: { 'content-type': type } })
  }

  #list(): Promise<string> {
    const headers = {
      accept: accepts[this.#random.below(accepts.length)] ?? '',
      'accept-encoding': this.#random.below(2) === 0 ? 'gzip' : 'identity',
    }
    const path = [things, configMaps, '/api/v1/events', `${things}?limit=2`, '/openapi/v2'][
      this.#random.below(5)
    ]
    return this.#ask({ method: 'GET', path: path ?? things, headers })
  }

  #ask({ method, path, body, headers }: SoakRequest): Promise<string> {
    const { host, port, token } = this.#target
    return new Promise((resolve, reject) => {
      const more =
        body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }
      const request = httpsRequest({
        ...{ host, port, method, path, agent: this.#agent },
        headers: { authorization: `Bearer ${token}`, ...more, ...headers },
      })
      request.on('error', reject)
      request.on('response', (response) => {
        response.on('error', reject).on('end', () => resolve(String(response.statusCode)))
        response.resume()
      })
      request.end(body)
    })
  }

  /** Opens a socket that sends `head` and reads nothing. */
  async #socket(head: string): Promise<TLSSocket> {
    const { host, port, ca } = this.#target
    const socket = connect({ host, port, ca, servername: 'localhost', ALPNProtocols: ['http/1.1'] })
    this.#sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket))
    socket.pause().write(head)
    return socket
  }

  /** @returns `cut off` if the server ended the connection, else `left` */
  async #unread(kind: 1 | 2): Promise<string> {
    const path = kind === 1 ? things : `${this.#random.below(2) === 0 ? things : configMaps}?watch=1`
    const accept = accepts[this.#random.below(3)] ?? ''
    const socket = await this.#socket(this.#head('GET', path, `accept: ${accept}\r\n`))
    await sleep(5000 + this.#random.below(20_000))
    const answer = socket.destroyed ? 'cut off' : 'left'
    socket.destroy()
    return answer
  }

  /** @param everyMs interval of single bytes; 0: no bytes; null: not even a request */
  async #upload(everyMs: number | null): Promise<string> {
    const length = 1000 + this.#random.below(3 * MiB - 1000)
    const head = this.#head(
      'POST',
      configMaps,
      `content-type: application/json\r\ncontent-length: ${length}\r\n`,
    )
    const socket = await this.#socket(everyMs === null ? '' : head)
    let answer = 'cut off'
    socket.on(
      'data',
      (bytes: Buffer) => (answer = /^HTTP\/1\.1 (\d+)/.exec(bytes.toString('latin1'))?.[1] ?? answer),
    )
    socket.resume()
    const drip = everyMs === null || everyMs === 0 ? null : setInterval(() => socket.write('{'), everyMs)
    await new Promise((resolve) => socket.once('close', resolve))
    if (drip !== null) clearInterval(drip)
    return answer
  }

  #head(method: string, path: string, more: string): string {
    return `${method} ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${this.#target.token}\r\n${more}\r\n`
  }

  #session(): http2.ClientHttp2Session {
    const { host, port, ca } = this.#target
    const settings = { initialWindowSize: 16 * MiB }
    const session = http2.connect(`https://${host}:${port}`, { ca, servername: 'localhost', settings })
    this.#sessions.add(session)
    session.on('error', () => undefined).on('close', () => this.#sessions.delete(session))
    return session
  }

  async #manyStreams(): Promise<string> {
    const session = this.#session()
    const authorization = `Bearer ${this.#target.token}`
    let answer = 'done'
    const streams = Array.from({ length: 100 }, async () => {
      const stream = session.request({
        ...{ ':method': 'POST', ':path': `${configMaps}?dryRun=All`, authorization },
        'content-type': 'application/json',
      })
      stream.on('error', () => undefined).resume()
      stream.on('response', (headers) => {
        if (headers[':status'] === 400) answer = '400'
      })
      stream.end(this.#configMap(`h${this.#random.below(100)}`))
      await new Promise((resolve) => stream.once('close', resolve))
    })
    await Promise.all(streams)
    session.destroy()
    return answer
  }

  async #unreadStreams(): Promise<string> {
    const session = this.#session()
    const authorization = `Bearer ${this.#target.token}`
    for (let at = 0; at < 100; at++) {
      const stream = session.request({ ':path': `${things}?watch=1`, authorization })
      stream.on('error', () => undefined).pause()
    }
    await sleep(10_000 + this.#random.below(20_000))
    const answer = session.destroyed ? 'cut off' : 'left'
    session.destroy()
    return answer
  }
}
