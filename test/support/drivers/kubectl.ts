import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { installDebianPackage } from '../tools/debian-package.ts'
import { patienceMs } from '../tools/until.ts'

const run = promisify(execFile)

export type KubectlResult = { readonly code: number; readonly stdout: string; readonly stderr: string }

export type Followed = {
  readonly lines: readonly string[]
  readonly child: ChildProcess
  /** Returns the whole output, for the message of a failed test. */
  readonly reported: () => string
}

/**
 * A real kubectl. If it is not on the path, Debian's package is installed; if that fails, the tests
 * fail.
 */
export class Kubectl {
  readonly program: string
  readonly version: string

  private constructor(program: string, version: string) {
    this.program = program
    this.version = version
  }

  /** @param program another kubectl than the one on the path, such as `ORCH_TEST_KUBECTL` names */
  static find(program = process.env['ORCH_TEST_KUBECTL'] ?? 'kubectl'): Kubectl {
    return new Kubectl(program, versionOf(program) ?? installed(program))
  }

  /**
   * @returns the standard output
   * @throws AssertionError with the whole output unless the exit code is 0
   */
  async ok(kubeconfig: string, args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(kubeconfig, args, input)
    assert.equal(code, 0, `kubectl ${args.join(' ')}\n${stderr}${stdout}`)
    return stdout
  }

  async run(kubeconfig: string, args: readonly string[], input?: string): Promise<KubectlResult> {
    const words = [...connectionFlags(kubeconfig), ...args]
    try {
      const child = run(this.program, words, { maxBuffer: 64 * 1024 * 1024, timeout: patienceMs })
      // kubectl may refuse its arguments without reading its input: only its output counts.
      child.child.stdin?.on('error', () => undefined)
      if (input !== undefined) child.child.stdin?.end(input)
      const { stdout, stderr } = await child
      return { code: 0, stdout, stderr }
    } catch (cause) {
      if (cause instanceof Error && 'stdout' in cause && 'stderr' in cause && 'code' in cause) {
        const isLate = 'killed' in cause && cause.killed === true
        const late = isLate ? `\nkubectl did not end within ${patienceMs / 1000} s, and was ended` : ''
        const stderr = `${String(cause.stderr)}${late}`
        return { code: Number(cause.code ?? 1), stdout: String(cause.stdout), stderr }
      }
      throw cause
    }
  }

  /** Starts a command that keeps running, such as `get -w`; `lines` holds its output so far. */
  follow(kubeconfig: string, args: readonly string[]): Followed {
    const child = spawn(this.program, [...connectionFlags(kubeconfig), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const lines: string[] = []
    let [rest, given] = ['', '']
    child.stderr.setEncoding('utf8').on('data', (text: string) => (given += text))
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const parts = (rest + text).split('\n')
      rest = parts.pop() ?? ''
      lines.push(...parts)
    })
    const reported = (): string =>
      [...lines, given, ...(child.exitCode === null ? [] : ['it ended'])].join('\n')
    return { lines, child, reported }
  }
}

/** The discovery cache is removed with its cluster: another cluster may get the same address. */
function connectionFlags(kubeconfig: string): readonly string[] {
  return ['--kubeconfig', kubeconfig, '--cache-dir', join(dirname(kubeconfig), 'kubectl-cache')]
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

/** @throws Error with the last output */
function installed(program: string): string {
  const failure = installDebianPackage('kubernetes-client', program)
  const version = failure === null ? versionOf(program) : null
  if (version !== null) return version
  throw new Error(
    `these tests need kubectl: none is on the path and Debian's kubernetes-client could not be installed: ${failure ?? ''}`,
  )
}
