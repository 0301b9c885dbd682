/*
 * Goal: a member that reaches no quorum decides by the permissions it knows for a set time, then
 * answers 503 except for health, metrics and its status, and serves again once it reaches a quorum.
 * Method: three real processes of which two are suspended, and local reads from the third.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const local = '/api/v1/namespaces?resourceVersion=0'

void test('a member without a quorum decides for the time that the settings name, then answers 503', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const [last, ...others] = cluster.members
  assert.ok(last)
  const { client } = last
  assert.equal((await client.post('/cluster/v1/settings', { staleAccessMs: 5000 })).status, 200)
  assert.equal((await client.get(local)).status, 200)
  for (const other of others) other.signal('SIGSTOP')
  assert.equal((await client.get(local)).status, 200, 'right after the quorum is lost')
  let refusal = ''
  await until('local reads are refused', async () => {
    const { status, text } = await client.get(local)
    refusal = text
    return status === 503
  })
  assert.match(refusal, /reached no quorum/)
  assert.equal((await client.get('/livez')).status, 200)
  assert.equal((await client.get('/metrics')).status, 200)
  assert.equal((await client.get('/cluster/v1/status')).status, 200)
  for (const other of others) other.signal('SIGCONT')
  await until('local reads are answered again', async () => (await client.get(local)).status === 200)
})
