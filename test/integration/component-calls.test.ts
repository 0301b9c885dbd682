/*
 * Goal: what the controller manager and the scheduler of Kubernetes 1.24 call besides their
 * informers is allowed and answered: health, the configuration of delegated authentication, leader
 * election, reviews, events, the accounts of controllers and the writes of the scheduler.
 * Method: the whole server over HTTPS, with both components as users and as service accounts with
 * the default roles. Leases, reviews, events and accounts are sent and read in protobuf, the rest
 * in JSON.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeProtobuf } from '../../src/api/codec/protobuf-envelope.ts'
import { objectMember, objectsMember, textMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { wholeObject } from '../../src/api/schema/shared.ts'
import { apiVersionOf } from '../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import type { ComponentClient } from '../support/drivers/component-client.ts'
import { readAs } from '../support/drivers/representations.ts'
import type { AccessServer } from '../support/fixtures/access-server.ts'
import { CALLERS, post, start } from '../support/fixtures/component-callers.ts'
import { until } from '../support/tools/until.ts'

const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const SYSTEM = '/api/v1/namespaces/kube-system'
const DEFAULT = '/api/v1/namespaces/default'
const TRUST = 'extension-apiserver-authentication'

const schemas = new Map(
  definitionsFor(namesOf('k8s.io')).map((one) => [
    `${apiVersionOf(one)} ${one.kind}`,
    wholeObject(one.schema),
  ]),
)

/** Sends an object in protobuf. @returns the response, decoded */
async function send(
  client: ComponentClient,
  method: string,
  path: string,
  object: JsonObject,
  status: number,
): Promise<JsonObject> {
  const type = `${textMember(object, 'apiVersion')} ${textMember(object, 'kind')}`
  const schema = schemas.get(type) ?? assert.fail(type)
  const body = encodeProtobuf(schema, object)
  const reply = await client.ask(method, path, { body, type: PROTOBUF, accept: `${PROTOBUF}, */*` })
  assert.equal(reply.status, status, `${method} ${path}: ${reply.bytes.toString()}`)
  assert.equal(reply.type, PROTOBUF, path)
  return readAs('protobuf', schema, reply.bytes)
}

async function get(client: ComponentClient, path: string, status = 200): Promise<JsonObject> {
  const reply = await client.ask('GET', path)
  assert.equal(reply.status, status, `GET ${path}: ${reply.bytes.toString()}`)
  return reply.doc
}

async function patch(client: ComponentClient, path: string, body: JsonObject): Promise<JsonObject> {
  const reply = await client.ask('PATCH', path, { body, type: 'application/strategic-merge-patch+json' })
  assert.equal(reply.status, 200, `PATCH ${path}: ${reply.bytes.toString()}`)
  return reply.doc
}

/** Takes the lock of leader election and renews it. */
async function checkLeaderElection(client: ComponentClient, component: string): Promise<void> {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
  const time = '2026-01-01T00:00:00.000000Z'
  const spec = { holderIdentity: 'host_1', leaseDurationSeconds: 15, leaseTransitions: 0 }
  const type = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }
  const metadata = { name: component, namespace: 'kube-system' }
  await get(client, `${leases}/${component}`, 404)
  const lease = { ...type, metadata, spec: { ...spec, acquireTime: time, renewTime: time } }
  await send(client, 'POST', leases, lease, 201)
  const held = await get(client, `${leases}/${component}`)
  assert.equal(objectMember(held, 'spec')['holderIdentity'], 'host_1')
  const renewed = { ...held, spec: { ...lease.spec, renewTime: '2026-01-01T00:00:02.000000Z' } }
  await send(client, 'PUT', `${leases}/${component}`, renewed, 200)
  // The lock of earlier releases. The scheduler may read no other ConfigMap of that namespace.
  await get(client, `${SYSTEM}/configmaps/${component}`, 404)
  await get(client, `${SYSTEM}/configmaps/another`, component === 'kube-scheduler' ? 403 : 404)
}

async function checkReviews(client: ComponentClient, token: string): Promise<void> {
  const tokens = '/apis/authentication.k8s.io/v1/tokenreviews'
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {} }
  const known = await send(client, 'POST', tokens, { ...review, spec: { token } }, 201)
  assert.equal(objectMember(known, 'status')['authenticated'], true)
  const access = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
  const request = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: {} }
  const spec = { user: 'jane', nonResourceAttributes: { path: '/metrics', verb: 'get' } }
  const decided = await send(client, 'POST', access, { ...request, spec }, 201)
  assert.equal(objectMember(decided, 'status')['allowed'], false)
}

