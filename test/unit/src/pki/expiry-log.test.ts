/*
 * Goal: certificates that expire soon are logged once a day, more urgently at the end, and those
 * that are renewed in time are not.
 * Method: real certificates and a clock that advances by days.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { createAuthority } from '../../../../src/pki/authority.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { certificateName, certificatesInUse } from '../../../../src/pki/certificates-in-use.ts'
import type { CertificateInUse, RenewalPlan } from '../../../../src/pki/certificates-in-use.ts'
import { ExpiryLog, urgencyOf } from '../../../../src/pki/expiry-log.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const dayMs = 24 * 60 * 60 * 1000
const byOperator: RenewalPlan = { kind: 'by-operator', why: 'replace server.crt' }

function certificate(nowMs: number, lifetimeMs: number, plan: RenewalPlan): CertificateInUse {
  const { certificate: made } = createAuthority({
    ...{ notBeforeMs: nowMs, notAfterMs: nowMs + lifetimeMs, commonName: 'x' },
    random: new SeededRandom(1),
  })
  return { use: 'server', source: 'server.crt', certificate: made, plan }
}

void test('a certificate that no process renews is logged once a day below 30 days, and as an error below 7', async () => {
  const clock = new ManualClock()
  const one = certificate(clock.wallMs(), 100 * dayMs, byOperator)
  const lines: string[] = []
  const take =
    (level: string) =>
    ({ days, renewal }: { days: number; renewal: string }, message: string): void => {
      lines.push(`${level} ${days} ${message}`)
      assert.equal(renewal, 'replace server.crt')
    }
  const log = { warn: take('warn'), error: take('error') }
  const expiry = new ExpiryLog({ clock, log: log as never, certificates: () => [one] })
  expiry.start()
  await clock.advance(69 * dayMs)
  assert.deepEqual(lines, [])
  await clock.advance(24 * dayMs)
  assert.equal(lines.length, 23)
  assert.ok(lines.every((line) => /^warn \d+ a certificate expires soon$/.test(line)))
  await clock.advance(6 * dayMs)
  const urgent = lines.slice(23)
  assert.ok(urgent.every((line) => /^error \d a certificate is about to expire$/.test(line)))
  assert.ok(urgent.length >= 6 && urgent.length <= 7, `${urgent.length}`)
  await clock.advance(2 * dayMs)
  assert.match(lines.at(-1) ?? '', /^error -\d a certificate has expired$/)
  expiry.close()
  assert.equal(clock.pending, 0)
})

void test('a certificate that is renewed in time is not logged, and one that should have been renewed is', () => {
  const lifetimeMs = 365 * dayMs
  const at = (daysLeft: number, plan: RenewalPlan): string | null =>
    urgencyOf(certificate(0, lifetimeMs, plan), lifetimeMs - daysLeft * dayMs)
  assert.equal(at(20, { kind: 'by-itself', atMs: lifetimeMs - 10 * dayMs }), null)
  assert.equal(at(20, { kind: 'by-itself', atMs: null }), 'soon')
  assert.equal(at(2, { kind: 'by-itself', atMs: null }), 'urgent')
  assert.equal(at(-1, { kind: 'by-itself', atMs: lifetimeMs - 10 * dayMs }), 'urgent', 'it has expired')
})

void test('a shared authority that was replaced is not listed, because nothing has to be done when it expires', () => {
  const lifetimeMs = 100 * dayMs
  const loaded = loadConfig({ args: ['--in-memory'], readFile: () => '' })
  assert.ok(loaded.kind === 'config')
  const authority = (notBeforeMs: number): string =>
    createAuthority({
      ...{ notBeforeMs, notAfterMs: notBeforeMs + lifetimeMs, commonName: 'x' },
      random: new SeededRandom(1),
    }).certificatePem
  const certificates = authority(0) + authority(50 * dayMs)
  const reported = (nowMs: number): readonly (string | null)[] => {
    const server = { certificate: '', key: '', clientAuthorities: null, proxyAuthorities: null }
    const keys = { server, peer: null, kubeconfig: null, madeNow: true, fingerprints: {} }
    const listed = certificatesInUse({
      ...{ config: loaded.config, keys, pairs: [], stateOf: () => ({ kind: 'absent' }), outward: [] },
      sharedAuthorities: { certificates, renewalMs: 40 * dayMs },
    })
    return listed.map((one) => urgencyOf(one, nowMs))
  }
  for (const days of [90, 99, 101]) assert.deepEqual(reported(days * dayMs), [null])
  assert.deepEqual(reported(151 * dayMs), ['urgent'], 'the one that signs')
})

void test('a certificate that lives for hours is not reported as expiring all the time', () => {
  const hourMs = 3_600_000
  const one = certificate(0, 24 * hourMs, byOperator)
  assert.equal(urgencyOf(one, 12 * hourMs), null)
  assert.equal(urgencyOf(one, 17 * hourMs), 'soon')
  assert.equal(urgencyOf(one, 23 * hourMs), 'urgent')
})

void test('the name of a certificate has its subject and the start of its fingerprint', () => {
  assert.match(certificateName(certificate(0, dayMs, byOperator).certificate), /^x \([0-9a-f]{16}\)$/)
})
