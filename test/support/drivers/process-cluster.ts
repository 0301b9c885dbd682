import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import { ControlClient } from '../../../tools/chaos/links/control.ts'
import { controlFile, linksFile } from '../../../tools/chaos/links/links.ts'
import { RealClock } from '../../../src/host/clock.ts'
import { RealRandom } from '../../../src/host/random.ts'
import { clusterPkiPaths, ensureClusterPki } from '../../../src/pki/cluster-pki.ts'
import { NoReply } from './api-client.ts'
import type { Credentials } from './api-client.ts'
import { freePorts } from '../../../fixtures/port-range.ts'
import { MemberProcess, askMs } from './member-process.ts'
import { orchctlProgram, serverProgram } from './programs.ts'
import { patienceMs, until } from '../tools/until.ts'

export type { MemberProcess } from './member-process.ts'

export type ClusterOptions = {
  readonly members?: number
  readonly domain?: 'orch.io' | 'k8s.io'
  /** More lines for every member's configuration file. */
  readonly config?: Readonly<Record<string, unknown>>
  /** Options of Node itself. */
  readonly nodeFlags?: readonly string[]
  /** Another program than the shipped one, for tests of the tests. */
  readonly program?: string
  /**
   * A module loaded into every thread of every member before the server. The environment variable
   * `ORCH_STALL_DIRECTORY` names the directory of the member.
   */
  readonly preload?: string
  /** Peers are connected through the proxies of `orchctl chaos`; see `openLinks`. */
  readonly links?: boolean
}

/**
 * Real processes, disks and certificates, in a directory that is removed with the cluster.
 */
export class ProcessCluster {
  readonly members: readonly MemberProcess[]
  readonly directory: string
  readonly kubeconfig: string
  readonly credentials: Credentials
  #links: ControlClient | null = null
  #linksProcess: ChildProcess | null = null

  private constructor(
    directory: string,
    kubeconfig: string,
    members: readonly MemberProcess[],
    credentials: Credentials,
  ) {
    this.directory = directory
    this.kubeconfig = kubeconfig
    this.members = members
    this.credentials = credentials
  }

  /** Creates keys and configuration; nothing is started. */
  static async prepare(options: ClusterOptions = {}): Promise<ProcessCluster> {
    const directory = mkdtempSync(join(tmpdir(), 'orch-cluster-'))
    const names = Array.from({ length: options.members ?? 3 }, (_, at) => `n${at + 1}`)
    const ports = await freePorts(names.length * 3)
    const seats = names.map((name, at) => ({
      name,
      port: ports[3 * at] as number,
      peerPort: ports[3 * at + 1] as number,
      listenPort: ports[3 * at + (options.links === true ? 2 : 1)] as number,
    }))
    const pki = join(directory, 'pki')
    const kubeconfig = join(directory, 'admin.kubeconfig')
    ensureClusterPki({
      directory: pki,
      kubeconfigPath: kubeconfig,
      members: seats.map(({ name, port }) => ({
        name,
        hosts: ['127.0.0.1'],
        serverUrl: `https://127.0.0.1:${port}`,
      })),
      clock: new RealClock(),
      random: new RealRandom(),
    })
    const paths = clusterPkiPaths(pki)
    const read = (path: string): string => readFileSync(path, 'utf8')
    const credentials = {
      ca: read(paths.ca.certificate),
      cert: read(paths.admin.certificate),
      key: read(paths.admin.key),
    }
    writeFileSync(
      join(directory, 'tokens.csv'),
      'test-admin-token,token-admin,u1,"system:masters"\ntest-nobody-token,nobody,u2\n',
    )
    const members = seats.map(({ name, port, listenPort }) => {
      const home = join(directory, name)
      mkdirSync(home)
      const config = {
        name,
        'data-dir': join(home, 'data'),
        'bind-address': '127.0.0.1',
        'secure-port': port,
        'advertise-address': `127.0.0.1:${port}`,
        'peer-address': `127.0.0.1:${listenPort}`,
        'api-domain': options.domain ?? 'k8s.io',
        'tls-cert-file': paths.server(name).certificate,
        'tls-private-key-file': paths.server(name).key,
        'client-ca-file': paths.ca.certificate,
        'peer-ca-file': paths.peerCa.certificate,
        'peer-cert-file': paths.peer(name).certificate,
        'peer-key-file': paths.peer(name).key,
        'token-auth-file': join(directory, 'tokens.csv'),
        'cluster-name': 'test',
        'initial-members': seats.map((seat) => ({
          name: seat.name,
          'peer-address': `127.0.0.1:${seat.peerPort}`,
          'client-address': `127.0.0.1:${seat.port}`,
        })),
        ...options.config,
      }
      writeFileSync(join(home, 'config.yaml'), stringify(config))
      const preload = options.preload === undefined ? [] : ['--import', options.preload]
      const program = [...(options.nodeFlags ?? []), ...preload, options.program ?? serverProgram]
      return new MemberProcess(name, `https://127.0.0.1:${port}`, home, credentials, program)
    })
    if (options.links === true) {
      const links = seats.map(({ name, peerPort, listenPort }) => {
        return { name, dialed: peerPort, listens: listenPort }
      })
      writeFileSync(join(directory, linksFile), JSON.stringify(links))
    }
    return new ProcessCluster(directory, kubeconfig, members, credentials)
  }