/** Writes an event of each group and counts it up. */
async function checkEvents(client: ComponentClient, component: string): Promise<void> {
  const common = { reason: 'Scheduled', action: 'Binding', type: 'Normal', reportingInstance: 'host' }
  const about = { apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'p' }
  const eventTime = '2026-01-01T00:00:00.000000Z'
  const grouped = '/apis/events.k8s.io/v1/namespaces/default/events'
  await send(
    client,
    'POST',
    grouped,
    {
      ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event', metadata: { name: 'p.1', namespace: 'default' } },
      ...{ ...common, eventTime, reportingController: component, regarding: about, note: 'assigned' },
    },
    201,
  )
  const series = { count: 2, lastObservedTime: eventTime }
  assert.deepEqual((await patch(client, `${grouped}/p.1`, { series }))['series'], series)
  const core = `${DEFAULT}/events`
  await send(
    client,
    'POST',
    core,
    {
      ...{ apiVersion: 'v1', kind: 'Event', metadata: { name: 'p.2', namespace: 'default' } },
      ...{ involvedObject: about, reason: 'Created', message: 'created', type: 'Normal', count: 1 },
      ...{ source: { component }, firstTimestamp: '2026-01-01T00:00:00Z' },
    },
    201,
  )
  assert.equal((await patch(client, `${core}/p.2`, { count: 2 }))['count'], 2)
}

/** Creates the account of a controller and gets a token with which that controller works. */
async function checkControllerAccount(client: ComponentClient): Promise<void> {
  const name = 'replicaset-controller'
  const type = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'kube-system' } }
  await get(client, `${SYSTEM}/serviceaccounts/${name}`, 404)
  await send(client, 'POST', `${SYSTEM}/serviceaccounts`, type, 201)
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {} }
  const path = `${SYSTEM}/serviceaccounts/${name}/token`
  const reply = await client.ask('POST', path, { body: { ...request, spec: { expirationSeconds: 3600 } } })
  assert.equal(reply.status, 201, reply.bytes.toString())
  const token = textMember(objectMember(reply.doc, 'status'), 'token')
  await checkReviews(client, token)
}

/** Binds a Pod, writes its status, and writes what the binding of volumes writes. */
async function checkScheduling(client: ComponentClient, api: AccessServer): Promise<void> {
  await post(api, '/api/v1/nodes', { metadata: { name: 'n1' } })
  const spec = { containers: [{ name: 'c', image: 'i' }] }
  for (const name of ['p', 'q']) await post(api, `${DEFAULT}/pods`, { metadata: { name }, spec })
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no nodes' }
  const pending = await patch(client, `${DEFAULT}/pods/q/status`, { status: { conditions: [condition] } })
  assert.equal(objectsMember(objectMember(pending, 'status'), 'conditions')[0]?.['reason'], 'Unschedulable')
  const binding = {
    ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name: 'p', namespace: 'default' } },
    target: { apiVersion: 'v1', kind: 'Node', name: 'n1' },
  }
  const bound = await client.ask('POST', `${DEFAULT}/pods/p/binding`, { body: binding })
  assert.equal(bound.status, 201, bound.bytes.toString())
  const pod = await get(client, `${DEFAULT}/pods/p`)
  assert.equal(objectMember(pod, 'spec')['nodeName'], 'n1')
  const evicted = await client.ask('DELETE', `${DEFAULT}/pods/q`)
  assert.equal(evicted.status, 200, evicted.bytes.toString())
  const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
  await post(api, `${DEFAULT}/persistentvolumeclaims`, { metadata: { name: 'c' }, spec: claim })
  const annotations = { 'volume.kubernetes.io/selected-node': 'n1' }
  await patch(client, `${DEFAULT}/persistentvolumeclaims/c`, { metadata: { annotations } })
}

for (const { component, what, credentials } of CALLERS) {
  void test(`${component} makes the calls besides its informers as a ${what}`, async (t) => {
    const { api, client } = await start(t, credentials)
    assert.equal((await client.ask('GET', '/healthz')).bytes.toString(), 'ok')
    assert.equal((await get(client, '/version'))['minor'], '24')
    await checkLeaderElection(client, component)
    const { status } = await post(api, `${SYSTEM}/serviceaccounts/default/token`, { spec: {} })
    await checkReviews(client, textMember(status as JsonObject, 'token'))
    await checkEvents(client, component)
    if (component === 'kube-scheduler') await checkScheduling(client, api)
    else await checkControllerAccount(client)
  })

  void test(`${component} reads the configuration of delegated authentication as a ${what}`, async (t) => {
    const { api, client } = await start(t, credentials)
    const path = `${SYSTEM}/configmaps`
    await until('the ConfigMap is stored', async () => {
      return (await api.admin(`${path}/${TRUST}`)).status === 200
    })
    // The authority that the members share is added when it is made, so the data may change.
    const trusts = (object: JsonObject): boolean => {
      return textMember(objectMember(object, 'data'), 'client-ca-file').includes(api.authority.pem.trim())
    }
    assert.ok(trusts(await get(client, `${path}/${TRUST}`)))
    const schema = schemas.get('v1 ConfigMap') ?? assert.fail('there are ConfigMaps')
    const accept = `${PROTOBUF}, */*`
    const { items } = await client.follow({
      ...{ path, schema, encoding: 'protobuf', listAccept: accept, watchAccept: accept },
      query: `fieldSelector=metadata.name%3D${TRUST}`,
    })
    assert.ok(trusts(items[0] ?? {}))
    await get(client, path, component === 'kube-scheduler' ? 403 : 200)
  })
}
