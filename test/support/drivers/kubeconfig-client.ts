import { readClientConfig } from '../../../src/pki/client-config.ts'
import { readFileSync } from 'node:fs'
import { ApiClient } from './api-client.ts'
import type { Reply, WatchEvent, WatchHandle } from './api-client.ts'

/**
 * A client of one member that reads its kubeconfig before each call, as kubectl does. A kubeconfig
 * that has changed gets connections of its own.
 */
export class KubeconfigClient {
  readonly #url: string
  readonly #kubeconfig: string
  #text = ''
  #clients: ApiClient[] = []

  constructor(url: string, kubeconfig: string) {
    this.#url = url
    this.#kubeconfig = kubeconfig
  }

  get(path: string): Promise<Reply> {
    return this.#client().get(path)
  }

  post(path: string, body: unknown): Promise<Reply> {
    return this.#client().post(path, body)
  }

  watch(path: string, onEvent: (event: WatchEvent) => void): WatchHandle {
    return this.#client().watch(path, onEvent)
  }

  close(): void {
    for (const client of this.#clients) client.close()
  }

  #client(): ApiClient {
    const text = readFileSync(this.#kubeconfig, 'utf8')
    const current = this.#clients.at(-1)
    if (text === this.#text && current !== undefined) return current
    const { authority, identity } = readClientConfig(this.#kubeconfig)
    const credentials = { cert: identity?.certificate ?? '', key: identity?.key ?? '' }
    const next = new ApiClient(this.#url, { ca: authority ?? '', ...credentials })
    this.#clients.push(next)
    this.#text = text
    return next
  }
}
