import { Agent } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  ApiException,
  AppsV1Api,
  CoordinationV1Api,
  CoreV1Api,
  FetchError,
  KubeConfig,
  ServerConfiguration,
  createConfiguration,
} from '@kubernetes/client-node'
import type { ProcessCluster } from '../drivers/process-cluster.ts'

/** The typed clients of one member. */
export type Apis = {
  readonly apps: AppsV1Api
  readonly core: CoreV1Api
  readonly coordination: CoordinationV1Api
}

/**
 * The effect of a failed request. `refused`: nothing was changed, and nothing will be. `unknown`:
 * it may have taken effect, or may still do so.
 */
export type Failure = { readonly kind: 'refused' | 'unknown'; readonly code: number | null }

/** Thrown when a request has had no answer for a long time. */
class Overdue extends Error {
  override readonly name = 'Overdue'
}

/**
 * How long a request may take, in ms: also while members elect a leader. The library never
 * notices that a connection ended within a body of known length.
 */
const overdueMs = 20_000

/** @returns null: the error is not about a request */
export function failureOf(cause: unknown): Failure | null {
  if (cause instanceof Overdue) return { kind: 'unknown', code: null }
  if (cause instanceof ApiException) {
    const isRefused = cause.code < 500 || cause.code === 503
    return { kind: isRefused ? 'refused' : 'unknown', code: cause.code }
  }
  if (!(cause instanceof FetchError)) return null
  return { kind: cause.code === 'ECONNREFUSED' ? 'refused' : 'unknown', code: null }
}

/** Returns whether a request was refused with one of these codes. */
export function isRefusedWith(cause: unknown, ...codes: readonly number[]): boolean {
  return cause instanceof ApiException && codes.includes(cause.code)
}

/**
 * One user's clients of all members, of @kubernetes/client-node. One member is used at a time, the
 * next one after a request without an answer or with a code from 500 on, as by a load balancer.
 * Connections are kept.
 */
export class MemberClients {
  /** Its current context is the member in use. */
  readonly config = new KubeConfig()
  readonly #names: readonly string[]
  readonly #apis: readonly Apis[]
  readonly #agents: readonly Agent[]
  #at: number

  /** @param first the index of the member that is used first */
  constructor(cluster: ProcessCluster, token: string, first: number) {
    const { members, credentials } = cluster
    this.#names = members.map(({ name }) => name)
    this.#agents = members.map(() => new Agent({ keepAlive: true, ca: credentials.ca }))
    this.#apis = members.map(({ url }, at) => apisOf(url, token, this.#agents[at] as Agent))
    const caData = Buffer.from(credentials.ca).toString('base64')
    this.config.loadFromOptions({
      clusters: members.map(({ name, url }) => ({ name, server: url, caData, skipTLSVerify: false })),
      users: [{ name: 'user', token }],
      contexts: members.map(({ name }) => ({ name, cluster: name, user: 'user' })),
      currentContext: this.#names[first % members.length] ?? '',
    })
    this.#at = first % members.length
  }

  /** The member in use. */
  get current(): number {
    return this.#at
  }

  /** Uses the next member, unless another request has moved away from this one already. */
  moveFrom(failed: number): void {
    if (failed !== this.#at) return
    this.#at = (this.#at + 1) % this.#apis.length
    this.config.setCurrentContext(this.#names[this.#at] ?? '')
  }

  /**
   * Calls the member in use. After a request without an answer, or with a code from 500 on, the
   * next one is used.
   */
  async call<Result>(act: (apis: Apis) => Promise<Result>): Promise<Result> {
    const at = this.#at
    try {
      return await inTime(act(this.#apis[at] as Apis))
    } catch (cause) {
      const failure = failureOf(cause)
      const isAnswer = failure !== null && failure.code !== null && failure.code < 500
      if (!isAnswer) this.moveFrom(at)
      throw cause
    }
  }

  close(): void {
    for (const agent of this.#agents) agent.destroy()
  }
}

async function inTime<Result>(request: Promise<Result>): Promise<Result> {
  const answered = new AbortController()
  const overdue = sleep(overdueMs, null, { signal: answered.signal }).then(() => {
    throw new Overdue(`no answer within ${overdueMs / 1000} s`)
  })
  try {
    return await Promise.race([request, overdue])
  } finally {
    answered.abort()
    overdue.catch(() => undefined)
  }
}

function apisOf(url: string, token: string, agent: Agent): Apis {
  const configuration = createConfiguration({
    baseServer: new ServerConfiguration(url, {}),
    authMethods: {
      default: {
        getName: () => 'token',
        applySecurityAuthentication: (context) => {
          context.setHeaderParam('Authorization', `Bearer ${token}`)
          context.setAgent(agent)
        },
      },
    },
  })
  return {
    apps: new AppsV1Api(configuration),
    core: new CoreV1Api(configuration),
    coordination: new CoordinationV1Api(configuration),
  }
}
