/*
 * Goal: certificates contain exactly what was requested, and other programs accept them.
 * Method: issue, read back with our reader and the runtime's, verify with openssl where it is
 * installed.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { createAuthority, issueCertificate, loadAuthority } from '../../../../src/pki/authority.ts'
import type { Authority } from '../../../../src/pki/authority.ts'
import { readCertificate } from '../../../../src/pki/certificate.ts'
import { PkiError } from '../../../../src/pki/errors.ts'
import { generateKeyPair } from '../../../../src/pki/keys.ts'
import type { KeyPair } from '../../../../src/pki/keys.ts'

const random = new SeededRandom(1)
const nowMs = Date.UTC(2030, 0, 1)
const yearMs = 365 * 24 * 3600 * 1000

function authority(keys: KeyPair = generateKeyPair()): Authority {
  return createAuthority({
    commonName: 'test authority',
    notBeforeMs: nowMs,
    notAfterMs: nowMs + 30 * yearMs,
    random,
    keys,
  })
}

function leaf(issuer: Authority, keys: KeyPair = generateKeyPair()): string {
  return issueCertificate(
    issuer,
    {
      subject: { commonName: 'x "y", z=1+2\\3', organizations: ['system:masters', 'a, b', 'ü'] },
      names: { dns: ['a.example'], ips: ['127.0.0.1', '::1', 'fd00::1:0:5'], uris: ['orch://member/n1'] },
      usages: ['server', 'client'],
      notBeforeMs: nowMs,
      notAfterMs: nowMs + yearMs,
      publicKey: keys.publicKey,
    },
    random,
  )
}

void test('a certificate is parsed once, and read correctly after many others', () => {
  const [issuer, keys] = [authority(), generateKeyPair()]
  const pem = leaf(issuer, keys)
  const first = readCertificate(pem)
  assert.equal(readCertificate(pem), first)
  for (let other = 0; other < 70; other++) {
    const { publicKey } = readCertificate(leaf(issuer, keys))
    assert.ok(publicKey.equals(keys.publicKey))
  }
  const again = readCertificate(pem)
  assert.notEqual(again, first, 'only the last ones are kept')
  assert.deepEqual([again.serial, again.fingerprint], [first.serial, first.fingerprint])
})

void test('a certificate keeps names with quotes, commas and backslashes exactly', () => {
  const read = readCertificate(leaf(authority()))
  assert.deepEqual(read.subject, {
    commonName: 'x "y", z=1+2\\3',
    organizations: ['system:masters', 'a, b', 'ü'],
  })
  assert.deepEqual(read.names, {
    dns: ['a.example'],
    ips: ['127.0.0.1', '::1', 'fd00::1:0:5'],
    uris: ['orch://member/n1'],
  })
  assert.equal(read.notBeforeMs, nowMs)
  assert.equal(read.notAfterMs, nowMs + yearMs)
  assert.equal(read.fingerprint, read.x509.fingerprint256.replaceAll(':', '').toLowerCase())
  assert.equal(read.isAuthority, false)
})

void test('the runtime accepts the chain, and refuses it from another authority of the same name', () => {
  const [ours, theirs] = [authority(), authority()]
  const certificate = readCertificate(leaf(ours)).x509
  assert.equal(certificate.checkIssued(ours.certificate.x509), true)
  assert.equal(certificate.verify(ours.certificate.publicKey), true)
  assert.equal(certificate.verify(theirs.certificate.publicKey), false)
})

void test('openssl accepts the chain in its strict mode, for keys of every kind', (t) => {
  if (spawnSync('openssl', ['version']).status !== 0) {
    t.skip('openssl is not installed: only the runtime checks the chain')
    return
  }
  const kinds: readonly KeyPair[] = [
    generateKeyPair(),
    generateKeyPairSync('rsa', { modulusLength: 2048 }),
    generateKeyPairSync('ed25519'),
  ]
  const directory = mkdtempSync(join(tmpdir(), 'pki-'))
  try {
    for (const keys of kinds) {
      const issuer = authority(keys)
      writeFileSync(join(directory, 'ca'), issuer.certificatePem)
      writeFileSync(join(directory, 'leaf'), leaf(issuer, keys))
      for (const purpose of ['sslserver', 'sslclient']) {
        const flags = ['-x509_strict', '-check_ss_sig', '-attime', String(nowMs / 1000 + 60)]
        const what = ['-purpose', purpose, '-CAfile', join(directory, 'ca'), join(directory, 'leaf')]
        const output = execFileSync('openssl', ['verify', ...flags, ...what], { encoding: 'utf8' })
        assert.match(output, /: OK/)
      }
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
})

void test('a certificate expires no later than its issuer, and none is issued by an expired issuer', () => {
  const issuer = authority()
  const request = {
    subject: { commonName: 'late', organizations: [] },
    names: { dns: [], ips: [], uris: [] },
    usages: ['client'] as const,
    publicKey: generateKeyPair().publicKey,
  }
  const end = issuer.certificate.notAfterMs
  const late = issueCertificate(
    issuer,
    { ...request, notBeforeMs: end - 1000, notAfterMs: end + 1e9 },
    random,
  )
  assert.equal(readCertificate(late).notAfterMs, end)
  assert.throws(
    () => issueCertificate(issuer, { ...request, notBeforeMs: end, notAfterMs: end + 1e9 }, random),
    (cause) => cause instanceof PkiError && cause.code === 'refused',
  )
})

void test('an authority is loaded only with its own key, and only from a certificate that may sign', () => {
  const keys = generateKeyPair()
  const issuer = authority(keys)
  assert.equal(loadAuthority(issuer.certificatePem, keys).certificate.subject.commonName, 'test authority')
  const mismatched = (cause: unknown): boolean => cause instanceof PkiError && cause.code === 'mismatched'
  assert.throws(() => loadAuthority(issuer.certificatePem, generateKeyPair()), mismatched)
  assert.throws(() => loadAuthority(leaf(issuer, keys), keys), mismatched)
})

void test('a damaged certificate is read, or rejected as malformed, and causes no other error', () => {
  const pem = leaf(authority())
  const der = Buffer.from(pem.split('\n').slice(1, -2).join(''), 'base64')
  const chaos = new SeededRandom(7)
  let rejected = 0
  for (let round = 0; round < 300; round++) {
    const bytes = Buffer.from(der)
    for (let flips = 0; flips <= chaos.below(4); flips++) bytes[chaos.below(bytes.length)] = chaos.below(256)
    const text = `-----BEGIN CERTIFICATE-----\n${bytes.toString('base64')}\n-----END CERTIFICATE-----`
    try {
      readCertificate(text)
    } catch (cause) {
      assert.ok(cause instanceof PkiError, `seed 7, round ${round}: ${String(cause)}`)
      assert.equal(cause.code, 'malformed')
      rejected++
    }
  }
  assert.ok(rejected > 50, `${rejected} rejected`)
})
