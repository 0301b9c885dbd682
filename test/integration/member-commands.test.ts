/*
 * Goal: member commands of orchctl have the documented effects; each is idempotent, and invalid
 * ones are refused with one line and a remedy.
 * Method: the shipped commands against a real server over TLS, whose configuration changes by the
 * shipped plan.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { logIndex } from '../../raft/index.ts'
import { parse } from 'yaml'
import { parseJoinToken } from '../../src/membership/join-token.ts'
import { ensureClusterPki } from '../../src/pki/cluster-pki.ts'
import { request } from '../support/join-service-kit.ts'
import { configOf, fingerprintsFor, forEver, keysIn, place, seat } from '../support/fixtures/join-cluster.ts'
import { orchctl } from '../support/drivers/orchctl.ts'
import { freshRandom, systemClock } from '../../fixtures/system.ts'

const addresses = ['--peer-address', seat.peerAddress, '--client-address', seat.clientAddress]

void test('add writes a token to a file, prints a command with which the server would start, and makes the keys it names', async (t) => {
  const { kubeconfig, folder, service } = await place(t)
  const pki = join(folder, 'pki')
  const ran = await orchctl('member', 'add', 'n7', ...addresses, '--pki', pki, '--kubeconfig', kubeconfig)
  assert.equal(ran.code, 0, ran.err)
  assert.match(ran.out, /a token for n7: good for one data directory, until 2/)
  const words = ran.out
    .slice(ran.out.indexOf('orch-apiserver'))
    .split(/[\s\\]+/)
    .slice(1)
  const flags = Object.fromEntries(
    words.flatMap((word, at) => (at % 2 === 0 ? [[word.slice(2), words[at + 1] ?? '']] : [])),
  )
  const config = configOf(flags)
  assert.deepEqual(
    [config.name, config['peer-address'], config['advertise-address']],
    ['n7', seat.peerAddress, seat.clientAddress],
  )
  for (const flag of ['tls-cert-file', 'peer-key-file', 'client-ca-file', 'peer-ca-file'] as const) {
    assert.ok(existsSync(config[flag]), flag)
  }
  const path = config['join-token-file']
  const [host = ''] = seat.clientAddress.split(':')
  const token = parseJoinToken(readFileSync(path, 'utf8'))
  assert.ok(token !== null && service.isKnown(token))
  assert.equal(statSync(path).mode & 0o077, 0, 'for its owner alone')
  assert.ok(!ran.out.includes(readFileSync(path, 'utf8').trim()), 'not on a command line')
  assert.equal(config['bind-address'], isIP(host) === 0 ? '0.0.0.0' : host)
  // Its context is added when it has joined: other users of the file would connect to it too early.
  const contexts = (): unknown =>
    (parse(readFileSync(kubeconfig, 'utf8')) as { contexts: { name: string }[] }).contexts.map(
      ({ name }) => name,
    )
  assert.deepEqual(contexts(), ['n1'])
})

void test('removing a member deletes its context, and an unknown name deletes none', async (t) => {
  const { kubeconfig, folder } = await place(t)
  const contexts = (): string => readFileSync(kubeconfig, 'utf8').replace(/^[^]*\ncontexts:/, '')
  ensureClusterPki({
    ...{
      directory: join(folder, 'pki'),
      kubeconfigPath: kubeconfig,
      clock: systemClock,
      random: freshRandom(),
    },
    members: [{ name: 'n3', hosts: ['10.0.0.3'], serverUrl: 'https://10.0.0.3:6443' }],
  })
  assert.match(contexts(), /name: n3/)
  const never = await orchctl('member', 'remove', 'n9', '--kubeconfig', kubeconfig)
  assert.doesNotMatch(never.err, /context/)
  const ran = await orchctl('member', 'remove', 'n3', '--kubeconfig', kubeconfig)
  assert.equal(ran.code, 0, ran.err)
  assert.match(ran.err, /^removed its context n3 from \/.*admin\.kubeconfig$/m)
  assert.doesNotMatch(contexts(), /n3/)
  assert.match(contexts(), /name: n1/)
})

void test('add prints JSON for scripts', async (t) => {
  const { kubeconfig } = await place(t)
  const flags = ['--role', 'learner', '-o', 'json', '--kubeconfig', kubeconfig]
  const ran = await orchctl('member', 'add', 'n7', ...addresses, ...flags)
  const reported = JSON.parse(ran.out) as { token: string; member: object; command: string; files: string[] }
  assert.deepEqual(reported.member, {
    name: 'n7',
    role: 'learner',
    replaces: null,
    peerAddress: seat.peerAddress,
    clientAddress: seat.clientAddress,
  })
  const tokenFile = reported.files.at(-1) ?? ''
  assert.ok(
    reported.command.endsWith(`--join-token-file ${tokenFile}`) && !reported.command.includes(reported.token),
  )
  assert.equal(reported.files.length, 7)
})

void test('promote, demote, move and remove are idempotent and report a change already made', async (t) => {
  const { kubeconfig, members } = await place(t)
  const run = async (...words: readonly string[]): Promise<string> => {
    const ran = await orchctl('member', ...words, '--kubeconfig', kubeconfig)
    assert.equal(ran.code, 0, ran.err)
    return ran.out
  }
  assert.equal(await run('demote', 'n3'), 'n3 is a learner until it is promoted')
  assert.equal(await run('demote', 'n3'), 'n3 is a learner already')
  assert.equal(members.named('n3')?.role, 'learner')
  assert.equal(await run('promote', 'n3', '--no-wait'), 'n3 votes once it has caught up')
  assert.equal(members.named('n3')?.wantedRole, 'voter')
  assert.equal(await run('promote', 'n2'), 'n2 votes already')
  assert.match(
    await run('move', 'n2', '--peer-address', '10.0.0.2:7443'),
    /^n2 moved: start it with --peer-address 10\.0\.0\.2:7443$/,
  )
  assert.match(
    await run('move', 'n2', '--peer-address', '10.0.0.2:7443'),
    /^n2 is at that address already: start it with --peer-address 10\.0\.0\.2:7443$/,
  )
  assert.equal(members.named('n2')?.peerAddress, '10.0.0.2:7443')
  assert.match(await run('remove', 'n3'), /^n3 is no longer a member/)
  assert.match(await run('remove', 'n3'), /^n3 is not a member \(removed, or never one\): there are n1, n2/)
  assert.equal(await run('remove', 'n3', '-o', 'json'), '{"member":"n3","changed":false}')
})

void test('waiting reports progress and ends when the change is done', async (t) => {
  const { kubeconfig, members } = await place(t)
  const learner = members.named('n3')
  assert.ok(learner !== null)
  await members.changeMembers({ kind: 'set-role', id: learner.id, role: 'learner' })
  const behind = { id: learner.id, state: 'replicate', next: logIndex(4), recentlyActive: true } as const
  members.followers = [{ ...behind, match: logIndex(3) }]
  const late = await orchctl('member', 'promote', 'n3', '--timeout', '6', '--kubeconfig', kubeconfig)
  assert.equal(late.code, 1)
  assert.match(
    late.err,
    /n3 is a learner and catches up: 7 entries to go\n.* after 6 s; rerun the same command to keep waiting/,
  )
  const waiting = orchctl('member', 'promote', 'n3', '--kubeconfig', kubeconfig)
  await members.changeMembers({ kind: 'promote', id: learner.id })
  assert.equal((await waiting).out.startsWith('n3 votes'), true)
})

void test('replace waits for the promotion, resumes after an interruption and is idempotent', async (t) => {
  const { kubeconfig, members, service } = await place(t)
  const replace = ['member', 'replace', 'n2', 'n4', ...addresses, '--kubeconfig', kubeconfig]
  const first = await orchctl(...replace, '--no-wait', '-o', 'json')
  const { token } = JSON.parse(first.out) as { token: string }
  const id = parseJoinToken(token)?.id ?? ''
  const { peerAddress, clientAddress } = seat
  const given = {
    ...request,
    clusterName: 'orch',
    peerAddress,
    clientAddress,
    fingerprints: fingerprintsFor(kubeconfig),
  }
  await service.join(id, given, forEver)
  const old = members.named('n2')
  assert.equal(members.named('n4')?.replaces, old?.id)
  const waiting = orchctl(...replace)
  const next = members.named('n4')
  assert.ok(next !== null)
  await members.changeMembers({ kind: 'promote', id: next.id })
  const ran = await waiting
  assert.equal(ran.code, 0, ran.err)
  assert.match(ran.out, /n4 votes (in the place of n2|already)/)
  assert.match((await orchctl(...replace)).out, /n4 votes already, n2 is gone/)
  const other = await orchctl('member', 'replace', 'n1', 'n4', ...addresses, '--kubeconfig', kubeconfig)
  assert.match(other.err, /n4 is a member already and does not replace n1/)
})

for (const [what, words, code, says] of [
  [
    'a name that is taken',
    ['add', 'n2', ...addresses],
    1,
    /there is a member n2 already.*orchctl member remove n2/,
  ],
  [
    'an address that is taken',
    ['add', 'n8', '--peer-address', '127.0.0.1:7444', '--client-address', '10.0.0.8:1'],
    1,
    /is the address of n2/,
  ],
  [
    'an unspecified address',
    ['add', 'n8', '--peer-address', '0.0.0.0:1', '--client-address', '10.0.0.8:1'],
    2,
    /others can connect to/,
  ],
  ['no address at all', ['add', 'n8'], 2, /--peer-address/],
  [
    'no such member to replace',
    ['replace', 'n9', 'n8', ...addresses],
    1,
    /there is no member n9: the voters are n1, n2, n3/,
  ],
  ['no such member to promote', ['promote', 'n9'], 1, /there is no member n9: there are n1, n2, n3/],
  ['nothing to move', ['move', 'n1'], 2, /give --peer-address or --client-address/],
  ['an invalid name', ['add', 'N_8', ...addresses], 1, /name must be lower-case letters/],
] as const) {
  void test(`an impossible member command is refused: ${what}`, async (t) => {
    const { kubeconfig, members } = await place(t)
    const ran = await orchctl('member', ...words, '--kubeconfig', kubeconfig)
    assert.equal(ran.code, code, ran.err)
    assert.match(ran.err, says)
    assert.equal(members.changes.length, 0)
  })
}

void test('a taken name is refused before any keys are created or checked', async (t) => {
  const { kubeconfig, folder } = await place(t)
  const pki = ['--pki', join(folder, 'pki')]
  const ran = await orchctl('member', 'add', 'n2', ...addresses, ...pki, '--kubeconfig', kubeconfig)
  assert.match(ran.err, /there is a member n2 already/)
  assert.ok(!existsSync(join(folder, 'pki', 'members', 'n2')))
})

void test('--pki without the authorities of this cluster is refused, and nothing is created', async (t) => {
  const { kubeconfig, folder } = await place(t)
  const misspelt = join(folder, 'pkii')
  for (const words of [
    ['add', 'n7'],
    ['replace', 'n2', 'n7'],
  ]) {
    const args = [...words, ...addresses, '--pki', misspelt, '--kubeconfig', kubeconfig]
    const ran = await orchctl('member', ...args)
    assert.equal(ran.code, 2, ran.err)
    assert.match(ran.err, /pkii: there is no .*ca\.key: give the directory in which orchctl pki init created/)
    assert.ok(!existsSync(misspelt))
  }
  const foreign = keysIn(folder, 'foreign', ['n1'])
  const args = ['add', 'n7', ...addresses, '--pki', foreign, '--kubeconfig', kubeconfig]
  const ran = await orchctl('member', ...args)
  assert.equal(ran.code, 1, ran.err)
  assert.match(ran.err, /foreign\/ca\.crt is the authority of another cluster: give the directory/)
  assert.ok(!existsSync(join(foreign, 'members', 'n7')))
})

void test('removing the last voter is refused with one line', async (t) => {
  const { kubeconfig } = await place(t)
  for (const name of ['n3', 'n2']) await orchctl('member', 'remove', name, '--kubeconfig', kubeconfig)
  const ran = await orchctl('member', 'remove', 'n1', '--kubeconfig', kubeconfig)
  assert.equal(ran.code, 1)
  assert.match(ran.err, /^orchctl: member n1: it is the only voter: add another member first/)
})
