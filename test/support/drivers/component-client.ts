import assert from 'node:assert/strict'
import { connect } from 'node:http2'
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  IncomingHttpStatusHeader,
} from 'node:http2'
import type { TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { objectMember, objectsMember } from '../../../src/api/json.ts'
import type { JsonObject } from '../../../src/api/json.ts'
import type { ObjectSchema } from '../../../src/api/schema/schema.ts'
import type { SeededRandom } from '../../../base/random.ts'
import type { Identity } from '../../../fixtures/server-fixture.ts'
import type { AccessServer } from '../fixtures/access-server.ts'
import { eventsAs, listSchema, readAs } from './representations.ts'
import type { SeenEvent } from './representations.ts'

/** The credentials of a component: a client certificate or a token. */
export type Credentials = { readonly identity: Identity } | { readonly token: string }

export type ComponentReply = {
  readonly status: number
  /** Media type with its parameters. */
  readonly type: string
  readonly bytes: Buffer
  /** Empty unless the response is JSON. */
  readonly doc: JsonObject
}

export type ComponentCall = {
  readonly accept?: string
  readonly type?: string
  /** Sent as it is when it is bytes, else as JSON. */
  readonly body?: JsonObject | Uint8Array
}

/** The objects that an informer lists and watches, and the media types that it requests. */
export type Followed = {
  readonly path: string
  /** Query parameters of both calls. */
  readonly query?: string
  readonly listAccept: string
  readonly watchAccept: string
  /** The schema of one object in protobuf. */
  readonly schema: ObjectSchema
  /** The media type that the server has to use. */
  readonly encoding: 'json' | 'protobuf'
}

/** A started informer: the list and the watch from its version on. */
export type FollowedList = {
  readonly items: readonly JsonObject[]
  readonly watch: OpenWatch
}

/** A component of the control plane: all its calls use one HTTP/2 connection, as client-go does. */
export class ComponentClient {
  readonly #session: ClientHttp2Session
  readonly #headers: Readonly<Record<string, string>>
  readonly #random: SeededRandom

  constructor(t: TestContext, api: AccessServer, credentials: Credentials, random: SeededRandom) {
    const { identity, token } = { identity: undefined, token: undefined, ...credentials }
    this.#session = connect(api.url, { ca: api.serverAuthority.pem, ...identity })
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    this.#random = random
    // An error of the connection fails the calls on it.
    this.#session.on('error', () => undefined)
    t.after(() => this.#session.destroy())
  }

  async ask(method: string, path: string, call: ComponentCall = {}): Promise<ComponentReply> {
    const { stream, headers } = await this.#send(method, path, call)
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    const sent = Buffer.concat(chunks)
    const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent
    const type = headers['content-type'] ?? ''
    const doc = type === 'application/json' ? (JSON.parse(bytes.toString()) as JsonObject) : {}
    return { status: statusOf(headers), type, bytes, doc }
  }

  /** Lists and then watches, as the reflector of an informer does. */
  async follow(followed: Followed): Promise<FollowedList> {
    const { path, query = '', listAccept, watchAccept, schema, encoding } = followed
    const more = query === '' ? '' : `${query}&`
    const listed = `${path}?${more}limit=500&resourceVersion=0`
    const list = await this.ask('GET', listed, { accept: listAccept })
    assert.equal(list.status, 200, `GET ${listed}: ${list.bytes.toString()}`)
    const protobuf = 'application/vnd.kubernetes.protobuf'
    const listType = encoding === 'protobuf' ? protobuf : 'application/json'
    assert.equal(list.type, listType, listed)
    const document = readAs(encoding, listSchema(schema), list.bytes)
    const version = objectMember(document, 'metadata')['resourceVersion'] as string
    const timeout = 300 + this.#random.below(300)
    const range = `resourceVersion=${version}&timeoutSeconds=${timeout}&watch=true`
    const watched = `${path}?allowWatchBookmarks=true&${more}${range}`
    const { stream, headers } = await this.#send('GET', watched, { accept: watchAccept })
    assert.equal(statusOf(headers), 200, `GET ${watched}`)
    const watchType = encoding === 'protobuf' ? `${protobuf};stream=watch` : 'application/json'
    assert.equal(headers['content-type'], watchType, watched)
    assert.equal(headers['content-encoding'], undefined, watched)
    return { items: objectsMember(document, 'items'), watch: new OpenWatch(stream, followed) }
  }

  /** Returns the stream of a response whose headers have arrived. */
  #send(
    method: string,
    path: string,
    { accept = 'application/json', type = 'application/json', body }: ComponentCall,
  ): Promise<{ readonly stream: ClientHttp2Stream; readonly headers: ResponseHeaders }> {
    const stream = this.#session.request({
      ':method': method,
      ':path': path,
      accept,
      'accept-encoding': 'gzip',
      ...(body === undefined ? {} : { 'content-type': type }),
      ...this.#headers,
    })
    return new Promise((resolve, reject) => {
      stream.on('error', reject)
      stream.on('response', (headers) => resolve({ stream, headers }))
      stream.end(body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body))
    })
  }
}

type ResponseHeaders = IncomingHttpHeaders & IncomingHttpStatusHeader

function statusOf(headers: ResponseHeaders): number {
  return headers[':status'] ?? 0
}

/** A watch in progress. */
export class OpenWatch {
  readonly path: string
  readonly #followed: Followed
  #bytes = Buffer.alloc(0)
  #isOpen = true

  constructor(stream: ClientHttp2Stream, followed: Followed) {
    this.#followed = followed
    this.path = `${followed.path}?${followed.query ?? ''} as ${followed.watchAccept}`
    stream.on('data', (chunk: Buffer) => (this.#bytes = Buffer.concat([this.#bytes, chunk])))
    stream.on('close', () => (this.#isOpen = false))
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Returns the whole events so far. */
  events(): readonly SeenEvent[] {
    const { encoding, schema } = this.#followed
    const whole = encoding === 'json' ? wholeLines(this.#bytes) : wholeFrames(this.#bytes)
    return eventsAs(encoding, () => schema, whole)
  }
}

function wholeLines(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.lastIndexOf('\n') + 1)
}

function wholeFrames(bytes: Buffer): Buffer {
  let end = 0
  while (end + 4 <= bytes.length) {
    const next = end + 4 + bytes.readUInt32BE(end)
    if (next > bytes.length) break
    end = next
  }
  return bytes.subarray(0, end)
}
