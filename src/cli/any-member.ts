import { fetchAnyStatus, fetchStatus } from './cluster-status.ts'
import type { MemberStatus } from './cluster-status.ts'
import { CliFailure } from './errors.ts'
import { call, jsonOf, readEndpoints } from './member-client.ts'
import type { Endpoint } from './member-client.ts'
import { sleep } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** A change may have to wait for the leader, and an election may come between. */
const changeTimeoutMs = 65_000
const pollMs = 200
/** Progress is told this often at most. */
const progressMs = 1000

/** A running cluster, asked by way of whichever member answers. Members that the kubeconfig does not know are found too. */
export class AnyMember {
  readonly #known: readonly Endpoint[]
  #endpoints: readonly Endpoint[]

  constructor(kubeconfig: string) {
    this.#known = readEndpoints(kubeconfig)
    this.#endpoints = this.#known
  }

  /** What the leader says, or whoever answers when there is none. @throws CliFailure `failed` when nobody answers */
  async status(): Promise<MemberStatus> {
    const { status } = await fetchAnyStatus(this.#endpoints)
    this.#learn(status)
    const leader = this.#endpoints.find(({ name }) => name === status.leader)
    if (leader === undefined || status.name === status.leader) return status
    try {
      return await fetchStatus(leader)
    } catch (cause) {
      if (cause instanceof CliFailure) return status
      throw cause
    }
  }

  /** What each member says of itself; null: it does not answer. */
  async each(status: MemberStatus): Promise<ReadonlyMap<string, MemberStatus | null>> {
    const all = await Promise.all(
      status.members.map(async ({ name }) => {
        const endpoint = this.#endpoints.find((one) => one.name === name)
        return [name, endpoint === undefined ? null : await orNull(fetchStatus(endpoint))] as const
      }),
    )
    return new Map(all)
  }

  /**
   * Asks for something that does no harm when it is done twice, so a member that did not answer is followed by the next.
   * @throws CliFailure `failed` in the words of the member
   */
  async post(path: string, body: unknown): Promise<Record<string, unknown>> {
    for (const endpoint of this.#endpoints) {
      const reply = await call(endpoint, { method: 'POST', path, body }, changeTimeoutMs)
      if (reply === null || busyCodes.has(reply.status)) continue
      return jsonOf(endpoint, reply)
    }
    const names = this.#endpoints.map(({ name }) => name).join(', ')
    throw new CliFailure('failed', `no member did it: asked ${names}; it does no harm to try again`)
  }

  /** @param says what there is to tell about what is still missing; null: all is as it should be */
  async waitUntil(
    terminal: Terminal,
    what: { readonly says: (status: MemberStatus) => string | null; readonly timeoutMs: number },
  ): Promise<void> {
    const { clock } = terminal
    const endMs = clock.monotonicMs() + what.timeoutMs
    let told = ''
    let toldMs = -progressMs
    for (;;) {
      const status = await orNull(this.status())
      const line = status === null ? 'no member answers' : what.says(status)
      if (line === null) return
      const nowMs = clock.monotonicMs()
      if (line !== told && nowMs - toldMs >= progressMs) {
        terminal.note(line)
        told = line
        toldMs = nowMs
      }
      if (nowMs >= endMs) {
        const seconds = Math.round(what.timeoutMs / 1000)
        throw new CliFailure('failed', `${line} after ${seconds} s; the same command waits on (--timeout)`)
      }
      await sleep(clock, pollMs)
    }
  }

  #learn({ members }: MemberStatus): void {
    const [first] = this.#known
    if (first === undefined) return
    const found = members
      .filter(
        ({ name, clientAddress }) => clientAddress !== '' && !this.#known.some((one) => one.name === name),
      )
      .map(({ name, clientAddress }) => ({ ...first, name, url: `https://${clientAddress}` }))
    this.#endpoints = [...this.#known, ...found]
  }
}

/** Another member may do what this one cannot just now. */
const busyCodes: ReadonlySet<number> = new Set([429, 503])

async function orNull(asked: Promise<MemberStatus>): Promise<MemberStatus | null> {
  try {
    return await asked
  } catch (cause) {
    if (cause instanceof CliFailure) return null
    throw cause
  }
}
