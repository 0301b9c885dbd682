import type { TestContext } from 'node:test'
import { namesOf } from '../../src/api/names.ts'
import type { ApiDomain } from '../../src/api/names.ts'
import type { ServerParts } from '../../src/server/parts.ts'
import { realRegistry } from '../../fixtures/real-registry.ts'
import { ADMIN, serverAround } from '../../fixtures/server-fixture.ts'
import { systemClock } from '../../fixtures/system.ts'
import { gotOf, watchedOf } from './version-table.ts'
import type { Asked } from './version-table.ts'

/** Any JSON, looked into without ceremony: what is missing is empty. */
export type Doc = {
  readonly kind?: string
  readonly apiVersion?: string
  readonly metadata?: {
    readonly name?: string
    readonly namespace?: string
    readonly uid?: string
    readonly resourceVersion?: string
    readonly creationTimestamp?: string
    readonly deletionTimestamp?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly items?: readonly Doc[]
  readonly data?: Readonly<Record<string, string>>
  readonly status?: unknown
  readonly reason?: string
  readonly message?: string
  readonly code?: number
  readonly [member: string]: unknown
}

export type Reply = {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Uint8Array
  readonly text: string
  /** Empty unless the answer is JSON. */
  readonly doc: Doc
}

export type Asking = {
  readonly body?: unknown
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The client leaves. */
  readonly signal?: AbortSignal
}

export type WatchEvent = { readonly type: string; readonly object: Doc }

/** The shipped server, verbs and machine of one member, spoken to over a socket. */
export class SpecServer {
  readonly #url: string
  readonly #trim: () => Promise<void>

  constructor(url: string, trim: () => Promise<void>) {
    this.#url = url
    this.#trim = trim
  }

  static async start(
    t: TestContext,
    options: { readonly domain?: ApiDomain; readonly parts?: Partial<ServerParts> } = {},
  ): Promise<SpecServer> {
    const domain = options.domain ?? 'orch.io'
    const { registry, store, close } = await realRegistry(domain)
    const { server } = await serverAround(registry, { store, names: namesOf(domain), ...options.parts })
    const { port } = await server.listen('127.0.0.1', 0)
    t.after(async () => {
      await server.drain({ shutdownDelayMs: 0, graceMs: 0 })
      await close()
    })
    return new SpecServer(`http://127.0.0.1:${port}`, async () => {
      const deadlineMs = systemClock.monotonicMs() + 10_000
      const settings = { ...store.settings, historyEventsMin: 0 }
      await store.write({ kind: 'change-settings', settings }, deadlineMs)
      await store.write({ kind: 'trim', upTo: store.view().revision }, deadlineMs)
    })
  }

  /** As the administrator, unless other credentials are given. */
  async ask(method: string, path: string, asking: Asking = {}): Promise<Reply> {
    const { body, type = 'application/json' } = asking
    const sent = body instanceof Uint8Array || typeof body === 'string' ? body : JSON.stringify(body)
    const response = await fetch(this.#url + path, {
      method,
      headers: { ...ADMIN, ...(body === undefined ? {} : { 'content-type': type }), ...asking.headers },
      ...(sent === undefined ? {} : { body: sent }),
      ...(asking.signal === undefined ? {} : { signal: asking.signal }),
    })
    const bytes = new Uint8Array(await response.arrayBuffer())
    const text = Buffer.from(bytes).toString('utf8')
    // Of a watch: lines of it.
    const events = response.ok && /[?&]watch=true/.test(path)
    const isJson = response.headers.get('content-type') === 'application/json' && !events
    const doc = isJson && text !== '' ? (JSON.parse(text) as Doc) : {}
    return { status: response.status, headers: response.headers, bytes, text, doc }
  }

  async watch(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Watching> {
    const stop = new AbortController()
    const response = await fetch(this.#url + path, {
      headers: { ...ADMIN, ...headers },
      signal: stop.signal,
    })
    return new Watching(response, stop)
  }

  /** As those ask who compare servers. */
  get asked(): Asked {
    const whole = async (path: string) => {
      const response = await fetch(this.#url + path, { headers: ADMIN })
      const retryAfter = response.headers.get('retry-after')
      return { status: response.status, retryAfter, text: await response.text() }
    }
    return {
      get: async (path) => gotOf(await whole(path)),
      watch: async (path) => watchedOf(await whole(path)),
    }
  }

  /** Forgets all history there is. */
  trim(): Promise<void> {
    return this.#trim()
  }
}

/** A watch, read event by event. */
export class Watching {
  readonly response: Response
  readonly #stop: AbortController
  readonly #events: AsyncGenerator<WatchEvent, void>

  constructor(response: Response, stop: AbortController) {
    this.response = response
    this.#stop = stop
    this.#events = eventsOf(response)
  }

  /** The next so many events; fewer when the stream ends before. */
  async take(count: number): Promise<readonly WatchEvent[]> {
    const taken: WatchEvent[] = []
    while (taken.length < count) {
      const next = await this.#events.next()
      if (next.done === true) break
      taken.push(next.value)
    }
    return taken
  }

  /** As `take`, short: `ADDED a`. */
  async words(count: number): Promise<readonly string[]> {
    return (await this.take(count)).map(({ type, object }) => `${type} ${object.metadata?.name ?? ''}`)
  }

  leave(): void {
    this.#stop.abort()
  }
}

async function* eventsOf(response: Response): AsyncGenerator<WatchEvent, void> {
  const decoder = new TextDecoder()
  let rest = ''
  if (response.body === null) return
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as WatchEvent
  }
}

export type Kind = {
  readonly kind: string
  readonly collection: string
  /** Whether the collection as a whole can be deleted. */
  readonly deletesCollections: boolean
  readonly deletedKind: 'Status' | 'Namespace'
  /** A change to an object of this kind that is not only metadata; null: there is none by clients. */
  readonly change: { readonly [member: string]: unknown } | null
}

/** The kinds served, as a client meets them. */
export const KINDS: readonly Kind[] = [
  {
    kind: 'ConfigMap',
    collection: '/api/v1/namespaces/default/configmaps',
    deletesCollections: true,
    deletedKind: 'Status',
    change: { data: { k: 'djE=' } },
  },
  {
    kind: 'Secret',
    collection: '/api/v1/namespaces/default/secrets',
    deletesCollections: true,
    deletedKind: 'Status',
    change: { data: { k: 'djE=' } },
  },
  {
    kind: 'Namespace',
    collection: '/api/v1/namespaces',
    deletesCollections: false,
    deletedKind: 'Namespace',
    change: null,
  },
]

export function objectOf(
  kind: string,
  name: string,
  more: { readonly [member: string]: unknown } = {},
): Record<string, unknown> {
  const { metadata, ...rest } = more
  return { apiVersion: 'v1', kind, metadata: { name, ...(metadata as object | undefined) }, ...rest }
}

export function namesIn(list: Doc): readonly string[] {
  return (list.items ?? []).map(({ metadata }) => metadata?.name ?? '')
}
