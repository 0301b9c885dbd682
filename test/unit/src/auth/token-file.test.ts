/**
 * Goal: static tokens are read as upstream reads them, and never shown.
 * Method: texts in, recognitions and errors out.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Credentials, Recognition } from '../../../../src/auth/credentials.ts'
import { parseCsv } from '../../../../src/auth/csv.ts'
import { AuthError } from '../../../../src/auth/errors.ts'
import { tokenFile } from '../../../../src/auth/token-file.ts'

function bearing(authorization: string | undefined): Credentials {
  return { authorization, connection: null, certificates: () => [] }
}

function ask(text: string, authorization: string | undefined): Recognition {
  const found = tokenFile(text, 'tokens.csv').recognize(bearing(authorization))
  assert.ok(!(found instanceof Promise))
  return found
}

const FILE = `# users of the test
t0k3n,alice,u1,"team a,team b"

other,bob,u2
"with ""quotes"", and comma",carol,u3,one\r\n`

void test('spec 5: a line gives its bearer name, uid and groups', () => {
  const alice = ask(FILE, 'Bearer t0k3n')
  assert.deepEqual(alice, {
    kind: 'user',
    user: { name: 'alice', uid: 'u1', groups: ['team a', 'team b', 'system:authenticated'], extra: {} },
  })
  const bob = ask(FILE, 'bearer other')
  assert.deepEqual(bob.kind === 'user' && bob.user.groups, ['system:authenticated'])
  const carol = ask(FILE, 'Bearer with')
  assert.equal(carol.kind, 'rejected')
})

void test('other credentials are ignored, an unknown token is rejected', () => {
  for (const none of [undefined, '', 'Bearer', 'Bearer ', 'Basic dXNlcg==', 't0k3n']) {
    assert.equal(ask(FILE, none).kind, 'none', String(none))
  }
  for (const wrong of ['Bearer t0k3', 'Bearer t0k3nn', 'Bearer T0K3N', 'Bearer #']) {
    assert.equal(ask(FILE, wrong).kind, 'rejected', wrong)
  }
})

void test('different tokens on one connection are distinguished', () => {
  const { recognize } = tokenFile(FILE, 'tokens.csv')
  const connection = {}
  const seen = [
    'Bearer t0k3n',
    'Bearer t0k3n',
    'Bearer other',
    'Bearer wrong',
    undefined,
    'Bearer t0k3n',
  ].map((authorization) => {
    const found = recognize({ authorization, connection, certificates: () => [] })
    assert.ok(!(found instanceof Promise))
    return found.kind === 'user' ? found.user.name : found.kind
  })
  assert.deepEqual(seen, ['alice', 'alice', 'bob', 'rejected', 'none', 'alice'])
})

void test('an error about a malformed line names the line and does not contain its text', () => {
  const cases: readonly [string, number, RegExp][] = [
    ['secret,a\n', 1, /needed/],
    ['good,a,1\n\n,b,2\n', 3, /token is empty/],
    ['good,a,1\nsecret,,2\n', 2, /user is empty/],
    ['secret,a,1\nsecret,b,2\n', 2, /earlier line/],
    ['good,a,1\n"secret,b,2\n', 2, /quotes/],
    ['good,a,1,"g\nh"\nsec"ret,b,2\n', 3, /quotes/],
  ]
  for (const [text, line, what] of cases) {
    assert.throws(
      () => tokenFile(text, '/etc/tokens.csv'),
      (error) => {
        assert.ok(error instanceof AuthError)
        assert.equal(error.code, 'token-file-malformed')
        assert.ok(error.message.startsWith(`/etc/tokens.csv, line ${line}: `), error.message)
        assert.match(error.message, what)
        assert.ok(!error.message.includes('sec'), error.message)
        return true
      },
      text,
    )
  }
})

void test('quoted fields may hold commas, quotes and line ends', () => {
  assert.deepEqual(parseCsv('\uFEFFa, "b ""c"", d" ,e\r\n"x\ny",z'), [
    { line: 1, fields: ['a', 'b "c", d', 'e'] },
    { line: 2, fields: ['x\ny', 'z'] },
  ])
  assert.deepEqual(parseCsv(''), [])
  for (const [text, badLine] of [
    ['a,"b', 1],
    ['a\n"b"c', 2],
    ['a,b"c', 1],
  ] as const) {
    assert.deepEqual(parseCsv(text), { badLine }, text)
  }
})
