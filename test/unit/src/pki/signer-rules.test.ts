/*
 * Goal: each signer of the server issues what its rules allow, and names the rule that a request
 * breaks. Method: for each signer a good request, and requests that differ from it in one point.
 */
import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { readCertificateRequest } from '../../../../src/pki/certificate-request.ts'
import { generateKeyPair } from '../../../../src/pki/keys.ts'
import { brokenSignerRule } from '../../../../src/pki/signer-rules.ts'
import type { SignerKind } from '../../../../src/pki/signer-rules.ts'
import { certificateRequest } from '../../../support/fixtures/certificate-request.ts'
import type { CertificateRequestFixture } from '../../../support/fixtures/certificate-request.ts'

type Wanted = CertificateRequestFixture & { readonly usages: readonly string[] }

const keys = generateKeyPair()
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const node = { commonName: 'system:node:n1', organizations: ['system:nodes'], keys }
const good: { readonly [signer in SignerKind]: Wanted } = {
  apiserverClient: { commonName: 'jane', keys, usages: ['client auth'] },
  apiserverClientNodeAgent: { ...node, usages: ['digital signature', 'key encipherment', 'client auth'] },
  nodeAgentServing: {
    ...{ ...node, dns: ['n1'], ips: ['10.0.0.1', 'fd00::1'] },
    usages: ['server auth', 'digital signature', 'key encipherment'],
  },
  legacyUnknown: { commonName: 'x', organizations: ['any'], keys, usages: ['any', 'cert sign'] },
}

function broken(signer: SignerKind, change: Partial<Wanted> = {}): string | null {
  const { usages, ...wanted } = { ...good[signer], ...change }
  const request = readCertificateRequest(certificateRequest(wanted))
  return brokenSignerRule(signer, { ...request, usages })
}

void test('spec 2.11: each signer accepts the requests that its rules allow', () => {
  for (const signer of Object.keys(good) as SignerKind[]) assert.equal(broken(signer), null, signer)
  const names = { dns: ['a'], ips: ['10.0.0.1'], uris: ['urn:a'], emails: ['a@example.com'] }
  assert.equal(broken('apiserverClient', names), null)
  assert.equal(broken('legacyUnknown', names), null)
  assert.equal(broken('nodeAgentServing', { dns: [] }), null)
  assert.equal(broken('nodeAgentServing', { ips: [] }), null)
  assert.equal(broken('apiserverClient', { organizations: ['a', 'b'] }), null)
})

void test('spec 2.11: every signer accepts RSA, ECDSA and Ed25519 keys of a usual size', () => {
  const accepted = [rsa, generateKeyPairSync('ed25519')]
  accepted.push(...['P-256', 'P-384', 'P-521'].map((namedCurve) => generateKeyPairSync('ec', { namedCurve })))
  for (const pair of accepted) {
    for (const signer of Object.keys(good) as SignerKind[]) assert.equal(broken(signer, { keys: pair }), null)
  }
})

