import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { freePorts } from '../../../fixtures/port-range.ts'
import { installDebianPackage } from '../tools/debian-package.ts'
import { until } from '../tools/until.ts'

export type Sample = {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

export type LoadedRule = {
  readonly name: string
  readonly health: string
  readonly lastError?: string
}

export type ActiveAlert = { readonly labels: Readonly<Record<string, string>>; readonly state: string }

type Scraped = {
  /** `host:port` of each member. */
  readonly targets: readonly string[]
  readonly caPath: string
  readonly token: string
  readonly rulesPath: string
}

/** Returns why there is no Prometheus here; null: it is installed. */
export function missingPrometheus(): string | null {
  return installDebianPackage('prometheus', 'promtool')
}

/** @throws Error with its output when promtool does not accept the rules */
export function checkRules(path: string): string {
  return execFileSync('promtool', ['check', 'rules', path], { encoding: 'utf8' })
}

/** A real Prometheus that scrapes and evaluates each second. */
export class Prometheus {
  readonly #child: ChildProcess
  readonly #url: string
  readonly #logPath: string

  private constructor(child: ChildProcess, url: string, logPath: string) {
    this.#child = child
    this.#url = url
    this.#logPath = logPath
  }

  /** @param directory for its files; removed by the caller */
  static async start(directory: string, scraped: Scraped): Promise<Prometheus> {
    const home = join(directory, 'prometheus')
    mkdirSync(home)
    const [port] = await freePorts(1)
    const configPath = join(home, 'prometheus.yml')
    writeFileSync(configPath, stringify(configOf(scraped)))
    const logPath = join(home, 'prometheus.log')
    const log = openSync(logPath, 'a')
    const child = spawn(
      'prometheus',
      [
        ...[`--config.file=${configPath}`, `--storage.tsdb.path=${join(home, 'data')}`],
        ...[`--web.listen-address=127.0.0.1:${port}`, '--log.level=warn'],
      ],
      { stdio: ['ignore', log, log] },
    )
    closeSync(log)
    const started = new Prometheus(child, `http://127.0.0.1:${port}`, logPath)
    await until(
      'Prometheus is ready',
      () => started.#isReady(),
      () => started.log(),
    )
    return started
  }

  log(): string {
    return readFileSync(this.#logPath, 'utf8').slice(-4000)
  }

  /** @throws Error when Prometheus rejects the query */
  async query(expr: string): Promise<readonly Sample[]> {
    const data = await this.#get(`/api/v1/query?query=${encodeURIComponent(expr)}`)
    return (data as { readonly result: readonly Sample[] }).result
  }

  async rules(): Promise<readonly LoadedRule[]> {
    type Group = { readonly rules: readonly LoadedRule[] }
    const { groups } = (await this.#get('/api/v1/rules')) as { readonly groups: readonly Group[] }
    return groups.flatMap(({ rules }) => rules)
  }

  /** The alerts that are pending or firing. */
  async alerts(): Promise<readonly ActiveAlert[]> {
    return ((await this.#get('/api/v1/alerts')) as { readonly alerts: readonly ActiveAlert[] }).alerts
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }

  async #isReady(): Promise<boolean> {
    if (this.#child.exitCode !== null) throw new Error(`Prometheus ended:\n${this.log()}`)
    try {
      return (await fetch(`${this.#url}/-/ready`)).ok
    } catch {
      return false
    }
  }

  async #get(path: string): Promise<unknown> {
    const reply = await fetch(`${this.#url}${path}`)
    const text = await reply.text()
    if (!reply.ok) throw new Error(`${decodeURIComponent(path)}: ${text}`)
    return (JSON.parse(text) as { readonly data: unknown }).data
  }
}

function configOf({ targets, caPath, token, rulesPath }: Scraped): object {
  return {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rulesPath],
    scrape_configs: [
      {
        job_name: 'orch-apiserver',
        scheme: 'https',
        tls_config: { ca_file: caPath },
        authorization: { type: 'Bearer', credentials: token },
        static_configs: [{ targets: [...targets] }],
      },
    ],
  }
}
