/**
 * Goal: the first method that recognizes the caller wins; a wrong proof never ends as anonymous.
 * Method: methods made by hand, and the certificate method over made-up certificates, on a clock the test moves.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymous } from '../../../../src/auth/anonymous.ts'
import { Authenticator } from '../../../../src/auth/authenticate.ts'
import { clientCertificates } from '../../../../src/auth/client-certificate.ts'
import { notRecognized } from '../../../../src/auth/credentials.ts'
import type {
  AuthenticationMethod,
  Credentials,
  PeerCertificate,
  Recognition,
} from '../../../../src/auth/credentials.ts'
import { authenticatedUser } from '../../../../src/auth/user.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const alice = authenticatedUser({ name: 'alice', groups: [] })
const found: Recognition = { kind: 'user', user: alice }
const wrong: Recognition = { kind: 'rejected', reason: 'wrong' }

function method(answer: Recognition | Promise<Recognition>): AuthenticationMethod & { asked: number } {
  const made = {
    name: 'made',
    asked: 0,
    recognize: () => {
      made.asked++
      return answer
    },
  }
  return made
}

function authenticator(
  methods: readonly AuthenticationMethod[],
  allowAnonymous = true,
  clock = new ManualClock(),
) {
  return new Authenticator({ methods, allowAnonymous, clock, memoMs: 10_000 })
}

function credentials(authorization?: string, connection: object | null = null): Credentials {
  return { authorization, connection, peerCertificate: () => null }
}

test('spec 5: methods are asked in order until one knows the caller', async () => {
  for (const later of [found, Promise.resolve(found)]) {
    for (const earlier of [notRecognized, wrong, Promise.resolve(notRecognized), Promise.resolve(wrong)]) {
      assert.equal(await authenticator([method(earlier), method(later)]).authenticate(credentials()), alice)
    }
  }
})

test('spec 5: a wrong proof is nobody, although anonymous callers are let in', async () => {
  for (const answers of [[wrong], [wrong, notRecognized], [notRecognized, Promise.resolve(wrong)]]) {
    assert.equal(await authenticator(answers.map(method)).authenticate(credentials()), null)
  }
  assert.equal(authenticator([method(notRecognized)]).authenticate(credentials()), anonymous)
  assert.equal(authenticator([method(notRecognized)], false).authenticate(credentials()), null)
})

test('a connection is believed for a while, for the same header only', async () => {
  const clock = new ManualClock()
  const asked = method(found)
  const subject = authenticator([asked], true, clock)
  const connection = {}
  const ask = async (authorization: string, over: object = connection) =>
    subject.authenticate(credentials(authorization, over))
  await ask('Bearer a')
  await ask('Bearer a')
  assert.equal(asked.asked, 1)
  await ask('Bearer b')
  assert.equal(asked.asked, 2)
  await ask('Bearer b', {})
  assert.equal(asked.asked, 3)
  await clock.advance(10_001)
  await ask('Bearer b')
  assert.equal(asked.asked, 4)
})

test('a rejection is not kept: the next try counts', () => {
  let answer: Recognition = wrong
  const changing: AuthenticationMethod = { name: 'changing', recognize: () => answer }
  const subject = authenticator([changing])
  const connection = {}
  assert.equal(subject.authenticate(credentials('x', connection)), null)
  answer = found
  assert.equal(subject.authenticate(credentials('x', connection)), alice)
})

test('spec 5: a certificate names user and groups only when it is trusted and not expired', () => {
  const clock = new ManualClock()
  const recognize = (change: Partial<PeerCertificate> | null): Recognition => {
    const certificate: PeerCertificate = {
      authorized: true,
      commonNames: ['first', 'kate'],
      organizations: ['a', 'b'],
      notAfterMs: clock.wallMs() + 1000,
      ...change,
    }
    const peerCertificate = () => (change === null ? null : certificate)
    return clientCertificates(clock).recognize({
      authorization: undefined,
      connection: null,
      peerCertificate,
    }) as Recognition
  }
  assert.deepEqual(recognize({}), {
    kind: 'user',
    user: { name: 'kate', uid: '', groups: ['a', 'b', 'system:authenticated'], extra: {} },
  })
  assert.equal(recognize(null).kind, 'none')
  assert.equal(recognize({ authorized: false }).kind, 'rejected')
  assert.equal(recognize({ notAfterMs: clock.wallMs() - 1 }).kind, 'rejected')
  assert.equal(recognize({ commonNames: [] }).kind, 'none')
})

test('spec 5: a bearer token that no method knows is nobody, even where none reads tokens', () => {
  for (const methods of [[], [method(notRecognized)]]) {
    assert.equal(authenticator(methods).authenticate(credentials('Bearer abc')), null)
    assert.equal(authenticator(methods).authenticate(credentials('Basic abc')), anonymous)
  }
})
