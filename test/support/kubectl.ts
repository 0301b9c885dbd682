import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export type KubectlResult = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** A real kubectl. Where none is on the machine, Debian's package is installed; without one the tests fail. */
export class Kubectl {
  readonly program: string
  readonly version: string

  private constructor(program: string, version: string) {
    this.program = program
    this.version = version
  }

  /** @param program another kubectl than the one on the path, such as `ORCH_TEST_KUBECTL` names */
  static find(program = process.env['ORCH_TEST_KUBECTL'] ?? 'kubectl'): Kubectl {
    const version = versionOf(program) ?? installed(program)
    if (version === null) {
      throw new Error(
        "these tests need kubectl: none is on the path and Debian's kubernetes-client could not be installed",
      )
    }
    return new Kubectl(program, version)
  }

  /** @returns what it printed. @throws AssertionError with all it said, when it ended with anything but 0 */
  async ok(kubeconfig: string, args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(kubeconfig, args, input)
    assert.equal(code, 0, `kubectl ${args.join(' ')}\n${stderr}${stdout}`)
    return stdout
  }

  async run(kubeconfig: string, args: readonly string[], input?: string): Promise<KubectlResult> {
    const words = ['--kubeconfig', kubeconfig, ...args]
    try {
      const child = run(this.program, words, { maxBuffer: 64 * 1024 * 1024, timeout: 60_000 })
      if (input !== undefined) child.child.stdin?.end(input)
      const { stdout, stderr } = await child
      return { code: 0, stdout, stderr }
    } catch (cause) {
      if (cause instanceof Error && 'stdout' in cause && 'stderr' in cause && 'code' in cause) {
        return { code: Number(cause.code ?? 1), stdout: String(cause.stdout), stderr: String(cause.stderr) }
      }
      throw cause
    }
  }

  /** Runs on beside the test, such as `get -w`; its lines so far are in `lines`. */
  follow(
    kubeconfig: string,
    args: readonly string[],
  ): { readonly lines: string[]; readonly child: ChildProcess } {
    const child = spawn(this.program, ['--kubeconfig', kubeconfig, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const lines: string[] = []
    let rest = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n')
      rest = parts.pop() ?? ''
      lines.push(...parts)
    })
    return { lines, child }
  }
}

function versionOf(program: string): string | null {
  try {
    const text = execFileSync(program, ['version', '--client'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return /v\d+\.\d+\.\d+[-+.\w]*/.exec(text)?.[0] ?? text.trim()
  } catch {
    return null
  }
}

function installed(program: string): string | null {
  console.log("# kubectl is not on this machine: installing Debian's kubernetes-client")
  try {
    execFileSync('apt-get', ['update', '-q'], { stdio: 'ignore' })
    execFileSync('apt-get', ['install', '-y', '-q', '--no-install-recommends', 'kubernetes-client'], {
      stdio: 'ignore',
    })
  } catch {
    return null
  }
  return versionOf(program)
}
