/*
 * Goal: with the mode Node, a node may read the Secret of a Pod as long as the Pod is bound to the
 * node; when the Pod is deleted, the node's watch of the Secret ends.
 * Method: the whole server over HTTPS, with certificates of two nodes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccessServer } from '../support/fixtures/access-server.ts'
import { until } from '../support/tools/until.ts'

const NS = '/api/v1/namespaces/default'
const SECRET = `${NS}/secrets/key`

void test('spec 5.7: a node reads the Secrets of its own Pods only, as long as it has these Pods', async (t) => {
  const api = await AccessServer.start(t, { 'authorization-mode': 'Node,RBAC' })
  const [own, other] = ['n1', 'n2'].map((name) => ({
    identity: api.client(`system:node:${name}`, ['system:nodes']),
  }))
  assert.ok(own && other)
  const object = (kind: string, name: string, rest: object): object => ({
    ...{ apiVersion: 'v1', kind, metadata: { name } },
    ...rest,
  })
  const post = async (path: string, body: object): Promise<void> => {
    const { status, text } = await api.admin(path, { method: 'POST', body })
    assert.equal(status, 201, text)
  }
  await post(`${NS}/secrets`, object('Secret', 'key', {}))
  assert.equal((await api.ask(SECRET, own)).status, 403)
  const containers = [{ name: 'c', image: 'i' }]
  const volumes = [{ name: 'v', secret: { secretName: 'key' } }]
  await post(`${NS}/pods`, object('Pod', 'web', { spec: { nodeName: 'n1', containers, volumes } }))
  await until('the node reads it', async () => (await api.ask(SECRET, own)).status === 200)

  const refused = await api.ask(SECRET, other)
  assert.equal(refused.status, 403)
  assert.match(refused.text, /no relationship found between node \\"n2\\" and this object/)
  assert.equal((await api.ask(`${NS}/secrets`, own)).status, 403)
  const selected = `${NS}/secrets?fieldSelector=metadata.name%3Dkey`
  assert.equal((await api.ask(selected, own)).status, 200)
  assert.equal((await api.ask('/api/v1/nodes', other)).status, 200)

  // The client keeps the watch open: it ends because its caller lost the permission.
  const watched = api.ask(`${selected}&watch=true`, own)
  await until('the watch is in progress', async () => {
    const { text: metrics } = await api.admin('/metrics')
    return /^apiserver_longrunning_requests\{.*resource="secrets".*\} 1$/m.test(metrics)
  })
  const deleted = await api.admin(`${NS}/pods/web?gracePeriodSeconds=0`, { method: 'DELETE' })
  assert.equal(deleted.status, 200, deleted.text)
  const { status, text } = await watched
  assert.equal(status, 200)
  assert.match(text, /"ADDED"/)
  assert.equal((await api.ask(SECRET, own)).status, 403)
})
