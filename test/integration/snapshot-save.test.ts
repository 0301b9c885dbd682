/*
 * Goal: any member sends a consistent snapshot while clients write, to administrators only; an
 * interrupted save leaves no file.
 * Method: three real servers with writers; the shipped command in this process; a server whose
 * stream ends early.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { cli } from '../../src/cli/cli.ts'
import { RealClock } from '../../src/host/clock.ts'
import { RealRandom } from '../../src/host/random.ts'
import { clusterPkiPaths } from '../../src/pki/cluster-pki.ts'
import { ApiClient } from '../support/drivers/api-client.ts'
import { GapMeter, Writer } from '../support/runs/cluster-traffic.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'

const cluster = await ProcessCluster.start()
const scratch = mkdtempSync(join(tmpdir(), 'orch-save-'))
after(async () => {
  await cluster.remove()
  rmSync(scratch, { recursive: true, force: true })
})

function partialsLeft(): boolean {
  return readdirSync(scratch).some((name) => name.endsWith('.partial'))
}

type Ran = { readonly code: number; readonly out: string; readonly err: string }

async function orchctl(...args: readonly string[]): Promise<Ran> {
  const [printed, noted]: [string[], string[]] = [[], []]
  const code = await cli(args, {
    ...{ clock: new RealClock(), random: new RealRandom(), program: 'orchctl' },
    print: (line) => printed.push(line),
    note: (line) => noted.push(line),
  })
  return { code, out: printed.join('\n'), err: noted.join('\n') }
}

type SaveReport = {
  readonly revision: number
  readonly digest: string
  readonly encryption: string
  readonly resources: readonly { readonly resource: string; readonly objects: number }[]
}

async function save(file: string, ...args: readonly string[]): Promise<SaveReport> {
  const words = ['snapshot', 'save', file, '--kubeconfig', cluster.kubeconfig, '-o', 'json', ...args]
  const { code, out, err } = await orchctl(...words)
  assert.equal(code, 0, err)
  return JSON.parse(out) as SaveReport
}

void test('every member saves all acknowledged writes under load, and the file verifies', async (t) => {
  const clients = cluster.members.map(({ client }) => client)
  const [any] = clients
  assert.ok(any)
  assert.equal((await any.post('/api/v1/namespaces', { metadata: { name: 'load' } })).status, 201)
  const writers = Array.from(
    { length: 4 },
    (_, at) => new Writer({ id: `w${at}`, clients, namespace: 'load', first: at, gap: new GapMeter() }),
  )
  t.after(() => Promise.all(writers.map((writer) => writer.stop())))
  for (const { name } of cluster.members) {
    const before = writers.reduce((sum, { record }) => sum + record.created.size, 0)
    const file = join(scratch, `${name}.snap`)
    const given = await save(file, '--endpoint', name)
    const maps = given.resources.find(({ resource }) => resource === 'configmaps')
    assert.ok((maps?.objects ?? 0) >= before, `${name}: ${maps?.objects} of ${before} objects`)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.ok(!partialsLeft())
    const verified = await orchctl('snapshot', 'verify', file, '-o', 'json')
    assert.equal(verified.code, 0, verified.err)
    assert.deepEqual(JSON.parse(verified.out), JSON.parse(JSON.stringify(given)))
  }
})

void test('at rest all members save the same state', async () => {
  const digests = new Set<string>()
  for (let attempt = 0; attempt < 20; attempt++) {
    digests.clear()
    const given = await Promise.all(
      cluster.members.map(({ name }) => save(join(scratch, `rest-${attempt}-${name}`), '--endpoint', name)),
    )
    for (const { revision, digest } of given) digests.add(`${revision} ${digest}`)
    if (digests.size === 1) return
  }
  assert.fail([...digests].join('\n'))
})

void test('a passphrase encrypts the snapshot, and an unencrypted one gets a warning', async () => {
  const words = join(scratch, 'passphrase')
  writeFileSync(words, 'correct horse\n')
  const file = join(scratch, 'secret.snap')
  assert.equal((await save(file, '--passphrase-file', words)).encryption, 'AES-256-GCM, passphrase')
  assert.ok(!readFileSync(file).includes('ConfigMap'))
  const open = await orchctl('snapshot', 'verify', file, '--passphrase-file', words)
  assert.equal(open.code, 0, open.err)
  assert.match(open.out, /RESOURCE +OBJECTS +BYTES\n(.+\n)*configmaps /)
  writeFileSync(words, 'wrong horse\n')
  const locked = await orchctl('snapshot', 'verify', file, '--passphrase-file', words)
  assert.equal(locked.code, 1)
  assert.match(locked.err, /^orchctl: .*secret\.snap was saved with another passphrase[^\n]*$/)
  const clear = await orchctl(
    'snapshot',
    'save',
    join(scratch, 'clear.snap'),
    '--kubeconfig',
    cluster.kubeconfig,
  )
  assert.match(clear.err, /warning: .*clear\.snap holds every Secret in clear/)
})

void test('an invalid save fails with a one-line error', async () => {
  const kubeconfig = ['--kubeconfig', cluster.kubeconfig]
  const there = join(scratch, 'there')
  writeFileSync(there, 'mine')
  const cases: readonly (readonly [readonly string[], RegExp, number])[] = [
    [['save', there, ...kubeconfig], /there already exists: give another name/, 1],
    [
      ['save', join(scratch, 'no/such/x'), ...kubeconfig],
      /cannot create .*no\/such\/x \(ENOENT\): the directory .*no\/such does not exist: create it/,
      1,
    ],
    [
      ['save', join(scratch, 'x'), ...kubeconfig, '--endpoint', 'n9'],
      /has no member n9: it has n1, n2, n3/,
      1,
    ],
    [
      ['save', join(scratch, 'x'), ...kubeconfig, '--key-file', there],
      /there has 4 bytes, a key has at least 32/,
      1,
    ],
    [['save', join(scratch, 'x'), ...kubeconfig, '--key-file', 'a', '--passphrase-file', 'b'], /not both/, 2],
    [['verify', there], /there is not a snapshot/, 1],
    [['verify', join(scratch, 'none')], /none cannot be read: it does not exist/, 1],
    [['verify', scratch], /is not a file/, 1],
  ]
  for (const [args, line, code] of cases) {
    const ran = await orchctl('snapshot', ...args)
    assert.equal(ran.code, code, ran.err)
    assert.match(ran.err, line)
    assert.ok(!ran.err.includes('\n'), ran.err)
  }
  assert.equal(readFileSync(there, 'utf8'), 'mine')
})

void test('only administrators may save snapshots', async () => {
  const [member] = cluster.members
  assert.ok(member)
  const nobody = new ApiClient(member.url, { ca: cluster.credentials.ca, token: 'test-nobody-token' })
  const reply = await nobody.get('/cluster/v1/snapshot')
  nobody.close()
  assert.equal(reply.status, 403)
  assert.equal((await member.client.post('/cluster/v1/snapshot', {})).status, 405)
})

void test('a snapshot stream that ends early causes a one-line error and leaves no file', async () => {
  const saved = join(scratch, 'whole')
  await save(saved)
  const paths = clusterPkiPaths(join(cluster.directory, 'pki'))
  const file = join(scratch, 'broken')
  for (const end of ['cut', 'short'] as const) {
    const server = createServer(
      {
        cert: readFileSync(paths.server('n1').certificate),
        key: readFileSync(paths.server('n1').key),
      },
      (_request, response) => {
        response.writeHead(200, { 'orch-cluster-name': 'test' })
        response.write(Buffer.from('not a stream').subarray(0, 3))
        if (end === 'short') response.end()
        else setTimeout(() => response.destroy(), 50)
      },
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const kubeconfig = join(scratch, `kubeconfig-${end}`)
    const [first] = cluster.members
    writeFileSync(
      kubeconfig,
      readFileSync(cluster.kubeconfig, 'utf8').replaceAll(String(first?.url), `https://127.0.0.1:${port}`),
    )
    const ran = await orchctl('snapshot', 'save', file, '--kubeconfig', kubeconfig, '--endpoint', 'n1')
    server.close()
    assert.equal(ran.code, 1)
    const line = end === 'cut' ? /broke off after 3 bytes .*nothing was saved, try again$/ : /ended early/
    assert.match(ran.err, line)
    assert.ok(!ran.err.includes('\n'), ran.err)
    assert.ok(!existsSync(file) && !partialsLeft())
  }
})
