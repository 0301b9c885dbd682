import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { CodedError } from '../../base/coded-error.ts'
import type { FaultKind } from '../../tools/chaos/fault.ts'
import { hookFile, noHookFaults } from '../../tools/chaos/hook-file.ts'
import type { HookFaults } from '../../tools/chaos/hook-file.ts'
import { ChaosError } from '../../tools/chaos/errors.ts'
import { chaosLimits } from '../../tools/chaos/limits.ts'
import { ControlClient } from '../../tools/chaos/links/control.ts'
import type { LinkRule } from '../../tools/chaos/links/rules.ts'
import type { ChaosTarget, DiskFault } from '../../tools/chaos/target.ts'
import { replaceFile } from '../pki/files.ts'
import { AnyMember } from './any-member.ts'
import { clusterAdd, clusterRemove } from './cluster-members.ts'
import { fetchStatus } from './cluster-status.ts'
import type { MemberStatus } from './cluster-status.ts'
import { CliError } from './errors.ts'
import { controlPath, hasLinks } from './local-links.ts'
import type { LocalCluster, LocalMember } from './local-cluster.ts'
import { waitUntilVoter } from './member-change.ts'
import { call, readAllEndpoints } from './member-client.ts'
import type { Endpoint } from '../credentials/endpoint.ts'
import { processState, signalProcess, startProcess } from './process.ts'
import type { Signal } from './process.ts'
import { sleep } from './terminal.ts'
import type { Terminal } from './terminal.ts'

const readyTimeoutMs = 1000
/**
 * A membership change may be rejected for a moment, such as until the leader has reached a
 * majority.
 */
const changeAgainMs = 200

const byLinks: ReadonlySet<FaultKind> = new Set(['partition', 'cut', 'slow-link', 'lossy-link'])
const byHook: ReadonlySet<FaultKind> = new Set(['slow-disk', 'clock-skew'])

/**
 * A cluster on this machine created by `orchctl cluster up`. Only server processes with a
 * configuration file of its directory are affected.
 */
export class LocalTarget implements ChaosTarget {
  readonly members: readonly string[]
  readonly #cluster: LocalCluster
  readonly #endpoints: readonly Endpoint[]
  readonly #clock: Clock
  /** Prints the results of member commands as progress. */
  readonly #terminal: Terminal
  readonly #faults = new Map<string, HookFaults>()
  /**
   * Helper processes that continue a paused member, or lift the limit that simulates a full disk,
   * if this program is killed.
   */
  readonly #guards = new Map<string, ChildProcess>()
  readonly #full = new Set<string>()
  #links: ControlClient | null = null

  private constructor(cluster: LocalCluster, terminal: Terminal) {
    this.#cluster = cluster
    this.#clock = terminal.clock
    this.#terminal = { ...terminal, print: terminal.note }
    this.members = cluster.members.map(({ name }) => name)
    this.#endpoints = readAllEndpoints(cluster.kubeconfigPath)
  }

  /**
   * @throws CliError `failed`; ChaosError `links` when its proxies do not run, or another run
   * uses them
   */
  static async open(cluster: LocalCluster, terminal: Terminal): Promise<LocalTarget> {
    const target = new LocalTarget(cluster, terminal)
    if (hasLinks(cluster.directory)) {
      target.#links = await ControlClient.open(controlPath(cluster.directory), terminal.clock)
    }
    return target
  }

