/*
 * Goal: operators see when certificates expire and why one is not renewed, and renew them by hand.
 * Method: the whole command line in this process, on temporary directories without a cluster.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { cli } from '../../../../src/cli/cli.ts'
import type { Terminal } from '../../../../src/cli/terminal.ts'
import { lockDirectory } from '../../../../src/host/directory-lock.ts'
import { readClientConfig } from '../../../../src/pki/client-config.ts'
import { clusterPkiPaths } from '../../../../src/pki/cluster-pki.ts'
import { isIssuedBy } from '../../../../src/pki/issued-by.ts'
import { AuthorityRotation, foundingAuthority } from '../../../../src/pki/renewal/authority-rotation.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const dayMs = 24 * 60 * 60 * 1000

type Opened = {
  readonly clock: ManualClock
  readonly directory: string
  readonly printed: string[]
  readonly noted: string[]
  /** Runs a command and returns its exit code. */
  readonly run: (...args: readonly string[]) => Promise<number>
}

async function open(t: TestContext): Promise<Opened> {
  const directory = mkdtempSync(join(tmpdir(), 'orchctl-pki-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const clock = new ManualClock()
  const [printed, noted]: [string[], string[]] = [[], []]
  const terminal: Terminal = {
    ...{ clock, random: new SeededRandom(1), program: 'orchctl' },
    print: (line) => void printed.push(...line.split('\n')),
    note: (line) => void noted.push(line),
  }
  const run: Opened['run'] = (...args) => {
    printed.length = 0
    noted.length = 0
    return cli(args, terminal)
  }
  assert.equal(await run('pki', 'init', '--dir', directory, '--members', 'n1=10.0.0.1,n2=10.0.0.2'), 0)
  rmSync(join(directory, 'admin.kubeconfig'))
  return { clock, directory, printed, noted, run }
}

void test('pki status lists every certificate of a directory with its expiry and its renewal', async (t) => {
  const { directory, printed, run } = await open(t)
  renameSync(join(directory, 'peer-ca.key'), join(directory, 'peer-ca.key.away'))
  assert.equal(await run('pki', 'status', '--dir', directory), 0)
  const [head = '', ...rows] = printed
  assert.match(head, /^WHERE +USE +SUBJECT +ISSUER +EXPIRES +RENEWS$/)
  assert.equal(rows.length, 3 + 1 + 4)
  const row = (name: string): string => rows.find((line) => line.includes(name)) ?? ''
  assert.match(
    row('n1/server.crt'),
    /server +CN=orch-apiserver:n1 +CN=orch cluster authority +20\d\d-.*Z +no: members renew only the files that they use; for others: orchctl pki renew$/,
  )
  assert.match(row('n2/peer.crt'), /no: the key of its authority is not at hand \(.*peer-ca\.key\)$/)
  assert.match(row('front-proxy-ca.crt'), /no: authorities are replaced by orchctl pki rotate-ca$/)
})

void test('pki status ends with 1 once a certificate is about to expire, and prints files and members as JSON', async (t) => {
  const { directory, clock, printed, run } = await open(t)
  clock.jumpWall(359 * dayMs)
  assert.equal(await run('pki', 'status', '--dir', directory, '-o', 'json'), 1)
  const { files, members } = JSON.parse(printed.join('\n')) as {
    readonly files: readonly { readonly use: string; readonly renewal: object }[]
    readonly members: readonly unknown[]
  }
  assert.deepEqual(members, [])
  const admin = files.find(({ use }) => use === 'admin')
  const why = 'members renew only the files that they use; for others: orchctl pki renew'
  assert.deepEqual(admin?.renewal, { byItself: false, at: null, why })
})

void test('pki status ends with 1 and names a file that is not a kubeconfig, also with a directory to show', async (t) => {
  const { directory, noted, run } = await open(t)
  const path = join(directory, 'wrong')
  const wrong = {
    'hello\n': /wrong is not a kubeconfig$/,
    '': /wrong is not a kubeconfig$/,
    'apiVersion: v1\nkind: ConfigMap\n': /wrong is not a kubeconfig, but of kind "ConfigMap"$/,
    'apiVersion: v1\nkind: Config\n': /wrong has no context$/,
  }
  for (const [text, words] of Object.entries(wrong)) {
    writeFileSync(path, text)
    assert.equal(await run('pki', 'status', '--dir', directory, '--kubeconfig', path), 1, text)
    assert.match(noted.join(), words)
    assert.equal(await run('pki', 'status', '--kubeconfig', path), 1, text)
  }
  // Members that do not respond are no failure, as long as there are files to show.
  const present = join(directory, 'present')
  assert.equal(await run('pki', 'init', '--dir', present, '--members', 'n1=127.0.0.1:1'), 0)
  assert.equal(await run('pki', 'status', '--dir', present), 0)
})

void test('pki renew gives every member and the admin new pairs, and the kubeconfig the new one', async (t) => {
  const { directory, clock, printed, run } = await open(t)
  const kubeconfig = join(directory, 'admin.kubeconfig')
  assert.equal(await run('pki', 'init', '--dir', directory, '--members', 'n1=10.0.0.1'), 0)
  const paths = clusterPkiPaths(directory)
  const all = [paths.admin, ...['n1', 'n2'].flatMap((name) => [paths.server(name), paths.peer(name)])]
  const read = (): readonly string[] =>
    all.flatMap(({ certificate, key }) => [readFileSync(certificate, 'utf8'), readFileSync(key, 'utf8')])
  const before = read()
  clock.jumpWall(10 * dayMs)
  assert.equal(await run('pki', 'renew', '--dir', directory), 0)
  assert.equal(printed.filter((line) => line.startsWith('renewed  ')).length, 10)
  assert.ok(printed.includes(`updated  ${kubeconfig}`))
  const after = read()
  for (const [at, text] of before.entries()) assert.notEqual(after[at], text)
  assert.equal(readClientConfig(kubeconfig).identity?.certificate, after[0])
})

void test('pki renew without the key of an authority renews the rest, names the file and ends with 1', async (t) => {
  const { directory, noted, printed, run } = await open(t)
  rmSync(join(directory, 'peer-ca.key'))
  assert.equal(await run('pki', 'renew', '--dir', directory), 1)
  assert.equal(printed.filter((line) => line.startsWith('renewed  ')).length, 6)
  assert.match(noted.join('\n'), /n1\/peer\.crt cannot be renewed: the key of its authority is not at hand/)
})

void test('pki renew that renews nothing does not print that files are to be copied', async (t) => {
  const { directory, printed, noted, run } = await open(t)
  const { ca, peerCa } = clusterPkiPaths(directory)
  for (const { key } of [ca, peerCa]) rmSync(key)
  assert.equal(await run('pki', 'renew', '--dir', directory), 1)
  assert.deepEqual(printed, [])
  assert.equal(noted.length, 5)
})

void test('pki status and pki renew of a directory without certificates fail and ask for the right directory', async (t) => {
  const { directory, noted, run } = await open(t)
  for (const command of ['status', 'renew']) {
    assert.equal(await run('pki', command, '--dir', join(directory, 'other')), 1)
    assert.match(noted.join('\n'), /there are no certificates in .*other: give the directory that orchctl/)
  }
})

const authoritiesIn = (path: string): number =>
  readFileSync(path, 'utf8').split('-----BEGIN CERTIFICATE-----').length - 1

void test('pki rotate-ca replaces an authority in three steps, and each certificate is trusted at any time', async (t) => {
  const { directory, printed, noted, run } = await open(t)
  const kubeconfig = join(directory, 'admin.kubeconfig')
  assert.equal(await run('pki', 'init', '--dir', directory, '--members', 'n1=127.0.0.1:1'), 0)
  const { ca, server, admin } = clusterPkiPaths(directory)
  const rotate = (...more: readonly string[]): Promise<number> =>
    run('pki', 'rotate-ca', '--dir', directory, '--authority', 'client', '--offline', ...more)
  const old = readFileSync(ca.certificate, 'utf8')
  const isTrusted = (): boolean =>
    [server('n1'), server('n2'), admin].every(({ certificate }) =>
      isIssuedBy(readFileSync(certificate, 'utf8'), readFileSync(ca.certificate, 'utf8')),
    )

  assert.equal(await rotate('--finish'), 1)
  assert.match(noted.join(), /no rotation has begun, or its last step is done/)
  assert.equal(await rotate(), 0)
  assert.match(printed.join(), /step 1 of 3/)
  assert.equal(authoritiesIn(ca.certificate), 2)
  assert.ok(readFileSync(ca.certificate, 'utf8').startsWith(old), 'the present one signs')
  assert.equal(readClientConfig(kubeconfig).authority, readFileSync(ca.certificate, 'utf8'))
  assert.ok(isTrusted())

  assert.equal(await rotate(), 0)
  assert.match(printed.join(), /step 2 of 3/)
  assert.ok(isTrusted())
  const leaf = readFileSync(server('n2').certificate, 'utf8')
  assert.equal(isIssuedBy(leaf, old), false, 'the next one has signed it')
  assert.equal(readClientConfig(kubeconfig).identity?.certificate, readFileSync(admin.certificate, 'utf8'))

  assert.equal(await rotate(), 0)
  assert.equal(authoritiesIn(ca.certificate), 2, 'the trust ends on request only')
  assert.equal(await rotate('--finish'), 0)
  assert.match(printed.join(), /step 3 of 3/)
  assert.equal(authoritiesIn(ca.certificate), 1)
  assert.ok(isTrusted())
  assert.equal(readClientConfig(kubeconfig).authority, readFileSync(ca.certificate, 'utf8'))
  assert.equal(foundingAuthority(ca.certificate), old)
  assert.equal(await run('pki', 'init', '--dir', directory, '--members', 'n1=127.0.0.1:1'), 0)
  assert.match(printed.join(), /files exist and match/)
})

void test('pki rotate-ca refuses the next step while members cannot be reached', async (t) => {
  const { directory, noted, run } = await open(t)
  const rotate = (): Promise<number> =>
    run('pki', 'rotate-ca', '--dir', directory, '--authority', 'peer', '--kubeconfig', kubeconfig)
  const kubeconfig = join(directory, 'admin.kubeconfig')
  assert.equal(await run('pki', 'init', '--dir', directory, '--members', 'n1=127.0.0.1:1'), 0)
  assert.equal(await rotate(), 0)
  assert.equal(await rotate(), 1)
  assert.match(noted.join(), /start it, or give --offline if no member of this cluster runs/)
  assert.equal(authoritiesIn(clusterPkiPaths(directory).peerCa.certificate), 2)
})

void test('pki rotate-ca --finish keeps the trust that a certificate of the directory needs, even with --offline', async (t) => {
  const { directory, noted, run } = await open(t)
  const { ca, server } = clusterPkiPaths(directory)
  const rotate = (...more: readonly string[]): Promise<number> =>
    run('pki', 'rotate-ca', '--dir', directory, '--authority', 'client', '--offline', ...more)
  const [certificate, key] = [server('n2').certificate, server('n2').key].map((path) => {
    return { path, text: readFileSync(path, 'utf8') }
  })
  assert.ok(certificate !== undefined && key !== undefined)
  assert.equal(await rotate(), 0)
  assert.equal(await rotate(), 0)
  const issued = readFileSync(key.path, 'utf8')
  writeFileSync(certificate.path, certificate.text)
  // Without its key it is not issued again.
  rmSync(key.path)
  assert.equal(await rotate('--finish'), 1)
  assert.match(noted.join(), /n2\/server\.crt is still of the old authority: replace or remove it/)
  assert.equal(authoritiesIn(ca.certificate), 2)
  rmSync(certificate.path)
  assert.equal(await rotate('--finish'), 0)
  assert.equal(authoritiesIn(ca.certificate), 1)
  assert.notEqual(issued, key.text)
})

void test('pki rotate-ca is refused while another process takes a step, and not after that process has ended', async (t) => {
  const { directory, noted, run } = await open(t)
  const { ca } = clusterPkiPaths(directory)
  const rotate = (): Promise<number> =>
    run('pki', 'rotate-ca', '--dir', directory, '--authority', 'client', '--offline')
  const other = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'])
  t.after(() => other.kill('SIGKILL'))
  const lock = join(directory, 'rotation.lock')
  writeFileSync(lock, `${other.pid}\n`)
  assert.equal(await rotate(), 1)
  assert.match(noted.join(), new RegExp(`process ${other.pid} changes keys there: try again`))
  assert.equal(authoritiesIn(ca.certificate), 1)
  other.kill('SIGKILL')
  await once(other, 'exit')
  assert.equal(await rotate(), 0)
  assert.equal(authoritiesIn(ca.certificate), 2)
  assert.equal(existsSync(lock), false)
})

void test('a step of pki rotate-ca that was interrupted is completed by the next run', async (t) => {
  const { directory, clock, run } = await open(t)
  const { ca, server } = clusterPkiPaths(directory)
  const old = readFileSync(ca.certificate, 'utf8')
  const rotate = (...more: readonly string[]): Promise<number> =>
    run('pki', 'rotate-ca', '--dir', directory, '--authority', 'client', '--offline', ...more)
  assert.equal(await rotate(), 0)
  const bundle = readFileSync(ca.certificate, 'utf8')
  // A crash came before the bundle was written.
  writeFileSync(ca.certificate, old)
  assert.equal(await rotate(), 0)
  assert.equal(readFileSync(ca.certificate, 'utf8'), bundle, 'the same authority was announced again')
  // A crash came after the retired authority was noted and the key replaced.
  writeFileSync(join(directory, 'ca-retired.crt'), old)
  copyFileSync(join(directory, 'ca-next.key'), ca.key)
  const renewal = new AuthorityRotation({ paths: ca, clock, random: new SeededRandom(5) })
  assert.equal(renewal.phase, 'issuing')
  assert.equal(await rotate(), 0)
  assert.equal(isIssuedBy(readFileSync(server('n1').certificate, 'utf8'), old), false)
  assert.equal(await rotate('--finish'), 0)
  assert.equal(renewal.phase, 'steady')
  assert.equal(existsSync(join(directory, 'ca-next.key')), false)
})

void test('a step of pki rotate-ca that was interrupted at its very end leaves nothing that breaks a later rotation', async (t) => {
  const { directory, clock, run } = await open(t)
  const { ca } = clusterPkiPaths(directory)
  const next = join(directory, 'ca-next.crt')
  const rotate = (...more: readonly string[]): Promise<number> =>
    run('pki', 'rotate-ca', '--dir', directory, '--authority', 'client', '--offline', ...more)
  const rotation = new AuthorityRotation({ paths: ca, clock, random: new SeededRandom(5) })
  assert.equal(await rotate(), 0)
  const announced = readFileSync(next)
  assert.equal(await rotate(), 0)
  // A crash came after the key of the next authority was moved, before its certificate was removed.
  writeFileSync(next, announced)
  assert.equal(await rotate('--finish'), 0)
  assert.equal(rotation.phase, 'steady')
  const first = readFileSync(ca.certificate, 'utf8')
  for (const more of [[], [], ['--finish']]) assert.equal(await rotate(...more), 0)
  assert.equal(rotation.phase, 'steady')
  assert.notEqual(readFileSync(ca.certificate, 'utf8'), first, 'the authority was replaced again')
})

void test('pki rotate-ca --offline is refused while something answers at an address of the kubeconfig', async (t) => {
  const { directory: root, noted, run } = await open(t)
  const directory = join(root, 'pki')
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  assert.equal(await run('pki', 'init', '--dir', directory, '--members', `n1=127.0.0.1:${port}`), 0)
  const { ca } = clusterPkiPaths(directory)
  const rotate = (to = directory): Promise<number> =>
    run('pki', 'rotate-ca', '--dir', to, '--authority', 'client', '--offline')
  assert.equal(await rotate(), 1)
  const words = `n1 answers at https://127.0.0.1:${port}: run this without --offline, or stop all members first`
  assert.ok(noted.join().includes(words), noted.join())
  renameSync(join(directory, 'admin.kubeconfig'), join(root, 'admin.kubeconfig'))
  for (const spelled of [directory, `${directory}/.`]) assert.equal(await rotate(spelled), 1, spelled)
  assert.equal(authoritiesIn(ca.certificate), 1)
  await new Promise((resolve) => server.close(resolve))
  assert.equal(await rotate(), 0)
  assert.equal(authoritiesIn(ca.certificate), 2)
})

void test('pki rotate-ca --offline is refused while a process uses a data directory next to the keys', async (t) => {
  const { directory: root, noted, run } = await open(t)
  const directory = join(root, 'pki')
  assert.equal(await run('pki', 'init', '--dir', directory, '--members', 'n1=127.0.0.1:1'), 0)
  rmSync(join(directory, 'admin.kubeconfig'))
  const rotate = (to = directory): Promise<number> =>
    run('pki', 'rotate-ca', '--dir', to, '--authority', 'client', '--offline')
  const link = join(root, 'elsewhere', 'keys')
  mkdirSync(join(root, 'elsewhere'))
  symlinkSync(directory, link)
  let steps = 1
  for (const data of [root, join(root, 'n2', 'data')]) {
    mkdirSync(data, { recursive: true })
    writeFileSync(join(data, 'member.json'), '{}')
    const lock = await lockDirectory(data, process.pid)
    for (const spelled of [directory, `${directory}/.`, link]) {
      assert.equal(await rotate(spelled), 1, spelled)
      assert.match(noted.join(), /run this without --offline, or stop all members first/)
    }
    assert.ok(noted.join().includes(data), noted.join())
    lock.release()
    assert.equal(await rotate(), 0, noted.join())
    assert.equal(authoritiesIn(clusterPkiPaths(directory).ca.certificate), 2, `step ${steps++}`)
  }
})

void test('pki rotate-ca prints which certificates each authority issued, and what was not checked', async (t) => {
  const { directory, printed, run } = await open(t)
  const rotate = async (authority: string): Promise<string> => {
    assert.equal(await run('pki', 'rotate-ca', '--dir', directory, '--authority', authority, '--offline'), 0)
    return printed.join(' ')
  }
  const steps = {
    client: [
      /every member and client that has/,
      /certificates of the servers and the admin.* give users/,
      /the members were not checked \(--offline\): --finish/,
    ],
    peer: [
      /every member that has/,
      /issued the peer certificates(?!.*(users|proxies))/,
      /the members were not checked \(--offline\): --finish/,
    ],
    'front-proxy': [
      /every member that has/,
      /no certificates of proxies.* give proxies certificates of the new authority/,
      /certificates of proxies were not checked: --finish/,
    ],
  }
  for (const [authority, words] of Object.entries(steps)) {
    for (const one of words) assert.match(await rotate(authority), one)
  }
})

void test('pki rotate-ca of the signing authority needs running members, and others need a directory', async (t) => {
  const { noted, run } = await open(t)
  assert.equal(await run('pki', 'rotate-ca', '--authority', 'signing', '--offline'), 2)
  assert.match(noted.join(), /in the state of the members: start them first/)
  assert.equal(await run('pki', 'rotate-ca', '--authority', 'client'), 2)
  assert.match(noted.join(), /--authority client needs --dir/)
})
