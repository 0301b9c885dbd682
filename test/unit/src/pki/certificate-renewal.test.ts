/*
 * Goal: certificates that this product issued are renewed in time, once each, and whatever an
 * operator brought stays as it is; a crash at any moment leaves a pair that can be used.
 * Method: real files of a cluster of one member, and a clock that advances through years.
 */
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { parse } from 'yaml'
import { SeededRandom } from '../../../../base/random.ts'
import { readCertificate } from '../../../../src/pki/certificate.ts'
import type { Certificate } from '../../../../src/pki/certificate.ts'
import { clusterPkiPaths, ensureClusterPki } from '../../../../src/pki/cluster-pki.ts'
import { createAuthority, issueCertificate, loadAuthority } from '../../../../src/pki/authority.ts'
import { readClientConfig } from '../../../../src/pki/client-config.ts'
import { generateKeyPair, privateKeyPem, readPrivateKey } from '../../../../src/pki/keys.ts'
import { CertificateRenewal } from '../../../../src/pki/renewal/certificate-renewal.ts'
import { completePair, fit, replacePair } from '../../../../src/pki/renewal/pair-files.ts'
import { placesIn } from '../../../../src/pki/renewal/renewable-pairs.ts'
import type { RenewablePlaces } from '../../../../src/pki/renewal/renewable-pairs.ts'
import { renewalState } from '../../../../src/pki/renewal/renewal-state.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const dayMs = 24 * 60 * 60 * 1000

function read(path: string): string {
  return readFileSync(path, 'utf8')
}

type Opened = {
  readonly clock: ManualClock
  readonly directory: string
  readonly paths: ReturnType<typeof clusterPkiPaths>
  readonly kubeconfig: string
  readonly places: RenewablePlaces
  readonly renewal: CertificateRenewal
  readonly renewed: string[]
  readonly warnings: string[]
  readonly another: (isAlive?: (pid: number) => boolean) => CertificateRenewal
}

