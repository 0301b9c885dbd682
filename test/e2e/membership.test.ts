/*
 * Goal: a cluster grows, loses a machine for good and replaces it, transfers leadership, removes
 * its leader and shrinks under writes: no acknowledged write is lost. The longest time without one
 * is printed for each step.
 * Method: real processes of a cluster on this machine, changed by the shipped command; 8 writers, a
 * reader and a watcher whose traffic is checked afterwards, and `orchctl verify` on two members
 * that stay.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ApiClient } from '../support/drivers/api-client.ts'
import { GapMeter, Reader, Watcher, Writer } from '../support/runs/cluster-traffic.ts'
import { freePortRange } from '../../fixtures/port-range.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { assertReaderNeverBack, assertWritesKept, contentsOf } from '../support/runs/traffic-checks.ts'
import { orchctlProgram, serverProgram } from '../support/drivers/programs.ts'
import { until } from '../support/tools/until.ts'

const writersCount = 8
const namespace = 'churn'

type Listed = {
  readonly name: string
  readonly role: string
  readonly leader: boolean
  readonly ready: boolean
}

class Churn {
  readonly directory: string
  readonly kubeconfig: string
  readonly clients: ApiClient[] = []
  readonly gap = new GapMeter()
  readonly gaps: string[] = []
  readonly #port: number
  readonly #processes: ChildProcess[] = []

  constructor(port: number) {
    this.#port = port
    this.directory = mkdtempSync(join(tmpdir(), 'orch-churn-'))
    this.kubeconfig = join(this.directory, 'admin.kubeconfig')
  }

  /** @throws when the command fails */
  async run(...args: readonly string[]): Promise<string> {
    const ran = await orchctl(...args)
    assert.equal(ran.code, 0, `orchctl ${args.join(' ')}: ${ran.err}\n${ran.out}`)
    return ran.out
  }

  cluster(...args: readonly string[]): Promise<string> {
    return this.run('cluster', ...args, '--dir', this.directory, '--timeout', '120')
  }

  member(...args: readonly string[]): Promise<string> {
    return this.run('member', ...args, '--kubeconfig', this.kubeconfig)
  }

  async members(): Promise<readonly Listed[]> {
    return JSON.parse(await this.member('list', '-o', 'json')) as readonly Listed[]
  }

  async leader(): Promise<string> {
    let all: readonly Listed[] = []
    // During an election a member knows no leader.
    await until(
      'there is a leader',
      async () => (all = await this.members()).some((member) => member.leader),
      () => JSON.stringify(all),
    )
    return all.find((member) => member.leader)?.name ?? assert.fail('there is a leader')
  }

  addressOf(name: string): { readonly client: string; readonly peer: string; readonly port: number } {
    const port = this.#port + Number(name.slice(1)) - 1
    return { port, client: `127.0.0.1:${port}`, peer: `127.0.0.1:${port + 10}` }
  }

  /** Returns a client of a member, which the writers use, too, from now on. */
  client(name: string): ApiClient {
    const read = (file: string): string => readFileSync(join(this.directory, 'pki', file), 'utf8')
    const credentials = { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') }
    const client = new ApiClient(`https://${this.addressOf(name).client}`, credentials)
    this.clients.push(client)
    return client
  }

  /** Performs a step, and keeps the longest time without an acknowledged write during it. */
  async step<T>(what: string, act: () => Promise<T>): Promise<T> {
    this.gap.take()
    const result = await act()
    this.gaps.push(`${what}: ${Math.round(this.gap.take())} ms`)
    return result
  }

  kill(name: string): void {
    const pid = Number(readFileSync(join(this.directory, name, 'pid'), 'utf8'))
    process.kill(pid, 'SIGKILL')
  }

  /** Starts a server with the command that was printed for it. */
  serve(command: string): void {
    const [program, ...flags] = command.split(' ')
    assert.equal(program, 'orch-apiserver')
    const log = openSync(join(this.directory, 'joined.log'), 'a')
    const child = spawn(process.execPath, [serverProgram, ...flags], {
      cwd: this.directory,
      stdio: ['ignore', log, log],
    })
    this.#processes.push(child)
  }

  /** Runs `orchctl verify` against these members for a while, in a process of its own. */
  async verify(
    ...names: readonly string[]
  ): Promise<{ readonly code: number | null; readonly given: string }> {
    const contexts = names.flatMap((name) => ['--context', name])
    const traffic = ['--duration', '15s', '--clients', '4', '--rate', '80']
    const child = spawn(
      process.execPath,
      [orchctlProgram, 'verify', ...contexts, ...traffic, '--kubeconfig', this.kubeconfig],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    )
    this.#processes.push(child)
    let given = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => (given += text.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, given }
  }

  async end(): Promise<void> {
    for (const client of this.clients) client.close()
    for (const child of this.#processes) child.kill('SIGKILL')
    await orchctl('cluster', 'down', '--force', '--dir', this.directory)
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 10 })
  }
}

