import { existsSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { relative } from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import { ChaosError } from '../errors.ts'
import { chaosLimits } from '../limits.ts'
import { parseRules } from './rules.ts'
import type { LinkRule } from './rules.ts'

/*
 * Control protocol: the client sends all rules as one line of JSON, and the server responds with
 * "ok" or an error. Rules are in force as long as the connection that sent them is open, so link
 * faults end with their client. Only one connection is accepted at a time, so that two runs do not
 * interfere.
 */

/** Maximum length of a unix socket address, including the terminating zero. @source unix(7) */
const pathBytesMax = 108

/** Control socket of the proxies. */
export class ControlServer {
  readonly #server: Server
  readonly #path: string
  readonly #onRules: (rules: readonly LinkRule[]) => void
  #connected: Socket | null = null

  private constructor(path: string, onRules: (rules: readonly LinkRule[]) => void) {
    this.#path = path
    this.#onRules = onRules
    this.#server = createServer((socket) => this.#accept(socket))
  }

  /** @throws ChaosError `links`, or the error of the system */
  static async open(path: string, onRules: (rules: readonly LinkRule[]) => void): Promise<ControlServer> {
    const control = new ControlServer(path, onRules)
    // Removes the socket of a killed process; the caller has made sure that none is running.
    if (existsSync(path)) rmSync(path)
    control.#server.listen(shortest(path))
    await once(control.#server, 'listening')
    return control
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#connected?.destroy()
    await closed
    rmSync(this.#path, { force: true })
  }

  #accept(socket: Socket): void {
    socket.on('error', () => undefined)
    if (this.#connected !== null) {
      socket.end('another run of chaos uses these links\n')
      // Without reading, the end of the connection would not be noticed.
      socket.resume()
      return
    }
    this.#connected = socket
    socket.on('close', () => {
      this.#connected = null
      this.#onRules([])
    })
    eachLine(socket, (line) => {
      const rules = parseRules(parsed(line))
      if (rules !== null) this.#onRules(rules)
      socket.write(rules === null ? 'malformed rules\n' : 'ok\n')
    })
  }
}

const connectionClosed = 'the connection was closed'

/** Client of the control socket. Its rules are in force while it is connected. */
export class ControlClient {
  readonly #socket: Socket
  readonly #clock: Clock
  #answer: ((line: string) => void) | null = null

  private constructor(socket: Socket, clock: Clock) {
    this.#socket = socket
    this.#clock = clock
    socket.on('error', () => undefined)
    socket.on('close', () => this.#answer?.(connectionClosed))
    eachLine(socket, (line) => this.#answer?.(line))
  }

  /** @throws ChaosError `links` when the proxies are not running, or another run is connected */
  static async open(path: string, clock: Clock): Promise<ControlClient> {
    const socket = connect(shortest(path))
    try {
      await once(socket, 'connect')
    } catch (cause) {
      const remedy = 'orchctl cluster up starts them'
      throw new ChaosError('links', `the proxies between peers do not run: ${remedy}`, { cause })
    }
    const client = new ControlClient(socket, clock)
    await client.set([])
    return client
  }

  /** Replaces all rules. One call at a time. @throws ChaosError `links` */
  async set(rules: readonly LinkRule[]): Promise<void> {
    const answered = new Promise<string>((resolve) => {
      const timer = this.#clock.after(chaosLimits.controlMsMax, () => resolve('no answer in time'))
      this.#answer = (line) => {
        timer.cancel()
        resolve(line)
      }
    })
    if (this.#socket.destroyed) this.#answer?.(connectionClosed)
    else this.#socket.write(`${JSON.stringify(rules)}\n`)
    const line = await answered
    this.#answer = null
    if (line !== 'ok') throw new ChaosError('links', `the proxies between peers: ${line}`)
  }

  close(): void {
    this.#socket.destroy()
  }
}

function eachLine(socket: Socket, onLine: (line: string) => void): void {
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (piece: string) => {
    const lines = (text + piece).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) onLine(line)
    if (text.length > chaosLimits.controlLineBytesMax) socket.destroy()
  })
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

/** Returns the shortest form of the path. @throws ChaosError `links` when it is too long */
function shortest(path: string): string {
  const near = relative(process.cwd(), path)
  const short = near.length < path.length ? near : path
  if (Buffer.byteLength(short) < pathBytesMax) return short
  throw new ChaosError(
    'links',
    `${path} is too long for a socket: put the cluster in a directory nearer to the root`,
  )
}
