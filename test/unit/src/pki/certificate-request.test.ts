/*
 * Goal: requests for certificates are read exactly, and only if their own key signed them.
 * Method: requests of keys of several kinds, created here, and by openssl where it is installed;
 * damaged ones.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { X509Certificate, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { readCertificate } from '../../../../src/pki/certificate.ts'
import { readCertificateRequest } from '../../../../src/pki/certificate-request.ts'
import { decodeDer } from '../../../../src/pki/der.ts'
import type { DerNode } from '../../../../src/pki/der.ts'
import { PkiError } from '../../../../src/pki/errors.ts'
import { generateKeyPair } from '../../../../src/pki/keys.ts'
import { pemBlocks, toPem } from '../../../../src/pki/pem.ts'
import { signRequest } from '../../../../src/pki/sign-request.ts'
import { testAuthority } from '../../../support/fixtures/certificate-issuing.ts'
import { certificateRequest } from '../../../support/fixtures/certificate-request.ts'

function wrong(pem: string): string {
  try {
    readCertificateRequest(pem)
  } catch (cause) {
    if (cause instanceof PkiError) return `${cause.code}: ${cause.message}`
    throw cause
  }
  return ''
}

void test('a request has the subject and its public key', () => {
  const keys = generateKeyPair()
  const read = readCertificateRequest(
    certificateRequest({ commonName: 'jane', organizations: ['a', 'b'], keys }),
  )
  assert.deepEqual(read.subject, { commonName: 'jane', organizations: ['a', 'b'] })
  assert.ok(read.publicKey.equals(keys.publicKey))
  const modern = certificateRequest({ commonName: 'joe', keys: generateKeyPairSync('ed25519') })
  assert.equal(readCertificateRequest(modern).subject.commonName, 'joe')
})

void test('a request signed by another key is rejected', () => {
  const { privateKey } = generateKeyPair()
  const stolen = certificateRequest({ commonName: 'jane', signer: privateKey })
  assert.equal(wrong(stolen), 'malformed: the request is not signed by its own key')
})

void test('input that is not a certificate request is rejected', () => {
  const words = 'malformed: PEM block type must be CERTIFICATE REQUEST'
  assert.equal(wrong(''), words)
  assert.equal(wrong('no PEM at all'), words)
  const good = certificateRequest({ commonName: 'jane' })
  assert.equal(wrong(good.replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE')), words)
  assert.match(wrong(good.slice(0, -40)), /^malformed: .*has no end$/)
  assert.match(wrong(toPem('CERTIFICATE REQUEST', Buffer.alloc(100 * 1024))), /^malformed: /)
})

void test('a text with several requests is rejected: it is not clear which one was approved', () => {
  const [one, other] = [certificateRequest({ commonName: 'a' }), certificateRequest({ commonName: 'b' })]
  const words = /^malformed: must have one PEM block: create one object per certificate request$/
  assert.match(wrong(one + other), words)
  assert.match(wrong(`${one}${toPem('CERTIFICATE', Buffer.alloc(9))}`), words)
  assert.equal(wrong(`jane's request\n${one}`), '')
})

void test('a request too large to parse is rejected with the limit', () => {
  const words = /^malformed: the request is too large: at most 65536 bytes of DER$/
  assert.match(wrong(toPem('CERTIFICATE REQUEST', Buffer.alloc(100 * 1024))), words)
  assert.match(wrong(toPem('CERTIFICATE REQUEST', Buffer.alloc(70 * 1024))), words)
})

void test('a request has the names and the CA bit that it asks for', () => {
  const names = {
    dns: ['n1', '*.example.com'],
    ips: ['10.0.0.1', 'fd00::1'],
    uris: ['urn:a'],
    emails: ['a@b.c'],
  }
  const read = readCertificateRequest(certificateRequest({ commonName: 'n1', ...names }))
  assert.deepEqual(read.names, { ...names, hasOthers: false })
  assert.equal(read.isAuthority, false)
  assert.ok(readCertificateRequest(certificateRequest({ commonName: 'n1', isAuthority: true })).isAuthority)
  const several = certificateRequest({ commonName: 'last', moreNames: ['first'] })
  assert.deepEqual(readCertificateRequest(several).commonNames, ['first', 'last'])
})

/** Returns a relative name as bytes, so that no library decides how its text is encoded. */
function relativeName(attribute: string, type: number, text: Uint8Array): DerNode {
  const tagged = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
    const content = Buffer.concat(parts)
    assert.ok(content.length < 128)
    return Buffer.concat([Buffer.of(tag, content.length), content])
  }
  return decodeDer(tagged(0x31, tagged(0x30, Buffer.from(attribute, 'hex'), tagged(type, text))))
}

const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()

