import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Installs a Debian package unless its program is on the path. Test files that run at the same time
 * may all need it: one installs, the others wait for that and find it.
 *
 * @returns null: the program is there now; else why it is not
 */
export function installDebianPackage(name: string, program: string): string | null {
  const install = `echo "# ${program} is not on this machine: installing Debian's ${name}" >&2 && apt-get update -q && apt-get install -y -q --no-install-recommends ${name}`
  const script = `command -v "$1" >/dev/null || { ${install}; } && command -v "$1"`
  const lock = join(tmpdir(), `orch-test-${name}.lock`)
  const { status, stdout, stderr, error } = spawnSync('flock', [lock, 'sh', '-c', script, 'sh', program], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (status === 0) return null
  return error?.message ?? `${stdout}${stderr}`.slice(-2000)
}
