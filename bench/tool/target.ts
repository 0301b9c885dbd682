import type { Clock } from '../../base/clock.ts'
import { isJsonObject, memberOf, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { withCredentials } from '../../src/credentials/credentials.ts'
import type { Endpoint, ResolvedEndpoint } from '../../src/credentials/endpoint.ts'
import { pause } from '../../tools/verify/pause.ts'
import { BenchError } from './errors.ts'
import { mostRecent, requestBytes, withQuery } from './generator/requests.ts'
import type { HttpRequest, ReadForm } from './generator/requests.ts'
import type { WireAnswer } from './generator/wire-connection.ts'
import { WireConnection } from './generator/wire-connection.ts'
import type { FailoverFault, Place, ReadMode } from './load.ts'

/** Servers on this machine that can be observed and into which faults can be injected. */
export type LocalServers = {
  /** Pids of the running members. */
  readonly pids: () => readonly number[]
  /**
   * Injects the fault into the current leader, reverts it after `forMs`, and waits until all
   * members are ready.
   *
   * @param onBegin called right before the injection
   */
  readonly injectFault: (fault: FailoverFault, forMs: number, onBegin: () => void) => Promise<void>
}

type ModeName = 'linearizable' | 'lease' | 'bounded' | 'any' | 'log'
const modeNames: readonly ModeName[] = ['linearizable', 'lease', 'bounded', 'any', 'log']
const probeBoundMs = 1000
const answerBytesMax = 64 * 1024
/** Ms to wait for an election. */
const electionMsMax = 10_000
const pollMs = 200

/** The measured servers, their roles and capabilities. */
export class Target {
  readonly endpoints: readonly Endpoint[]
  readonly local: LocalServers | null
  /** The version that the first endpoint reports; empty: none. */
  readonly version: string
  /** In the order in which they are measured. */
  readonly modes: readonly ModeName[]
  /** One line per mode that not all endpoints support. */
  readonly notes: readonly string[]
  readonly #byHeader: boolean
  readonly #path: string

  private constructor(of: {
    readonly endpoints: readonly Endpoint[]
    readonly local: LocalServers | null
    readonly version: string
    readonly offers: Offers
    readonly path: string
  }) {
    this.endpoints = of.endpoints
    this.local = of.local
    this.version = of.version
    this.modes = of.offers.modes
    this.notes = of.offers.notes
    this.#byHeader = of.offers.byHeader
    this.#path = of.path
  }

  /** @param path of an existing object @throws BenchError `no-answer` */
  static async probe(
    endpoints: readonly Endpoint[],
    local: LocalServers | null,
    path: string,
  ): Promise<Target> {
    const [first] = endpoints
    if (first === undefined) throw new BenchError('no-answer', 'there is no endpoint')
    const version = textMember(
      objectOf(await askOnce(first, { method: 'GET', path: '/version' })),
      'gitVersion',
    )
    return new Target({ endpoints, local, version, offers: await offersOf(endpoints, path), path })
  }

  form(mode: ReadMode): ReadForm {
    if (this.#byHeader) return { query: '', consistency: mode }
    return mode === 'any' ? { query: 'resourceVersion=0', consistency: null } : mostRecent
  }

  /**
   * Returns one endpoint with that role, or all endpoints.
   *
   * @throws BenchError `not-possible` when no endpoint has the role within the time of an election
   */
  async at(place: Place, clock: Clock): Promise<readonly Endpoint[]> {
    if (place === 'all') return this.endpoints
    const endMs = clock.monotonicMs() + electionMsMax
    for (;;) {
      const roles = await this.roles()
      const found = this.endpoints.find((_, at) => roles[at] === place)
      if (found !== undefined) return [found]
      if (clock.monotonicMs() >= endMs)
        throw new BenchError('not-possible', `no endpoint is a ${place} at the moment`)
      await pause(clock, pollMs)
    }
  }

  /** Returns one line per mode that an endpoint serves as another one, such as lease reads. */
  async substitutes(): Promise<readonly string[]> {
    const notes: string[] = []
    for (const name of this.#byHeader ? this.modes : []) {
      const served = (await askedIn(name, this.endpoints, this.#path)).map(modeOf)
      for (const other of new Set(served)) {
        if (other === null || other === name) continue
        const names = this.endpoints.filter((_, at) => served[at] === other).map((endpoint) => endpoint.name)
        notes.push(`${name} reads are served as ${other} by ${names.join(', ')}`)
      }
    }
    return notes
  }

  /** Returns the role that each endpoint reports; null: none, as on other servers. */
  roles(): Promise<readonly (string | null)[]> {
    return Promise.all(
      this.endpoints.map(async (endpoint) => {
        const role = textMember(
          objectOf(await askOnce(endpoint, { method: 'GET', path: '/cluster/v1/status' })),
          'role',
        )
        return role === '' ? null : role
      }),
    )
  }
}

type Offers = {
  readonly modes: readonly ModeName[]
  /** One line per mode that not all endpoints support. */
  readonly notes: readonly string[]
  /** true: modes are selected by the `Orch-Consistency` header; false: by resourceVersion. */
  readonly byHeader: boolean
}

/** Servers without the header ignore it. A mode is supported when one endpoint supports it. */
async function offersOf(endpoints: readonly Endpoint[], path: string): Promise<Offers> {
  const modes: ModeName[] = []
  const notes: string[] = []
  for (const name of modeNames) {
    const answers = await askedIn(name, endpoints, path)
    if (answers.some((answer) => modeOf(answer) !== null)) modes.push(name)
    const refused = answers.find((answer) => answer?.status !== 200)
    if (refused !== undefined) {
      const words = textMember(objectOf(refused), 'message') || `HTTP ${refused?.status ?? 'none'}`
      notes.push(`${name} reads are not offered by all: ${words}`)
    }
  }
  if (modes.length > 0) return { modes, notes, byHeader: true }
  return {
    modes: ['linearizable', 'any'],
    notes: ['lease, bounded and log reads are not offered: the servers do not know Orch-Consistency'],
    byHeader: false,
  }
}

function askedIn(
  name: ModeName,
  endpoints: readonly Endpoint[],
  path: string,
): Promise<readonly (WireAnswer | null)[]> {
  const consistency = name === 'bounded' ? `bounded=${probeBoundMs}` : name
  return Promise.all(endpoints.map((endpoint) => askOnce(endpoint, { method: 'GET', path, consistency })))
}

/** @returns null without a response, or when the response has no mode */
function modeOf(answer: WireAnswer | null): string | null {
  return answer?.status === 200 ? (/^[a-z]+/.exec(answer.consistency ?? '')?.[0] ?? null) : null
}

/**
 * Sends one request on a connection of its own, and once again after a 401 if there are other
 * credentials.
 *
 * @returns null without a response
 * @throws CredentialError
 */
export function askOnce(endpoint: Endpoint, requested: HttpRequest): Promise<WireAnswer | null> {
  return withCredentials(
    endpoint.credentials,
    (credentials) => answerTo({ ...endpoint, credentials }, requested),
    (answer) => answer?.status === 401,
  )
}

async function answerTo(endpoint: ResolvedEndpoint, requested: HttpRequest): Promise<WireAnswer | null> {
  try {
    const connection = await WireConnection.open(endpoint)
    try {
      return await connection.ask(requestBytes(endpoint, requested), answerBytesMax)
    } finally {
      connection.close()
    }
  } catch {
    return null
  }
}

export function objectOf(answer: WireAnswer | null): JsonObject {
  try {
    const value: unknown = JSON.parse(answer?.start ?? '')
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

/**
 * Returns the current `resourceVersion` of the collection, from which a watch can start.
 *
 * @throws BenchError `no-answer`
 */
export async function versionOf(endpoint: Endpoint, collection: string): Promise<string> {
  const list = objectOf(await askOnce(endpoint, { method: 'GET', path: withQuery(collection, 'limit=1') }))
  const metadata = memberOf(list, 'metadata')
  const version =
    metadata !== undefined && isJsonObject(metadata) ? textMember(metadata, 'resourceVersion') : ''
  if (version === '') throw new BenchError('no-answer', `${endpoint.name} does not list ${collection}`)
  return version
}
