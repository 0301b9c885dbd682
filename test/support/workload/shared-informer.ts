import { setTimeout as sleep } from 'node:timers/promises'
import { ListWatch, Watch } from '@kubernetes/client-node'
import type { KubernetesListObject, KubernetesObject } from '@kubernetes/client-node'
import type { Apis, MemberClients } from './member-clients.ts'

export type Handlers<T> = {
  readonly added?: (object: T) => void
  readonly updated?: (object: T) => void
  readonly deleted?: (object: T) => void
}

/** The pause before a watch begins again, in ms. */
const pauseMs = 50

/** A watch ends at its server after a time, as upstream's do: one that does not is broken. */
const watchSeconds = 30
const brokenMs = 45_000
const lookMs = 5000

/**
 * The informer of @kubernetes/client-node, which several controllers share. It continues at the
 * next member, from the version that it has, when its own member ends the watch.
 */
export class SharedInformer<T extends KubernetesObject> {
  readonly #informer: ListWatch<T>
  readonly #handlers: Handlers<T>[] = []
  /** The member of the current watch. */
  #member = 0
  #connectedMs = Infinity
  readonly #alarm: NodeJS.Timeout
  #isEnding = false
  #isStopped = false

  /** @param selector of fields */
  constructor(
    clients: MemberClients,
    path: string,
    list: (apis: Apis) => Promise<KubernetesListObject<T>>,
    selector?: string,
  ) {
    const { config } = clients
    const listed = (): Promise<KubernetesListObject<T>> => clients.call(list)
    const watched = `${path}?timeoutSeconds=${watchSeconds}`
    this.#informer = new ListWatch<T>(watched, new Watch(config), listed, false, undefined, selector)
    const call = (what: keyof Handlers<T>) => (object: T) => {
      if (this.#isStopped) return
      for (const handlers of this.#handlers) handlers[what]?.(object)
    }
    this.#informer.on('add', call('added'))
    this.#informer.on('update', call('updated'))
    this.#informer.on('delete', call('deleted'))
    this.#informer.on('connect', () => {
      this.#member = clients.current
      this.#connectedMs = performance.now()
      this.#isEnding = false
    })
    this.#informer.on('error', () => {
      if (this.#isStopped) return
      clients.moveFrom(this.#member)
      setTimeout(() => void this.#begin(), pauseMs)
    })
    this.#alarm = setInterval(() => this.#look(), lookMs)
  }

  /** Handlers are called in the order of events, from the next event on. */
  on(handlers: Handlers<T>): void {
    this.#handlers.push(handlers)
  }

  /** Resolves when the cache has the objects of a first list. */
  async start(): Promise<void> {
    void this.#begin()
    while (!this.#isStopped && this.#informer.latestResourceVersion() === '') await sleep(10)
  }

  get(name: string, namespace: string): T | undefined {
    return this.#informer.get(name, namespace)
  }

  list(namespace: string): readonly T[] {
    return this.#informer.list(namespace)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearInterval(this.#alarm)
    await this.#informer.stop()
  }

  /**
   * Ends a broken watch: its error begins the next one. If none is connected at the next look, one
   * is begun here.
   */
  #look(): void {
    if (performance.now() < this.#connectedMs + brokenMs) return
    if (this.#isEnding) void this.#begin()
    else void this.#informer.stop()
    this.#isEnding = true
  }

  /** Errors reach the handler of errors. */
  async #begin(): Promise<void> {
    if (!this.#isStopped) await this.#informer.start()
  }
}