function open(t: TestContext): Opened {
  const root = mkdtempSync(join(tmpdir(), 'orch-renewal-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const [directory, kubeconfig] = [join(root, 'pki'), join(root, 'admin.kubeconfig')]
  const clock = new ManualClock()
  ensureClusterPki({
    ...{ directory, kubeconfigPath: kubeconfig, clock, random: new SeededRandom(1) },
    members: [{ name: 'n1', hosts: ['10.0.0.1'], serverUrl: 'https://10.0.0.1:6443' }],
  })
  const [renewed, warnings]: [string[], string[]] = [[], []]
  const log = {
    info: ({ use }: { use?: string }) => void (use === undefined ? 0 : renewed.push(use)),
    warn: ({ cause }: { cause: string }) => void warnings.push(cause),
  }
  const places = placesIn(directory, ['n1'])
  const another: Opened['another'] = (isAlive = () => true) =>
    new CertificateRenewal({
      ...{ places, clock, random: new SeededRandom(7), log: log as never, self: { pid: 100, isAlive } },
    })
  const paths = clusterPkiPaths(directory)
  return { clock, directory, paths, kubeconfig, places, renewal: another(), renewed, warnings, another }
}

function allFit({ places }: Opened, nowMs: number): void {
  for (const { paths } of places.pairs) {
    assert.ok(fit(read(paths.certificate), read(paths.key)), paths.certificate)
    const { notBeforeMs, notAfterMs } = readCertificate(read(paths.certificate))
    assert.ok(notBeforeMs <= nowMs && nowMs < notAfterMs, `${paths.certificate} is valid`)
  }
}

void test('over three years in steps of five days every certificate is valid at any time and renewed once per two thirds of a year', async (t) => {
  const opened = open(t)
  const { clock, renewal, renewed, warnings, kubeconfig, paths } = opened
  renewal.start()
  t.after(() => renewal.close())
  for (let day = 0; day < 3 * 365; day += 5) {
    clock.jumpWall(5 * dayMs)
    await clock.advance(1000)
    allFit(opened, clock.wallMs())
  }
  for (const use of ['server', 'peer', 'admin']) {
    // Each renewal is due 243 to 259 days after the previous one.
    assert.equal(renewed.filter((one) => one === use).length, 4, use)
  }
  assert.deepEqual(warnings, [])
  const { identity, url } = readClientConfig(kubeconfig)
  assert.deepEqual(identity, { certificate: read(paths.admin.certificate), key: read(paths.admin.key) })
  assert.equal(url.href, 'https://10.0.0.1:6443/')
})

void test('a running renewal compares the certificates with the clock each minute', async (t) => {
  const { clock, renewal, renewed, paths } = open(t)
  // All certificates are due now. The clock jumps before the start, so the jump causes no check.
  const leaf = readCertificate(read(paths.admin.certificate))
  const nowMs = leaf.notBeforeMs + ((leaf.notAfterMs - leaf.notBeforeMs) * 17) / 24
  clock.jumpWall(nowMs - clock.wallMs() - 1)
  renewal.start()
  t.after(() => renewal.close())
  await clock.advance(59_000)
  assert.deepEqual(renewed, [])
  await clock.advance(2000)
  assert.deepEqual(renewed, ['admin', 'server', 'peer'])
})

void test('a renewed certificate has another key, and the subject, names and usages of the earlier one', (t) => {
  const { clock, renewal, places, renewed, directory } = open(t)
  const facts = (): readonly unknown[] =>
    places.pairs.map(({ paths }) => {
      const { subject, names, extendedUsages, x509 } = readCertificate(read(paths.certificate))
      return { subject, names, extendedUsages, issuer: x509.issuer }
    })
  const keys = (): readonly string[] => places.pairs.map(({ paths }) => read(paths.key))
  const before = { facts: facts(), keys: keys() }
  clock.jumpWall(300 * dayMs)
  renewal.check()
  assert.deepEqual(renewed, ['admin', 'server', 'peer'])
  assert.deepEqual(facts(), before.facts)
  for (const [at, key] of keys().entries()) assert.notEqual(key, before.keys[at])
  for (const { paths } of places.pairs) {
    assert.equal(statSync(paths.key).mode & 0o777, 0o600)
    assert.equal(statSync(paths.certificate).mode & 0o777, 0o644)
  }
  const left = readdirSync(directory, { recursive: true }).map(String)
  assert.deepEqual(
    left.filter((name) => /\.new|\.lock/.test(name)),
    [],
  )
})

void test('certificates that expired while nothing ran are renewed by the first check', (t) => {
  const opened = open(t)
  opened.clock.jumpWall(1000 * dayMs)
  opened.renewal.check()
  allFit(opened, opened.clock.wallMs())
})

void test('a clock that jumps a year ahead and back leaves certificates that are valid, and renews nothing twice', (t) => {
  const opened = open(t)
  const { clock, renewal, renewed } = opened
  clock.jumpWall(365 * dayMs)
  renewal.check()
  assert.equal(renewed.length, 3)
  clock.jumpWall(-365 * dayMs)
  for (let check = 0; check < 5; check++) renewal.check()
  allFit(opened, clock.wallMs())
  assert.equal(renewed.length, 3)
})

void test('a clock that was five years ahead leaves certificates that are replaced at once when it is set right', (t) => {
  const opened = open(t)
  const { clock, renewal, renewed } = opened
  clock.jumpWall(5 * 365 * dayMs)
  renewal.check()
  clock.jumpWall(-5 * 365 * dayMs)
  for (let check = 0; check < 5; check++) renewal.check()
  allFit(opened, clock.wallMs())
  assert.equal(renewed.length, 6)
})

void test('a crash between the two files of a pair leaves a pair that the next check completes', (t) => {
  const opened = open(t)
  const { places, renewal, renewed } = opened
  for (const { paths } of places.pairs) {
    const next = renewedPair(opened, paths.certificate)
    const old = read(paths.certificate)
    replacePair(paths, next)
    // The state of the files after the key was renamed, and before the certificate was.
    renameSync(paths.certificate, `${paths.certificate}.new`)
    writeFileSync(paths.certificate, old)
  }
  renewal.check()
  allFit(opened, opened.clock.wallMs())
  assert.deepEqual(renewed, [], 'the pairs were completed, not renewed again')
  for (const { paths } of places.pairs) assert.equal(completePair(paths), false)
})

/** Returns another pair with the same content. */
function renewedPair(
  { paths, clock }: Opened,
  certificatePath: string,
): { readonly certificate: string; readonly key: string } {
  const { subject, names } = readCertificate(read(certificatePath))
  const ca = certificatePath === paths.peer('n1').certificate ? paths.peerCa : paths.ca
  const authority = loadAuthority(read(ca.certificate), readPrivateKey(read(ca.key)))
  const keys = generateKeyPair()
  const validity = { notBeforeMs: clock.wallMs() - 1000, notAfterMs: clock.wallMs() + 365 * dayMs }
  const request = { subject, names, usages: ['client'] as const, publicKey: keys.publicKey, ...validity }
  return {
    certificate: issueCertificate(authority, request, new SeededRandom(9)),
    key: privateKeyPem(keys.privateKey),
  }
}

void test('a crash before the first file of a pair is replaced leaves the earlier pair', (t) => {
  const opened = open(t)
  const { paths, renewal } = opened
  const { certificate, key } = paths.server('n1')
  const before = [read(certificate), read(key)]
  const next = renewedPair(opened, certificate)
  writeFileSync(`${key}.new`, next.key)
  writeFileSync(`${certificate}.new`, next.certificate)
  renewal.check()
  assert.deepEqual([read(certificate), read(key)], before)
})

type Case = {
  readonly what: string
  readonly bring: (opened: Opened) => void
  readonly says: RegExp
}

const foreign: readonly Case[] = [
  {
    what: 'a certificate of another authority',
    bring: ({ paths, clock }) => {
      const other = createAuthority({
        ...{ notBeforeMs: clock.wallMs(), notAfterMs: clock.wallMs() + 400 * dayMs },
        ...{ commonName: 'other', random: new SeededRandom(4) },
      })
      const keys = generateKeyPair()
      const { certificate, key } = paths.server('n1')
      const { subject, names } = readCertificate(read(certificate))
      const pem = issueCertificate(
        other,
        {
          ...{ subject, names, usages: ['server'], publicKey: keys.publicKey },
          ...{ notBeforeMs: clock.wallMs(), notAfterMs: clock.wallMs() + 20 * dayMs },
        },
        new SeededRandom(5),
      )
      writeFileSync(certificate, pem)
      writeFileSync(key, privateKeyPem(keys.privateKey))
    },
    says: /none of the trusted authorities issued it/,
  },
  {
    what: 'a certificate without the key of its authority',
    bring: ({ paths }) => rmSync(paths.ca.key),
    says: /the key of its authority is not at hand/,
  },
  {
    what: 'a key of another authority next to the bundle',
    bring: ({ paths }) => copyFileSync(paths.peerCa.key, paths.ca.key),
    says: /is the key of no authority in/,
  },
  {
    what: 'a link that another program maintains',
    bring: ({ paths }) => {
      const { certificate } = paths.server('n1')
      renameSync(certificate, `${certificate}.real`)
      symlinkSync(`${certificate}.real`, certificate)
    },
    says: /is a link, which another program maintains/,
  },
  {
    what: 'a chain',
    bring: ({ paths }) =>
      writeFileSync(
        paths.server('n1').certificate,
        read(paths.server('n1').certificate) + read(paths.ca.certificate),
      ),
    says: /holds a chain/,
  },
  {
    what: 'a subject that orchctl does not give',
    bring: ({ paths }) => {
      for (const part of ['certificate', 'key'] as const) {
        copyFileSync(paths.admin[part], paths.server('n1')[part])
      }
    },
    says: /has a subject that orchctl does not give/,
  },
]

for (const { what, bring, says } of foreign) {
  void test(`${what} is never touched, whenever it expires`, (t) => {
    const opened = open(t)
    const { clock, paths, renewal } = opened
    bring(opened)
    const { certificate, key } = paths.server('n1')
    const before = [read(certificate), read(key)]
    for (let step = 0; step < 5; step++) {
      clock.jumpWall(100 * dayMs)
      const outcome = renewal.check().get(certificate)
      assert.ok(outcome?.kind === 'impossible')
      assert.match(outcome.why, says)
    }
    assert.deepEqual([read(certificate), read(key)], before)
  })
}

void test('certificates follow the authority that signs, as long as the earlier one is trusted too', (t) => {
  const opened = open(t)
  const { paths, clock, renewal, renewed, kubeconfig } = opened
  const next = createAuthority({
    ...{ notBeforeMs: clock.wallMs() - 1000, notAfterMs: clock.wallMs() + 3650 * dayMs },
    ...{ commonName: 'orch cluster authority', random: new SeededRandom(4) },
  })
  writeFileSync(paths.ca.certificate, next.certificatePem + read(paths.ca.certificate))
  writeFileSync(paths.ca.key, privateKeyPem(next.privateKey))
  renewal.check()
  renewal.check()
  assert.deepEqual(renewed, ['admin', 'server'])
  for (const { certificate } of [paths.admin, paths.server('n1')]) {
    assert.ok(readCertificate(read(certificate)).x509.verify(next.certificate.publicKey))
  }
  assert.equal(readClientConfig(kubeconfig).authority, read(paths.ca.certificate))
})

void test('certificates are not renewed more and more often when their authority expires soon', (t) => {
  const { clock, renewal, renewed, paths } = open(t)
  clock.jumpWall(3400 * dayMs)
  renewal.check()
  renewed.length = 0
  let why = ''
  for (let day = 0; day < 240; day += 10) {
    clock.jumpWall(10 * dayMs)
    const outcome = renewal.check().get(paths.server('n1').certificate)
    if (outcome?.kind === 'impossible') why = outcome.why
  }
  assert.deepEqual(renewed, [])
  assert.match(why, /its authority expires at .*: orchctl pki rotate-ca/)
})

void test('entries of a kubeconfig that belong to another cluster stay as they are', (t) => {
  const opened = open(t)
  const { clock, renewal, kubeconfig } = opened
  const text = read(kubeconfig)
  const config = parse(text) as { clusters: object[]; users: object[] }
  const other = { name: 'other', cluster: { server: 'https://x', 'certificate-authority-data': 'eA==' } }
  config.clusters.push(other)
  config.users.push({ name: 'bob', user: { token: 't' } })
  writeFileSync(kubeconfig, JSON.stringify(config))
  clock.jumpWall(300 * dayMs)
  renewal.check()
  const after = parse(read(kubeconfig)) as typeof config
  assert.deepEqual(after.clusters, config.clusters)
  assert.deepEqual(after.users[1], config.users[1])
  assert.notDeepEqual(after.users[0], config.users[0])
  assert.equal(statSync(kubeconfig).mode & 0o777, 0o600)
})

void test('of two processes only one renews at a time, and the lock of an ended one is taken over', (t) => {
  const opened = open(t)
  const { clock, another, paths, renewed, warnings } = opened
  const { certificate } = paths.server('n1')
  const lock = join(dirname(certificate), 'renewal.lock')
  clock.jumpWall(300 * dayMs)
  writeFileSync(lock, '99\n')
  const outcome = another(() => true)
    .check()
    .get(certificate)
  assert.ok(outcome?.kind === 'impossible')
  assert.match(outcome.why, /process 99 changes keys there: try again, and remove .*renewal\.lock/)
  assert.match(warnings.join('\n'), /process 99/)
  another(() => false).check()
  assert.ok(renewed.includes('server'))
})

void test('members with the same certificate do not all renew at one time', (t) => {
  const { paths } = open(t)
  const leaf: Certificate = readCertificate(read(paths.server('n1').certificate))
  const signer = readCertificate(read(paths.ca.certificate))
  const at = (jitter: number): number => {
    const state = renewalState(leaf, { trusted: [signer], signer, nowMs: leaf.notBeforeMs + 1, jitter })
    assert.ok(state.kind === 'scheduled')
    return state.atMs
  }
  const twoThirds = leaf.notBeforeMs + ((leaf.notAfterMs - leaf.notBeforeMs) * 2) / 3
  assert.ok(Math.abs(at(0) - twoThirds) < 10 * 60_000)
  assert.ok(at(0.999) - at(0) > 14 * dayMs && at(0.999) < leaf.notAfterMs - 60 * dayMs)
})
