/*
 * Goal: a client certificate is valid as long as an authority of the current bundle signs it, and
 * is verified once per connection and not per request.
 * Method: real certificates, made-up connections, a clock the test moves.
 */
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { clientCertificates } from '../../../../src/auth/client-certificate.ts'
import type { Recognition } from '../../../../src/auth/credentials.ts'
import { TrustStore } from '../../../../src/auth/trust-store.ts'
import { readTrustBundle } from '../../../../src/pki/trust-bundle.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { oddCertificate } from '../../../support/fixtures/custom-certificate.ts'
import type { Odd } from '../../../support/fixtures/custom-certificate.ts'

const hourMs = 3_600_000

function open(clock = new ManualClock()) {
  const nowMs = clock.wallMs()
  const validity = { notBeforeMs: nowMs - hourMs, notAfterMs: nowMs + hourMs }
  const authority = (name: string): Odd =>
    oddCertificate(name, { issuer: null, authority: true, ...validity })
  const client = (issuer: Odd, name = 'kate', more = {}): X509Certificate =>
    new X509Certificate(oddCertificate(name, { issuer, organizations: ['a', 'b'], ...validity, ...more }).pem)
  const bundle = (...of: readonly Odd[]) => readTrustBundle(of.map(({ pem }) => pem).join(''))
  const trust = new TrustStore({ client: null, 'front-proxy': null })
  const method = clientCertificates(clock, trust)
  let looks = 0
  const ask = (connection: object | null, ...shown: readonly X509Certificate[]): Recognition => {
    const certificates = (): readonly X509Certificate[] => {
      looks++
      return shown
    }
    return method.recognize({ authorization: undefined, connection, certificates }) as Recognition
  }
  return { clock, authority, client, bundle, trust, ask, looks: () => looks }
}

void test('spec 5: the common name is the user, organizations are the groups', () => {
  const { authority, client, bundle, trust, ask } = open()
  const ca = authority('ca')
  trust.replace({ client: bundle(ca), 'front-proxy': null })
  assert.deepEqual(ask({}, client(ca)), {
    kind: 'user',
    user: { name: 'kate', uid: '', groups: ['a', 'b', 'system:authenticated'], extra: {} },
  })
  assert.equal(ask({}).kind, 'none', 'no certificate')
  assert.equal(ask({}, client(authority('ca'))).kind, 'rejected', 'another authority of that name')
})

void test('spec 5: names of a certificate count with every character that its signer approved', () => {
  const { authority, client, bundle, trust, ask } = open()
  const ca = authority('ca')
  trust.replace({ client: bundle(ca), 'front-proxy': null })
  // A decoder that removes a byte order mark would turn the approved group into another one.
  const organizations = ['\uFEFFsystem:masters', 'system:masters\u200B']
  assert.deepEqual(ask({}, client(ca, '\uFEFFadmin', { organizations })), {
    kind: 'user',
    user: { name: '\uFEFFadmin', uid: '', groups: [...organizations, 'system:authenticated'], extra: {} },
  })
})

void test('removing an authority from the bundle revokes its clients, also on open connections', () => {
  const { authority, client, bundle, trust, ask } = open()
  const [old, next] = [authority('old'), authority('next')]
  const [one, other] = [{}, {}]
  const [kate, lena] = [client(old), client(next, 'lena')]
  trust.replace({ client: bundle(old), 'front-proxy': null })
  assert.deepEqual([ask(one, kate).kind, ask(other, lena).kind], ['user', 'rejected'])
  trust.replace({ client: bundle(next, old), 'front-proxy': null })
  assert.deepEqual([ask(one, kate).kind, ask(other, lena).kind], ['user', 'user'])
  trust.replace({ client: bundle(next), 'front-proxy': null })
  assert.deepEqual([ask(one, kate).kind, ask(other, lena).kind], ['rejected', 'user'])
  trust.replace({ client: null, 'front-proxy': null })
  assert.deepEqual([ask(one, kate).kind, ask(other, lena).kind], ['none', 'none'])
})

void test('the authority of proxies does not authenticate clients', () => {
  const { authority, client, bundle, trust, ask } = open()
  const [ca, proxies] = [authority('ca'), authority('proxies')]
  trust.replace({ client: bundle(ca), 'front-proxy': bundle(proxies) })
  assert.equal(ask({}, client(proxies, 'admin')).kind, 'rejected')
})

void test('a connection is verified once, and again only when its authority is gone or time is up', async () => {
  const { clock, authority, client, bundle, trust, ask, looks } = open()
  const [ca, other] = [authority('ca'), authority('other')]
  const [connection, kate] = [{}, client(ca)]
  trust.replace({ client: bundle(ca), 'front-proxy': null })
  const first = ask(connection, kate)
  for (let request = 0; request < 10; request++) assert.equal(ask(connection, kate), first)
  assert.equal(looks(), 1)
  trust.replace({ client: bundle(other, ca), 'front-proxy': null })
  assert.equal(ask(connection, kate), first)
  assert.equal(looks(), 1, 'its authority is still there')
  trust.replace({ client: bundle(other), 'front-proxy': null })
  assert.equal(ask(connection, kate).kind, 'rejected')
  assert.equal(looks(), 2)
  trust.replace({ client: bundle(ca), 'front-proxy': null })
  assert.equal(ask(connection, kate).kind, 'user')
  await clock.advance(hourMs + 1)
  assert.equal(ask(connection, kate).kind, 'rejected', 'it has expired')
})

void test('a certificate that is not valid yet is accepted once it is, without a new bundle', async () => {
  const { clock, authority, client, bundle, trust, ask } = open()
  const ca = authority('ca')
  trust.replace({ client: bundle(ca), 'front-proxy': null })
  const [connection, kate] = [{}, client(ca, 'kate', { notBeforeMs: clock.wallMs() + 5000 })]
  assert.equal(ask(connection, kate).kind, 'rejected')
  await clock.advance(6000)
  assert.equal(ask(connection, kate).kind, 'user')
})