void test('names in BMPString are read as other programs read them, in a request and in its certificate', () => {
  const organizations = ['system:masters', 'odd', 'Mühle 日本']
  const moreRelativeNames = [
    relativeName('0603550403', 30, utf16('k\u00e4te')),
    ...organizations.map((one) => relativeName('060355040a', 30, utf16(one))),
  ]
  const request = readCertificateRequest(certificateRequest({ commonName: 'jane', moreRelativeNames }))
  assert.deepEqual(request.commonNames, ['k\u00e4te', 'jane'])
  assert.deepEqual(request.subject.organizations, organizations)
  const lifetime = { nowMs: Date.UTC(2026, 0, 1), maxMs: 86_400_000, requestedMs: null }
  const signed = { ...request, usages: ['client auth'] }
  const pem = signRequest(testAuthority(), signed, { lifetime, random: new SeededRandom(1) })
  assert.deepEqual(readCertificate(pem).subject, request.subject)
  assert.ok(new X509Certificate(pem).subject.includes('O=system:masters\n'))
})

void test('a BMPString is not read as the name that the low bytes of its characters spell', () => {
  // The low bytes of its characters are the UTF-16 of the name of an administrator.
  const hidden = [...utf16('admin')].map((byte) => String.fromCharCode(0x4e00 | byte)).join('')
  const moreRelativeNames = [relativeName('060355040a', 30, utf16(hidden))]
  const request = readCertificateRequest(certificateRequest({ commonName: 'jane', moreRelativeNames }))
  assert.deepEqual(request.subject.organizations, [hidden])
})

void test('a damaged request is rejected, whatever the damage (SEED)', (t) => {
  const seed = Number(process.env['SEED'] ?? 20_260)
  t.diagnostic(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const [block] = pemBlocks(certificateRequest({ commonName: 'jane', organizations: ['a'] }))
  const der = block?.der ?? new Uint8Array()
  for (let round = 0; round < 300; round++) {
    const damaged = Uint8Array.from(der)
    const at = random.below(damaged.length)
    damaged[at] = (damaged[at] ?? 0) ^ (1 + random.below(255))
    const cut = round % 3 === 0 ? damaged.subarray(0, random.below(damaged.length)) : damaged
    if (cut.length === 0) continue
    assert.match(wrong(toPem('CERTIFICATE REQUEST', cut)), /^malformed: /, `byte ${at}`)
  }
})

void test('bytes that the signature does not cover must have their only valid value', () => {
  const der = pemBlocks(certificateRequest({ commonName: 'jane' }))[0]?.der ?? new Uint8Array()
  const algorithm = Buffer.from('300a06082a8648ce3d040302', 'hex')
  const from = Buffer.from(der).lastIndexOf(algorithm)
  assert.ok(from > 0)
  for (let at = from; at < from + algorithm.length; at++) {
    for (let change = 1; change < 256; change++) {
      const damaged = Uint8Array.from(der)
      damaged[at] = (damaged[at] ?? 0) ^ change
      assert.match(
        wrong(toPem('CERTIFICATE REQUEST', damaged)),
        /^malformed: /,
        `byte ${at - from} ^ ${change}`,
      )
    }
  }
})

void test('requests of openssl are read, with keys of every kind', (t) => {
  if (spawnSync('openssl', ['version']).status !== 0) {
    t.skip('openssl is not installed: only requests that this program makes are tested')
    return
  }
  for (const kind of [['rsa:2048'], ['ec', '-pkeyopt', 'ec_paramgen_curve:P-384'], ['ed25519']]) {
    const key = ['-newkey', ...kind, '-nodes', '-keyout', '/dev/null']
    const names = ['-subj', '/O=staff/CN=jane', '-addext', 'subjectAltName=DNS:a.example']
    const made = spawnSync('openssl', ['req', '-new', ...key, ...names], { encoding: 'utf8' })
    assert.equal(made.status, 0, made.stderr)
    const { subject } = readCertificateRequest(made.stdout)
    assert.deepEqual(subject, { commonName: 'jane', organizations: ['staff'] })
  }
})

void test('a text of several blocks is split into its blocks, and other text is ignored', () => {
  const text = `first\n${toPem('A', Uint8Array.of(1))}between\r\n${toPem('B C', Uint8Array.of(2, 3))}`
  assert.deepEqual(
    pemBlocks(text).map(({ label, hasHeaders, der }) => [label, hasHeaders, [...der]]),
    [
      ['A', false, [1]],
      ['B C', false, [2, 3]],
    ],
  )
  const [headed] = pemBlocks('-----BEGIN A-----\nProc-Type: 4\n\nAQ==\n-----END A-----\n')
  assert.deepEqual([headed?.hasHeaders, [...(headed?.der ?? [])]], [true, [1]])
  assert.throws(() => pemBlocks('-----BEGIN A-----\n!\n-----END A-----\n'), PkiError)
})
