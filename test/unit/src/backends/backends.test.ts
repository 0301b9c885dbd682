/*
 * Goal: calls of backends fail in the words of upstream, and connections are kept alive.
 * Method: addresses that cannot be reached; servers on loopback, and the kernel's table of
 * connections.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import { test } from 'node:test'
import { TestAuthority } from '../../../../fixtures/server-fixture.ts'
import { Backends } from '../../../../src/backends/backends.ts'
import { limits } from '../../../../src/config/limits.ts'
import { systemClock } from '../../../../fixtures/system.ts'
import { until } from '../../../support/tools/until.ts'

void test('a host that cannot be part of a URL fails in the words of upstream, like one that cannot be reached', async () => {
  const backends = new Backends(
    { identity: () => null, addressTypes: [], connectMsMax: 60_000 },
    { clock: systemClock },
  )
  const request = { method: 'GET', path: '/x', headers: ['host', 'x'], body: null }
  for (const isSecure of [true, false]) {
    for (const [host, why] of [
      ['a b', 'dial tcp: lookup a b: no such host'],
      ['127.0.0.1', 'dial tcp 127.0.0.1:1: connect: connection refused'],
      ['::1%none', /^.*::1%none/],
    ] as const) {
      const backend = { isSecure, host, port: 1, trust: 'any', isRestricted: false } as const
      const answer = await backends.send(backend, request, new AbortController().signal)
      assert.equal(answer.kind, 'failed')
      if (typeof why === 'string') assert.equal(answer.why, why)
      else assert.match(answer.why, why)
    }
  }
})

/**
 * Returns the timer of the connection to a port as the kernel reports it: its kind, and the time
 * until it expires in hundredths of a second.
 *
 * @source Linux, `Documentation/networking/proc_net_tcp.rst`
 */
function timerOf(port: number): { readonly kind: number; readonly left: number } {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n')
  const fields = lines.map((line) => line.trim().split(/\s+/))
  const found = fields.find(([, , to = '', state]) => to.endsWith(remote) && state === ESTABLISHED)
  const [kind = '', left = ''] = found?.[5]?.split(':') ?? []
  return { kind: Number.parseInt(kind, 16), left: Number.parseInt(left, 16) }
}

const ESTABLISHED = '01'
const KEEP_ALIVE = 2

void test('a connection that carries nothing is probed, so that a backend that disappeared is noticed', async (t) => {
  const authority = new TestAuthority('any-ca')
  const servers: readonly (readonly [boolean, Server])[] = [
    [false, createServer()],
    [true, createTlsServer(authority.server(['localhost']))],
  ]
  for (const [isSecure, server] of servers) {
    const sockets: Duplex[] = []
    t.after(() => {
      server.close()
      for (const socket of sockets) socket.destroy()
    })
    server.on('upgrade', (_, socket: Duplex) => {
      sockets.push(socket)
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    assert.ok(address !== null && typeof address === 'object')
    const { port } = address
    const backends = new Backends(
      { identity: () => null, addressTypes: [], connectMsMax: 60_000 },
      { clock: systemClock },
    )
    const answer = await backends.send(
      { isSecure, host: '127.0.0.1', port, trust: 'any', isRestricted: false },
      {
        method: 'GET',
        path: '/',
        headers: ['host', 'x', 'connection', 'Upgrade', 'upgrade', 'x'],
        body: null,
      },
      new AbortController().signal,
    )
    assert.equal(answer.kind, 'upgraded')
    sockets.push(answer.socket)
    await until('the keep-alive timer runs', () => timerOf(port).kind === KEEP_ALIVE)
    const { left } = timerOf(port)
    assert.ok(left <= limits.backendKeepAliveMs / 10, `it expires in ${left / 100} s`)
  }
})
