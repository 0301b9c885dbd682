import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiClient, NoReply } from './api-client.ts'
import type { Credentials } from './api-client.ts'
import { patienceMs, until } from '../tools/until.ts'

export type ClusterStatus = {
  readonly name: string
  readonly role: string
  readonly term: number
  readonly leader: { readonly name: string } | null
  readonly commit: number
  readonly appliedMemory: number
  readonly appliedDisk: number
  readonly state: { readonly index: number; readonly digest: string | null; readonly featureLevel: number }
  readonly ready: boolean
}

/**
 * The timeout of one status request, in ms: short enough to skip a paused member, and long enough
 * for a slow one.
 */
export const askMs = 5000

/** One real server process, and a client with the credentials of the administrator. */
export class MemberProcess {
  readonly name: string
  readonly url: string
  readonly client: ApiClient
  readonly directory: string
  /** Arguments of Node before the configuration. */
  readonly #program: readonly string[]
  #child: ChildProcess | null = null
  /** The size of its log at its last start, in bytes. */
  #logStart = 0

  constructor(
    name: string,
    url: string,
    directory: string,
    credentials: Credentials,
    program: readonly string[],
  ) {
    this.name = name
    this.url = url
    this.directory = directory
    this.client = new ApiClient(url, credentials, { sockets: 256 })
    this.#program = program
  }

  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error(`${this.name} is not running`)
    return pid
  }

  get #logPath(): string {
    return join(this.directory, 'server.log')
  }

  get running(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** @param flags appended to those of the configuration file */
  start(flags: readonly string[] = []): void {
    this.#logStart = statSync(this.#logPath, { throwIfNoEntry: false })?.size ?? 0
    const log = openSync(this.#logPath, 'a')
    this.#child = spawn(
      process.execPath,
      [...this.#program, '--config', join(this.directory, 'config.yaml'), ...flags],
      {
        stdio: ['ignore', log, log],
        env: { ...process.env, ORCH_STALL_DIRECTORY: this.directory },
      },
    )
    closeSync(log)
    // The proxies between peers find the process of a member by this file.
    writeFileSync(join(this.directory, 'pid'), String(this.#child.pid ?? 0))
  }

  signal(name: NodeJS.Signals): void {
    process.kill(this.pid, name)
  }

  /** @returns the exit code, or the signal that ended it */
  async stop(name: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    const child = this.#child
    if (child === null || !this.running) return child?.exitCode ?? child?.signalCode ?? 0
    const exited = once(child, 'exit')
    child.kill(name)
    const given = new AbortController()
    const alarm = sleep(patienceMs, 'stuck' as const, { ref: false, signal: given.signal })
    alarm.catch(() => undefined)
    const first = await Promise.race([exited, alarm])
    given.abort()
    if (first === 'stuck') {
      child.kill('SIGKILL')
      throw new Error(`${this.name} did not end within ${patienceMs / 1000} s of ${name}\n${this.logTail()}`)
    }
    return child.exitCode ?? child.signalCode ?? 0
  }

  async isReady(): Promise<boolean> {
    try {
      return (await this.client.get('/readyz', { timeoutMs: askMs })).status === 200
    } catch (cause) {
      if (cause instanceof NoReply) return false
      throw cause
    }
  }

  async waitReady(): Promise<void> {
    const endMs = performance.now() + patienceMs
    while (!(await this.isReady())) {
      if (!this.running) {
        const by = this.#child?.exitCode ?? this.#child?.signalCode ?? 'nothing: it was not started'
        throw new Error(`${this.name} ended while it was awaited, by ${by}\n${this.logTail()}`)
      }
      if (performance.now() > endMs)
        throw new Error(`${this.name} is not ready\n${await this.#why()}\n${this.logTail()}`)
      await sleep(50)
    }
  }

  /** @param timeoutMs short for pollers that may reach a paused member */
  async status(timeoutMs?: number): Promise<ClusterStatus> {
    const call = timeoutMs === undefined ? {} : { timeoutMs }
    const reply = await this.client.get('/cluster/v1/status', call)
    if (reply.status !== 200) throw new Error(`${this.name}: ${reply.text}`)
    return JSON.parse(reply.text) as ClusterStatus
  }

  /** Resolves when its database has everything that is in memory now. */
  async onDisk(): Promise<void> {
    const { appliedMemory } = await this.status()
    const isThere = async (): Promise<boolean> => (await this.status()).appliedDisk >= appliedMemory
    await until(`the database of ${this.name} holds all up to ${appliedMemory}`, isThere)
  }

  /** The log of the member since its last start. */
  currentLog(): string {
    return readFileSync(this.#logPath).subarray(this.#logStart).toString('utf8')
  }

  /** The end of the log, for messages. To find a line use `currentLog`. */
  logTail(): string {
    return readFileSync(this.#logPath, 'utf8').split('\n').slice(-25).join('\n')
  }

  async #why(): Promise<string> {
    try {
      return (await this.client.get('/readyz?verbose', { timeoutMs: askMs })).text
    } catch {
      return 'no answer'
    }
  }
}
