/*
 * Goal: renewed keys on disk are used without a restart, all or none; files that are invalid,
 * incomplete, of another member, of another authority or expired change nothing and are reported
 * once.
 * Method: the files of a cluster of two, renewed in place, with checks at chosen moments.
 */
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { issueCertificate, loadAuthority } from '../../../../src/pki/authority.ts'
import { PkiError } from '../../../../src/pki/errors.ts'
import { generateKeyPair, privateKeyPem, readPrivateKey } from '../../../../src/pki/keys.ts'
import { KeyWatch } from '../../../../src/pki/key-watch.ts'
import { keyFilesOf, memberKeys } from '../../../../src/pki/member-keys.ts'
import type { MemberKeys } from '../../../../src/pki/member-keys.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { clusterPkiPaths, ensureClusterPki, memberUri } from '../../../../src/pki/cluster-pki.ts'
import type { ClusterPkiPaths } from '../../../../src/pki/cluster-pki.ts'
import { readTextFile } from '../../../../src/pki/files.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

let seed = 1

function makeKeys(directory: string, clock: Pick<ManualClock, 'wallMs'>): ClusterPkiPaths {
  ensureClusterPki({
    directory,
    kubeconfigPath: join(directory, 'admin.kubeconfig'),
    members: ['n1', 'n2'].map((name) => ({ name, hosts: ['localhost'], serverUrl: 'https://localhost:1' })),
    ...{ clock, random: new SeededRandom(seed++) },
  })
  return clusterPkiPaths(directory)
}

type Opened = {
  readonly clock: ManualClock
  readonly watch: KeyWatch
  readonly paths: ClusterPkiPaths
  readonly taken: MemberKeys[]
  readonly warnings: string[]
  readonly infos: object[]
  /** Renews a pair of files in place. */
  readonly renew: (...pairs: readonly ('server' | 'peer')[]) => void
  readonly looks: (count: number) => Promise<void>
}

