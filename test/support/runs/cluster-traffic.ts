import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiClient, Body, WatchEvent, WatchHandle } from '../drivers/api-client.ts'
import { NoReply } from '../drivers/api-client.ts'

/*
 * Traffic that can be checked afterwards: each writer records acknowledged and unknown writes, each
 * watcher its events. `traffic-checks.ts` checks them.
 *
 * No call times out before the server does: an abandoned call could take effect after the checks.
 */

/**
 * Pause of a writer or reader between two calls, in ms: far below the gaps that tests look for, and
 * long enough to leave the processor to the members and to other tests.
 */
const pauseMs = 200

/** Measures the longest time between two successes, in ms; the start counts as a success. */
export class GapMeter {
  #lastMs = performance.now()
  #longestMs = 0
  #successes = 0

  success(): void {
    const nowMs = performance.now()
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs)
    this.#lastMs = nowMs
    this.#successes++
  }

  /** Returns the longest gap since the last call, and starts again. */
  take(): number {
    const nowMs = performance.now()
    const longest = Math.max(this.#longestMs, nowMs - this.#lastMs)
    this.#lastMs = nowMs
    this.#longestMs = 0
    return longest
  }

  get successes(): number {
    return this.#successes
  }
}

export type WriterRecord = {
  /** Objects whose creation was acknowledged, with the returned version. */
  readonly created: Map<string, string>
  /** Objects that may exist: their creation got no response, or 500 or 504. */
  readonly uncertain: Set<string>
  /** Increments of the writer's own counter that were acknowledged. */
  increments: number
  /** Increments that may have taken effect: they got no response, or 500 or 504. */
  uncertainIncrements: number
  /** The versions returned by acknowledged writes, in order. */
  readonly revisions: number[]
}

/**
 * Creates objects and increments one counter by compare-and-swap, rotating over the members, until
 * it is stopped.
 */
export class Writer {
  readonly record: WriterRecord = {
    created: new Map(),
    uncertain: new Set(),
    increments: 0,
    uncertainIncrements: 0,
    revisions: [],
  }
  readonly #id: string
  readonly #clients: readonly ApiClient[]
  readonly #base: string
  readonly #gap: GapMeter
  #stopped = false
  #turn: number
  readonly #done: Promise<void>

  constructor(options: {
    readonly id: string
    readonly clients: readonly ApiClient[]
    readonly namespace: string
    readonly first: number
    readonly gap: GapMeter
  }) {
    this.#id = options.id
    this.#clients = options.clients
    this.#base = `/api/v1/namespaces/${options.namespace}/configmaps`
    this.#turn = options.first
    this.#gap = options.gap
    this.#done = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }

  #client(): ApiClient {
    return this.#clients[this.#turn++ % this.#clients.length] as ApiClient
  }

  async #run(): Promise<void> {
    for (let n = 0; !this.#stopped; n++) {
      await (n % 2 === 0 ? this.#create(`${this.#id}-${n}`) : this.#increment())
      await sleep(pauseMs)
    }
  }

  async #create(name: string): Promise<void> {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { writer: this.#id } }
    try {
      const reply = await this.#client().post(this.#base, object)
      if (reply.status === 201) {
        const version = versionOf(reply.text)
        this.record.created.set(name, version)
        this.record.revisions.push(Number(version))
        this.#gap.success()
      } else if (reply.status === 409) {
        throw new Error(`${name} was created twice: ${reply.text}`)
      } else if (reply.status === 504 || reply.status === 500) {
        this.record.uncertain.add(name)
      }
    } catch (cause) {
      if (!(cause instanceof NoReply)) throw cause
      this.record.uncertain.add(name)
      await sleep(20)
    }
  }

  async #increment(): Promise<void> {
    const path = `${this.#base}/counter-${this.#id}`
    const client = this.#client()
    let proposed = false
    try {
      const got = await client.get(path)
      if (got.status === 404) {
        const object = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: `counter-${this.#id}` },
          data: { count: '0' },
        }
        await client.post(this.#base, object)
        return
      }
      if (got.status !== 200) return
      const object = JSON.parse(got.text) as Body & { data: { count: string } }
      proposed = true
      const next = { ...object, data: { count: String(Number(object.data.count) + 1) } }
      const reply = await client.put(path, next)
      if (reply.status === 200) {
        this.record.increments++
        this.record.revisions.push(Number(versionOf(reply.text)))
        this.#gap.success()
      } else if (reply.status === 504 || reply.status === 500) {
        this.record.uncertainIncrements++
      }
    } catch (cause) {
      if (!(cause instanceof NoReply)) throw cause
      if (proposed) this.record.uncertainIncrements++
      await sleep(20)
    }
  }
}

