/*
 * Goal: what cannot work is refused in one clear line, and nothing is lost, half-written or shared.
 * Method: real processes on real folders, each set up wrongly in one way.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, statSync, statfsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse, stringify } from 'yaml'
import { NoReply } from '../support/drivers/api-client.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { serverProgram as server } from '../support/drivers/programs.ts'
import { patienceMs, until } from '../support/tools/until.ts'

/**
 * The lines with the reason of an exit: standard error before the log exists, fatal log lines from
 * then on.
 */
type Ended = { readonly code: number | null; readonly lines: readonly string[] }

function runServer(args: readonly string[]): Ended {
  const { status, stdout, stderr } = spawnSync(process.execPath, [server, ...args], {
    encoding: 'utf8',
    timeout: patienceMs,
  })
  return { code: status, lines: [...linesOf(stderr), ...linesOf(stdout).flatMap(fatalCause)] }
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '')
}

function fatalCause(line: string): readonly string[] {
  const { level, cause } = JSON.parse(line) as { readonly level: string; readonly cause?: string }
  return level === 'fatal' ? [cause ?? line] : []
}

function reconfigure(member: MemberProcess, change: Readonly<Record<string, unknown>>): void {
  const path = join(member.directory, 'config.yaml')
  const config = parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  writeFileSync(path, stringify({ ...config, ...change }))
}

void describe('command line', () => {
  void test('an unknown flag ends with one line that names the nearest known one', () => {
    const { code, lines } = runServer(['--data-dri', '/nowhere'])
    assert.equal(code, 2)
    assert.equal(lines.length, 1, lines.join('\n'))
    assert.match(lines[0] ?? '', /data-dir/)
  })

  void test('a bad value names the flag', () => {
    const { code, lines } = runServer(['--in-memory', '--secure-port', 'http'])
    assert.equal(code, 2)
    assert.match(lines.join('\n'), /secure-port/)
  })

  void test('a configuration file that does not exist is named in the error', () => {
    const { code, lines } = runServer(['--config', '/nowhere/orch.yaml'])
    assert.equal(code, 2)
    assert.match(lines.join('\n'), /\/nowhere\/orch\.yaml/)
  })
})

void test('a data directory serves one process, one member, one cluster and one domain', async (t) => {
  const cluster = await ProcessCluster.start({ members: 1 })
  t.after(() => cluster.remove())
  const member = cluster.members[0] ?? assert.fail('one member')
  const config = join(member.directory, 'config.yaml')

  const second = runServer(['--config', config])
  assert.notEqual(second.code, 0)
  assert.equal(second.lines.length, 1, second.lines.join('\n'))
  assert.match(second.lines[0] ?? '', new RegExp(`${member.pid}`), 'it names the process that holds it')
  assert.ok(await member.isReady(), 'the first is undisturbed')

  assert.equal(await member.stop(), 0)
  const settings = parse(readFileSync(config, 'utf8')) as Record<string, unknown>
  const addresses = `${String(settings['peer-address'])}/${String(settings['advertise-address'])}`
  for (const [what, flags] of [
    ['domain', ['--api-domain', 'orch.io']],
    ['cluster', ['--cluster-name', 'another']],
    ['member', ['--name', 'another', '--initial-members', `another=${addresses}`]],
  ] as const) {
    const ended = runServer(['--config', config, ...flags])
    assert.notEqual(ended.code, 0, what)
    assert.equal(ended.lines.length, 1, ended.lines.join('\n'))
    assert.match(ended.lines[0] ?? '', new RegExp(`data directory .* belongs to .*${what} `), what)
  }
  member.start()
  await member.waitReady()
})

void describe('a peer with a wrong certificate', () => {
  const writeOn = async (cluster: ProcessCluster, outsider: MemberProcess): Promise<void> => {
    const first = cluster.member('n1')
    for (let n = 0; n < 10; n++) {
      const reply = await first.client.post('/api/v1/namespaces/default/configmaps', {
        metadata: { generateName: 'w' },
      })
      assert.equal(reply.status, 201, reply.text)
      await sleep(50)
    }
    assert.equal(await outsider.isReady(), false, 'no peer contacts it')
  }

  const filesOf = (member: MemberProcess): Record<string, unknown> =>
    parse(readFileSync(join(member.directory, 'config.yaml'), 'utf8')) as Record<string, unknown>

  void test('a certificate of another authority is rejected for an existing and for a new member', async (t) => {
    const cluster = await ProcessCluster.start({ members: 3 })
    t.after(() => cluster.remove())
    const otherCluster = await ProcessCluster.prepare({ members: 3 })
    t.after(() => otherCluster.remove())
    const outsider = cluster.member('n3')
    await outsider.stop()
    const foreign = filesOf(otherCluster.member('n3'))
    const keys = Object.fromEntries(
      ['peer-ca-file', 'peer-cert-file', 'peer-key-file'].map((flag) => [flag, foreign[flag]]),
    )
    const fresh = { ...keys, 'data-dir': join(outsider.directory, 'fresh') }
    for (const change of [keys, fresh]) {
      reconfigure(outsider, change)
      outsider.start()
      await writeOn(cluster, outsider)
      const cause = 'no authority that this member trusts signed the peer certificate'
      await until(`its log contains "${cause}"`, () => outsider.currentLog().includes(cause))
      assert.equal(await outsider.stop(), 0)
    }
  })

  void test('a server with the certificate of another member refuses to start, and the others continue', async (t) => {
    const cluster = await ProcessCluster.start({ members: 3 })
    t.after(() => cluster.remove())
    const outsider = cluster.member('n3')
    await outsider.stop()
    const other = filesOf(cluster.member('n2'))
    reconfigure(outsider, {
      'peer-cert-file': other['peer-cert-file'],
      'peer-key-file': other['peer-key-file'],
    })
    const ended = runServer(['--config', join(outsider.directory, 'config.yaml')])
    assert.equal(ended.code, 1)
    assert.equal(ended.lines.length, 1, ended.lines.join('\n'))
    assert.match(ended.lines[0] ?? '', /is the certificate of member n2, not n3/)
    await writeOn(cluster, outsider)
  })
})

