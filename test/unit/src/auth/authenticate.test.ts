/**
 * Goal: the first method that recognizes the caller decides; invalid credentials never end as
 * anonymous. Method: methods made by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymous } from '../../../../src/auth/anonymous.ts'
import { Authenticator } from '../../../../src/auth/authenticate.ts'
import { notRecognized } from '../../../../src/auth/credentials.ts'
import type { AuthenticationMethod, Credentials, Recognition } from '../../../../src/auth/credentials.ts'
import { authenticatedUser } from '../../../../src/auth/user.ts'

const alice = authenticatedUser({ name: 'alice', groups: [] })
const found: Recognition = { kind: 'user', user: alice }
const wrong: Recognition = { kind: 'rejected', reason: 'wrong' }

function method(answer: Recognition | Promise<Recognition>): AuthenticationMethod & { calls: number } {
  const made = {
    name: 'made',
    calls: 0,
    recognize: () => {
      made.calls++
      return answer
    },
  }
  return made
}

function authenticator(methods: readonly AuthenticationMethod[], allowAnonymous = true) {
  return new Authenticator({ methods, allowAnonymous })
}

function credentials(authorization?: string, connection: object | null = null): Credentials {
  return { authorization, connection, certificates: () => [] }
}

void test('spec 5: methods are called in order until one recognizes the caller', async () => {
  for (const later of [found, Promise.resolve(found)]) {
    for (const earlier of [notRecognized, wrong, Promise.resolve(notRecognized), Promise.resolve(wrong)]) {
      const methods: readonly ReturnType<typeof method>[] = [earlier, later, wrong].map(method)
      assert.equal(await authenticator(methods).authenticate(credentials()), alice)
      assert.deepEqual(
        methods.map(({ calls }) => calls),
        [1, 1, 0],
      )
    }
  }
})

void test('spec 5: invalid credentials are rejected, although anonymous access is on', async () => {
  for (const answers of [[wrong], [wrong, notRecognized], [notRecognized, Promise.resolve(wrong)]]) {
    assert.equal(await authenticator(answers.map(method)).authenticate(credentials()), null)
  }
  assert.equal(authenticator([method(notRecognized)]).authenticate(credentials()), anonymous)
  assert.equal(authenticator([method(notRecognized)], false).authenticate(credentials()), null)
})

void test('nothing is cached: every request of a connection is authenticated again', () => {
  let answer: Recognition = wrong
  const changing: AuthenticationMethod = { name: 'changing', recognize: () => answer }
  const subject = authenticator([changing])
  const connection = {}
  assert.equal(subject.authenticate(credentials('x', connection)), null)
  answer = found
  assert.equal(subject.authenticate(credentials('x', connection)), alice)
})

void test('spec 5: an unknown bearer token is rejected, even without a token method', () => {
  for (const methods of [[], [method(notRecognized)]]) {
    assert.equal(authenticator(methods).authenticate(credentials('Bearer abc')), null)
    assert.equal(authenticator(methods).authenticate(credentials('Basic abc')), anonymous)
  }
})
