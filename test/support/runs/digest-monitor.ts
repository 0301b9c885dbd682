import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { NoReply } from '../drivers/api-client.ts'
import type { MemberProcess } from '../drivers/process-cluster.ts'
import { until } from '../tools/until.ts'

/** The timeout of one request, in ms: after it, the request is repeated. */
const askMs = 5000

/** Requests the digests of all members continuously, and compares those of equal indexes. */
export class DigestMonitor {
  readonly #members: readonly MemberProcess[]
  readonly #seen = new Map<number, { readonly digest: string; readonly who: string }>()
  readonly #levels = new Map<string, number>()
  #compared = 0
  #stopped = false
  readonly #done: Promise<void>

  constructor(members: readonly MemberProcess[]) {
    this.#members = members
    this.#done = this.#run()
  }

  /** Number of comparisons of two members at one index. */
  get compared(): number {
    return this.#compared
  }

  /** The feature level each member was last seen at. */
  get levels(): readonly number[] {
    return this.#members.map(({ name }) => this.#levels.get(name) ?? 0)
  }

  /** Waits until all running members have the same index and the same digest. */
  async agreed(): Promise<void> {
    let states: readonly (string | null)[] = []
    await until(
      'the members come to rest at one index',
      async () => {
        const running = this.#members.filter((member) => member.running)
        states = await Promise.all(running.map((member) => this.#ask(member)))
        return new Set(states).size === 1 && states[0] !== null
      },
      () => states.join('; '),
    )
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      await Promise.all(this.#members.map((member) => this.#ask(member)))
      await sleep(20)
    }
  }

  /** @returns index and digest; null: no answer, or no digest in it */
  async #ask(member: MemberProcess): Promise<string | null> {
    if (!member.running) return null
    try {
      const { index, digest, featureLevel } = (await member.status(askMs)).state
      if (digest === null) return null
      this.#levels.set(member.name, featureLevel)
      const known = this.#seen.get(index)
      if (known === undefined) this.#seen.set(index, { digest, who: member.name })
      else if (known.who !== member.name) {
        this.#compared++
        assert.equal(digest, known.digest, `${member.name} and ${known.who} differ at index ${index}`)
      }
      return `${index} ${digest}`
    } catch (cause) {
      if (cause instanceof NoReply) return null
      throw cause
    }
  }
}
