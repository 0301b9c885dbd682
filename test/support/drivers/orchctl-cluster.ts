import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { freePortRange } from '../../../fixtures/port-range.ts'
import { orchctlProgram as program } from './programs.ts'
import { patienceMs } from '../tools/until.ts'

export type CommandEnd = { readonly code: number | null; readonly out: string; readonly err: string }

export type Begun = {
  readonly child: ChildProcess
  readonly end: Promise<CommandEnd>
  /** Returns the progress output so far. */
  readonly noted: () => string
}

/** A cluster created by the shipped `orchctl` in its own directory, with that `orchctl`. */
export class OrchctlCluster {
  readonly directory: string
  readonly kubeconfig: string
  readonly #begun: Begun[] = []

  private constructor(directory: string) {
    this.directory = directory
    this.kubeconfig = join(directory, '.cluster', 'admin.kubeconfig')
  }

  /**
   * Starts a cluster and waits until it is ready; it is removed at the end of the test.
   *
   * @param flags of `orchctl cluster up`
   */
  static async up(t: TestContext, nodes: number, ...flags: readonly string[]): Promise<OrchctlCluster> {
    const cluster = new OrchctlCluster(mkdtempSync(join(tmpdir(), 'orchctl-cluster-')))
    // Leaves a free port for one more member after the client ports and after the proxied peer
    // ports.
    const first = await freePortRange(3 * nodes + 4)
    const ports = ['--client-port', String(first), '--peer-port', String(first + nodes + 2)]
    t.after(async () => {
      for (const { child, end } of cluster.#begun) {
        child.kill('SIGKILL')
        await end
      }
      cluster.run('cluster', 'down', '--force', '--timeout', '10')
      rmSync(cluster.directory, { recursive: true, force: true, maxRetries: 10 })
    })
    const patience = ['--timeout', String(patienceMs / 1000)]
    const { code, err } = cluster.run(
      'cluster',
      'up',
      '--nodes',
      String(nodes),
      ...ports,
      ...patience,
      ...flags,
    )
    assert.equal(code, 0, err)
    return cluster
  }

  /** Runs the command synchronously. */
  run(...args: readonly string[]): CommandEnd {
    const result = spawnSync(process.execPath, [program, ...args], { cwd: this.directory, encoding: 'utf8' })
    return { code: result.status, out: result.stdout, err: result.stderr }
  }

  /** Runs the command asynchronously. */
  begin(...args: readonly string[]): Begun {
    const stdio = ['ignore', 'pipe', 'pipe'] as const
    const child = spawn(process.execPath, [program, ...args], { cwd: this.directory, stdio: [...stdio] })
    let [out, err] = ['', '']
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (err += text))
    const end = once(child, 'close').then(() => ({ code: child.exitCode, out, err }))
    const begun = { child, end, noted: () => err }
    this.#begun.push(begun)
    return begun
  }
}
