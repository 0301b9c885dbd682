/*
 * Goal: every client certificate that a member shows to another server is listed with its expiry.
 * Method: requests to the whole server of one member whose flags name such certificates.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestAuthority } from '../../fixtures/server-fixture.ts'
import { AccessServer, filesOf } from '../support/fixtures/access-server.ts'

type Listed = { readonly use: string; readonly source: string; readonly subject: string }

void test('the client certificates for node agents and webhooks are listed by file, and their expiry is a metric', async (t) => {
  const file = filesOf(t)
  const authority = new TestAuthority('others')
  const [agents, hook] = [authority.client('to-agents', []), authority.client('to-webhook', [])]
  const certificate = file('agents.crt', agents.cert)
  const hookCertificate = file('hook.crt', hook.cert)
  const user = { 'client-certificate': hookCertificate, 'client-key': file('hook.key', hook.key) }
  const kubeconfig = file(
    'webhook.kubeconfig',
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: 'https://localhost:1/' } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'there', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'there',
    }),
  )
  const server = await AccessServer.start(t, {
    'kubelet-client-certificate': certificate,
    'kubelet-client-key': file('agents.key', agents.key),
    'authentication-token-webhook-config-file': kubeconfig,
  })
  const listed = async (): Promise<readonly (readonly [string, string])[]> => {
    const { text } = await server.admin('/cluster/v1/certificates')
    const { certificates } = JSON.parse(text) as { readonly certificates: readonly Listed[] }
    return certificates
      .filter(({ use }) => use === 'outward')
      .map(({ source, subject }) => [source, subject] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1))
  }
  assert.deepEqual(await listed(), [
    [certificate, 'CN=to-agents'],
    [hookCertificate, 'CN=to-webhook'],
  ])
  const metrics = (await server.admin('/metrics')).text
  for (const name of ['to-agents', 'to-webhook'])
    assert.match(
      metrics,
      new RegExp(`orch_certificate_expiration_seconds\\{use="outward",certificate="${name} `),
    )
})