/** @param take puts new keys into use. Unset: they are noted as taken */
function open(t: TestContext, take?: (keys: MemberKeys) => void): Opened {
  const directory = mkdtempSync(join(tmpdir(), 'orch-keys-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const clock = new ManualClock()
  const paths = makeKeys(directory, clock)
  const [server, peer] = [paths.server('n1'), paths.peer('n1')]
  const loaded = loadConfig({
    args: [
      ...['--name=n1', '--data-dir=d', '--peer-address=localhost:7443'],
      ...[`--tls-cert-file=${server.certificate}`, `--tls-private-key-file=${server.key}`],
      ...[`--client-ca-file=${paths.ca.certificate}`, `--peer-ca-file=${paths.peerCa.certificate}`],
      ...[`--peer-cert-file=${peer.certificate}`, `--peer-key-file=${peer.key}`],
    ],
    readFile: readTextFile,
  })
  assert.ok(loaded.kind === 'config')
  const { config } = loaded
  // The files are dated long ago, because a file system may give the same time to what is written
  // within a few ms.
  for (const path of keyFilesOf(config, '')) utimesSync(path, 1000, 1000)
  const [taken, warnings, infos]: [MemberKeys[], string[], object[]] = [[], [], []]
  const log = {
    info: (facts: object) => void infos.push(facts),
    warn: ({ cause }: { cause: string }) => void warnings.push(cause),
  }
  const parts = { config, directory: '', clock, random: new SeededRandom(7), log: log as never }
  const watch = new KeyWatch(parts, memberKeys(parts, '', 'among-others'), (keys) =>
    take === undefined ? void taken.push(keys) : take(keys),
  )
  t.after(() => watch.close())
  const renew: Opened['renew'] = (...pairs) => {
    for (const pair of pairs) for (const path of Object.values(paths[pair]('n1'))) rmSync(path)
    makeKeys(directory, clock)
  }
  const looks: Opened['looks'] = async (count) => {
    for (let left = count; left > 0; left--) await watch.look()
  }
  return { clock, watch, paths, taken, warnings, infos, renew, looks }
}

void test('renewed files are used once two checks saw the same content, and unchanged files are not read again', async (t) => {
  const { paths, taken, warnings, renew, looks } = open(t)
  await looks(3)
  assert.equal(taken.length, 0, 'as it was')
  renew('server', 'peer')
  await looks(1)
  assert.equal(taken.length, 0, 'it may still be written to')
  await looks(3)
  assert.equal(taken.length, 1)
  assert.equal(taken[0]?.peer?.certificate, readTextFile(paths.peer('n1').certificate))
  assert.equal(taken[0].server.certificate, readTextFile(paths.server('n1').certificate))
  for (const path of Object.values(paths.peer('n1'))) utimesSync(path, 1, 1)
  await looks(3)
  assert.deepEqual([taken.length, warnings], [1, []])
  renew('peer')
  await looks(2)
  assert.equal(taken.length, 2, 'and again')
})

void test('the files are checked periodically, until the watch is closed', async (t) => {
  const { clock, watch, taken, renew } = open(t)
  watch.start()
  renew('peer')
  while (taken.length === 0) {
    await clock.advance(5000)
    await new Promise(setImmediate)
  }
  watch.close()
  assert.equal(clock.pending, 0)
})

void test('a certificate that is not valid yet is used once it is, though its files stay the same', async (t) => {
  const { clock, paths, taken, warnings, looks } = open(t)
  const directory = dirname(paths.ca.certificate)
  for (const path of Object.values(paths.server('n1'))) rmSync(path)
  // Issued on a machine whose clock is an hour ahead.
  makeKeys(directory, { wallMs: () => clock.wallMs() + 3_600_000 })
  await looks(3)
  assert.equal(taken.length, 0)
  for (let minute = 0; minute < 60; minute++) {
    await clock.advance(60_000)
    await looks(2)
  }
  assert.equal(taken.length, 1)
  assert.equal(taken[0]?.server.certificate, readTextFile(paths.server('n1').certificate))
  assert.equal(warnings.length, 1, 'the reason is logged once')
})

type Spoil = (opened: Opened) => void | Promise<void>

const spoilt: readonly (readonly [what: string, spoil: Spoil, says: RegExp])[] = [
  [
    'a certificate whose key has not been replaced yet',
    ({ paths, renew }) => {
      const { key } = paths.peer('n1')
      copyFileSync(key, `${key}.old`)
      renew('peer')
      renameSync(`${key}.old`, key)
    },
    /--peer-key-file .* and --peer-cert-file .* do not work together/,
  ],
  [
    'no certificate at all',
    ({ paths }) => writeFileSync(paths.server('n1').certificate, 'nonsense'),
    /--tls-cert-file .* is damaged/,
  ],
  ['a file that is gone', ({ paths }) => rmSync(paths.peer('n1').key), /--peer-key-file: /],
  [
    'the files of another member',
    ({ paths }) => {
      copyFileSync(paths.peer('n2').certificate, paths.peer('n1').certificate)
      copyFileSync(paths.peer('n2').key, paths.peer('n1').key)
    },
    /--peer-cert-file .* is the certificate of member n2, not n1: give --name n2, or the certificate of n1/,
  ],
  [
    'a peer certificate that names several members',
    ({ paths, clock }) => {
      const { certificate, key } = {
        certificate: readTextFile(paths.peerCa.certificate),
        key: readPrivateKey(readTextFile(paths.peerCa.key)),
      }
      const keys = generateKeyPair()
      const names = { dns: [], ips: [], uris: ['n1', 'n2'].map(memberUri) }
      const validity = { notBeforeMs: clock.wallMs() - 1000, notAfterMs: clock.wallMs() + 86_400_000 }
      const subject = { commonName: 'n1', organizations: [] }
      const request = { subject, names, usages: ['client', 'server'], publicKey: keys.publicKey } as const
      const authority = loadAuthority(certificate, key)
      const pem = issueCertificate(authority, { ...request, ...validity }, new SeededRandom(3))
      writeFileSync(paths.peer('n1').certificate, pem)
      writeFileSync(paths.peer('n1').key, privateKeyPem(keys.privateKey))
    },
    /--peer-cert-file .* names several members: give the certificate of n1/,
  ],
  [
    'a bundle that was cut off while it was copied',
    ({ paths }) => {
      const whole = readTextFile(paths.ca.certificate)
      writeFileSync(paths.ca.certificate, whole + whole.slice(0, 100))
    },
    /--client-ca-file .* is damaged \(the CERTIFICATE in PEM text has no end\)/,
  ],
  [
    'an authority of peers that did not issue the certificate of the member',
    ({ paths }) => copyFileSync(paths.ca.certificate, paths.peerCa.certificate),
    /--peer-cert-file .* was not issued by --peer-ca-file/,
  ],
  [
    'an expired certificate',
    ({ renew, clock }) => {
      renew('server')
      return clock.advance(400 * 24 * 3_600_000)
    },
    /--tls-cert-file .* is valid from .* to .*: give one that is valid now/,
  ],
]

for (const [what, spoil, says] of spoilt) {
  void test(`${what} changes nothing, and is logged once`, async (t) => {
    const opened = open(t)
    const { taken, warnings, looks } = opened
    await looks(2)
    await spoil(opened)
    await looks(5)
    assert.deepEqual(taken, [])
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', says)
    assert.doesNotMatch(warnings[0] ?? '', /\n/)
  })
}

void test('every authority of a bundle can be replaced, the first too, and the log names those added and removed', async (t) => {
  const { paths, taken, infos, looks } = open(t)
  await looks(2)
  const [old, next] = [paths.ca.certificate, paths.frontProxyCa.certificate].map(readTextFile)
  assert.ok(old !== undefined && next !== undefined)
  for (const bundle of [old + next, next + old, next]) {
    writeFileSync(paths.ca.certificate, bundle)
    await looks(3)
    assert.equal(taken.at(-1)?.server.clientAuthorities, bundle)
  }
  assert.equal(taken.length, 3)
  const [first, second, third] = infos
  assert.match(
    JSON.stringify(first),
    /"clientAuthoritiesAdded":\["orch front proxy authority \([0-9a-f]{16}\)"\]/,
  )
  assert.doesNotMatch(JSON.stringify(second), /Added|Removed/)
  assert.match(JSON.stringify(third), /"clientAuthoritiesRemoved":\["orch cluster authority \(/)
})

void test('files that were invalid are used once they are valid', async (t) => {
  const { paths, taken, warnings, renew, looks, watch } = open(t)
  writeFileSync(paths.peer('n1').certificate, '')
  await looks(3)
  assert.equal(watch.isUpToDate, false)
  renew('peer')
  await looks(3)
  assert.equal(watch.isUpToDate, true)
  assert.deepEqual([taken.length, warnings.length], [1, 1])
})

void test('keys that cannot be put into use are reported once, and tried again', async (t) => {
  const opened = open(t, (keys) => {
    if (opened.clock.monotonicMs() < 60_000) throw new PkiError('malformed', 'not yet')
    opened.taken.push(keys)
  })
  const { clock, taken, warnings, renew, looks, watch } = opened
  await looks(2)
  renew('peer')
  for (let second = 0; second < 30; second += 10) {
    await looks(2)
    await clock.advance(10_000)
  }
  assert.deepEqual([taken.length, warnings, watch.isUpToDate], [0, ['not yet'], false])
  await clock.advance(60_000)
  await looks(2)
  assert.deepEqual([taken.length, warnings, watch.isUpToDate], [1, ['not yet'], true])
})

void test('a member with keys of its own follows the authorities of authenticating proxies', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-keys-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const clock = new ManualClock()
  const bundle = join(directory, 'proxies.crt')
  const [first, second] = ['a', 'b'].map((name) => makeKeys(join(directory, name), clock))
  assert.ok(first !== undefined && second !== undefined)
  copyFileSync(first.ca.certificate, bundle)
  utimesSync(bundle, 1000, 1000)
  const loaded = loadConfig({
    args: [
      ...['--name=n1', '--data-dir=d', `--requestheader-client-ca-file=${bundle}`],
      '--requestheader-username-headers=X-Remote-User',
    ],
    readFile: readTextFile,
  })
  assert.ok(loaded.kind === 'config')
  const dependencies = { config: loaded.config, clock, random: new SeededRandom(seed++) }
  const keys = memberKeys(dependencies, directory, 'maybe-alone')
  const taken: MemberKeys[] = []
  const log = { info: () => undefined, warn: () => undefined }
  const watch = new KeyWatch({ ...dependencies, directory, log }, keys, (next) => void taken.push(next))
  t.after(() => watch.close())
  for (let count = 0; count < 2; count++) await watch.look()
  copyFileSync(second.ca.certificate, bundle)
  for (let count = 0; count < 3; count++) await watch.look()
  assert.equal(taken.length, 1)
  const expected = { ...keys.server, proxyAuthorities: readTextFile(second.ca.certificate) }
  assert.deepEqual(taken[0], { ...keys, server: expected })
})
