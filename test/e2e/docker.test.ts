/*
 * Goal: the container files run a cluster.
 * Method: the health check asks a real member, running and stopped. On demand (ORCH_TEST_DOCKER=1,
 * a Docker daemon with compose and access to the base image) the image is built and three members
 * are started as documented.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { orchctlProgram } from '../support/drivers/programs.ts'
import { until } from '../support/tools/until.ts'
import { root } from '../tidy/markdown.ts'

const folder = join(root, 'packaging/docker')

/** @returns the exit code and what was printed */
async function check(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly printed: string }> {
  const child = spawn(process.execPath, [join(folder, 'healthcheck.mjs'), ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let printed = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const [code] = (await once(child, 'close')) as [number]
  return { code, printed }
}

void test('the health check succeeds while a member runs, and fails when it does not', async (t) => {
  const cluster = await ProcessCluster.start({ members: 1 })
  t.after(() => cluster.remove())
  const [member] = cluster.members
  assert.ok(member !== undefined)
  const { port } = new URL(member.url)
  assert.deepEqual(await check(port), { code: 0, printed: '' })
  await member.stop()
  const stopped = await check(port)
  assert.equal(stopped.code, 1)
  assert.match(stopped.printed, /^\/livez: .*ECONNREFUSED/)
  assert.equal((await check()).code, 2)
})

/** Returns why the containers cannot be run here, or false. */
function cannotRun(): string | false {
  if (process.env['ORCH_TEST_DOCKER'] !== '1') return 'needs ORCH_TEST_DOCKER=1 and a Docker daemon'
  for (const args of [['info'], ['compose', 'version']]) {
    const { status, stderr, error } = spawnSync('docker', args, { encoding: 'utf8' })
    if (status !== 0) return `needs docker ${args.join(' ')}: ${error?.message ?? stderr.trim()}`
  }
  return false
}

void test('the image and the compose file run three members', { skip: cannotRun() }, async (t) => {
  const scratch = mkdtempSync(join(tmpdir(), 'orch-docker-'))
  cpSync(folder, scratch, { recursive: true })
  const run = (program: string, cwd: string, ...args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8' })
    assert.equal(status, 0, `${program} ${args.join(' ')}:\n${stdout}${stderr}`)
    return stdout
  }
  const orchctl = (...args: readonly string[]): string =>
    run(process.execPath, scratch, orchctlProgram, ...args)
  const compose = (...args: readonly string[]): string =>
    run('docker', scratch, 'compose', '-p', 'orch-test', ...args)
  t.after(() => {
    spawnSync('docker', ['compose', '-p', 'orch-test', 'down', '--volumes'], { cwd: scratch })
    rmSync(scratch, { recursive: true, force: true })
  })
  run('npm', root, 'pack', '--pack-destination', scratch)
  const members = 'n1=127.0.0.1+n1:6443,n2=127.0.0.1+n2:6444,n3=127.0.0.1+n3:6445'
  orchctl('pki', 'init', '--dir', 'pki', '--members', members)
  const keys = join(scratch, 'pki/members')
  chownSync(keys, 10001, 10001)
  for (const path of readdirSync(keys, { recursive: true, encoding: 'utf8' })) {
    chownSync(join(keys, path), 10001, 10001)
  }
  compose('up', '--detach', '--build', '--wait')
  let list = ''
  await until(
    'three members are ready',
    () => {
      list = orchctl('member', 'list', '--kubeconfig', 'pki/admin.kubeconfig')
      return ['n1', 'n2', 'n3'].every((name) => new RegExp(`^${name} .*\\byes\\b`, 'm').test(list))
    },
    () => `${list}\n${compose('logs', '--tail', '20')}`,
    1000,
  )
})
