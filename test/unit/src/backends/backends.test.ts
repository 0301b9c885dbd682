import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Backends } from '../../../../src/backends/backends.ts'
import { systemClock } from '../../../../fixtures/system.ts'

void test('an address that is part of no URL fails like one that is not reached', async () => {
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