const organization = 'subject organization is not system:nodes'
const nodeName = 'subject common name does not begin with system:node:'
const refused = (kind: string): string => `${kind} subjectAltNames are not allowed`
const clientUsages = 'usages did not match [key encipherment digital signature client auth]'
const serverUsages = 'usages did not match [key encipherment digital signature server auth]'
const wrong: readonly (readonly [SignerKind, string, Partial<Wanted>])[] = [
  ['apiserverClient', 'missing required usage for client certificate: client auth', { usages: [] }],
  [
    'apiserverClient',
    'invalid usage for client certificate: server auth',
    { usages: ['client auth', 'server auth'] },
  ],
  [
    'apiserverClient',
    'invalid usage for client certificate: crl sign',
    { usages: ['client auth', 'crl sign'] },
  ],
  ['apiserverClientNodeAgent', organization, { organizations: [] }],
  ['apiserverClientNodeAgent', organization, { organizations: ['system:masters'] }],
  ['apiserverClientNodeAgent', organization, { organizations: ['system:nodes', 'system:masters'] }],
  ['apiserverClientNodeAgent', nodeName, { commonName: 'system:nodes:n1' }],
  ['apiserverClientNodeAgent', refused('DNS'), { dns: ['n1'] }],
  ['apiserverClientNodeAgent', refused('IP'), { ips: ['10.0.0.1'] }],
  ['apiserverClientNodeAgent', refused('URI'), { uris: ['urn:a'] }],
  ['apiserverClientNodeAgent', refused('email'), { emails: ['a@example.com'] }],
  ['apiserverClientNodeAgent', clientUsages, { usages: ['digital signature', 'client auth'], keys: rsa }],
  ['apiserverClientNodeAgent', clientUsages, { usages: ['key encipherment', 'client auth'] }],
  ['apiserverClientNodeAgent', clientUsages, { usages: ['key encipherment', 'digital signature'] }],
  ['apiserverClientNodeAgent', clientUsages, { usages: good.nodeAgentServing.usages }],
  ['nodeAgentServing', organization, { organizations: ['other'] }],
  ['nodeAgentServing', nodeName, { commonName: 'n1' }],
  ['nodeAgentServing', 'DNS or IP subjectAltName is required', { dns: [], ips: [] }],
  ['nodeAgentServing', 'DNS or IP subjectAltName is required', { dns: [], ips: [], uris: ['urn:a'] }],
  ['nodeAgentServing', refused('email'), { emails: ['a@example.com'] }],
  ['nodeAgentServing', refused('URI'), { uris: ['urn:a'] }],
  ['nodeAgentServing', serverUsages, { usages: good.apiserverClientNodeAgent.usages }],
]

void test('spec 2.11: a request that breaks a rule of its signer is refused with that rule', () => {
  for (const [signer, rule, change] of wrong) {
    assert.equal(broken(signer, change), rule, `${signer} ${JSON.stringify(change)}`)
  }
})

void test('a node whose key cannot encipher may leave that usage out', () => {
  const usages = ['digital signature', 'client auth']
  assert.equal(broken('apiserverClientNodeAgent', { usages }), null)
  assert.equal(
    broken('nodeAgentServing', { usages: ['digital signature', 'server auth'], keys: generateKeyPair() }),
    null,
  )
})

void test('spec 2.11: every signer refuses the CA bit', () => {
  for (const signer of Object.keys(good) as SignerKind[]) {
    assert.match(broken(signer, { isAuthority: true }) ?? '', /^CA certificates are not issued/)
  }
})

void test('every signer refuses weak keys, unknown names and ambiguous subjects', () => {
  for (const signer of Object.keys(good) as SignerKind[]) {
    const small = generateKeyPairSync('rsa', { modulusLength: 1024 })
    const weak = 'RSA keys must have 2048 to 8192 bits, not 1024'
    assert.equal(broken(signer, { keys: small }), weak)
    for (const [e, exponent] of [
      ['AQ', 1],
      ['BA', 4],
    ] as const) {
      const key = { ...rsa.publicKey.export({ format: 'jwk' }), e }
      const publicKey = createPublicKey({ key, format: 'jwk' })
      const request = readCertificateRequest(certificateRequest(good[signer]))
      const refusal = `RSA keys must have an odd public exponent of at least 3, not ${exponent}`
      assert.equal(brokenSignerRule(signer, { ...request, usages: good[signer].usages, publicKey }), refusal)
    }
    const koblitz = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
    const curve = 'EC keys must be of P-256, P-384 or P-521, not secp256k1'
    assert.equal(broken(signer, { keys: koblitz }), curve)
    assert.match(broken(signer, { withDirectoryName: true }) ?? '', /^subjectAltNames of other types/)
    const twice = { commonName: 'system:node:n1', moreNames: ['admin'] }
    assert.match(broken(signer, twice) ?? '', /^subject has several common names/)
  }
})
