import * as http from 'node:http'
import * as https from 'node:https'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import type { JsonObject } from '../api/json.ts'
import { limits } from '../config/limits.ts'
import type { NodeAddressType } from '../config/node-agent-flags.ts'
import { followPhase, httpFailureOf } from '../host/http-call.ts'
import { causeWords } from '../outward/call-errors.ts'
import { hostLookup } from '../outward/host-lookup.ts'
import type { NodeAgentIdentity } from './node-agent-identity.ts'
import { nodeEndpoint } from './node-endpoint.ts'
import { ADDRESS_NOT_ALLOWED, isProxyable, lookupAmong } from './proxyable.ts'

/** A server that callers reach through this one. */
export type Backend = {
  readonly isSecure: boolean
  /** A name, or an address without brackets. */
  readonly host: string
  readonly port: number
  /**
   * - `node-agent`: verified with the authority of the flags, if there is one
   * - `unverified-node-agent`: the caller of this request wants no verification
   * - `any`: not verified, and gets no certificate of this server
   */
  readonly trust: 'node-agent' | 'unverified-node-agent' | 'any'
  /** Only addresses that `isProxyable` allows. */
  readonly isRestricted: boolean
}

export type BackendRequest = {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** Names and values in turn, with `host` and the length of the body. */
  readonly headers: readonly string[]
  readonly body: Uint8Array | null
}

export type BackendAnswer =
  | { readonly kind: 'response'; readonly response: IncomingMessage }
  /** The response is 101, and the connection has another protocol from here on. */
  | {
      readonly kind: 'upgraded'
      readonly response: IncomingMessage
      readonly socket: Duplex
      readonly head: Buffer
    }
  /** `why` is in the words of Go's clients, which operators search for. */
  | { readonly kind: 'failed'; readonly why: string }

export type BackendsOptions = {
  /** Returns the credentials for node agents; null: none are configured. */
  readonly identity: () => NodeAgentIdentity | null
  readonly addressTypes: readonly NodeAddressType[]
  /** Ms for a connection with its TLS handshake. */
  readonly connectMsMax: number
  /** Unset: `isProxyable`. */
  readonly isAllowed?: (address: string) => boolean
}

/**
 * Connections to node agents, and to Pods and Services for their proxies. Each call has a
 * connection of its own.
 */
export class Backends {
  readonly #options: BackendsOptions
  readonly #clock: Pick<Clock, 'after'>
  readonly #isAllowed: (address: string) => boolean
  readonly #restrictedLookup: ReturnType<typeof lookupAmong>

  constructor(options: BackendsOptions, { clock }: { readonly clock: Pick<Clock, 'after'> }) {
    this.#options = options
    this.#clock = clock
    this.#isAllowed = options.isAllowed ?? isProxyable
    this.#restrictedLookup = lookupAmong(this.#isAllowed)
  }

  /**
   * Returns the agent of a node.
   *
   * @throws ApiError `NotImplemented` without credentials for node agents; `InternalError` if the
   *   node has no address of a chosen type
   */
  nodeAgent(node: JsonObject): Backend {
    if (this.#options.identity() === null) {
      throw new ApiError(
        'NotImplemented',
        'this server cannot connect to node agents: it needs the options --kubelet-client-certificate and --kubelet-client-key',
      )
    }
    const endpoint = nodeEndpoint(node, this.#options.addressTypes)
    return { ...endpoint, isSecure: true, trust: 'node-agent', isRestricted: false }
  }

  /** Whether the proxies may connect to an address. */
  isAllowed(address: string): boolean {
    return this.#isAllowed(address)
  }

  /**
   * Sends a request. Redirects are not followed. Never rejects.
   *
   * @param signal ends the call and its connection
   */
  send(backend: Backend, request: BackendRequest, signal: AbortSignal): Promise<BackendAnswer> {
    const { host, port, isSecure, isRestricted } = backend
    const { method, path, headers, body } = request
    // A name is checked when it is resolved.
    if (isRestricted && isIP(host) !== 0 && !this.#isAllowed(host))
      return Promise.resolve({ kind: 'failed', why: ADDRESS_NOT_ALLOWED })
    const options = {
      ...{ host, port, method, path, headers, signal, agent: false },
      maxHeaderSize: limits.backendHeaderBytesMax,
      lookup: isRestricted ? this.#restrictedLookup : hostLookup,
    }
    return new Promise((resolve) => {
      let outgoing: http.ClientRequest
      try {
        outgoing = isSecure ? https.request({ ...options, ...this.#tlsOf(backend) }) : http.request(options)
      } catch (cause) {
        // A path or a header that Node.js does not send.
        resolve({ kind: 'failed', why: cause instanceof Error ? cause.message : String(cause) })
        return
      }
      const phase = followPhase(outgoing, { isSecure, pending: null })
      // Not a `URL`, which would throw for the address of a node that is not a valid host.
      const server = { hostname: isIP(host) === 6 ? `[${host}]` : host, port: String(port) }
      const timer = this.#clock.after(this.#options.connectMsMax, () =>
        outgoing.destroy(new DOMException('no connection in time', 'TimeoutError')),
      )
      outgoing.once('socket', (socket) => {
        socket.once('connect', () => socket.setKeepAlive(true, limits.backendKeepAliveMs))
        socket.once(isSecure ? 'secureConnect' : 'connect', () => timer.cancel())
      })
      outgoing.on('error', (cause) => {
        timer.cancel()
        const failure = httpFailureOf(cause, false, phase())
        resolve({ kind: 'failed', why: failure.kind === 'failed' ? causeWords(server, failure) : '' })
      })
      outgoing.once('upgrade', (response, socket, head) => {
        socket.on('error', () => undefined)
        resolve({ kind: 'upgraded', response, socket, head })
      })
      outgoing.once('response', (response) => {
        response.on('error', () => undefined)
        resolve({ kind: 'response', response })
      })
      outgoing.end(body ?? undefined)
    })
  }

  #tlsOf({ trust, host }: Backend): https.RequestOptions {
    // Set for a host name only: for an address, the server certificate is compared with `host`.
    const servername = isIP(host) === 0 ? { servername: host } : {}
    const identity = this.#options.identity()
    if (trust === 'any' || identity === null) return { ...servername, rejectUnauthorized: false }
    const { certificate, key, authority } = identity
    const isVerified = authority !== null && trust === 'node-agent'
    return {
      ...{ ...servername, cert: certificate, key, rejectUnauthorized: isVerified },
      ...(isVerified ? { ca: authority } : {}),
    }
  }
}
