import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { GapMeter, Reader, Writer } from './cluster-traffic.ts'
import type { MemberProcess, ProcessCluster } from '../drivers/process-cluster.ts'
import type { StallPart } from './stall-hook.ts'

/** The module that `stall` needs in a server; see `ClusterOptions.preload`. */
export const stallHook = new URL('./stall-hook.js', import.meta.url).href

/** The timeout of one request, in ms: a stalled member is asked again. */
const askMs = 5000

/** Blocks a part of a member. @returns a function that ends this */
export function stall(member: MemberProcess, part: StallPart): () => void {
  const file = join(member.directory, `stall-${part}`)
  writeFileSync(file, '')
  return () => rmSync(file, { force: true })
}

/** The leaders of each term that any member reported. */
export class LeaderRecord {
  readonly #byTerm = new Map<number, string>()
  #stopped = false
  readonly #done: Promise<unknown>

  constructor(cluster: ProcessCluster) {
    this.#done = Promise.all(cluster.members.map((member) => this.#follow(member)))
  }

  /** In order of terms. */
  get leaders(): readonly { readonly term: number; readonly name: string }[] {
    return [...this.#byTerm].sort(([a], [b]) => a - b).map(([term, name]) => ({ term, name }))
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#done
  }

  async #follow(member: MemberProcess): Promise<void> {
    while (!this.#stopped) {
      try {
        if (member.running) {
          const { term, leader } = await member.status(askMs)
          if (leader !== null) this.#note(term, leader.name)
        }
      } catch {
        // A stalled member does not respond; the others do.
      }
      await sleep(60)
    }
  }

  #note(term: number, name: string): void {
    const known = this.#byTerm.get(term) ?? name
    this.#byTerm.set(term, known === name ? name : `${known} and ${name}`)
  }
}

/**
 * Writers and readers that each stay with one member, so that a blocked member delays only its own.
 */
export class SteadyTraffic {
  readonly writes = new GapMeter()
  readonly reads = new GapMeter()
  readonly writers: readonly Writer[]
  readonly #readers: readonly Reader[]

  constructor(members: readonly MemberProcess[], namespace: string) {
    this.writers = members.map(
      ({ client }, n) =>
        new Writer({ id: `w${n}`, clients: [client], namespace, first: 0, gap: this.writes }),
    )
    this.#readers = members.map(({ client }) => new Reader({ clients: [client], namespace, gap: this.reads }))
  }

  async stop(): Promise<void> {
    await Promise.all([...this.writers, ...this.#readers].map((one) => one.stop()))
  }
}
