import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import type { Clock } from '../../../base/clock.ts'
import type { SeededRandom } from '../../../base/random.ts'
import { chaosLimits } from '../limits.ts'
import { Flow } from './flow.ts'
import { stateOf } from './rules.ts'
import type { LinkRule } from './rules.ts'

export type ProxiedMember = {
  readonly name: string
  /** Ports on the loopback address: peers connect to `dialed`, the member listens on `listens`. */
  readonly dialed: number
  readonly listens: number
}

export type MemberProxyOptions = {
  readonly proxied: ProxiedMember
  readonly clock: Clock
  readonly random: SeededRandom
  readonly rules: () => readonly LinkRule[]
  /** Returns the member that owns the port; null: unknown. */
  readonly findCaller: (port: number) => Promise<string | null>
}

type Connection = {
  readonly from: string
  readonly caller: Socket
  /** null: not connected, because a rule cuts the link. */
  flows: { readonly member: Socket; readonly inward: Flow; readonly outward: Flow } | null
}

const host = '127.0.0.1'

/** Proxy in front of one member: forwards connections of its peers as the rules allow. */
export class MemberProxy {
  readonly #options: MemberProxyOptions
  readonly #server: Server
  readonly #connections = new Set<Connection>()

  private constructor(options: MemberProxyOptions) {
    this.#options = options
    this.#server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (caller) => {
      caller.on('error', () => undefined)
      void this.#accept(caller)
    })
    this.#server.maxConnections = chaosLimits.connectionsMax
  }

  /** @throws the error of the system when the port is in use */
  static async open(options: MemberProxyOptions): Promise<MemberProxy> {
    const proxy = new MemberProxy(options)
    proxy.#server.listen(options.proxied.dialed, host)
    await once(proxy.#server, 'listening')
    return proxy
  }

  /** Applies changed rules. */
  refresh(): void {
    for (const connection of this.#connections) this.#apply(connection)
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const { caller, flows } of this.#connections) {
      flows?.inward.close()
      flows?.outward.close()
      flows?.member.destroy()
      caller.destroy()
    }
    await closed
  }

  async #accept(caller: Socket): Promise<void> {
    const port = caller.remotePort
    const from = port === undefined ? null : await this.#options.findCaller(port)
    // An unknown caller is a member that just ended, or another program.
    if (from === null || caller.destroyed) {
      caller.destroy()
      return
    }
    const connection: Connection = { from, caller, flows: null }
    this.#connections.add(connection)
    caller.on('close', () => this.#forget(connection))
    this.#apply(connection)
  }

  #apply(connection: Connection): void {
    const { proxied, rules } = this.#options
    const [inward, outward] = [
      stateOf(rules(), connection.from, proxied.name),
      stateOf(rules(), proxied.name, connection.from),
    ]
    if (connection.flows !== null) {
      connection.flows.inward.state = inward
      connection.flows.outward.state = outward
    } else if (!inward.cut) {
      const { clock, random } = this.#options
      const { caller } = connection
      const member = connect({ host, port: proxied.listens, allowHalfOpen: true, noDelay: true })
      const shared = { clock, random }
      connection.flows = {
        member,
        inward: new Flow({ ...shared, source: caller, sink: member, state: inward }),
        outward: new Flow({ ...shared, source: member, sink: caller, state: outward }),
      }
      member.on('close', () => this.#forget(connection))
    }
  }

  /** Drops the connection once both sides are closed. */
  #forget(connection: Connection): void {
    const { caller, flows } = connection
    if (flows === null || (caller.destroyed && flows.inward.isOver)) this.#connections.delete(connection)
  }
}
