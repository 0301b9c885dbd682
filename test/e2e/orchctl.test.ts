/*
 * Goal: `orchctl cluster` starts, keeps, shows and stops a real cluster, whatever state it finds it
 * in.
 * Method: the shipped command as a process, three real servers, on ports of their own.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { freePortRange } from '../../fixtures/port-range.ts'
import { orchctlProgram as program } from '../support/drivers/programs.ts'
import { patienceMs, until } from '../support/tools/until.ts'

type Ran = { readonly code: number | null; readonly out: string; readonly err: string }

type Row = {
  readonly name: string
  readonly pid: number | null
  readonly process: string
  readonly status: { readonly role: string; readonly leader: string | null; readonly ready: boolean } | null
}

void test('orchctl starts, shows, transfers, repairs, keeps and stops a cluster', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-e2e-'))
  const first = await freePortRange(6)
  const orchctl = (...args: readonly string[]): Ran => {
    const result = spawnSync(process.execPath, [program, ...args], { cwd: directory, encoding: 'utf8' })
    return { code: result.status, out: result.stdout, err: result.stderr }
  }
  const ports = ['--client-port', String(first), '--peer-port', String(first + 3)]
  const patience = ['--timeout', String(patienceMs / 1000)]
  const up = ['cluster', 'up', '--domain', 'k8s.io', ...ports, ...patience]
  const down = ['cluster', 'down', ...patience]
  const status = (): readonly Row[] =>
    JSON.parse(orchctl('cluster', 'status', '-o', 'json').out) as readonly Row[]
  const kubeconfig = ['--kubeconfig', '.cluster/admin.kubeconfig']
  try {
    const started = orchctl(...up)
    assert.equal(started.code, 0, started.err)
    assert.match(started.out, /3 member\(s\) ready, API domain k8s\.io/)
    let before: readonly Row[] = []
    // During an election a member knows no leader.
    await until(
      'all know their leader',
      () => (before = status()).every((row) => typeof row.status?.leader === 'string'),
      () => JSON.stringify(before),
    )
    assert.deepEqual(
      before.map(({ name, process: state }) => [name, state]),
      [
        ['n1', 'running'],
        ['n2', 'running'],
        ['n3', 'running'],
      ],
    )
    const shown = (): string => orchctl('cluster', 'status').out
    const isWhole = (): boolean => orchctl('cluster', 'status').code === 0
    await until('all are ready', isWhole, shown)

    const leader = before[0]?.status?.leader
    const successor = before.find(({ name }) => name !== leader)?.name
    assert.ok(successor)
    let [given, list] = ['', '']
    // On a busy machine another member may be elected in between: then leadership is transferred
    // again.
    await until(
      `${successor} is shown as the leader`,
      () => {
        const moved = orchctl('member', 'transfer-leader', successor, ...kubeconfig)
        assert.equal(moved.code, 0, moved.err)
        given += moved.out
        list = orchctl('member', 'list', ...kubeconfig).out
        return new RegExp(`${successor} +\\d+ +leader`).test(list)
      },
      () => given + list,
    )
    assert.match(given, new RegExp(`${successor} leads, n\\d follows`))
    assert.doesNotMatch(given, new RegExp(`${successor} leads, ${successor} follows`))

    const victim = before.find(({ name }) => name === successor)
    assert.ok(victim?.pid)
    process.kill(victim.pid, 'SIGKILL')
    const mended = orchctl(...up)
    assert.equal(mended.code, 0, mended.err)
    assert.match(mended.err, new RegExp(`${successor} had ended unexpectedly`))
    const after = status()
    for (const { name, pid } of after) {
      const same = before.find((row) => row.name === name)?.pid === pid
      assert.equal(same, name !== successor, `${name} keeps its process unless it was killed`)
    }

    // A removed member whose directory still exists does not prevent start and status of the
    // others.
    const gone = after.find(({ name, status: given }) => name !== given?.leader)?.name ?? ''
    const removed = orchctl('member', 'remove', gone, ...kubeconfig)
    assert.equal(removed.code, 0, removed.err)
    const processOf = (name: string): string => status().find((row) => row.name === name)?.process ?? ''
    await until(`${gone} is shown as removed`, () => processOf(gone) === 'removed', shown, 100)
    await until('the others are ready', isWhole, shown)
    assert.doesNotMatch(
      readFileSync(join(directory, kubeconfig[1] ?? ''), 'utf8'),
      new RegExp(`name: ${gone}$`, 'm'),
    )
    // At this level its log does not report the removal.
    const path = join(directory, '.cluster', gone, 'config.yaml')
    writeFileSync(path, `${readFileSync(path, 'utf8')}log-level: error\n`)
    const startsWithout = (): void => {
      const { code, err } = orchctl(...up)
      assert.equal(code, 0, err)
      assert.match(err, new RegExp(`${gone} is no longer a member: orchctl cluster remove ${gone} removes`))
    }
    startsWithout()
    const restarted = orchctl('cluster', 'restart', ...patience)
    assert.equal(restarted.code, 0, restarted.err)
    assert.match(restarted.err, new RegExp(`${gone} is no longer a member`))
    const others = ['n1', 'n2', 'n3'].filter((name) => name !== gone).join(', ')
    assert.match(restarted.out, new RegExp(`restarted: ${others}$`, 'm'))

    assert.equal(orchctl('cluster', 'up', '--domain', 'orch.io', ...ports).code, 1)
    const stopped = orchctl(...down)
    assert.equal(stopped.code, 0, stopped.err)
    assert.match(stopped.out, /2 stopped/)
    assert.equal(orchctl('cluster', 'status').code, 1)
    // Now the members have no leader yet when they are asked.
    startsWithout()
    assert.match(orchctl(...down).out, /2 stopped/)
    assert.ok(existsSync(join(directory, '.cluster/n1/data')))
    assert.ok(!existsSync(join(directory, '.cluster/n1/pid')))
    assert.match(orchctl('cluster', 'down').out, /nothing was running/)
  } finally {
    orchctl('cluster', 'down', '--force')
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  }
})

void test('a member that cannot start is named with the end of its log, and nothing is left running', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-e2e-'))
  const first = await freePortRange(2)
  const patience = ['--timeout', String(patienceMs / 1000)]
  const args = ['--nodes', '1', '--client-port', String(first), '--peer-port', String(first + 1), ...patience]
  const orchctl = (...words: readonly string[]): Ran => {
    const result = spawnSync(process.execPath, [program, ...words], { cwd: directory, encoding: 'utf8' })
    return { code: result.status, out: result.stdout, err: result.stderr }
  }
  try {
    assert.equal(orchctl('cluster', 'up', ...args).code, 0)
    assert.equal(orchctl('cluster', 'down', ...patience).code, 0)
    const config = join(directory, '.cluster/n1/config.yaml')
    writeFileSync(config, `${readFileSync(config, 'utf8')}secure-prt: 1\n`)
    const failed = orchctl('cluster', 'up', ...args)
    assert.equal(failed.code, 1)
    assert.match(
      failed.err,
      /n1 ended; the end of .*server\.log:\n {2}orch-apiserver: unknown flag secure-prt.*did you mean secure-port/,
    )
    assert.match(orchctl('cluster', 'down').out, /nothing was running/)
  } finally {
    orchctl('cluster', 'down', '--force')
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  }
})

void test('occupied ports are reported before anything is created; one member or all are restarted', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-e2e-'))
  const first = await freePortRange(4)
  const patience = ['--timeout', String(patienceMs / 1000)]
  const up = [
    'cluster',
    'up',
    '--nodes',
    '2',
    '--client-port',
    String(first),
    '--peer-port',
    String(first + 2),
  ]
  const orchctl = (...words: readonly string[]): Ran => {
    const result = spawnSync(process.execPath, [program, ...words], { cwd: directory, encoding: 'utf8' })
    return { code: result.status, out: result.stdout, err: result.stderr }
  }
  const pidOf = (name: string): string => readFileSync(join(directory, '.cluster', name, 'pid'), 'utf8')
  const other = createServer().listen(first + 3, '127.0.0.1')
  try {
    await once(other, 'listening')
    const refused = orchctl(...up, ...patience)
    assert.equal(refused.code, 1)
    const says = `${first + 3} \\(peers of n2, taken\\): nothing was created; give others with --client-port and --peer-port`
    assert.match(refused.err, new RegExp(says))
    assert.ok(!existsSync(join(directory, '.cluster')))
    other.close()
    await once(other, 'close')
    assert.equal(orchctl(...up, ...patience).code, 0)

    const before = ['n1', 'n2'].map(pidOf)
    const one = orchctl('cluster', 'restart', 'n2', ...patience)
    assert.equal(one.code, 0, one.err)
    assert.match(one.out, /restarted: n2$/m)
    assert.deepEqual([pidOf('n1') === before[0], pidOf('n2') === before[1]], [true, false])
    const all = orchctl('cluster', 'restart', ...patience)
    assert.equal(all.code, 0, all.err)
    assert.match(all.out, /restarted: n1, n2$/m)
    assert.notEqual(pidOf('n1'), before[0])
    assert.match(orchctl('cluster', 'restart', 'n7').err, /n7 is not a member of .*: there are n1, n2/)

    assert.equal(orchctl('cluster', 'down', ...patience).code, 0)
    const thief = createServer().listen(first, '127.0.0.1')
    await once(thief, 'listening')
    const again = orchctl(...up, ...patience)
    thief.close()
    assert.match(
      again.err,
      new RegExp(`${first} \\(clients of n1, taken\\): stop the processes that use them, then try again`),
    )
  } finally {
    other.close()
    orchctl('cluster', 'down', '--force')
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  }
})
