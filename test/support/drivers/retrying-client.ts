import { setTimeout as sleep } from 'node:timers/promises'
import { NoReply } from './api-client.ts'
import type { ApiClient, Reply } from './api-client.ts'

type Caller = Pick<ApiClient, 'get' | 'post'>

/** A request that failed on one member, and the immediate response of another. */
export type Repetition = {
  readonly what: string
  readonly failure: string
  readonly answer: string
  readonly ms: number
}

/**
 * Creates objects and reads each of them back with a linearizable read, one member after another. A
 * failed request is retried at once on the next member, as a client with several addresses does: a
 * creation that conflicts on the retry succeeded before.
 */
export class RetryingClient {
  readonly created: string[] = []
  readonly repetitions: Repetition[] = []
  /** The repetitions that failed too. */
  readonly lost: Repetition[] = []
  calls = 0
  readonly #id: string
  readonly #clients: readonly Caller[]
  readonly #base: string
  #turn: number
  #stopped = false
  readonly #done: Promise<void>

  constructor(id: string, clients: readonly Caller[], namespace: string, first: number) {
    this.#id = id
    this.#clients = clients
    this.#base = `/api/v1/namespaces/${namespace}/configmaps`
    this.#turn = first
    this.#done = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }

  async #run(): Promise<void> {
    for (let n = 0; !this.#stopped; n++) {
      const name = `${this.#id}-${n}`
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }
      const create = (client: Caller): Promise<Reply> => client.post(this.#base, object)
      if (await this.#call(`create ${name}`, create, [201], [201, 409])) this.created.push(name)
      const read = (client: Caller): Promise<Reply> => client.get(`${this.#base}/${name}`)
      await this.#call(`read ${name}`, read, [200], [200])
      await sleep(2)
    }
  }

  async #call(
    what: string,
    ask: (client: Caller) => Promise<Reply>,
    good: readonly number[],
    goodAgain: readonly number[],
  ): Promise<boolean> {
    this.calls++
    const first = await answerOf(ask(this.#next()))
    if (good.includes(first.status)) return true
    const beganMs = performance.now()
    const second = await answerOf(ask(this.#next()))
    const ms = performance.now() - beganMs
    const repetition = { what, failure: first.text, answer: second.text, ms }
    this.repetitions.push(repetition)
    if (goodAgain.includes(second.status)) return true
    this.lost.push(repetition)
    return false
  }

  #next(): Caller {
    return this.#clients[this.#turn++ % this.#clients.length] as Caller
  }
}

async function answerOf(
  requested: Promise<Reply>,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const { status, text } = await requested
    return { status, text: `${status} ${text.slice(0, 300)}` }
  } catch (cause) {
    if (!(cause instanceof NoReply)) throw cause
    return { status: 0, text: cause.message }
  }
}