void test('grow, replace the dead, move and remove the leader, shrink: nothing is lost under 8 writers', async () => {
  const churn = new Churn(await freePortRange(20))
  const [gap, reads] = [churn.gap, new GapMeter()]
  try {
    const { port, peer } = churn.addressOf('n1')
    const ports = ['--client-port', String(port), '--peer-port', peer.split(':')[1] ?? '']
    await churn.cluster('up', '--domain', 'k8s.io', ...ports)
    for (const name of ['n1', 'n2', 'n3']) churn.client(name)
    const [first] = churn.clients
    assert.ok(first !== undefined)
    const made = await first.post('/api/v1/namespaces', {
      ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    })
    assert.equal(made.status, 201, made.text)
    const revision = (JSON.parse(made.text) as { metadata: { resourceVersion: string } }).metadata
      .resourceVersion
    const { clients } = churn
    const writers = Array.from(
      { length: writersCount },
      (_, at) => new Writer({ id: `w${at}`, clients, namespace, first: at, gap }),
    )
    const reader = new Reader({ clients, namespace, gap: reads })
    const watcher = new Watcher({ clients, namespace, first: 2, revision })
    try {
      await change(churn)
    } finally {
      for (const writer of writers) await writer.stop()
      await reader.stop()
      await watcher.stop()
    }
    console.log(`# longest time without an acknowledged write:\n#   ${churn.gaps.join('\n#   ')}`)
    assert.ok(writers.every(({ record }) => record.increments > 0))
    assertReaderNeverBack(reader)
    let left: readonly Listed[] = []
    await until(
      'all are ready',
      async () => (left = await churn.members()).every(({ ready }) => ready),
      () => JSON.stringify(left),
    )
    for (const { name } of left) {
      assertWritesKept(await contentsOf(churn.client(name), namespace, ''), writers)
    }
    const seen = new Set(watcher.events.map((event) => event.revision))
    assert.equal(seen.size, watcher.events.length, 'no event was sent twice')
    for (const { record } of writers) {
      for (const version of record.revisions) {
        assert.ok(version > watcher.revision || seen.has(version), `the watcher received ${version}`)
      }
    }
  } finally {
    await churn.end()
  }
})

async function change(churn: Churn): Promise<void> {
  for (const name of ['n4', 'n5']) {
    await churn.step(`${name} added`, () => churn.cluster('add', name))
    churn.client(name)
  }
  assert.deepEqual(await roles(churn), ['n1 voter', 'n2 voter', 'n3 voter', 'n4 voter', 'n5 voter'])

  const verify = churn.verify('n1', 'n4')
  const survivor = await replaceDead(churn)

  // On a busy machine another member may be elected at any time: then leadership is transferred
  // again, so that the leader is removed.
  if ((await churn.leader()) === 'n5') await churn.member('transfer-leader', 'n1')
  for (let moves = 0; (await churn.leader()) !== 'n5'; moves++) {
    assert.ok(moves < 10, 'leadership does not stay where it was moved to')
    await churn.step('the leader moved', () => churn.member('transfer-leader', 'n5'))
  }

  await churn.step('the leader removed', () => churn.cluster('remove', 'n5'))
  await churn.step('another one removed', () => churn.cluster('remove', survivor))
  assert.deepEqual(await roles(churn), ['n1 voter', 'n4 voter', 'n6 voter'])
  // A change already made is no error.
  assert.match(await churn.cluster('remove', 'n5'), /n5 was removed before/)
  assert.match(await churn.member('remove', 'n5'), /n5 is not a member/)
  const verified = await verify
  assert.equal(verified.code, 0, verified.given)
}

/**
 * Kills a follower and replaces it with a member of another name. @returns the remaining one of n2
 * and n3
 */
async function replaceDead(churn: Churn): Promise<string> {
  const leader = await churn.leader()
  const dead = ['n2', 'n3'].find((name) => name !== leader) ?? 'n2'
  const { client, peer } = churn.addressOf('n6')
  const seat = ['--peer-address', peer, '--client-address', client, '--pki', join(churn.directory, 'pki')]
  churn.kill(dead)
  await churn.step('a dead one replaced', async () => {
    const issued = await churn.member('replace', dead, 'n6', ...seat, '--no-wait', '-o', 'json')
    const { command } = JSON.parse(issued) as { readonly command: string }
    churn.serve(command)
    const reported = await churn.member('replace', dead, 'n6', ...seat, '--timeout', '120')
    assert.match(reported, new RegExp(`n6 votes in the place of ${dead}`))
  })
  churn.client('n6')
  assert.match(await churn.member('replace', dead, 'n6', ...seat), /n6 votes already/)
  assert.ok(!(await roles(churn)).some((line) => line.startsWith(dead)))

  // If the dead member is started again, it learns that it was removed.
  const child = spawn(
    process.execPath,
    [serverProgram, '--config', join(churn.directory, dead, 'config.yaml')],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  let given = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (given += text))
  const [code] = (await once(child, 'close')) as [number | null]
  assert.equal(code, 3, given)
  assert.match(
    given,
    new RegExp(`"cause":"this member was removed .*orchctl member add ${dead} makes a token`),
  )
  await churn.cluster('remove', dead)
  return dead === 'n2' ? 'n3' : 'n2'
}

async function roles(churn: Churn): Promise<readonly string[]> {
  return (await churn.members()).map(({ name, role }) => `${name} ${role}`)
}
