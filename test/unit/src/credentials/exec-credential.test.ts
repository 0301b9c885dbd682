/*
 * Goal: a plugin receives the documented input, and only a complete answer of the configured
 * version is accepted.
 * Method: inputs and outputs by hand, with real certificates. No error shows a part of the output.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { execInput, parseExecCredential } from '../../../../src/credentials/exec-credential.ts'
import { credentialLimits } from '../../../../src/credentials/limits.ts'
import { TestAuthority } from '../../../../fixtures/server-fixture.ts'

const apiVersion = 'client.authentication.orch.io/v1'
const secret = 'secret-of-the-plugin'
const trusted = new TestAuthority()
const [one, other] = [trusted.client('a', []), trusted.client('b', [])]
const pair = { clientCertificateData: one.cert, clientKeyData: one.key }

function answer(status: object | null, rest: object = {}): ReturnType<typeof parseExecCredential> {
  const value = { kind: 'ExecCredential', apiVersion, ...(status === null ? {} : { status }), ...rest }
  return parseExecCredential(JSON.stringify(value), apiVersion)
}

void test('spec 5.5: the input has the version, whether it is interactive, and the cluster where requested', () => {
  assert.deepEqual(JSON.parse(execInput(apiVersion, { interactive: false, cluster: null })), {
    ...{ kind: 'ExecCredential', apiVersion },
    spec: { interactive: false },
  })
  const cluster = {
    ...{ server: 'https://n1:6443', 'tls-server-name': 'api', 'certificate-authority-data': 'Q0E=' },
    config: { audience: 'a' },
  }
  assert.deepEqual(JSON.parse(execInput(apiVersion, { interactive: true, cluster })), {
    ...{ kind: 'ExecCredential', apiVersion },
    spec: { interactive: true, cluster },
  })
})

void test('spec 5.5: an ExecCredential has a token, a certificate with its key, or both, and perhaps an expiry', () => {
  assert.deepEqual(answer({ token: secret }), {
    kind: 'issued',
    issued: { token: secret, identity: null, expiresMs: null },
  })
  const identity = { certificate: one.cert, key: one.key }
  assert.deepEqual(answer({ ...pair, expirationTimestamp: '2030-01-02T03:04:05+01:00' }), {
    kind: 'issued',
    issued: { token: null, identity, expiresMs: Date.UTC(2030, 0, 2, 2, 4, 5) },
  })
  assert.deepEqual(answer({ ...pair, token: secret }), {
    kind: 'issued',
    issued: { token: secret, identity, expiresMs: null },
  })
  const intermediates = { ...pair, clientCertificateData: one.cert + trusted.pem }
  assert.equal(answer(intermediates).kind, 'issued')
  const yaml = `kind: ExecCredential\napiVersion: ${apiVersion}\nstatus: {token: ${secret}}\n`
  assert.equal(parseExecCredential(yaml, apiVersion).kind, 'issued', 'YAML, as in Go clients')
})

void test('an incomplete or invalid answer is refused without showing it', () => {
  const table: readonly (readonly [ReturnType<typeof parseExecCredential>, RegExp])[] = [
    [parseExecCredential('', apiVersion), /printed no ExecCredential/],
    [parseExecCredential(`${secret} {`, apiVersion), /printed no ExecCredential/],
    [parseExecCredential(`{"token": ${secret}`, apiVersion), /printed no ExecCredential/],
    [parseExecCredential(JSON.stringify([secret]), apiVersion), /printed no ExecCredential/],
    [answer({ token: secret }, { kind: 'TokenReview' }), /an object of another kind/],
    [
      answer({ token: secret }, { apiVersion: 'client.authentication.orch.io/v1beta1' }),
      /is configured with client\.authentication\.orch\.io\/v1 and answered with client\.authentication\.orch\.io\/v1beta1$/,
    ],
    [answer({ token: secret }, { apiVersion: `${secret} ` }), /answered with another version$/],
    [answer(null), /has no status/],
    [answer({}), /neither a token nor a certificate/],
    [answer({ token: '' }), /neither a token nor a certificate/],
    [answer({ token: 7 }), /status\.token is not a string/],
    [answer({ clientCertificateData: one.cert }), /only one of clientCertificateData and clientKeyData/],
    [answer({ clientKeyData: one.key, token: secret }), /only one of/],
    [answer({ ...pair, clientCertificateData: secret }), /the client certificate is not PEM/],
    [answer({ ...pair, clientKeyData: secret }), /the client key is not PEM/],
    [
      answer({ ...pair, clientKeyData: other.key }),
      /the client key does not belong to the client certificate/,
    ],
    [answer({ token: `${secret}\r\nX: y` }), /status\.token has characters that a header cannot have/],
    [
      answer({ token: 'x'.repeat(credentialLimits.tokenCharactersMax + 1) }),
      /status\.token is longer than \d+ characters/,
    ],
    [
      answer({ token: secret, expirationTimestamp: 'tomorrow' }),
      /expirationTimestamp is not a time in RFC 3339 format/,
    ],
    [answer({ token: secret, expirationTimestamp: 5 }), /status\.expirationTimestamp is not a string/],
  ]
  for (const [given, words] of table) {
    assert.equal(given.kind, 'invalid')
    assert.match(given.why, words)
    assert.ok(!given.why.includes(secret), given.why)
  }
})
