/*
 * Goal: an audit receiver is authenticated by its authority alone, gets the certificate of the
 * sender, and its responses are interpreted correctly.
 * Method: a real HTTPS server that requests a certificate and sends the responses of the test.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import { TLSSocket } from 'node:tls'
import { test } from 'node:test'
import { HttpAuditReceiver } from '../../src/audit/http-audit-receiver.ts'
import type { ClientConfig } from '../../src/pki/client-config.ts'
import { SeededRandom } from '../../base/random.ts'
import { systemClock } from '../../fixtures/system.ts'
import { TestAuthority } from '../../fixtures/server-fixture.ts'

const random = new SeededRandom(1)

function receiverFor(config: ClientConfig): HttpAuditReceiver {
  return new HttpAuditReceiver(config, { clock: systemClock, random })
}

void test('responses of a receiver count as accepted, retryable or rejected', async (t) => {
  const authority = new TestAuthority()
  const own = authority.server()
  const seen: string[] = []
  let status = 200
  const server = createServer({ ...own, ca: authority.pem, requestCert: true }, (request, reply) => {
    const { socket, url = '', headers } = request
    const name =
      socket instanceof TLSSocket && socket.authorized ? socket.getPeerCertificate().subject.CN : ''
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('utf8')
    })
    request.on('end', () => {
      seen.push([request.method, url, name, headers['content-type'], headers.authorization, body].join(' '))
      reply.writeHead(status).end('words')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no TCP port')
  const { cert, key } = authority.client('hook', [])
  const config: ClientConfig = {
    url: new URL(`https://localhost:${address.port}/events?from=n1`),
    authority: authority.pem,
    identity: { certificate: cert, key },
    authorization: 'Bearer t',
    tokenFile: null,
    serverName: null,
  }
  const receiver = receiverFor(config)
  t.after(() => receiver.close())
  const list = Buffer.from('{}')
  assert.deepEqual(await receiver.send(list), { kind: 'taken' })
  assert.deepEqual(seen, ['POST /events?from=n1 hook application/json Bearer t {}'])
  for (const [code, kind] of [
    [503, 'not-now'],
    [429, 'not-now'],
    [403, 'refused'],
    [302, 'refused'],
  ] as const) {
    status = code
    assert.deepEqual(await receiver.send(list), { kind, why: `the server answers ${code}` })
  }

  const withOtherAuthority = receiverFor({ ...config, authority: new TestAuthority('other').pem })
  t.after(() => withOtherAuthority.close())
  const untrusted = await withOtherAuthority.send(list)
  assert.equal(untrusted.kind, 'not-now')
  assert.equal(seen.length, 5, 'the untrusted receiver got no request')

  server.closeAllConnections()
  server.close()
  const gone = await receiver.send(list)
  assert.equal(gone.kind, 'not-now')
})

void test('credentials that cannot be sent, or do not belong together, fail before anything is sent', () => {
  const config: ClientConfig = {
    url: new URL('https://localhost:1/'),
    authority: null,
    identity: null,
    authorization: 'Bearer a\nb',
    tokenFile: null,
    serverName: null,
  }
  assert.throws(() => receiverFor(config), /Invalid character in header content/)
  const [one, other] = [new TestAuthority().client('a', []), new TestAuthority().client('b', [])]
  const identity = { certificate: one.cert, key: other.key }
  assert.throws(() => receiverFor({ ...config, authorization: null, identity }), /key values mismatch/)
})