  /** Starts a cluster and waits until it is ready. */
  static async start(options: ClusterOptions = {}): Promise<ProcessCluster> {
    const cluster = await ProcessCluster.prepare(options)
    try {
      if (options.links === true) await cluster.openLinks()
      for (const member of cluster.members) member.start()
      await cluster.waitReady()
    } catch (cause) {
      await cluster.remove()
      throw cause
    }
    return cluster
  }

  async waitReady(): Promise<void> {
    await Promise.all(this.members.map((member) => member.waitReady()))
  }

  member(name: string): MemberProcess {
    const found = this.members.find((member) => member.name === name)
    if (found === undefined) throw new Error(`no member ${name}`)
    return found
  }

  /**
   * Returns the leader that a majority currently names in one term. A leader that a minority names
   * may be deposed or paused.
   *
   * @param except neither called nor accepted as the leader
   */
  async leader(except?: MemberProcess): Promise<MemberProcess> {
    const requested = this.members.filter((member) => member !== except)
    let words: readonly (string | null)[] = []
    let found: MemberProcess | null = null
    await until(
      'a majority has one leader',
      async () => {
        words = await Promise.all(requested.map((member) => leaderNamedBy(member)))
        const agreed = words.find(
          (word) => words.filter((other) => other === word).length > this.members.length / 2 && word !== null,
        )
        const name = agreed?.split(' ')[0]
        found = requested.find((member) => member.name === name && member.running) ?? null
        return found !== null
      },
      () => `leaders named by ${requested.map(({ name }) => name).join(', ')}: ${words.join(', ')}`,
      20,
    )
    return found ?? assert.fail('there is a leader')
  }

  /**
   * Starts the proxies between peers, in a process of their own. Peers are only connected through
   * them.
   */
  async openLinks(): Promise<ControlClient> {
    if (this.#links !== null) return this.#links
    const log = openSync(join(this.directory, 'links.log'), 'a')
    this.#linksProcess = spawn(
      process.execPath,
      [orchctlProgram, 'chaos', 'links', '--dir', this.directory],
      {
        stdio: ['ignore', log, log],
      },
    )
    closeSync(log)
    const proxies = this.#linksProcess
    const endMs = performance.now() + patienceMs
    for (;;) {
      try {
        this.#links = await ControlClient.open(join(this.directory, controlFile), new RealClock())
        return this.#links
      } catch (cause) {
        if (proxies.exitCode !== null || performance.now() > endMs)
          throw new Error(readFileSync(join(this.directory, 'links.log'), 'utf8'), { cause })
        await sleep(20)
      }
    }
  }

  /**
   * Ends all processes and removes all files. Failures are printed, not thrown: they would hide the
   * result of the test.
   */
  async remove(): Promise<void> {
    this.#links?.close()
    const links = this.#linksProcess
    const ends = this.members.map(async (member) => {
      member.client.close()
      await member.stop('SIGKILL')
    })
    if (links !== null && links.exitCode === null && links.signalCode === null) {
      const exited = once(links, 'exit')
      links.kill('SIGKILL')
      ends.push(exited.then(() => undefined))
    }
    for (const end of await Promise.allSettled(ends))
      if (end.status === 'rejected') console.log(`# not removed: ${String(end.reason)}`)
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 10 })
  }
}

/** @returns null: it does not run, does not respond, or knows no leader */
async function leaderNamedBy(member: MemberProcess): Promise<string | null> {
  if (!member.running) return null
  try {
    const { leader, term } = await member.status(askMs)
    return leader === null ? null : `${leader.name} in term ${term}`
  } catch (cause) {
    if (cause instanceof NoReply) return null
    throw cause
  }
}
