/*
 * Goal: requests with one Idempotency-Key take effect once, whatever answers are lost. Method:
 * three real processes; each key is sent to all members at once, some of the answers are not
 * awaited, and the leader is killed; then every key has made one object.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { NoReply } from '../support/drivers/api-client.ts'
import type { ApiClient, Reply } from '../support/drivers/api-client.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until } from '../support/tools/until.ts'

const path = '/api/v1/namespaces/default/configmaps'
const clientsCount = 8
const keysPerClient = 25

function create(client: ApiClient, key: string, timeoutMs?: number): Promise<Reply> {
  const object = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { generateName: `${key}-`, labels: { made: 'once' } },
  }
  const headers = { 'idempotency-key': key }
  return client.post(path, object, timeoutMs === undefined ? { headers } : { headers, timeoutMs })
}

/** Repeats a request until it is answered with success. @returns the name of the object */
async function nameOf(client: ApiClient, key: string): Promise<string> {
  for (;;) {
    try {
      const { status, text } = await create(client, key)
      if (status === 201) return (JSON.parse(text) as { metadata: { name: string } }).metadata.name
      assert.ok(status >= 500 || status === 429, text)
    } catch (cause) {
      if (!(cause instanceof NoReply)) throw cause
    }
    await sleep(20)
  }
}

void test('a key that is sent through all members, with lost answers and a killed leader, takes effect once', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3 })
  t.after(() => cluster.remove())
  const clients = cluster.members.map((member) => member.client)
  let done = 0
  const work = async (at: number): Promise<void> => {
    for (let n = 0; n < keysPerClient; n++) {
      const key = `c${at}-${n}`
      const impatient = clients[n % clients.length] ?? assert.fail('a client')
      // As a rule this answer is lost: its time limit is a few ms.
      await create(impatient, key, 1 + (n % 5)).catch(() => null)
      const names = await Promise.all(clients.map((client) => nameOf(client, key)))
      assert.equal(new Set(names).size, 1, key)
      done++
    }
  }
  const working = Promise.all(Array.from({ length: clientsCount }, (_, at) => work(at)))
  await Promise.race([working, until('a third is done', () => done > (clientsCount * keysPerClient) / 3)])
  const leader = await cluster.leader()
  await leader.stop('SIGKILL')
  leader.start()
  await leader.waitReady()
  await working
  const list = await clients[0]?.get(`${path}?labelSelector=made%3Donce`)
  const { items } = JSON.parse(list?.text ?? '') as { items: unknown[] }
  assert.equal(items.length, clientsCount * keysPerClient)

  const again = await create(clients[1] ?? assert.fail('a client'), 'c0-0')
  assert.deepEqual([again.status, again.headers['idempotency-replayed']], [201, 'true'])
  for (const key of ['', 'a b', 'x'.repeat(256)]) {
    const refused = await create(clients[0] ?? assert.fail('a client'), key)
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.text, /Idempotency-Key must be 1 to 255 printable ASCII characters/)
  }
  const gone = await clients[0]?.delete(`${path}?labelSelector=made%3Donce`, {
    headers: { 'idempotency-key': 'd' },
  })
  assert.equal(gone?.status, 200, gone?.text)
  assert.equal((await create(clients[0] ?? assert.fail('a client'), 'new')).status, 201)
  const repeated = await clients[2]?.delete(`${path}?labelSelector=made%3Donce`, {
    headers: { 'idempotency-key': 'd' },
  })
  assert.deepEqual([repeated?.status, repeated?.headers['idempotency-replayed']], [200, 'true'])
  const left = await clients[1]?.get(`${path}?labelSelector=made%3Donce`)
  assert.equal((JSON.parse(left?.text ?? '') as { items: unknown[] }).items.length, 1)
})