  close(): void {
    for (const guard of this.#guards.values()) guard.stdin?.end()
    this.#links?.close()
  }

  async leader(): Promise<string | null> {
    const given = await Promise.all(this.members.map((name) => this.#status(name)))
    const leaders = given.filter((status) => status !== null && status.leader !== null)
    // A partitioned member may report an old leader.
    return leaders.toSorted((a, b) => (b?.term ?? 0) - (a?.term ?? 0))[0]?.leader ?? null
  }

  async isReady(member: string): Promise<boolean> {
    const reply = await call(this.#endpoint(member), { method: 'GET', path: '/readyz' }, readyTimeoutMs)
    return reply?.status === 200
  }

  isRunning(member: string): boolean {
    return processState(this.#member(member)).kind === 'running'
  }

  start(member: string): void {
    startProcess(this.#member(member))
  }

  end(member: string, how: 'killed' | 'terminated'): void {
    this.#signal(member, how === 'killed' ? 'SIGKILL' : 'SIGTERM')
  }

  pause(member: string): void {
    const state = processState(this.#member(member))
    if (state.kind !== 'running') return
    this.#guard(member, `kill -CONT ${state.pid}`)
    this.#signal(member, 'SIGSTOP')
  }

  resume(member: string): void {
    this.#signal(member, 'SIGCONT')
    this.#unguard(member)
  }

  async setLinks(rules: readonly LinkRule[]): Promise<void> {
    await this.#links?.set(rules)
  }

  setDisk(member: string, fault: DiskFault | null, forMs: number): void {
    const isSlow = fault?.kind === 'slow'
    this.#setFaults(member, { disk: isSlow ? { delayMs: fault.delayMs, untilMs: this.#until(forMs) } : null })
    this.#setFull(member, fault?.kind === 'full')
  }

  setClock(member: string, skewMs: number, forMs: number): void {
    this.#setFaults(member, { clock: skewMs === 0 ? null : { skewMs, untilMs: this.#until(forMs) } })
  }

  /**
   * Sets RLIMIT_FSIZE to 0, so that every write to a file fails as on a full disk, also in native
   * libraries. The runtime ignores SIGXFSZ.
   *
   * @source setrlimit(2)
   */
  #setFull(member: string, isFull: boolean): void {
    const state = processState(this.#member(member))
    if (state.kind === 'running' && (isFull || this.#full.has(member))) {
      const words = (limit: string): readonly string[] => ['--pid', String(state.pid), `--fsize=${limit}:`]
      const hard = /^Max file size\s+\S+\s+(\S+)/m.exec(
        readFileSync(`/proc/${state.pid}/limits`, 'utf8'),
      )?.[1]
      const whole = words(hard ?? 'unlimited')
      if (isFull) this.#guard(member, `prlimit ${whole.join(' ')}`)
      const { status, stderr } = spawnSync('prlimit', isFull ? words('0') : whole, { encoding: 'utf8' })
      // The process may have ended.
      if (status !== 0 && this.isRunning(member)) throw new ChaosError('disk', stderr.trim())
    }
    if (isFull) this.#full.add(member)
    else if (this.#full.delete(member)) this.#unguard(member)
  }

  /** The helper reads until this end of the pipe is closed, also when this program is killed. */
  #guard(member: string, remedy: string): void {
    this.#unguard(member)
    const guard = spawn('sh', ['-c', `cat >/dev/null; ${remedy} 2>/dev/null`], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    guard.unref()
    this.#guards.set(member, guard)
  }

  #unguard(member: string): void {
    this.#guards.get(member)?.stdin?.end()
    this.#guards.delete(member)
  }

  async setRole(member: string, role: 'voter' | 'learner'): Promise<void> {
    const cluster = new AnyMember(this.#cluster.kubeconfigPath)
    const endMs = this.#clock.monotonicMs() + chaosLimits.readyMsMax
    for (;;) {
      try {
        await cluster.post('/cluster/v1/members', { change: 'set-role', name: member, role })
        break
      } catch (cause) {
        if (!(cause instanceof CodedError) || this.#clock.monotonicMs() > endMs) throw cause
        await sleep(this.#clock, changeAgainMs)
      }
    }
    const timeout = chaosLimits.readyMsMax / 1000
    if (role === 'voter') await waitUntilVoter(this.#terminal, cluster, member, { timeout })
  }

  async addMember(): Promise<string> {
    const { directory } = this.#cluster
    const numbers = this.members.map((name) => Number(name.slice(1)))
    const name = `n${Math.max(...numbers) + 1}`
    await clusterAdd(this.#terminal, name, { directory, timeoutMs: chaosLimits.readyMsMax, role: 'voter' })
    return name
  }

  async removeMember(name: string): Promise<void> {
    const { directory } = this.#cluster
    await clusterRemove(this.#terminal, name, { directory, timeoutMs: chaosLimits.readyMsMax })
  }

  #until(forMs: number): number {
    return this.#clock.wallMs() + forMs + chaosLimits.graceMs
  }

  #setFaults(member: string, change: Partial<HookFaults>): void {
    const path = join(this.#member(member).directory, hookFile)
    if (!existsSync(path)) return
    const faults = { ...(this.#faults.get(member) ?? noHookFaults), ...change }
    this.#faults.set(member, faults)
    replaceFile(path, `${JSON.stringify(faults)}\n`, 'public')
  }

  #signal(member: string, signal: Signal): void {
    const place = this.#member(member)
    const state = processState(place)
    if (state.kind === 'running') signalProcess(place, state.pid, signal)
  }

  async #status(name: string): Promise<MemberStatus | null> {
    try {
      return await fetchStatus(this.#endpoint(name))
    } catch (cause) {
      if (cause instanceof CliError) return null
      throw cause
    }
  }

  #member(name: string): LocalMember {
    const found = this.#cluster.members.find((member) => member.name === name)
    if (found === undefined) throw new CliError('failed', `there is no member ${name}`)
    return found
  }

  #endpoint(name: string): Endpoint {
    const found = this.#endpoints.find((endpoint) => endpoint.name === name)
    if (found === undefined) throw new CliError('failed', `the kubeconfig has no context ${name}`)
    return found
  }
}

/** Returns why a fault is not possible on that cluster; null: it is possible. */
export function unsupportedReason(cluster: LocalCluster, kind: FaultKind): string | null {
  const remedy = 'a cluster made by orchctl cluster up --chaos'
  if (byLinks.has(kind) && !hasLinks(cluster.directory))
    return `${kind} needs proxies between peers: ${remedy}`
  if (kind === 'full-disk' && spawnSync('prlimit', ['--version']).status !== 0) {
    return 'full-disk needs prlimit: install util-linux'
  }
  const hooked = cluster.members.every(({ directory }) => existsSync(join(directory, hookFile)))
  return byHook.has(kind) && !hooked ? `${kind} needs members with a fault hook: ${remedy}` : null
}
