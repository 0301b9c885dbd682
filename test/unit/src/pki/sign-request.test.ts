/*
 * Goal: an issued certificate has exactly what was requested, for the time that the signer allows.
 * Method: requests of the fixture, certificates read by this server and by the runtime.
 */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { createAuthority } from '../../../../src/pki/authority.ts'
import { readCertificateRequest } from '../../../../src/pki/certificate-request.ts'
import { readCertificate } from '../../../../src/pki/certificate.ts'
import { PkiError } from '../../../../src/pki/errors.ts'
import { encodeDer } from '../../../../src/pki/der.ts'
import { encodeExtendedUsages, encodeKeyUsage } from '../../../../src/pki/requested-usages.ts'
import { signRequest } from '../../../../src/pki/sign-request.ts'
import { certificateRequest } from '../../../support/fixtures/certificate-request.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const nowMs = Date.UTC(2026, 0, 1)
const random = new SeededRandom(1)
const validity = { notBeforeMs: nowMs - hourMs, notAfterMs: nowMs + 10_000 * hourMs }
const authority = createAuthority({ ...validity, commonName: 'ca', random })

function issued(lifetime: { maxMs?: number; requestedMs?: number | null; nowMs?: number } = {}) {
  const request = readCertificateRequest(certificateRequest({ commonName: 'jane', organizations: ['a'] }))
  const usages = ['client auth', 'digital signature']
  const times = { nowMs, maxMs: 24 * hourMs, requestedMs: null, ...lifetime }
  return readCertificate(signRequest(authority, { ...request, usages }, { lifetime: times, random }))
}

void test('spec 2.11: a certificate has the subject, names, key and usages of its request', () => {
  const keys = [generateKeyPairSync('rsa', { modulusLength: 2048 }), generateKeyPairSync('ed25519')]
  keys.push(generateKeyPairSync('ec', { namedCurve: 'P-384' }))
  for (const pair of keys) {
    const request = readCertificateRequest(
      certificateRequest({
        ...{ commonName: 'jane', organizations: ['a', 'b'], keys: pair },
        ...{ dns: ['n1'], ips: ['10.0.0.1', 'fd00::1'], uris: ['urn:a'], emails: ['a@example.com'] },
      }),
    )
    const usages = ['client auth', 'server auth', 'digital signature', 'key encipherment']
    const lifetime = { nowMs, maxMs: hourMs, requestedMs: null }
    const made = readCertificate(signRequest(authority, { ...request, usages }, { lifetime, random }))
    assert.deepEqual(made.subject, { commonName: 'jane', organizations: ['a', 'b'] })
    assert.deepEqual(made.names, { dns: ['n1'], ips: ['10.0.0.1', 'fd00::1'], uris: ['urn:a'] })
    const names = 'email:a@example.com, DNS:n1, URI:urn:a, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1'
    assert.equal(made.x509.subjectAltName, names)
    assert.ok(made.publicKey.equals(pair.publicKey))
    assert.deepEqual(made.extendedUsages, ['1.3.6.1.5.5.7.3.2', '1.3.6.1.5.5.7.3.1'])
    assert.equal(made.isAuthority, false)
    assert.ok(made.x509.verify(authority.certificate.publicKey))
    assert.ok(made.x509.checkIssued(authority.certificate.x509))
  }
})

void test('spec 2.11: the lifetime is the shorter of the request and the signing duration', () => {
  const endOf = (of: Parameters<typeof issued>[0]): number => (issued(of).notAfterMs - nowMs) / minuteMs
  assert.equal(endOf({}), 24 * 60 - 5)
  assert.equal(endOf({ requestedMs: 48 * hourMs }), 24 * 60 - 5)
  assert.equal(endOf({ requestedMs: 10 * hourMs }), 10 * 60 - 5)
  assert.equal(endOf({ requestedMs: hourMs }), 60)
  assert.equal(endOf({ requestedMs: minuteMs }), 10)
  assert.equal(endOf({ maxMs: hourMs }), 60)
  assert.equal(issued().notBeforeMs, nowMs - 5 * minuteMs)
})

void test('an authority that is not valid yet issues no certificate', () => {
  assert.throws(() => issued({ nowMs: nowMs - 2 * hourMs }), /the certificate of the signer is valid from/)
})

void test('a certificate expires no later than its authority, and an expired one issues none', () => {
  const { notAfterMs } = issued({ maxMs: 20_000 * hourMs })
  assert.equal(notAfterMs, authority.certificate.notAfterMs)
  const later = (): unknown => issued({ nowMs: authority.certificate.notAfterMs })
  assert.throws(later, (cause) => cause instanceof PkiError && cause.message.includes('expired at'))
})

void test('usages have the bits and identifiers of RFC 5280', () => {
  const bits = (...usages: readonly string[]): string => {
    const node = encodeKeyUsage(usages)
    return node === null ? '' : Buffer.from(encodeDer(node)).toString('hex')
  }
  assert.equal(bits('digital signature'), '03020780')
  assert.equal(bits('signing', 'key encipherment'), '030205a0')
  assert.equal(bits('cert sign', 'crl sign'), '03020106')
  assert.equal(bits('decipher only'), '0303070080')
  assert.equal(bits('client auth'), '')
  assert.equal(encodeExtendedUsages(['digital signature']), null)
  const any = encodeExtendedUsages(['any', 's/mime', 'email protection'])
  assert.equal(
    Buffer.from(encodeDer(any ?? assert.fail())).toString('hex'),
    '30100604551d250006082b06010505070304',
  )
})
