/*
 * Goal: while webhooks are called, a leader that is killed leaves nothing written twice and nothing
 * half admitted, and a webhook that was configured counts on every member.
 * Method: three real processes; clients create through all members, a slow mutating webhook stamps
 * each object, and the leader is killed while calls are out.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { replyOf } from '../support/drivers/api-client.ts'
import type { ApiClient } from '../support/drivers/api-client.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { OutwardServer } from '../support/fixtures/outward-server.ts'
import type { Answer, SeenCall } from '../support/fixtures/outward-server.ts'
import { allow, base64, patch, reviewOf } from '../support/fixtures/webhook-answers.ts'
import { until } from '../support/tools/until.ts'

const path = '/api/v1/namespaces/default/configmaps'
const configurationsPath = '/apis/admissionregistration.k8s.io/v1'
const clientsCount = 12
const objectsPerClient = 20

function configuration(type: 'Mutating' | 'Validating', { url, authority }: OutwardServer): JsonObject {
  const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${type}WebhookConfiguration`,
    metadata: { name: 'stamps' },
    webhooks: [
      {
        name: 'stamps.test.example',
        clientConfig: { url: new URL(`/${type}`, url).href, caBundle: base64(authority.pem) },
        rules: [rule],
        objectSelector: { matchLabels: { stamped: 'wanted' } },
        ...{
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          failurePolicy: 'Fail',
          timeoutSeconds: 20,
        },
      },
    ],
  }
}

function objectOf(name: string): JsonObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { stamped: 'wanted' } } }
}

void test('a leader that is killed while webhooks are called leaves nothing unstamped or twice', async (t) => {
  const cluster = await ProcessCluster.start({ members: 3, domain: 'k8s.io' })
  t.after(() => cluster.remove())
  const clients = cluster.members.map((member) => member.client)
  const [first = assert.fail('a member')] = clients
  let out = 0
  const answer = async (call: SeenCall): Promise<Answer> => {
    out++
    await sleep(30)
    out--
    if (call.path.startsWith('/Validating')) return allow(call)
    const stamp = textMember(reviewOf(call), 'uid')
    return patch(call, [{ op: 'add', path: '/data', value: { stamp } }])
  }
  const hook = await OutwardServer.start(t, answer)
  for (const type of ['Mutating', 'Validating'] as const) {
    const made = await first.post(
      `${configurationsPath}/${type.toLowerCase()}webhookconfigurations`,
      configuration(type, hook),
    )
    assert.equal(made.status, 201, made.text)
  }
  for (const client of clients) {
    await until('the configuration is in force on every member', async () => {
      const { text } = await client.post(`${path}?dryRun=All`, objectOf('probe'))
      return text.includes('"stamp":')
    })
  }

  let done = 0
  const create = async (client: ApiClient, turn: number, name: string): Promise<void> => {
    for (let requests = 1; ; requests++) {
      const asked = requests === 1 ? client : (clients[(turn + requests) % clients.length] ?? client)
      const reply = await replyOf(asked.post(path, objectOf(name)))
      if (reply?.status === 201) return
      // After a request without an answer the object may be there: its name is its own.
      if (reply?.status === 409 && requests > 1) return
      if (reply !== null) assert.ok(reply.status >= 500 || reply.status === 429, reply.text)
      await sleep(20)
    }
  }
  const work = async (at: number): Promise<void> => {
    for (let n = 0; n < objectsPerClient; n++) {
      const client = clients[(at + n) % clients.length] ?? first
      await create(client, at + n, `c${at}-${n}`)
      done++
    }
  }
  const working = Promise.all(Array.from({ length: clientsCount }, (_, at) => work(at)))
  await Promise.race([
    working,
    until('calls are out', () => done > (clientsCount * objectsPerClient) / 3 && out > 0),
  ])
  const leader = await cluster.leader()
  await leader.stop('SIGKILL')
  leader.start()
  await leader.waitReady()
  await working

  for (const client of clients) {
    const list = await client.get(`${path}?labelSelector=stamped%3Dwanted`)
    const items = objectsMember(JSON.parse(list.text) as JsonObject, 'items')
    assert.equal(items.length, clientsCount * objectsPerClient)
    const stamps = items.map((item) => textMember(objectMember(item, 'data'), 'stamp'))
    assert.ok(
      stamps.every((stamp) => stamp !== ''),
      'every object was admitted',
    )
    assert.equal(new Set(stamps).size, stamps.length, 'no review was used twice')
  }
})
