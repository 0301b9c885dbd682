/*
 * Goal: whatever a webhook answers, a request ends with a clear error or without the webhook, as
 * its failure policy requires, and the next request is not affected.
 * Method: the verbs in memory with a real HTTPS server that gives every wrong response, as a
 * mutating and as a validating webhook, with both policies.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { readResponse } from '../../../../../src/admission/webhooks/read-response.ts'
import { TestAuthority } from '../../../../../fixtures/server-fixture.ts'
import { OutwardServer } from '../../../../support/fixtures/outward-server.ts'
import { allow, base64, faults } from '../../../../support/fixtures/webhook-answers.ts'
import { refused } from '../../registry/fixture.ts'
import { WebhookKit } from './webhook-kit.ts'

for (const type of ['mutating', 'validating'] as const) {
  for (const failurePolicy of ['Fail', 'Ignore']) {
    const result = failurePolicy === 'Fail' ? 'rejects the request with its cause' : 'is ignored'
    void test(`spec 4.6, 7: a wrong response of a ${type} webhook with the policy ${failurePolicy} ${result}`, async (t) => {
      const kit = await WebhookKit.open(t)
      const { api } = kit
      await kit.configure(type, 'broken', [kit.webhook('broken.example.com', { failurePolicy })])
      let count = 0
      for (const fault of faults) {
        if (fault.mutatingOnly === true && type === 'validating') continue
        const name = `a${++count}`
        kit.answer = fault.answer
        const created = api.configMap(name, { data: { k: 'v' } })
        if (failurePolicy === 'Ignore') {
          const { object } = await created
          assert.deepEqual(object['data'], { k: 'v' }, fault.name)
        } else {
          const { code, message } = await refused(created)
          assert.equal(code, 500, fault.name)
          const [start, end] = [
            'Internal error occurred: failed calling webhook "broken.example.com": ',
            /after \d+(ms|\.\ds)\)$/,
          ]
          assert.ok(message.startsWith(start) && end.test(message), `${fault.name}: ${message}`)
          assert.match(message, /WebhookConfiguration "broken"/)
          // Validating webhooks may not return any patch.
          if (type === 'mutating' || !fault.name.includes('patch'))
            assert.match(message, fault.message, fault.name)
          else assert.match(message, /validating webhook may not return response\.patch/, fault.name)
          assert.equal((await refused(api.get({ name }))).code, 404, fault.name)
        }
        // The next request is decided as if nothing had happened.
        kit.answer = (call) => allow(call)
        await api.configMap(`${name}-next`)
      }
      assert.ok(count > 15)
    })
  }
}

void test('a patch of megabytes of white space is refused without trying each way to divide it', () => {
  const response = { uid: 'u', allowed: true, patchType: 'JSONPatch', patch: `${' '.repeat(2_900_000)}!` }
  const body = { apiVersion: 'admission.orch.io/v1', kind: 'AdmissionReview', response }
  const expected = { type: 'mutating', version: 'v1', group: 'admission.orch.io', uid: 'u' } as const
  assert.deepEqual(readResponse(Buffer.from(JSON.stringify(body)), expected), {
    kind: 'invalid',
    why: 'response.patch is not base64',
  })
})

void test('a webhook whose port does not use TLS is reported so, whatever its server answers', async (t) => {
  const kit = await WebhookKit.open(t)
  for (const [at, answer] of ['HTTP/1.1 400 Bad Request\r\n\r\n', 'SSH-2.0-server\r\n', 'x'].entries()) {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(answer.repeat(9)))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const address = server.address()
    const port = address === null || typeof address === 'string' ? 0 : address.port
    const clientConfig = { url: `https://127.0.0.1:${port}/hook` }
    await kit.configure('validating', `c${at}`, [kit.webhook('plain.example.com', { clientConfig })])
    const { message } = await refused(kit.api.configMap('a'))
    const words = `Post "https://127.0.0.1:${port}/hook?timeout=30s": tls: first record does not look like a TLS handshake: the server does not use TLS on this port (ValidatingWebhookConfiguration`
    assert.ok(message.includes(words), message)
    await kit.api.delete({ kind: 'ValidatingWebhookConfiguration', name: `c${at}` })
  }
})

type Unreachable = {
  readonly name: string
  readonly clientConfig: (kit: WebhookKit) => JsonObject
  readonly message: RegExp
}

const unreachable: readonly Unreachable[] = [
  {
    name: 'a closed port',
    clientConfig: () => ({ url: 'https://localhost:1/hook' }),
    message:
      /Post "https:\/\/localhost:1\/hook\?timeout=30s": dial tcp localhost:1: connect: connection refused/,
  },
  {
    name: 'a host that does not exist',
    clientConfig: () => ({ url: 'https://no-such-host.invalid/hook' }),
    message: /dial tcp: lookup no-such-host\.invalid: no such host/,
  },
  {
    name: 'a service that does not exist',
    clientConfig: () => ({
      service: { name: 'no-such-service', namespace: 'default', port: 8443, path: '/v' },
    }),
    message:
      /Post "https:\/\/no-such-service\.default\.svc:8443\/v\?timeout=30s": dial tcp: lookup no-such-service\.default\.svc: no such host/,
  },
  {
    name: 'a certificate of another authority',
    clientConfig: ({ server }) => ({
      url: server.url.href,
      caBundle: base64(new TestAuthority('other').pem),
    }),
    message: /tls: .*certificate/,
  },
  {
    name: 'a certificate for another name',
    clientConfig: ({ server }) => ({
      url: server.url.href.replace('localhost', '127.0.0.1'),
      caBundle: base64(server.authority.pem),
    }),
    message: /tls: Hostname\/IP does not match certificate's altnames/,
  },
  {
    name: 'a CA bundle that is no certificate',
    clientConfig: ({ server }) => ({ url: server.url.href, caBundle: base64('no certificate') }),
    message: /could not get REST client: unable to load root certificates: the CA bundle has no certificate/,
  },
]

for (const failurePolicy of ['Fail', 'Ignore']) {
  const result = failurePolicy === 'Fail' ? 'rejects the request with the cause' : 'is ignored'
  void test(`spec 4.6: a webhook that cannot be reached, with the policy ${failurePolicy}, ${result}`, async (t) => {
    const kit = await WebhookKit.open(t)
    for (const [at, { name, clientConfig, message }] of unreachable.entries()) {
      const configuration = `c${at}`
      await kit.configure('validating', configuration, [
        kit.webhook('away.example.com', { failurePolicy, clientConfig: clientConfig(kit) }),
      ])
      const created = kit.api.configMap(`a${at}`)
      if (failurePolicy === 'Ignore') await created
      else assert.match((await refused(created)).message, message, name)
      await kit.api.delete({ kind: 'ValidatingWebhookConfiguration', name: configuration })
    }
    assert.equal(kit.server.calls.length, 0)
  })
}

void test('spec 4.6: a webhook whose CA has expired is not called', async (t) => {
  const kit = await WebhookKit.open(t)
  const authority = new TestAuthority('expired-ca', { expired: true })
  const server = await OutwardServer.start(t, (call) => allow(call), { authority })
  await kit.configure('validating', 'expired', [
    kit.webhook('expired.example.com', {
      clientConfig: { url: server.url.href, caBundle: base64(authority.pem) },
    }),
  ])
  assert.match((await refused(kit.api.configMap('a'))).message, /tls: certificate has expired/)
  assert.equal(server.calls.length, 0)
})

void test('spec 4.6: a webhook that does not respond within its timeout has failed', async (t) => {
  const kit = await WebhookKit.open(t, { answer: () => 'never' })
  await kit.configure('validating', 'slow', [kit.webhook('slow.example.com', { timeoutSeconds: 1 })])
  const { code, message } = await refused(kit.api.configMap('a'))
  assert.equal(code, 500)
  assert.match(message, /hook\?timeout=1s": context deadline exceeded \(while awaiting the response\)/)
})

void test('calls for which this member has no connection do not count as failures of their webhook', async (t) => {
  const kit = await WebhookKit.open(t)
  await kit.configure('validating', 'busy', [kit.webhook('busy.example.com')])
  const call = t.mock.method(kit.clients, 'call', () =>
    Promise.resolve({ kind: 'failed', reason: 'busy', why: '2112 calls are in progress' } as const),
  )
  for (let count = 0; count < 6; count++) {
    const { message } = await refused(kit.api.configMap('a'))
    assert.match(message, /too many calls of this server wait: 2112 calls are in progress/)
  }
  const [webhook] = kit.source.all()
  assert.ok(webhook !== undefined)
  const { failed, skipped, breaker, lastFailure } = kit.statistics.of(webhook).summary(0)
  assert.deepEqual(
    { failed, skipped, breaker, lastFailure },
    {
      ...{ failed: 0, skipped: 6, breaker: 'closed', lastFailure: null },
    },
  )
  call.mock.restore()
  await kit.api.configMap('a')
})
