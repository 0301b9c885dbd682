import * as http from 'node:http'
import * as https from 'node:https'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { ConnectionOptions as ConnectionSettings } from 'node:tls'
import type { Clock } from '../../base/clock.ts'
import type { ConnectionOptions as Connecting } from '../host/http-call.ts'
import { hostLookup } from './host-lookup.ts'
import type { Proxy } from './proxy.ts'

export type ConnectionOptions = {
  readonly connectionsMax: number
  readonly idleMsMax: number
  /** Ms until a proxy must have connected to the server. */
  readonly tunnelMsMax: number
  readonly tls: https.AgentOptions
  readonly proxy: Proxy | null
  readonly clock: Pick<Clock, 'after'>
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

type TunnelLimits = Pick<ConnectionOptions, 'tunnelMsMax' | 'clock'>

type Connected = (error: Error | null, socket?: Duplex) => void

/** Connects through a proxy: `CONNECT`, and TLS with the server inside. */
class TunnelAgent extends https.Agent {
  readonly #proxy: Proxy
  readonly #limits: TunnelLimits
  readonly #isPlain: boolean

  constructor(
    agent: https.AgentOptions,
    proxy: Proxy,
    { tunnelMsMax, clock }: TunnelLimits,
    isPlain: boolean,
  ) {
    super(agent)
    this.#proxy = proxy
    this.#limits = { tunnelMsMax, clock }
    this.#isPlain = isPlain
    // The protocol of the requests that it accepts.
    if (isPlain) Object.assign(this, { protocol: 'http:', defaultPort: 80 })
  }

  /** Called by the base class for each connection. */
  override createConnection(options: Connecting, done?: (error: Error | null, socket: Duplex) => void): null {
    const { host, port, pending } = options
    const name = host ?? ''
    const target = `${name.includes(':') ? `[${name}]` : name}:${port ?? (this.#isPlain ? 80 : 443)}`
    const giveUp = openTunnel(this.#proxy, target, this.#limits, (error, tunnel) => {
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
  { tunnelMsMax, clock }: TunnelLimits,
  done: Connected,
): (cause: Error) => void {
  const send = url.protocol === 'http:' ? http.request : https.request
  const headers = {
    host: target,
    ...(authorization === null ? {} : { 'proxy-authorization': authorization }),
  }
  const outgoing = send(url, {
    ...{ method: 'CONNECT', path: target, headers, agent: false, lookup: hostLookup },
  })
  const timer = clock.after(tunnelMsMax, () => outgoing.destroy(new Error('no connection in time')))
  outgoing.once('close', () => timer.cancel())
  const fail = (why: string, cause?: Error): void =>
    done(Object.assign(new Error(`proxy ${url.host}: ${why}`, { cause }), { code: 'EPROXY' }))
  const refuse = (statusCode: number | undefined, socket: Duplex): void => {
    socket.destroy()
    fail(`it answers ${statusCode ?? 0} to CONNECT ${target}`)
  }
  outgoing.once('connect', (response, socket) => {
    timer.cancel()
    if (response.statusCode !== 200) {
      refuse(response.statusCode, socket)
      return
    }
    done(null, socket)
  })
  outgoing.once('response', ({ statusCode, socket }) => refuse(statusCode, socket))
  outgoing.on('error', (cause) => fail(cause.message, cause))
  outgoing.end()
  return (cause) => void outgoing.destroy(cause)
}
