/**
 * Goal: the same answers over TLS with HTTP/1.1 and HTTP/2; identity by certificate; watches.
 * Method: real sockets against the real server around a recording registry.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as http2 from 'node:http2'
import * as https from 'node:https'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { connect } from 'node:tls'
import type { ConnectionOptions } from 'node:tls'
import { FakeWatch } from '../support/fakes/fake-registry.ts'
import { privateKeyPem } from '../../src/pki/keys.ts'
import { oddCertificate } from '../support/fixtures/custom-certificate.ts'
import { TestAuthority } from '../../fixtures/server-fixture.ts'
import { CM, admin, ask11, ask2, session, start, trusted, until } from '../support/fixtures/tls-server.ts'

void test('spec 5: one port serves HTTP/1.1 and HTTP/2, and both authenticate client certificates', async (t) => {
  const { fake, url } = await start(t)
  const first = await ask11(`${url}${CM}/a`, admin)
  assert.deepEqual([first.status, first.version], [200, '1.1'])
  const second = await ask2(await session(t, url, admin), { ':path': `${CM}/a` })
  assert.equal(second.status, 200)
  assert.equal(second.text, first.text)
  for (const { request } of fake.calls) {
    assert.equal(request.context.user.name, 'kate')
    assert.deepEqual(request.context.user.groups, ['system:masters', 'team "a", b', 'system:authenticated'])
  }
})

void test('spec 5: a certificate of an unknown authority gets a 401', async (t) => {
  const { url } = await start(t)
  const rogue = new TestAuthority('rogue').client('kate', ['system:masters'])
  assert.equal((await ask11(`${url}/version`, rogue)).status, 401)
  assert.equal((await ask2(await session(t, url, rogue), { ':path': `${CM}/a` })).status, 401)
})

void test('spec 5: a server certificate is no client certificate', async (t) => {
  const { url } = await start(t)
  assert.equal((await ask11(`${url}/version`, trusted.server())).status, 401)
})

void test('spec 5: a caller without credentials is anonymous', async (t) => {
  const { url } = await start(t)
  assert.equal((await ask11(`${url}/version`, null)).status, 200)
  assert.equal((await ask11(`${url}${CM}`, null)).status, 403)
  assert.equal((await ask2(await session(t, url, null), { ':path': CM })).status, 403)
})

void test('spec 5.4: impersonation after thousands of other headers counts', async (t) => {
  for (const protocols of ['http2-and-http1', 'http1'] as const) {
    const { fake, url } = await start(t, protocols)
    const headers = {
      host: 'localhost',
      'x-filler': Array<string>(5000).fill('1'),
      'impersonate-user': 'jane',
    }
    const { status, text } = await ask11(`${url}${CM}/a`, admin, { headers })
    assert.equal(status, 403, text)
    assert.match(text, /User \\"jane\\" cannot get/)
    assert.equal(fake.calls.length, 0)
  }
})

void test('spec 5.4: names that are not ASCII are read as UTF-8 in both protocols', async (t) => {
  const { url } = await start(t)
  const client = await session(t, url, admin)
  const bytes = Buffer.from('josé', 'utf8').toString('latin1')
  const headers = { 'impersonate-user': bytes }
  for (const { status, text } of [
    await ask11(`${url}${CM}/a`, admin, { headers }),
    await ask2(client, { ':path': `${CM}/a`, ...headers }),
  ]) {
    assert.equal(status, 403, text)
    assert.match(text, /User \\"josé\\" cannot get/)
  }
})

void test('members of system:monitoring may read metrics, status and health only', async (t) => {
  const { url } = await start(t)
  const scraper = trusted.client('prometheus', ['system:monitoring'])
  for (const path of ['/metrics', '/cluster/v1/status', '/readyz/leader', '/version', '/apis']) {
    assert.equal((await ask11(`${url}${path}`, scraper)).status, 200, path)
  }
  for (const path of [CM, '/cluster/v1/settings', '/cluster/v1/snapshot', '/api/v1/namespaces']) {
    assert.equal((await ask11(`${url}${path}`, scraper)).status, 403, path)
  }
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

void test(
  'a client is asked for a certificate of any authority, so that it offers the one it has',
  {
    skip: hasOpenssl ? false : 'openssl, which shows what a server asks for, is not installed',
  },
  async (t) => {
    const { port, replaceAuthorities } = await start(t)
    for (const isRenewed of [false, true]) {
      if (isRenewed) replaceAuthorities(trusted.pem + new TestAuthority('another').pem)
      const client = spawn('openssl', ['s_client', '-connect', `localhost:${port}`], { stdio: 'pipe' })
      let out = ''
      client.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()))
      const closed = once(client, 'close')
      await until(() => /^(?:SSL handshake|---\nSSL handshake) has read/m.test(out))
      client.kill()
      await closed
      assert.match(out, /No client certificate CA names sent/)
      assert.match(out, /Requested Signature Algorithms/i, 'it is asked for one')
    }
  },
)

void test('TLS older than 1.2 is refused', async (t) => {
  const { port } = await start(t)
  const socket = connect({
    port,
    host: 'localhost',
    ca: trusted.pem,
    minVersion: 'TLSv1',
    maxVersion: 'TLSv1.1',
  })
  await assert.rejects(once(socket, 'secureConnect'))
})

void test('only the configured TLS versions and cipher suites are used, also after a certificate change', async (t) => {
  const spoken = async (port: number, options: ConnectionOptions): Promise<string> => {
    const socket = connect({ port, host: 'localhost', ca: trusted.pem, ...options })
    try {
      await once(socket, 'secureConnect')
      return `${String(socket.getProtocol())} ${socket.getCipher().name}`
    } catch {
      return 'refused'
    } finally {
      socket.destroy()
    }
  }
  const new13 = await start(t, 'http2-and-http1', { tlsPolicy: { minVersion: 'TLSv1.3', ciphers: null } })
  const ciphers = ['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-AES128-GCM-SHA256', 'TLS_AES_256_GCM_SHA384']
  const few = await start(t, 'http1', { tlsPolicy: { minVersion: 'TLSv1.2', ciphers } })
  for (const isRenewed of [false, true]) {
    if (isRenewed) for (const { replaceAuthorities } of [new13, few]) replaceAuthorities(trusted.pem)
    assert.equal(await spoken(new13.port, { maxVersion: 'TLSv1.2' }), 'refused')
    assert.match(await spoken(new13.port, {}), /^TLSv1.3 /)
    assert.equal(await spoken(few.port, {}), 'TLSv1.3 TLS_AES_256_GCM_SHA384')
    const [old, weak] = [{ maxVersion: 'TLSv1.2' }, { ciphers: 'ECDHE-ECDSA-AES128-SHA' }] as const
    assert.equal(await spoken(few.port, old), 'TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384')
    assert.equal(await spoken(few.port, { ...old, ...weak }), 'refused')
  }
})

void test('renegotiation is refused, so a connection keeps its user', async (t) => {
  const { port } = await start(t, 'http1')
  const socket = connect({ port, host: 'localhost', ca: trusted.pem, maxVersion: 'TLSv1.2', ...admin })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  const cause = await new Promise((resolve) => {
    socket.on('close', () => resolve('closed'))
    socket.renegotiate({ rejectUnauthorized: true }, resolve)
  })
  assert.notEqual(cause, null)
  socket.destroy()
})

void test('ALPN offers only HTTP/1.1 where only that is configured', async (t) => {
  const { port, url } = await start(t, 'http1')
  const socket = connect({ port, host: 'localhost', ca: trusted.pem, ALPNProtocols: ['h2', 'http/1.1'] })
  await once(socket, 'secureConnect')
  assert.equal(socket.alpnProtocol, 'http/1.1')
  socket.destroy()
  assert.equal((await ask11(`${url}/version`, admin)).status, 200)
})

void test('a new certificate and authority apply to the next connection', async (t) => {
  const { server, replaceAuthorities, url } = await start(t)
  const other = new TestAuthority('other')
  const { cert, key } = other.server()
  assert.equal((await ask11(`${url}${CM}`, admin)).status, 200)
  replaceAuthorities(other.pem)
  server.reload({ certificate: cert, key, clientAuthorities: other.pem })
  assert.equal((await ask11(`${url}${CM}`, admin, { ca: other.pem })).status, 401)
  const known = other.client('kate', ['system:masters'])
  assert.equal((await ask11(`${url}${CM}`, known, { ca: other.pem })).status, 200)
})

void test('spec 5: the clients of an authority that leaves the bundle are rejected, on open connections too', async (t) => {
  const { fake, replaceAuthorities, url } = await start(t)
  const watches: FakeWatch[] = []
  fake.answer = (verb) => {
    if (verb !== 'watch') return { kind: 'document', code: 200, bytes: Buffer.from('{}') }
    const stream = new FakeWatch()
    watches.push(stream)
    return { kind: 'watch', stream }
  }
  const next = new TestAuthority('next')
  const stays = next.client('lena', ['system:masters'])
  replaceAuthorities(next.pem + trusted.pem)
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const [old2, new2] = [await session(t, url, admin), await session(t, url, stays)]
  const requested = async (): Promise<readonly number[]> => [
    (await ask11(`${url}${CM}/a`, admin, { agent })).status,
    (await ask2(old2, { ':path': `${CM}/a` })).status,
    (await ask2(new2, { ':path': `${CM}/a` })).status,
  ]
  assert.deepEqual(await requested(), [200, 200, 200])
  const ended: string[] = []
  for (const [name, client] of [
    ['old', old2],
    ['new', new2],
  ] as const) {
    const stream = client.request({ ':path': `${CM}?watch=1` })
    await once(stream, 'response')
    stream.resume()
    stream.on('end', () => ended.push(name))
  }
  replaceAuthorities(next.pem)
  await until(() => ended.length > 0)
  assert.deepEqual(await requested(), [401, 401, 200])
  assert.deepEqual(ended, ['old'])
  assert.deepEqual(
    watches.map(({ closed }) => closed),
    [true, false],
  )
  replaceAuthorities(trusted.pem)
  assert.deepEqual(await requested(), [200, 200, 401])
})

void test('spec 5: a client sends its intermediate authority along with each connection, a resumed one too', async (t) => {
  const validity = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 }
  const root = oddCertificate('root', { issuer: null, authority: true, ...validity })
  const middle = oddCertificate('middle', { issuer: root, authority: 0, ...validity })
  const organizations = ['system:masters']
  const leaf = oddCertificate('kate', { issuer: middle, organizations, ...validity })
  const { replaceAuthorities, url, port } = await start(t)
  replaceAuthorities(root.pem)
  const identity = { cert: leaf.pem + middle.pem, key: privateKeyPem(leaf.keys.privateKey) }
  assert.equal((await ask11(`${url}${CM}/a`, identity)).status, 200)
  assert.equal((await ask11(`${url}${CM}/a`, { ...identity, cert: leaf.pem })).status, 401)
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const options = { port, host: 'localhost', ca: trusted.pem, maxVersion, ...identity }
    const first = connect(options)
    const sessions: Buffer[] = []
    first.on('session', (one: Buffer) => sessions.push(one))
    first.write('GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    first.resume()
    await once(first, 'close')
    const again = sessions.at(-1)
    const reply = await ask11(`${url}${CM}/a`, identity, {
      maxVersion,
      ...(again === undefined ? {} : { session: again }),
    })
    assert.equal(reply.status, 200, maxVersion)
  }
})

void test('spec 6.1: a watch streams chunk by chunk over both protocols until the client leaves', async (t) => {
  for (const protocol of ['1.1', '2'] as const) {
    const { fake, url } = await start(t)
    const watch = new FakeWatch()
    fake.answer = () => ({ kind: 'watch', stream: watch })
    const received: string[] = []
    let leave: () => void
    if (protocol === '2') {
      const stream = (await session(t, url, admin)).request({ ':path': `${CM}?watch=1` })
      await once(stream, 'response')
      stream.on('data', (chunk: Buffer) => received.push(chunk.toString()))
      leave = () => stream.close(http2.constants.NGHTTP2_CANCEL)
    } else {
      const request = https.request(`${url}${CM}?watch=1`, { ca: trusted.pem, agent: false, ...admin }).end()
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      assert.equal(response.headers['transfer-encoding'], 'chunked')
      response.on('data', (chunk: Buffer) => received.push(chunk.toString()))
      response.on('error', () => undefined)
      leave = () => request.destroy()
    }
    assert.equal(fake.calls[0]?.verb, 'watch')
    watch.push('{"type":"ADDED"}\n')
    await until(() => received.length === 1)
    watch.push('{"type":"MODIFIED"}\n')
    await until(() => received.length === 2)
    assert.deepEqual(received, ['{"type":"ADDED"}\n', '{"type":"MODIFIED"}\n'])
    leave()
    await until(() => watch.closed)
  }
})

void test('the response of a watch that the server ends is complete', async (t) => {
  const { fake, url } = await start(t)
  const watch = new FakeWatch()
  fake.answer = () => ({ kind: 'watch', stream: watch })
  watch.push('{}\n')
  watch.end()
  const reply = await ask11(`${url}${CM}?watch=true`, admin)
  assert.deepEqual([reply.status, reply.text], [200, '{}\n'])
  assert.ok(watch.closed)
})
