/**
 * Goal: the operations on a Pod other than writes, over HTTP: in every encoding, with their
 * permissions, and in discovery.
 * Method: the shipped server, verbs and authorizer; the subresources of release 1.24 as a table.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { encodeProtobuf } from '../../src/api/codec/protobuf-envelope.ts'
import type { Encoding } from '../../src/api/codec/document.ts'
import { objectMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { statusSchema, wholeObject } from '../../src/api/schema/shared.ts'
import { binding } from '../../src/resources/binding.ts'
import { eviction } from '../../src/resources/eviction.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { NOBODY } from '../../fixtures/server-fixture.ts'
import { readAs } from '../support/drivers/representations.ts'
import { SpecServer } from '../support/fixtures/spec-server.ts'

const PODS = '/api/v1/namespaces/default/pods'
const encodings: readonly Encoding[] = ['json', 'yaml', 'protobuf']

async function makePod(api: SpecServer, name: string, spec: JsonObject = {}): Promise<string> {
  const containers = [{ name: 'main', image: 'registry.test/app:1' }]
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers, ...spec } }
  assert.equal((await api.ask('POST', PODS, { body })).status, 201)
  return `${PODS}/${name}`
}

function bodyOf(kind: string, name: string): JsonObject {
  return kind === 'Binding'
    ? { apiVersion: 'v1', kind, metadata: { name }, target: { kind: 'Node', name: 'm1' } }
    : { apiVersion: 'policy/v1', kind, metadata: { name }, deleteOptions: { gracePeriodSeconds: 5 } }
}

for (const domain of ['orch.io', 'k8s.io'] as const) {
  const names = namesOf(domain)
  const typeOf = (encoding: Encoding): string =>
    encoding === 'protobuf' ? names.protobufMediaType : `application/${encoding}`

  void test(`spec 1.4, 4.7: operations on Pods of ${domain} accept and return every encoding`, async (t) => {
    const api = await SpecServer.start(t, { domain })
    const written = { json: JSON.stringify, yaml: stringify }
    for (const { name, body } of [binding, eviction]) {
      const schema = wholeObject(body.schema)
      for (const [turn, encoding] of encodings.entries()) {
        const pod = `${name}-${encoding}`
        const path = await makePod(api, pod, name === 'eviction' ? { nodeName: 'm1' } : {})
        const given = bodyOf(body.kind, pod)
        const accept = encodings[(turn + 1) % encodings.length] ?? 'json'
        const sent = encoding === 'protobuf' ? encodeProtobuf(schema, given) : written[encoding](given)
        const headers = { accept: typeOf(accept) }
        const reply = await api.ask('POST', `${path}/${name}`, {
          body: sent,
          type: typeOf(encoding),
          headers,
        })
        assert.equal(reply.status, 201, reply.text)
        assert.equal(reply.headers.get('content-type'), typeOf(accept))
        const status = readAs(accept, statusSchema, reply.bytes)
        assert.deepEqual([status['kind'], status['status'], status['code']], ['Status', 'Success', 201])
        const { doc } = await api.ask('GET', path)
        if (name === 'binding') assert.equal(objectMember(doc as JsonObject, 'spec')['nodeName'], 'm1')
        else {
          const metadata = objectMember(doc as JsonObject, 'metadata')
          assert.equal(metadata['deletionGracePeriodSeconds'], 5)
        }
      }
    }
  })
}

void test('spec 5.7: operations on Pods are subresources of their own for authorization', async (t) => {
  const api = await SpecServer.start(t)
  const path = await makePod(api, 'a')
  for (const [at, resource] of [
    [`${path}/eviction`, 'pods/eviction'],
    [`${path}/binding`, 'pods/binding'],
    ['/api/v1/namespaces/default/bindings', 'bindings'],
  ] as const) {
    const { status, doc } = await api.ask('POST', at, { body: {}, headers: NOBODY })
    assert.equal(status, 403)
    const words = `User "nobody" cannot create resource "${resource}" in API group "" in the namespace "default"`
    assert.ok(doc.message?.endsWith(words) === true, doc.message)
  }
})

void test('operations on Pods are create-only, and unknown ones are not found', async (t) => {
  const api = await SpecServer.start(t)
  const path = await makePod(api, 'a')
  for (const name of ['eviction', 'binding']) {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const { status, doc, headers } = await api.ask(method, `${path}/${name}`)
      assert.deepEqual([status, doc.reason], [405, 'MethodNotAllowed'], `${method} ${name}`)
      assert.equal(headers.get('allow'), 'POST')
    }
  }
  const others = ['scale', 'nothing', 'log/more', 'exec/more']
  for (const name of others) {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status, doc } = await api.ask(method, `${path}/${name}`)
      assert.deepEqual([status, doc.reason], [404, 'NotFound'], `${method} ${name}`)
    }
  }
  assert.equal((await api.ask('POST', '/api/v1/bindings', { body: {} })).status, 405)
  assert.equal((await api.ask('GET', '/api/v1/namespaces/default/bindings')).status, 405)
})

/** The subresources of the served kinds in release 1.24. */
const subresources = `
  namespaces/finalize Namespace update
  namespaces/status Namespace get,patch,update
  nodes/proxy NodeProxyOptions create,delete,get,patch,update
  nodes/status Node get,patch,update
  persistentvolumeclaims/status PersistentVolumeClaim get,patch,update
  persistentvolumes/status PersistentVolume get,patch,update
  pods/attach PodAttachOptions create,get
  pods/binding Binding create
  pods/ephemeralcontainers Pod get,patch,update
  pods/eviction policy/v1/Eviction create
  pods/exec PodExecOptions create,get
  pods/log Pod get
  pods/portforward PodPortForwardOptions create,get
  pods/proxy PodProxyOptions create,delete,get,patch,update
  pods/status Pod get,patch,update
  replicationcontrollers/scale autoscaling/v1/Scale get,patch,update
  replicationcontrollers/status ReplicationController get,patch,update
  services/proxy ServiceProxyOptions create,delete,get,patch,update
  services/status Service get,patch,update
  daemonsets/status DaemonSet get,patch,update
  deployments/scale autoscaling/v1/Scale get,patch,update
  deployments/status Deployment get,patch,update
  replicasets/scale autoscaling/v1/Scale get,patch,update
  replicasets/status ReplicaSet get,patch,update
  statefulsets/scale autoscaling/v1/Scale get,patch,update
  statefulsets/status StatefulSet get,patch,update
  cronjobs/status CronJob get,patch,update
  jobs/status Job get,patch,update
  ingresses/status Ingress get,patch,update
  networkpolicies/status NetworkPolicy get,patch,update
  poddisruptionbudgets/status PodDisruptionBudget get,patch,update
  apiservices/status APIService get,patch,update
  flowschemas/status FlowSchema get,patch,update
  horizontalpodautoscalers/status HorizontalPodAutoscaler get,patch,update
  prioritylevelconfigurations/status PriorityLevelConfiguration get,patch,update
  resourcequotas/status ResourceQuota get,patch,update
  serviceaccounts/token authentication.k8s.io/v1/TokenRequest create
  certificatesigningrequests/approval CertificateSigningRequest get,patch,update
  certificatesigningrequests/status CertificateSigningRequest get,patch,update
  customresourcedefinitions/status CustomResourceDefinition get,patch,update
  volumeattachments/status VolumeAttachment get,patch,update`

type Listed = {
  readonly name: string
  readonly kind: string
  readonly group?: string
  readonly version?: string
  readonly verbs: readonly string[]
}

void test('spec 4.1: every kind has the subresources that clients know, and discovery lists them', async (t) => {
  const api = await SpecServer.start(t, { domain: 'k8s.io' })
  const known = new Set(subresources.trim().split(/\n +/))
  const lines = new Set(known)
  const versions = new Set(
    definitionsFor(namesOf('k8s.io')).map(({ group, version }) =>
      group === '' ? `/api/${version}` : `/apis/${group}/${version}`,
    ),
  )
  for (const path of versions) {
    const { doc } = await api.ask('GET', path)
    const resources = doc['resources'] as readonly Listed[]
    for (const { name, kind, group, version, verbs } of resources) {
      if (!name.includes('/')) continue
      const type = group === undefined || group === '' ? kind : `${group}/${version ?? ''}/${kind}`
      const line = `${name} ${type} ${verbs.join(',')}`
      assert.ok(known.has(line), line)
      lines.delete(line)
    }
  }
  assert.deepEqual([...lines], [])
})
