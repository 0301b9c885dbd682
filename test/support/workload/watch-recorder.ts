import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiClient, WatchHandle } from '../drivers/api-client.ts'

/** The fields of a Deployment, ReplicaSet or Pod that the checks read. */
export type StoredObject = {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly deletionTimestamp?: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[]
  }
  readonly spec?: { readonly nodeName?: string; readonly replicas?: number }
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    readonly observedGeneration?: number
    readonly replicas?: number
    readonly readyReplicas?: number
    readonly availableReplicas?: number
    readonly updatedReplicas?: number
  }
}

export type RecordedEvent = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly version: number
  readonly object: StoredObject
}

/**
 * Records every event of a collection by a watch of its own, independent of client-node. When the
 * watch ends it continues at the next member from the last version: it never lists again, so that
 * no change can be missed unseen.
 */
export class WatchRecorder {
  readonly events: RecordedEvent[] = []
  /** The current objects, by name. */
  readonly objects = new Map<string, StoredObject>()
  readonly violations: string[] = []
  /** The number of watches that ended. */
  breaks = 0
  readonly #clients: readonly ApiClient[]
  readonly #path: string
  #turn: number
  #version = 0
  #isStopped = false
  #handle: WatchHandle | null = null
  #done: Promise<void> = Promise.resolve()

  /** @param first the index of the client that is used first */
  constructor(clients: readonly ApiClient[], path: string, first: number) {
    this.#clients = clients
    this.#path = path
    this.#turn = first
  }

  /** The collection must be empty. */
  async start(): Promise<void> {
    const { status, text } = await this.#client.get(this.#path)
    assert.equal(status, 200, text)
    const { metadata, items } = JSON.parse(text) as {
      readonly metadata: { readonly resourceVersion: string }
      readonly items: readonly unknown[]
    }
    assert.deepEqual(items, [], 'the record begins with an empty collection')
    this.#version = Number(metadata.resourceVersion)
    this.#done = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#handle?.close()
    await this.#done
  }

  get #client(): ApiClient {
    return this.#clients[this.#turn % this.#clients.length] as ApiClient
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${this.#version}`
      this.#handle = this.#client.watch(`${this.#path}?${query}`, ({ type, object }) =>
        this.#take(type, object as unknown as StoredObject),
      )
      const { status, text } = await this.#handle.ended
      if (this.#isStopped) return
      if (status === 410) {
        this.violations.push(`the watch of ${this.#path} cannot continue at ${this.#version}: ${text}`)
        return
      }
      this.breaks++
      this.#turn++
      await sleep(20)
    }
  }

  #take(type: string, object: StoredObject): void {
    if (type === 'ERROR') {
      const { code, message } = object as { readonly code?: number; readonly message?: string }
      if (code === 410) this.violations.push(`the watch of ${this.#path} lost its version: ${message}`)
      return
    }
    const version = Number(object.metadata.resourceVersion)
    if (type === 'BOOKMARK') {
      if (version < this.#version)
        this.violations.push(`${this.#path}: a bookmark at ${version} after ${this.#version}`)
      this.#version = Math.max(this.#version, version)
      return
    }
    const { name } = object.metadata
    if (version <= this.#version)
      this.violations.push(`${this.#path}: ${type} of ${name} at ${version} after ${this.#version}`)
    this.#version = version
    this.events.push({ type: type as RecordedEvent['type'], version, object })
    if (type === 'DELETED') this.objects.delete(name)
    else this.objects.set(name, object)
  }
}
