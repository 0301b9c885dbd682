import { setTimeout as sleep } from 'node:timers/promises'
import { replyOf } from '../drivers/api-client.ts'
import type { ApiClient, Reply } from '../drivers/api-client.ts'
import { until } from '../tools/until.ts'
import type { Journal } from './journal.ts'

/**
 * An administrator that sends all requests to one member, and changes to the next one when a
 * request fails or has no response.
 */
export class Operator {
  readonly #clients: readonly ApiClient[]
  readonly #journal: Journal
  #turn = 0

  constructor(clients: readonly ApiClient[], journal: Journal) {
    this.#clients = clients
    this.#journal = journal
  }

  /**
   * Creates an object. 409 counts as success: an earlier attempt, whose response was lost, has
   * created it.
   */
  async create(path: string, body: object): Promise<Reply> {
    return this.#insist(`create ${path}`, [201, 409], (client) => client.post(path, body))
  }

  async scale(namespace: string, deployment: string, replicas: number): Promise<void> {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${deployment}/scale`
    await this.#insist(`scale ${deployment}`, [200], (client) => client.patch(path, { spec: { replicas } }))
  }

  /** Requests the deletion of a Pod once. */
  async delete(namespace: string, name: string, uid: string): Promise<void> {
    const deletion = this.#journal.delete(uid, 'test')
    const body = JSON.stringify({ preconditions: { uid } })
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`
    const reply = await replyOf(this.#client.delete(path, { body }))
    if (reply === null) deletion.outcome = 'unknown'
    else if (reply.status < 300) deletion.outcome = 'deleted'
    else deletion.outcome = reply.status < 500 || reply.status === 503 ? 'refused' : 'unknown'
    if (reply === null || reply.status >= 500) this.#turn++
  }

  get #client(): ApiClient {
    return this.#clients[this.#turn % this.#clients.length] as ApiClient
  }

  async #insist(
    what: string,
    good: readonly number[],
    act: (client: ApiClient) => Promise<Reply>,
  ): Promise<Reply> {
    let reply: Reply | null = null
    await until(
      what,
      async () => {
        reply = await replyOf(act(this.#client))
        if (reply !== null && good.includes(reply.status)) return true
        this.#turn++
        await sleep(20)
        return false
      },
      () => reply?.text ?? 'no answer',
    )
    if (reply === null) throw new Error(`no answer: ${what}`)
    return reply
  }
}
