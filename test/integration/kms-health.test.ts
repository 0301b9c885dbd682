/*
 * Goal: the health endpoints of a member show that a key management service fails, and that it has
 * recovered.
 * Method: requests over HTTPS to the whole server of one member, and a service on a unix socket
 * that refuses calls for a while.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccessServer, filesOf } from '../support/fixtures/access-server.ts'
import { FakeKmsService } from '../support/fakes/kms-service.ts'

const TEMPLATES = '/api/v1/namespaces/default/podtemplates'

function templateOf(name: string): object {
  const spec = { containers: [{ name: 'a', image: 'a' }] }
  return { apiVersion: 'v1', kind: 'PodTemplate', metadata: { name }, template: { spec } }
}

void test('a key management service that fails makes the check kms-providers fail with the reason, but not /livez, until it recovers', async (t) => {
  const kms = new FakeKmsService()
  await kms.start()
  t.after(() => kms.remove())
  const path = filesOf(t)(
    'encryption.yaml',
    `{kind: EncryptionConfiguration, apiVersion: apiserver.config.orch.io/v1, resources: [
      {resources: [podtemplates], providers: [
        {kms: {apiVersion: v2, name: vault, endpoint: 'unix://${kms.socket}', timeout: 1s}}]}]}`,
  )
  const server = await AccessServer.start(t, { 'encryption-provider-config': path })
  const statusOf = async (url: string): Promise<number> => (await server.admin(url)).status
  const create = async (name: string): Promise<number> =>
    (await server.admin(TEMPLATES, { method: 'POST', body: templateOf(name) })).status
  assert.deepEqual((await server.admin('/readyz/kms-providers')).text, 'ok')
  assert.ok((await server.admin('/readyz?verbose')).text.includes('[+]kms-providers ok\n'))

  kms.refuses = true
  assert.equal(await create('a'), 503, 'no data key was made yet')
  const one = await server.admin('/readyz/kms-providers')
  assert.equal(one.status, 500)
  assert.match(one.text, /kms key "vault": \w+ of the key management service failed: gRPC code 7/)
  assert.ok(!one.text.includes('these details have a secret'))
  for (const set of ['/readyz', '/healthz']) {
    const all = await server.ask(`${set}?verbose`)
    assert.equal(all.status, 500, set)
    assert.ok(all.text.includes('[-]kms-providers failed: reason withheld\n'), all.text)
    assert.equal(await statusOf(`${set}?exclude=kms-providers`), 200)
  }
  assert.equal(await statusOf('/livez'), 200)
  assert.equal(await statusOf('/livez/kms-providers'), 404)
  assert.equal(await statusOf('/api/v1/namespaces/default/configmaps'), 200, 'everything else is served')

  kms.refuses = false
  assert.equal(await create('a'), 201)
  assert.deepEqual((await server.admin('/readyz/kms-providers')).text, 'ok')
  assert.equal(await statusOf('/readyz'), 200)
})
