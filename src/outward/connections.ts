import * as http from 'node:http'
import * as https from 'node:https'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { ConnectionOptions as ConnectionSettings } from 'node:tls'
import type { ConnectionOptions as Connecting } from '../host/http-call.ts'
import { hostLookup } from './host-lookup.ts'
import type { Proxy } from './proxy.ts'

export type ConnectionOptions = {
  readonly connectionsMax: number
  readonly idleMsMax: number
  /** Ms without progress after which a connection through a proxy fails. */
  readonly tunnelMsMax: number
  readonly tls: https.AgentOptions
  readonly proxy: Proxy | null
}

/** Returns the pool of connections to the server of a URL. */
export function connectionsTo(url: URL, options: ConnectionOptions): http.Agent {
  const { connectionsMax, idleMsMax, tls, proxy } = options
  const kept = { keepAlive: true, maxSockets: connectionsMax, timeout: idleMsMax, lookup: hostLookup }
  const isPlain = url.protocol === 'http:'
  const agent =
    proxy !== null
      ? new TunnelAgent({ ...kept, ...(isPlain ? {} : tls) }, proxy, options, isPlain)
      : isPlain
        ? new http.Agent(kept)
        : new https.Agent({ ...kept, ...tls })
  // For each call, the base class makes a key of all details of the connection, certificates
  // included. Here all connections are alike.
  agent.getName = () => 'server'
  return agent
}

type Connected = (error: Error | null, socket?: Duplex) => void

/** Connects through a proxy: `CONNECT`, and TLS with the server inside. */
class TunnelAgent extends https.Agent {
  readonly #proxy: Proxy
  readonly #tunnelMsMax: number
  readonly #isPlain: boolean

  constructor(
    agent: https.AgentOptions,
    proxy: Proxy,
    { tunnelMsMax }: Pick<ConnectionOptions, 'tunnelMsMax'>,
    isPlain: boolean,
  ) {
    super(agent)
    this.#proxy = proxy
    this.#tunnelMsMax = tunnelMsMax
    this.#isPlain = isPlain
    // The protocol of the requests that it accepts.
    if (isPlain) Object.assign(this, { protocol: 'http:', defaultPort: 80 })
  }

  /** Called by the base class for each connection. */
  override createConnection(options: Connecting, done?: (error: Error | null, socket: Duplex) => void): null {
    const { host, port, pending } = options
    const name = host ?? ''
    const target = `${name.includes(':') ? `[${name}]` : name}:${port ?? (this.#isPlain ? 80 : 443)}`
    const giveUp = openTunnel(this.#proxy, target, this.#tunnelMsMax, (error, tunnel) => {
      if (error !== null || tunnel === undefined) {
        done?.(error, new Socket())
        return
      }
      pending?.end()
      done?.(
        null,
        this.#isPlain ? tunnel : connectTls({ ...(options as ConnectionSettings), socket: tunnel }),
      )
    })
    // The call that needs the connection may time out before the proxy does.
    pending?.begin(giveUp)
    return null
  }
}

/** @returns a function that gives it up; then `done` is called with an error */
function openTunnel(
  { url, authorization }: Proxy,
  target: string,
  msMax: number,
  done: Connected,
): (cause: Error) => void {
  const send = url.protocol === 'http:' ? http.request : https.request
  const headers = {
    host: target,
    ...(authorization === null ? {} : { 'proxy-authorization': authorization }),
  }
  const outgoing = send(url, {
    ...{ method: 'CONNECT', path: target, headers, agent: false, timeout: msMax, lookup: hostLookup },
  })
  const fail = (why: string, cause?: Error): void =>
    done(Object.assign(new Error(`proxy ${url.host}: ${why}`, { cause }), { code: 'EPROXY' }))
  const refuse = (statusCode: number | undefined, socket: Duplex): void => {
    socket.destroy()
    fail(`it answers ${statusCode ?? 0} to CONNECT ${target}`)
  }
  outgoing.once('connect', (response, socket) => {
    if (response.statusCode !== 200) {
      refuse(response.statusCode, socket)
      return
    }
    if (socket instanceof Socket) socket.setTimeout(0)
    done(null, socket)
  })
  outgoing.once('response', ({ statusCode, socket }) => refuse(statusCode, socket))
  outgoing.once('timeout', () => outgoing.destroy(new Error('no connection in time')))
  outgoing.on('error', (cause) => fail(cause.message, cause))
  outgoing.end()
  return (cause) => void outgoing.destroy(cause)
}
