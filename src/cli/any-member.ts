import { fetchAnyStatus, fetchStatus } from './cluster-status.ts'
import type { MemberStatus } from './cluster-status.ts'
import { CliFailure } from './errors.ts'
import { call, jsonOf, readEndpoints, wordsOf } from './member-client.ts'
import type { Endpoint } from './member-client.ts'
import { whySilent } from './silent-member.ts'
import { sleep } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** Of one member. A change may have to wait for the leader, and an election may come between. */
const changeTimeoutMs = 65_000
const pollMs = 200
/** Progress is told this often at most. */
const progressMs = 1000

export type Asking = {
  /** Is told who gives no answer, and who is asked instead. */
  readonly terminal: Terminal
  /** For one change, whichever member does it. */
  readonly timeoutMs: number
}

export type Answer = {
  readonly body: Record<string, unknown>
  /** Another was asked before and gave no answer, or did not know: what is done already may be its doing. */
  readonly isRepeat: boolean
}

/** A running cluster, asked by way of whichever member answers. Members that the kubeconfig does not know are found too. */
export class AnyMember {
  readonly #known: readonly Endpoint[]
  readonly #asking: Asking | null
  /** Who answered last comes first, who gave no answer last. */
  #endpoints: readonly Endpoint[]
  #hasAnswered = false
  /** What the terminal was told since somebody answered. */
  readonly #told = new Set<string>()

  /** @param asking null: nobody is told, and each member is given the time that a change may take */
  constructor(kubeconfig: string, asking: Asking | null = null) {
    this.#asking = asking
    this.#known = readEndpoints(kubeconfig)
    this.#endpoints = this.#known
  }

  /** What the leader says, or whoever answers when there is none. @throws CliFailure `failed` when nobody answers */
  async status(): Promise<MemberStatus> {
    const { endpoint, status } = await fetchAnyStatus(this.#endpoints, (silent, why, next) => {
      this.#last(silent, why, next)
    })
    this.#learn(status)
    this.#first(endpoint)
    const leader = this.#endpoints.find(({ name }) => name === status.leader)
    if (leader === undefined || status.name === status.leader) return status
    try {
      const said = await fetchStatus(leader)
      this.#first(leader)
      return said
    } catch (cause) {
      if (cause instanceof CliFailure) return status
      throw cause
    }
  }

  /** What each member says of itself; null: it does not answer. */
  async each(status: MemberStatus): Promise<ReadonlyMap<string, MemberStatus | null>> {
    const all = await Promise.all(
      status.members.map(async ({ name }) => {
        const endpoint = this.endpointOf(name)
        return [name, endpoint === null ? null : await orNull(fetchStatus(endpoint))] as const
      }),
    )
    return new Map(all)
  }

  /**
   * One line for each member that gives no answer: what is wrong with it, as far as it can be seen from here, and what to do.
   * @param own what each said; unset: they are asked
   */
  async silences(
    status: MemberStatus,
    own?: ReadonlyMap<string, MemberStatus | null>,
  ): Promise<readonly string[]> {
    const said = own ?? (await this.each(status))
    const silent = status.members.filter(({ name }) => (said.get(name) ?? null) === null)
    return Promise.all(silent.map(({ name }) => whySilent(name, this.endpointOf(name))))
  }

  /** The cluster's, in PEM, as the kubeconfig has it. */
  get authority(): string {
    return this.#endpoints[0]?.authority ?? ''
  }

  /** @returns null: no context of that name, and no member that says where clients dial it */
  endpointOf(name: string): Endpoint | null {
    return this.#endpoints.find((one) => one.name === name) ?? null
  }

  /**
   * Asks for something that does no harm when it is done twice, so a member that did not answer, or does not know whether it is
   * done, is followed by the next.
   *
   * @throws CliFailure `failed` in the words of the member
   */
  async post(path: string, body: unknown): Promise<Answer> {
    // It takes seconds to find out who answers, and a change may take a minute.
    if (!this.#hasAnswered) await this.status()
    const endpoints = this.#endpoints
    const clock = this.#asking?.terminal.clock
    const endMs = (clock?.monotonicMs() ?? 0) + (this.#asking?.timeoutMs ?? 0)
    const asked: string[] = []
    let said = ''
    for (const [at, endpoint] of endpoints.entries()) {
      const leftMs = clock === undefined ? Infinity : endMs - clock.monotonicMs()
      if (leftMs < 1) break
      asked.push(endpoint.name)
      const patienceMs = Math.min(changeTimeoutMs, Math.ceil(leftMs / (endpoints.length - at)))
      const reply = await call(endpoint, { method: 'POST', path, body }, patienceMs)
      if (reply !== null && !undecidedCodes.has(reply.status)) {
        return { body: jsonOf(endpoint, reply), isRepeat: at > 0 }
      }
      const words = reply === null ? `gives no answer in ${inSeconds(patienceMs)}` : `says: ${wordsOf(reply)}`
      said = `member ${endpoint.name} ${words}`
      this.#last(endpoint, said, endpoints[at + 1] ?? null)
    }
    throw new CliFailure(
      'failed',
      `no member did it: asked ${asked.join(', ')}; it does no harm to try again (--timeout); ${said}`,
    )
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
    const isThere = ({ name }: Endpoint): boolean => this.#endpoints.some((one) => one.name === name)
    const current = new Set([...this.#known, ...found].map(({ name }) => name))
    this.#endpoints = [
      ...this.#endpoints.filter(({ name }) => current.has(name)),
      ...found.filter((one) => !isThere(one)),
    ]
  }

  #first(endpoint: Endpoint): void {
    this.#hasAnswered = true
    this.#told.clear()
    this.#endpoints = [endpoint, ...this.#endpoints.filter(({ name }) => name !== endpoint.name)]
  }

  #last(endpoint: Endpoint, why: string, next: Endpoint | null): void {
    this.#endpoints = [...this.#endpoints.filter(({ name }) => name !== endpoint.name), endpoint]
    if (next === null || this.#told.has(why)) return
    this.#told.add(why)
    this.#asking?.terminal.note(`${why}, asking ${next.name}`)
  }
}

function inSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}

/** Another member may do what this one cannot just now, or find done what this one could not wait for. */
export const undecidedCodes: ReadonlySet<number> = new Set([429, 503, 504])

/** null: nobody answered. */
export async function orNull(asked: Promise<MemberStatus>): Promise<MemberStatus | null> {
  try {
    return await asked
  } catch (cause) {
    if (cause instanceof CliFailure) return null
    throw cause
  }
}
