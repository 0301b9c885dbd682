import { existsSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { relative } from 'node:path'
import type { Clock } from '../../../base/clock.ts'
import { ChaosFailure } from '../errors.ts'
import { chaosLimits } from '../limits.ts'
import { parseRules } from './rules.ts'
import type { LinkRule } from './rules.ts'

/*
 * One line each way: all rules as JSON, then "ok" or what is wrong. Rules hold as long as the connection that brought them, so
 * whoever cut a link and died has healed it. One connection at a time, so that two runs do not undo each other.
 */

/** Longest address of a unix socket, with its zero. @source unix(7) */
const pathBytesMax = 108

/** Where the proxies are told what to do. */
export class ControlServer {
  readonly #server: Server
  readonly #path: string
  readonly #onRules: (rules: readonly LinkRule[]) => void
  #master: Socket | null = null

  private constructor(path: string, onRules: (rules: readonly LinkRule[]) => void) {
    this.#path = path
    this.#onRules = onRules
    this.#server = createServer((socket) => this.#accept(socket))
  }

  /** @throws ChaosFailure `links`, or the system's error */
  static async open(path: string, onRules: (rules: readonly LinkRule[]) => void): Promise<ControlServer> {
    const control = new ControlServer(path, onRules)
    // Of one that was killed: whoever calls this made sure that none runs.
    if (existsSync(path)) rmSync(path)
    control.#server.listen(shortest(path))
    await once(control.#server, 'listening')
    return control
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#master?.destroy()
    await closed
    rmSync(this.#path, { force: true })
  }

  #accept(socket: Socket): void {
    socket.on('error', () => undefined)
    if (this.#master !== null) {
      socket.end('another run of chaos has these links\n')
      // Unread, its end would never be noticed.
      socket.resume()
      return
    }
    this.#master = socket
    socket.on('close', () => {
      this.#master = null
      this.#onRules([])
    })
    eachLine(socket, (line) => {
      const rules = parseRules(parsed(line))
      if (rules !== null) this.#onRules(rules)
      socket.write(rules === null ? 'these are no rules\n' : 'ok\n')
    })
  }
}

/** Tells the proxies what to do, for as long as it lives. */
export class ControlClient {
  readonly #socket: Socket
  readonly #clock: Clock
  #answer: ((line: string) => void) | null = null

  private constructor(socket: Socket, clock: Clock) {
    this.#socket = socket
    this.#clock = clock
    socket.on('error', () => undefined)
    socket.on('close', () => this.#answer?.('they ended'))
    eachLine(socket, (line) => this.#answer?.(line))
  }

  /** @throws ChaosFailure `links` when nobody listens, or another run was first */
  static async open(path: string, clock: Clock): Promise<ControlClient> {
    const socket = connect(shortest(path))
    try {
      await once(socket, 'connect')
    } catch (cause) {
      const remedy = 'orchctl cluster up starts them'
      throw new ChaosFailure('links', `the proxies between peers do not run: ${remedy}`, { cause })
    }
    const client = new ControlClient(socket, clock)
    await client.set([])
    return client
  }

  /** These and no others. One call at a time. @throws ChaosFailure `links` */
  async set(rules: readonly LinkRule[]): Promise<void> {
    const answered = new Promise<string>((resolve) => {
      const timer = this.#clock.after(chaosLimits.controlMsMax, () => resolve('no answer in time'))
      this.#answer = (line) => {
        timer.cancel()
        resolve(line)
      }
    })
    if (this.#socket.destroyed) this.#answer?.('they ended')
    else this.#socket.write(`${JSON.stringify(rules)}\n`)
    const line = await answered
    this.#answer = null
    if (line !== 'ok') throw new ChaosFailure('links', `the proxies between peers: ${line}`)
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

/** As few bytes as may be. @throws ChaosFailure `links` when they are too many */
function shortest(path: string): string {
  const near = relative(process.cwd(), path)
  const short = near.length < path.length ? near : path
  if (Buffer.byteLength(short) < pathBytesMax) return short
  throw new ChaosFailure(
    'links',
    `${path} is too long for a socket: put the cluster in a directory nearer to the root`,
  )
}
