/*
 * Goal: a leader that is killed while a conversion webhook is in use leaves every object converted
 * exactly once, and reads and writes in the other version go on.
 * Method: three real processes; clients create, change and list objects in v2, which are stored in
 * v1, while the leader is killed; at the end every member lists all of them in both versions.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { replyOf } from '../support/drivers/api-client.ts'
import type { ApiClient } from '../support/drivers/api-client.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { converts, hostPortVersions } from '../support/fixtures/conversion-hook.ts'
import { OutwardServer } from '../support/fixtures/outward-server.ts'
import { base64 } from '../support/fixtures/webhook-answers.ts'
import { until } from '../support/tools/until.ts'

const group = 'stable.example.com'
const pathOf = (version: string): string => `/apis/${group}/${version}/namespaces/default/crontabs`
const clientsCount = 6
const objectsPerClient = 12

function definition({ url, authority }: OutwardServer): JsonObject {
  const clientConfig = { url: url.href, caBundle: base64(authority.pem) }
  return {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    metadata: { name: `crontabs.${group}` },
    spec: {
      ...{ group, scope: 'Namespaced', names: { plural: 'crontabs', kind: 'CronTab' } },
      versions: hostPortVersions('v1'),
      conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } },
    },
  }
}

void test('a leader that is killed while objects are converted leaves each of them converted once', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  t.after(() => cluster.remove())
  const clients = cluster.members.map((member) => member.client)
  const [first = assert.fail('a member')] = clients
  let out = 0
  const hook = await OutwardServer.start(t, async (call) => {
    out++
    await sleep(20)
    out--
    return converts(call)
  })
  const made = await first.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition(hook))
  assert.equal(made.status, 201, made.text)
  for (const client of clients) {
    await until('the kind is served', async () => (await client.get(pathOf('v2'))).status === 200)
  }

  let done = 0
  /** Sends a request to one member after another until one answers with a status. */
  const settled = async (
    turn: number,
    statuses: readonly number[],
    send: (client: ApiClient) => ReturnType<ApiClient['get']>,
  ): Promise<void> => {
    let at = turn
    let last = 'no reply'
    const isSettled = async (): Promise<boolean> => {
      const reply = await replyOf(send(clients[at++ % clients.length] ?? first))
      if (reply === null) return false
      if (statuses.includes(reply.status)) return true
      last = reply.text
      assert.ok(reply.status >= 500 || reply.status === 429, last)
      return false
    }
    await until('a request succeeds', isSettled, () => last, 20)
  }
  const work = async (at: number): Promise<void> => {
    for (let n = 0; n < objectsPerClient; n++) {
      const name = `c${at}-${n}`
      const object = {
        ...{ apiVersion: `${group}/v2`, kind: 'CronTab', metadata: { name } },
        spec: { host: name, port: '1' },
      }
      // After a request without an answer the object may be there.
      await settled(at + n, [201, 409], (client) => client.post(pathOf('v2'), object))
      const change = { spec: { port: '2' } }
      await settled(at + n + 1, [200], (client) => client.patch(`${pathOf('v2')}/${name}`, change))
      await settled(at + n + 2, [200], (client) => client.get(`${pathOf('v2')}?limit=5`))
      done++
    }
  }
  const total = clientsCount * objectsPerClient
  const working = Promise.all(Array.from({ length: clientsCount }, (_, at) => work(at)))
  await Promise.race([working, until('objects are being converted', () => done > total / 4 && out > 0)])
  const leader = await cluster.leader()
  await leader.stop('SIGKILL')
  leader.start()
  await leader.waitReady()
  await working

  for (const client of clients) {
    for (const version of ['v1', 'v2']) {
      const list = await client.get(pathOf(version))
      assert.equal(list.status, 200, list.text)
      const items = objectsMember(JSON.parse(list.text) as JsonObject, 'items')
      assert.equal(items.length, total)
      for (const item of items) {
        const name = textMember(objectMember(item, 'metadata'), 'name')
        const spec = version === 'v1' ? { hostPort: `${name}:2` } : { host: name, port: '2' }
        assert.deepEqual(item['spec'], spec, `${name} in ${version}`)
      }
    }
  }
})
