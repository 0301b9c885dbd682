/*
 * Goal: a kubeconfig names the server that this one is a client of and the credentials for it; an
 * invalid one is refused with one line that names the file and the place.
 * Method: real files.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { readClientConfig } from '../../../../src/pki/client-config.ts'
import { PkiError } from '../../../../src/pki/errors.ts'
import { TestAuthority } from '../../../../fixtures/server-fixture.ts'

const scratch = mkdtempSync(join(tmpdir(), 'orch-client-config-'))
after(() => rmSync(scratch, { recursive: true, force: true }))

type Parts = { readonly cluster?: object; readonly user?: object; readonly current?: string | null }

function file({ cluster = {}, user, current = 'there' }: Parts): string {
  const path = join(scratch, 'hook.kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.9:8443/audit', ...cluster } }],
    ...(user === undefined ? {} : { users: [{ name: 'u', user }] }),
    contexts: [{ name: 'there', context: { cluster: 'c', ...(user === undefined ? {} : { user: 'u' }) } }],
    'current-context': current,
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

void test('entries are inline or in files that the kubeconfig refers to', () => {
  const data = (text: string): string => Buffer.from(text).toString('base64')
  const authority = new TestAuthority()
  const { cert, key } = authority.client('hook', [])
  const cluster = { 'certificate-authority-data': data(authority.pem) }
  const inside = readClientConfig(
    file({ cluster, user: { 'client-certificate-data': data(cert), 'client-key-data': data(key) } }),
  )
  assert.equal(inside.url.href, 'https://10.0.0.9:8443/audit')
  assert.equal(inside.authority, authority.pem)
  assert.deepEqual(inside.identity, { certificate: cert, key })
  assert.equal(inside.authorization, null)
  writeFileSync(join(scratch, 'ca.pem'), authority.pem)
  writeFileSync(join(scratch, 'token'), 'from-file\n')
  const beside = readClientConfig(
    file({
      cluster: { 'certificate-authority': 'ca.pem', 'tls-server-name': 'hook.example' },
      user: { tokenFile: 'token' },
    }),
  )
  assert.deepEqual([beside.tokenFile, beside.serverName], [join(scratch, 'token'), 'hook.example'])
  assert.deepEqual([inside.tokenFile, inside.serverName], [null, null])
  assert.equal(beside.authority, authority.pem)
  assert.equal(beside.authorization, 'Bearer from-file')
  const both = readClientConfig(file({ user: { token: 't', tokenFile: 'token' } }))
  assert.deepEqual([both.authorization, both.tokenFile], ['Bearer from-file', join(scratch, 'token')])
  const missing = readClientConfig(file({ user: { token: 't', tokenFile: 'gone' } }))
  assert.deepEqual([missing.authorization, missing.tokenFile], ['Bearer t', join(scratch, 'gone')])
  const basic = readClientConfig(file({ user: { username: 'a', password: 'b' } })).authorization
  assert.equal(basic, `Basic ${data('a:b')}`)
  const nobody = readClientConfig(file({}))
  assert.deepEqual([nobody.authority, nobody.identity, nobody.authorization], [null, null, null])
})

void test('a user without credentials is anonymous; a user that does not exist is an error', () => {
  const path = join(scratch, 'nobody.kubeconfig')
  const read = (user: string, users: string): ReturnType<typeof readClientConfig> => {
    const clusters = 'clusters: [{name: c, cluster: {server: "https://10.0.0.9:8443/audit"}}]'
    const contexts = `contexts: [{name: there, context: {cluster: c, user: ${user}}}]`
    writeFileSync(path, [clusters, contexts, `users: ${users}`, 'current-context: there', ''].join('\n'))
    return readClientConfig(path)
  }
  for (const [user, users] of [
    ['u', '[{name: u}]'],
    ['u', '[{name: u, user: }]'],
    ['u', '[{name: u, user: null}]'],
    ['u', '[{name: u, user: {}}]'],
    ['', '[]'],
    ['""', ''],
  ] as const) {
    const { identity, authorization } = read(user, users)
    assert.deepEqual([identity, authorization], [null, null], `${user} of ${users}`)
  }
  assert.throws(() => read('u', '[]'), /nobody\.kubeconfig: users lacks the user "u"$/)
  assert.throws(() => read('u', '[{name: u, user: bob}]'), /nobody\.kubeconfig: users lacks the user "u"$/)
})

void test('an invalid kubeconfig is rejected with the place of the error', () => {
  const table: readonly (readonly [Parts, RegExp])[] = [
    [{ current: 'elsewhere' }, /hook\.kubeconfig: contexts lacks the context "elsewhere"$/],
    [{ current: null }, /hook\.kubeconfig: current-context names no context$/],
    [{ cluster: { server: null } }, /server must be a URL such as/],
    [{ cluster: { server: 'not a url' } }, /server must be a URL such as/],
    [{ cluster: { server: 'ftp://x' } }, /server must be a URL such as/],
    [{ cluster: { 'insecure-skip-tls-verify': true } }, /insecure-skip-tls-verify would accept any server/],
    [{ user: { 'client-key-data': 'QQ==' } }, /client-certificate and client-key go together/],
    [{ user: { 'client-certificate-data': 'QQ==' } }, /client-certificate is not a certificate in PEM/],
    [
      { cluster: { 'certificate-authority-data': 'QQ==' } },
      /certificate-authority is not a certificate in PEM/,
    ],
    [{ user: { tokenFile: 'gone' } }, /gone cannot be read \(ENOENT\)/],
  ]
  for (const [parts, words] of table) {
    assert.throws(
      () => readClientConfig(file(parts)),
      (cause) => cause instanceof PkiError && words.test(cause.message) && !cause.message.includes('\n'),
    )
  }
  writeFileSync(join(scratch, 'bad'), '[')
  assert.throws(() => readClientConfig(join(scratch, 'bad')), /bad is not YAML/)
})
