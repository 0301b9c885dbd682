/*
 * Goal: `orchctl cluster` starts, keeps, shows and stops a real cluster, whatever state it finds it in.
 * Method: the shipped command as a process, three real servers, on ports of their own.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePortRange } from '../support/port-range.ts'
import { orchctlProgram as program } from '../support/programs.ts'

type Ran = { readonly code: number | null; readonly out: string; readonly err: string }

type Row = {
  readonly name: string
  readonly pid: number | null
  readonly process: string
  readonly status: { readonly role: string; readonly leader: string | null; readonly ready: boolean } | null
}

void test('a cluster is started, shown, handed over, mended, kept and stopped', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-e2e-'))
  const first = await freePortRange(6)
  const orchctl = (...args: readonly string[]): Ran => {
    const result = spawnSync(process.execPath, [program, ...args], { cwd: directory, encoding: 'utf8' })
    return { code: result.status, out: result.stdout, err: result.stderr }
  }
  const ports = ['--client-port', String(first), '--peer-port', String(first + 3)]
  const up = ['cluster', 'up', '--domain', 'k8s.io', ...ports]
  const status = (): readonly Row[] =>
    JSON.parse(orchctl('cluster', 'status', '-o', 'json').out) as readonly Row[]
  const kubeconfig = ['--kubeconfig', '.cluster/admin.kubeconfig']
  try {
    const started = orchctl(...up)
    assert.equal(started.code, 0, started.err)
    assert.match(started.out, /3 member\(s\) ready, API domain k8s\.io/)
    const before = status()
    assert.deepEqual(
      before.map(({ name, process: state }) => [name, state]),
      [
        ['n1', 'running'],
        ['n2', 'running'],
        ['n3', 'running'],
      ],
    )
    assert.equal(orchctl('cluster', 'status').code, 0)

    const leader = before[0]?.status?.leader
    const heir = before.find(({ name }) => name !== leader)?.name
    assert.ok(heir)
    const moved = orchctl('member', 'transfer-leader', heir, ...kubeconfig)
    assert.equal(moved.code, 0, moved.err)
    assert.match(moved.out, new RegExp(`${heir} leads, ${String(leader)} follows`))
    assert.match(orchctl('member', 'list', ...kubeconfig).out, new RegExp(`${heir} +\\d+ +leader`))

    const victim = before.find(({ name }) => name === heir)
    assert.ok(victim?.pid)
    process.kill(victim.pid, 'SIGKILL')
    const mended = orchctl(...up)
    assert.equal(mended.code, 0, mended.err)
    assert.match(mended.err, new RegExp(`${heir} ended without being told to`))
    const after = status()
    for (const { name, pid } of after) {
      const same = before.find((row) => row.name === name)?.pid === pid
      assert.equal(same, name !== heir, `${name} keeps its process unless it was killed`)
    }

    // A member no more, though its directory is here: it does not keep the others from being started and shown as well.
    const gone = after.find(({ name, status: said }) => name !== said?.leader)?.name ?? ''
    const removed = orchctl('member', 'remove', gone, ...kubeconfig)
    assert.equal(removed.code, 0, removed.err)
    const processOf = (name: string): string => status().find((row) => row.name === name)?.process ?? ''
    for (let look = 0; look < 100 && processOf(gone) === 'running'; look++) await sleep(100)
    assert.equal(processOf(gone), 'removed')
    assert.equal(orchctl('cluster', 'status').code, 0)
    assert.doesNotMatch(
      readFileSync(join(directory, kubeconfig[1] ?? ''), 'utf8'),
      new RegExp(`name: ${gone}$`, 'm'),
    )
    // Its log need not say so.
    const path = join(directory, '.cluster', gone, 'config.yaml')
    writeFileSync(path, `${readFileSync(path, 'utf8')}log-level: error\n`)
    const startsWithout = (): void => {
      const { code, err } = orchctl(...up)
      assert.equal(code, 0, err)
      assert.match(err, new RegExp(`${gone} is no member any more: orchctl cluster remove ${gone} takes`))
    }
    startsWithout()

    assert.equal(orchctl('cluster', 'up', '--domain', 'orch.io', ...ports).code, 1)
    const stopped = orchctl('cluster', 'down')
    assert.equal(stopped.code, 0, stopped.err)
    assert.match(stopped.out, /2 stopped/)
    assert.equal(orchctl('cluster', 'status').code, 1)
    // It is told by members that have no leader yet.
    startsWithout()
    assert.match(orchctl('cluster', 'down').out, /2 stopped/)
    assert.ok(existsSync(join(directory, '.cluster/n1/data')))
    assert.ok(!existsSync(join(directory, '.cluster/n1/pid')))
    assert.match(orchctl('cluster', 'down').out, /nothing was running/)
  } finally {
    orchctl('cluster', 'down', '--force')
    rmSync(directory, { recursive: true, force: true })
  }
})

void test('a member that cannot start is named with the end of its log, and nothing is left running', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-e2e-'))
  const first = await freePortRange(2)
  const args = ['--nodes', '1', '--client-port', String(first), '--peer-port', String(first + 1)]
  const orchctl = (...words: readonly string[]): Ran => {
    const result = spawnSync(process.execPath, [program, ...words], { cwd: directory, encoding: 'utf8' })
    return { code: result.status, out: result.stdout, err: result.stderr }
  }
  try {
    assert.equal(orchctl('cluster', 'up', ...args).code, 0)
    assert.equal(orchctl('cluster', 'down').code, 0)
    const config = join(directory, '.cluster/n1/config.yaml')
    writeFileSync(config, `${readFileSync(config, 'utf8')}secure-prt: 1\n`)
    const failed = orchctl('cluster', 'up', ...args)
    assert.equal(failed.code, 1)
    assert.match(
      failed.err,
      /n1 ended; the end of .*server\.log:\n {2}orch-apiserver: unknown flag secure-prt.*did you mean secure-port/,
    )
  } finally {
    orchctl('cluster', 'down', '--force')
    rmSync(directory, { recursive: true, force: true })
  }
})