void test('a member whose peer port is occupied names the port and the remedy', async (t) => {
  const cluster = await ProcessCluster.prepare({ members: 3 })
  t.after(() => cluster.remove())
  const path = join(cluster.member('n1').directory, 'config.yaml')
  const config = parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  const address = String(config['peer-address'])
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(Number(address.split(':')[1]), '127.0.0.1', resolve))
  t.after(() => other.close())
  const { code, lines } = runServer(['--config', path])
  assert.deepEqual([code, lines.length], [1, 1], lines.join('\n'))
  assert.match(
    lines[0] ?? '',
    new RegExp(`cannot listen for peers on ${address}: the port is taken: check which process uses it`),
  )
  assert.match(lines[0] ?? '', /--peer-address .*; orchctl member move n1 --peer-address … sets another one/)
})

void test('a single member creates its own keys and a kubeconfig, readable by their owner alone', async (t) => {
  const cluster = await ProcessCluster.prepare({ members: 1 })
  t.after(() => cluster.remove())
  const member = cluster.members[0] ?? assert.fail('one member')
  const data = join(member.directory, 'alone')
  const port = new URL(member.url).port
  writeFileSync(
    join(member.directory, 'config.yaml'),
    stringify({ 'data-dir': data, 'secure-port': Number(port), 'bind-address': '127.0.0.1' }),
  )
  member.start()
  const kubeconfig = join(data, 'admin.kubeconfig')
  const answers = async (): Promise<boolean> => {
    try {
      return (await member.client.get('/readyz')).status === 200
    } catch (cause) {
      // The client does not trust the member's authority: an error about the certificate proves
      // that it answers.
      if (!(cause instanceof NoReply)) throw cause
      return /self.signed|certificate/.test(cause.message)
    }
  }
  await until('it answers', answers, () => member.logTail())
  assert.equal(statSync(kubeconfig).mode & 0o777, 0o600)
  const files = execFileSync('find', [data, '-name', '*.key', '-perm', '/077'], { encoding: 'utf8' })
  assert.equal(files, '', 'no key is readable by others')
  assert.equal(await member.stop(), 0)
})

const mayMount = process.getuid?.() === 0
void test(
  'a full disk under the log stops the member with a one-line error and loses no acknowledged write',
  { skip: mayMount ? false : 'needs root, to mount a small file system' },
  async (t) => {
    const cluster = await ProcessCluster.prepare({ members: 1 })
    const member = cluster.members[0] ?? assert.fail('one member')
    const small = join(member.directory, 'small')
    mkdirSync(small)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=192m', 'tmpfs', small])
    t.after(async () => {
      if (member.running) await member.stop('SIGKILL')
      execFileSync('umount', ['-l', small])
      await cluster.remove()
    })
    reconfigure(member, { 'data-dir': join(small, 'data') })
    member.start()
    await member.waitReady()
    // The ballast leaves some disk space: a member without any exits, even if it gets no requests.
    const { bavail, bsize } = statfsSync(small)
    writeFileSync(join(small, 'ballast'), Buffer.alloc(bavail * bsize - 24 * 1024 * 1024))
    assert.ok(member.running, member.logTail())
    const acknowledged: string[] = []
    for (let n = 0; n < 4000 && member.running; n++) {
      try {
        const name = `w${n}`
        const body = { metadata: { name }, data: { x: 'y'.repeat(60_000) } }
        const reply = await member.client.post('/api/v1/namespaces/default/configmaps', body)
        if (reply.status === 201) acknowledged.push(name)
        else if (reply.status >= 500) break
      } catch (cause) {
        if (!(cause instanceof NoReply)) throw cause
        break
      }
    }
    await until(
      'the member with the full disk ends',
      () => !member.running,
      () => member.logTail(),
    )
    assert.match(member.currentLog(), /no space|disk.*full|full disk/i)
    assert.ok(acknowledged.length > 0, `some objects fit: ${member.logTail()}`)
    rmSync(join(small, 'ballast'))
    member.start()
    await member.waitReady()
    for (const name of acknowledged) {
      const reply = await member.client.get(`/api/v1/namespaces/default/configmaps/${name}`)
      assert.equal(reply.status, 200, `${name}: ${reply.text}`)
    }
    console.log(`# ${acknowledged.length} acknowledged writes are there after the disk was full`)
  },
)
