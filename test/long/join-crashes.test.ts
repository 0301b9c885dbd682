/*
 * Goal: a joining process may be killed repeatedly at any moment: running the same command again
 * makes it a member, exactly one is added, and no ID is used with two logs.
 * Method: a real process that joins a real cluster, killed after times drawn from a seed, and while
 * the response to its request is held back.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess, StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync, readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../../base/random.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { freePorts } from '../../fixtures/port-range.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { serverProgram } from '../support/drivers/programs.ts'
import { until } from '../support/tools/until.ts'

const seed = Number(process.env['JOIN_SEED'] ?? 1)
const killsMax = 8

type Listed = {
  readonly name: string
  readonly id: string
  readonly role: string
  readonly ready: boolean | null
}

void test(`a process killed at any moment of joining becomes one member (JOIN_SEED=${seed} repeats it)`, async () => {
  const cluster = await ProcessCluster.start()
  const { directory, kubeconfig } = cluster
  const members = async (): Promise<readonly Listed[]> => {
    const listed = await orchctl('member', 'list', '-o', 'json', '--kubeconfig', kubeconfig)
    // A command that times out is repeated by the caller.
    return listed.code === 0 ? (JSON.parse(listed.out) as readonly Listed[]) : []
  }
  const running: { kill: (signal: NodeJS.Signals) => unknown }[] = []
  try {
    const [client = 0, peer = 0] = await freePorts(2)
    const issued = await orchctl(
      ...[
        'member',
        'add',
        'n4',
        '--client-address',
        `127.0.0.1:${client}`,
        '--peer-address',
        `127.0.0.1:${peer}`,
      ],
      ...['--pki', join(directory, 'pki'), '--kubeconfig', kubeconfig, '-o', 'json'],
    )
    assert.equal(issued.code, 0, issued.err)
    const { command } = JSON.parse(issued.out) as { readonly command: string }
    const start = () => {
      const log = openSync(join(directory, 'n4.log'), 'a')
      const flags = command.split(' ').slice(1)
      const child = spawn(process.execPath, [serverProgram, ...flags], {
        cwd: directory,
        stdio: ['ignore', log, log],
      })
      running.push(child)
      return child
    }
    const random = new SeededRandom(seed)
    const claim = join(directory, 'data/n4/member.json')
    const seen = { before: 0, after: 0 }
    const requested = (): number =>
      readFileSync(join(directory, 'n4.log'), 'utf8').split('joining the cluster').length - 1
    let id: string | null = null
    for (let kill = 0; kill < killsMax; kill++) {
      const child = start()
      const exited = once(child, 'exit')
      // The join request takes milliseconds; the start of the process takes seconds.
      if (existsSync(claim)) await sleep(random.below(3000))
      else {
        const given = (): string => readFileSync(join(directory, 'n4.log'), 'utf8')
        const isAsking = (): boolean => {
          assert.equal(child.exitCode, null, given())
          return requested() > kill
        }
        await until('it asks', isAsking, given, 1)
        // The later processes are killed after the claim, however slow the machine is.
        if (kill >= killsMax / 2) await until('it claims its directory', () => existsSync(claim), given, 1)
        await sleep(random.below(200))
      }
      child.kill('SIGKILL')
      await exited
      seen[existsSync(claim) ? 'after' : 'before']++
      if (!existsSync(claim)) continue
      const claimed = String((JSON.parse(readFileSync(claim, 'utf8')) as { id: number }).id)
      assert.equal(claimed, id ?? claimed, 'what is claimed stays')
      id = claimed
    }
    assert.ok(seen.after >= killsMax / 2, JSON.stringify(seen))
    console.log(
      `  killed ${seen.before} times before its directory was claimed, ${seen.after} times after it`,
    )
    start()
    let all: readonly Listed[] = []
    await until(
      'n4 votes',
      async () => {
        all = await members()
        return all.some(({ name, role }) => name === 'n4' && role === 'voter')
      },
      () => readFileSync(join(directory, 'n4.log'), 'utf8').slice(-2000),
      200,
    )
    assert.deepEqual(
      all.map(({ name, role }) => `${name} ${role}`),
      ['n1 voter', 'n2 voter', 'n3 voter', 'n4 voter'],
    )
    assert.ok(id !== null)
    assert.equal(all.find(({ name }) => name === 'n4')?.id, id)
  } finally {
    for (const child of running) child.kill('SIGKILL')
    await cluster.remove()
  }
})

/**
 * Forwards to a member. While `isHeld`, what the member sends in response to requests, after the
 * TLS handshake, is not forwarded.
 */