export function versionOf(text: string): string {
  return (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion
}

/**
 * Lists the collection with most-recent reads, rotating over the members. Its revisions must never
 * decrease.
 */
export class Reader {
  readonly revisions: number[] = []
  readonly #clients: readonly ApiClient[]
  readonly #path: string
  readonly #gap: GapMeter
  #stopped = false
  readonly #done: Promise<void>

  constructor(options: {
    readonly clients: readonly ApiClient[]
    readonly namespace: string
    readonly gap: GapMeter
  }) {
    this.#clients = options.clients
    this.#path = `/api/v1/namespaces/${options.namespace}/configmaps?limit=1`
    this.#gap = options.gap
    this.#done = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }

  async #run(): Promise<void> {
    for (let turn = 0; !this.#stopped; turn++) {
      const client = this.#clients[turn % this.#clients.length] as ApiClient
      try {
        const reply = await client.get(this.#path)
        if (reply.status === 200) {
          this.revisions.push(Number(versionOf(reply.text)))
          this.#gap.success()
        }
      } catch (cause) {
        if (!(cause instanceof NoReply)) throw cause
        await sleep(20)
      }
      await sleep(pauseMs)
    }
  }
}

/**
 * Watches on one member, first from the given version on, until the watch ends, and resumes at the
 * last version on the next member.
 */
export class Watcher {
  readonly events: { readonly type: string; readonly name: string; readonly revision: number }[] = []
  readonly #clients: readonly ApiClient[]
  readonly #path: string
  #turn: number
  #revision: string
  #stopped = false
  #handle: WatchHandle | null = null
  readonly #done: Promise<void>
  resumes = 0

  constructor(options: {
    readonly clients: readonly ApiClient[]
    readonly namespace: string
    readonly first: number
    readonly revision: string
  }) {
    this.#clients = options.clients
    this.#path = `/api/v1/namespaces/${options.namespace}/configmaps?watch=1&allowWatchBookmarks=true`
    this.#turn = options.first
    this.#revision = options.revision
    this.#done = this.#run()
  }

  get revision(): number {
    return Number(this.#revision)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#handle?.close()
    await this.#done
  }

  /** Moves on to the next member, like a client after a broken connection. */
  breakOff(): void {
    this.#handle?.close()
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const client = this.#clients[this.#turn++ % this.#clients.length] as ApiClient
      this.#handle = client.watch(`${this.#path}&resourceVersion=${this.#revision}`, (event) =>
        this.#take(event),
      )
      const end = await this.#handle.ended
      if (end.status === 410) throw new Error(`the watch could not resume at ${this.#revision}: ${end.text}`)
      this.resumes++
      await sleep(20)
    }
  }

  #take(event: WatchEvent): void {
    if (event.type === 'ERROR') throw new Error(`watch error: ${JSON.stringify(event.object)}`)
    this.#revision = event.object.metadata.resourceVersion
    if (event.type === 'BOOKMARK') return
    this.events.push({ type: event.type, name: event.object.metadata.name, revision: Number(this.#revision) })
  }
}
