/*
 * Goal: a connection carries any number of large requests and responses in sequence.
 * Method: a client in another process than the server, because the timing of separate event loops
 * is the point.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'

void describe('one connection', () => {
  let cluster: ProcessCluster

  before(async () => {
    cluster = await ProcessCluster.start({ members: 1 })
  })
  after(() => cluster.remove())

  void test('large request bodies sent right after large responses are read to the end', async () => {
    const { client } = cluster.member('n1')
    for (const size of [1_000, 20_000, 60_000, 300_000]) {
      for (let n = 0; n < 60; n++) {
        const body = { metadata: { name: `size-${size}-${n}` }, data: { x: 'y'.repeat(size) } }
        const reply = await client.post('/api/v1/namespaces/default/configmaps', body)
        assert.equal(reply.status, 201, reply.text.slice(0, 300))
      }
    }
  })

  void test('a list of many megabytes arrives whole', async () => {
    const { client } = cluster.member('n1')
    const reply = await client.get('/api/v1/namespaces/default/configmaps')
    assert.ok(reply.text.length > 20_000_000)
    const { items } = JSON.parse(reply.text) as { items: readonly { metadata: { name: string } }[] }
    assert.equal(items.filter(({ metadata }) => metadata.name.startsWith('size-')).length, 240)
  })
})