async function holdingProxy(address: string) {
  const held = { isHeld: true }
  const server = createServer((caller) => {
    const member = connect(Number(address.split(':')[1]), '127.0.0.1')
    let hasSentHandshake = false
    let hasAsked = false
    caller.on('error', () => member.destroy()).on('close', () => member.destroy())
    member.on('error', () => caller.destroy()).on('close', () => caller.destroy())
    caller.on('data', (bytes: Buffer) => {
      hasAsked = hasSentHandshake
      member.write(bytes)
    })
    member.on('data', (bytes: Buffer) => {
      hasSentHandshake = true
      if (!(held.isHeld && hasAsked)) caller.write(bytes)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { held, address: `127.0.0.1:${port}`, close: () => server.close() }
}

for (const isRemoved of [false, true]) {
  const what = isRemoved
    ? 'and removed by the operator, serves with a new token by another id'
    : 'and started again, serves by the admitted id'
  void test(`a process killed after its admission and before the response, ${what}`, async (t) => {
    const cluster = await ProcessCluster.start()
    t.after(() => cluster.remove())
    const { directory, kubeconfig } = cluster
    const ctl = async (...args: readonly string[]): Promise<string> => {
      const { code, out, err } = await orchctl(...args, '--kubeconfig', kubeconfig)
      assert.equal(code, 0, `${args.join(' ')}: ${err}`)
      return out
    }
    const n4 = async (): Promise<Listed | undefined> => {
      const listed = await orchctl('member', 'list', '-o', 'json', '--kubeconfig', kubeconfig)
      const all = listed.code === 0 ? (JSON.parse(listed.out) as readonly Listed[]) : []
      return all.find(({ name }) => name === 'n4')
    }
    const [client = 0, peer = 0] = await freePorts(2)
    const at = ['--client-address', `127.0.0.1:${client}`, '--peer-address', `127.0.0.1:${peer}`]
    const add = ['member', 'add', 'n4', ...at, '--pki', join(directory, 'pki'), '-o', 'json']
    const proxy = await holdingProxy(new URL(cluster.member('n1').url).host)
    t.after(() => proxy.close())
    const given = (): string => readFileSync(join(directory, 'n4.log'), 'utf8')
    const issued = async (): Promise<readonly string[]> => {
      const { command } = JSON.parse(await ctl(...add)) as { readonly command: string }
      return command.split(' ').slice(1)
    }
    const spawned = (flags: readonly string[]): ChildProcess => {
      const log = openSync(join(directory, 'n4.log'), 'a')
      const through = flags.map((flag, at) => (flags[at - 1] === '--join' ? proxy.address : flag))
      const stdio: StdioOptions = ['ignore', log, log]
      const child = spawn(process.execPath, [serverProgram, ...through], { cwd: directory, stdio })
      t.after(() => child.kill('SIGKILL'))
      return child
    }
    const flags = await issued()
    assert.ok(flags.includes('--join'))
    const first = spawned(flags)
    await until('n4 is admitted', async () => (await n4()) !== undefined, given)
    const admitted = (await n4())?.id
    first.kill('SIGKILL')
    await once(first, 'exit')
    assert.equal(existsSync(join(directory, 'data/n4/member.json')), false, given())
    proxy.held.isHeld = false
    if (isRemoved) {
      await ctl('member', 'remove', 'n4')
      const [code] = (await once(spawned(flags), 'exit')) as [number]
      assert.equal(code, 2, given())
      assert.match(given(), /n4 joined with this token and has been removed: orchctl member add n4/)
      spawned(await issued())
    } else spawned(flags)
    await until('n4 votes', async () => (await n4())?.role === 'voter', given, 200)
    const id = (await n4())?.id
    assert.equal(id === admitted, !isRemoved, `${id} after ${admitted}`)
    await cluster.waitReady()
    assert.ok(cluster.members.every(({ running }) => running))
  })
}
