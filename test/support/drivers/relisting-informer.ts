import { setTimeout as sleep } from 'node:timers/promises'
import { NoReply } from './api-client.ts'
import type { ApiClient, Body, WatchHandle } from './api-client.ts'

type Caller = Pick<ApiClient, 'get' | 'watch'>

/** The cached state of an object. */
export type Known = { readonly resourceVersion: string; readonly data: string }

type Listed = Body & {
  readonly metadata: { readonly name: string; readonly resourceVersion: string }
  readonly data?: unknown
}

/** Lists, watches, resumes at its version when a watch ends, and lists again only after a 410. */
export class RelistingInformer {
  readonly objects = new Map<string, Known>()
  /** The number of 410 responses. */
  gone = 0
  readonly #clients: readonly Caller[]
  readonly #path: string
  #turn = 0
  #revision: string | null = null
  #stopped = false
  #handle: WatchHandle | null = null
  readonly #done: Promise<void>

  constructor(clients: readonly Caller[], path: string) {
    this.#clients = clients
    this.#path = path
    this.#done = this.#run()
  }

  get revision(): string | null {
    return this.#revision
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#handle?.close()
    await this.#done
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const client = this.#clients[this.#turn++ % this.#clients.length] as Caller
      try {
        if (this.#revision === null) await this.#list(client)
        await this.#follow(client)
      } catch (cause) {
        if (!(cause instanceof NoReply)) throw cause
      }
      await sleep(20)
    }
  }

  async #list(client: Caller): Promise<void> {
    const reply = await client.get(this.#path)
    if (reply.status !== 200) throw new NoReply(`list answered ${reply.status}`)
    const list = JSON.parse(reply.text) as {
      readonly metadata: { readonly resourceVersion: string }
      readonly items: readonly Listed[]
    }
    this.objects.clear()
    for (const item of list.items) this.#set(item)
    this.#revision = list.metadata.resourceVersion
  }

  async #follow(client: Caller): Promise<void> {
    const from = `${this.#path}?watch=1&allowWatchBookmarks=true&resourceVersion=${this.#revision}`
    this.#handle = client.watch(from, ({ type, object }) => {
      if (type === 'ERROR') {
        if (object['code'] === 410) this.#lost()
        return
      }
      this.#revision = object.metadata.resourceVersion
      if (type === 'DELETED') this.objects.delete(object.metadata.name)
      else if (type !== 'BOOKMARK') this.#set(object)
    })
    const { status } = await this.#handle.ended
    if (status === 410) this.#lost()
  }

  #lost(): void {
    this.gone++
    this.#revision = null
  }

  #set({ metadata, data }: Listed): void {
    const { name, resourceVersion } = metadata
    this.objects.set(name, { resourceVersion, data: JSON.stringify(data ?? null) })
  }
}
