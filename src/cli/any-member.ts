import { fetchAnyStatus, fetchStatus } from './cluster-status.ts'
import type { MemberStatus } from './cluster-status.ts'
import { CliError } from './errors.ts'
import { call, jsonOf, readEndpoints, wordsOf } from './member-client.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { byName } from './name-order.ts'
import { diagnoseUnreachable } from './diagnose-unreachable.ts'
import { sleep } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** Ms for one member: a change may have to wait for the leader, and for an election. */
const changeTimeoutMs = 65_000
const pollMs = 200
/** Minimum interval of progress messages. */
const progressMs = 1000

export type ChangeOptions = {
  /** Receives a message for each member that does not respond, with the next one to try. */
  readonly terminal: Terminal
  /** For one change, over all members. */
  readonly timeoutMs: number
}

export type Answer = {
  readonly body: Record<string, unknown>
  /**
   * Whether another member was tried before without a definite response: it may have made the
   * change.
   */
  readonly isRepeat: boolean
}

/**
 * Client of a running cluster that uses any member that responds. It also finds members that are
 * missing in the kubeconfig.
 */
export class AnyMember {
  readonly #known: readonly Endpoint[]
  readonly #options: ChangeOptions | null
  /** The last member that responded comes first, the last that did not comes last. */
  #endpoints: readonly Endpoint[]
  #hasAnswered = false
  /** Messages printed since the last response. */
  readonly #printed = new Set<string>()

  /** @param options null: no messages, and each member has the full time for a change */
  constructor(kubeconfig: string, options: ChangeOptions | null = null) {
    this.#options = options
    this.#known = readEndpoints(kubeconfig)
    this.#endpoints = this.#known
  }

  /**
   * Returns the status that the leader reports; if no leader responds, that of another member.
   *
   * @throws CliError `failed` when no member responds
   */
  async status(): Promise<MemberStatus> {
    const { endpoint, status } = await fetchAnyStatus(this.#endpoints, (silent, why, next) => {
      this.#last(silent, why, next)
    })
    this.#learn(status)
    this.#first(endpoint)
    const leader = this.#endpoints.find(({ name }) => name === status.leader)
    if (leader === undefined || status.name === status.leader) return status
    try {
      const given = await fetchStatus(leader)
      this.#first(leader)
      return given
    } catch (cause) {
      if (cause instanceof CliError) return status
      throw cause
    }
  }

  /** Returns the status of each member; null: no response. */
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
   * Returns one line for each member that does not respond, with diagnosis and remedy.
   *
   * @param own the status of each member; unset: it is requested
   */
  async unreachableMembers(
    status: MemberStatus,
    own?: ReadonlyMap<string, MemberStatus | null>,
  ): Promise<readonly string[]> {
    const given = own ?? (await this.each(status))
    const silent = status.members.toSorted(byName).filter(({ name }) => (given.get(name) ?? null) === null)
    return Promise.all(silent.map(({ name }) => diagnoseUnreachable(name, this.endpointOf(name))))
  }

  /** CA certificate of the cluster in PEM, from the kubeconfig. */
  get authority(): string {
    return this.#endpoints[0]?.authority ?? ''
  }

  /**
   * @returns null when the kubeconfig has no context of that name and no member reported its
   * address
   */
  endpointOf(name: string): Endpoint | null {
    return this.#endpoints.find((one) => one.name === name) ?? null
  }

  /**
   * Sends an idempotent request. When a member does not respond or does not know the outcome, the
   * next one is tried.
   *
   * @throws CliError `failed` with the message of the member
   */
  async post(path: string, body: unknown): Promise<Answer> {
    // Finding a member that responds takes seconds, a change up to a minute.
    if (!this.#hasAnswered) await this.status()
    const endpoints = this.#endpoints
    const clock = this.#options?.terminal.clock
    const endMs = (clock?.monotonicMs() ?? 0) + (this.#options?.timeoutMs ?? 0)
    const requested: string[] = []
    let given = ''
    for (const [at, endpoint] of endpoints.entries()) {
      const leftMs = clock === undefined ? Infinity : endMs - clock.monotonicMs()
      if (leftMs < 1) break
      requested.push(endpoint.name)
      const patienceMs = Math.min(changeTimeoutMs, Math.ceil(leftMs / (endpoints.length - at)))
      const reply = await call(endpoint, { method: 'POST', path, body }, patienceMs)
      if (reply !== null && !undecidedCodes.has(reply.status)) {
        return { body: jsonOf(endpoint, reply), isRepeat: at > 0 }
      }
      const words =
        reply === null ? `did not respond within ${inSeconds(patienceMs)}` : `responded: ${wordsOf(reply)}`
      given = `member ${endpoint.name} ${words}`
      this.#last(endpoint, given, endpoints[at + 1] ?? null)
    }
    throw new CliError(
      'failed',
      `no member confirmed the change: tried ${requested.join(', ')}; it is safe to try again (--timeout); ${given}`,
    )
  }

  /** @param what.missing returns what is still missing; null: complete */
  async waitUntil(
    terminal: Terminal,
    what: { readonly missing: (status: MemberStatus) => string | null; readonly timeoutMs: number },
  ): Promise<void> {
    const { clock } = terminal
    const endMs = clock.monotonicMs() + what.timeoutMs
    let reported = ''
    let reportedMs = -progressMs
    for (;;) {
      const status = await orNull(this.status())
      const line = status === null ? 'no member answers' : what.missing(status)
      if (line === null) return
      const nowMs = clock.monotonicMs()
      if (line !== reported && nowMs - reportedMs >= progressMs) {
        terminal.note(line)
        reported = line
        reportedMs = nowMs
      }
      if (nowMs >= endMs) {
        const seconds = Math.round(what.timeoutMs / 1000)
        throw new CliError(
          'failed',
          `${line} after ${seconds} s; rerun the same command to keep waiting (--timeout)`,
        )
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
    this.#printed.clear()
    this.#endpoints = [endpoint, ...this.#endpoints.filter(({ name }) => name !== endpoint.name)]
  }

  #last(endpoint: Endpoint, why: string, next: Endpoint | null): void {
    this.#endpoints = [...this.#endpoints.filter(({ name }) => name !== endpoint.name), endpoint]
    if (next === null || this.#printed.has(why)) return
    this.#printed.add(why)
    this.#options?.terminal.note(`${why}, trying ${next.name}`)
  }
}

function inSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`
}

/** Status codes after which another member may be able to make the change, or find it made. */
export const undecidedCodes: ReadonlySet<number> = new Set([429, 503, 504])

/** @returns null when the status cannot be read */
export async function orNull(status: Promise<MemberStatus>): Promise<MemberStatus | null> {
  try {
    return await status
  } catch (cause) {
    if (cause instanceof CliError) return null
    throw cause
  }
}
