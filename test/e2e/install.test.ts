/*
 * Goal: the npm package alone is enough to run a cluster.
 * Method: it is packed and installed into an empty directory, and its commands are run from there.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePortRange } from '../../fixtures/port-range.ts'
import { root } from '../tidy/markdown.ts'

/** Less than the time limit of a test file, so that what a command printed is shown. */
const commandMsMax = 180_000

/** Returns standard output. @throws AssertionError with all output, unless the exit code is 0 */
function run(cwd: string, program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    timeout: commandMsMax,
  })
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${error?.message ?? ''}\n${stdout}\n${stderr}`)
  return stdout
}

type Packed = {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}

void test('npm pack without a build fails with a one-line error', (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-unbuilt-'))
  t.after(() => rmSync(scratch, { recursive: true, force: true }))
  copyFileSync(join(root, 'package.json'), join(scratch, 'package.json'))
  const { status, stderr } = spawnSync('npm', ['pack'], { cwd: scratch, encoding: 'utf8' })
  assert.notEqual(status, 0)
  assert.match(stderr, /^nothing is built: run make build first$/m)
})

void test('the npm package puts both commands on the PATH, and they run a cluster of three', async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-install-'))
  const empty = join(scratch, 'empty')
  const orchctl = join(empty, 'node_modules/.bin/orchctl')
  t.after(() => {
    spawnSync(orchctl, ['cluster', 'down', '--force', '--timeout', '10'], { cwd: empty })
    rmSync(scratch, { recursive: true, force: true, maxRetries: 10 })
  })
  mkdirSync(empty)
  writeFileSync(join(empty, 'package.json'), '{"private":true}')
  const printed = run(root, 'npm', 'pack', '--json', '--pack-destination', scratch)
  // Some versions of npm print the name of the prepack script first.
  const [packed] = JSON.parse(printed.slice(printed.indexOf('[\n'))) as Packed[]
  assert.ok(packed !== undefined)
  t.diagnostic(`${packed.filename}: ${packed.size} bytes, ${packed.unpackedSize} unpacked`)
  const unneeded = packed.files
    .map(({ path }) => path)
    .filter(
      (path) =>
        !/^(dist\/bundle|cluster-config|docs|packaging)\/|^((CHANGELOG|README|SECURITY)\.md|LICENSE|package\.json)$/.test(
          path,
        ),
    )
  assert.deepEqual(unneeded, [])
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--engine-strict']
  run(empty, 'npm', 'install', ...options, join(scratch, packed.filename))
  const installed = readdirSync(join(empty, 'node_modules'))
  assert.ok(installed.includes('level') && !installed.includes('fastify'), installed.join(' '))
  assert.match(run(empty, join(empty, 'node_modules/.bin/orch-apiserver'), '--help'), /^orch-apiserver: /)
  assert.match(run(empty, orchctl, '--help'), /^Usage: orchctl /)
  const port = String(await freePortRange(6))
  const peerPort = String(Number(port) + 3)
  run(empty, orchctl, 'cluster', 'up', '--client-port', port, '--peer-port', peerPort)
  const ready = run(empty, orchctl, 'cluster', 'status').match(/^n\d .*\byes$/gm) ?? []
  assert.equal(ready.length, 3)
  run(empty, orchctl, 'cluster', 'down')
})
