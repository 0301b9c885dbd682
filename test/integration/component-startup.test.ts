/*
 * Goal: the controller manager and the scheduler of Kubernetes 1.24 can start with this server: the
 * discovery, the lists and the watches with which they start are allowed and answered, whether they
 * are users or service accounts with the default roles. `component-calls` tests their other calls.
 * Method: the whole server over HTTPS. Each component makes all its calls on one HTTP/2 connection,
 * as client-go does, and all its watches stay open at the same time. Then an object of every kind
 * is created, and each watch has to report it in the encoding that the component asked for.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectMember, objectsMember, textMember, textsMember } from '../../src/api/json.ts'
import type { JsonObject } from '../../src/api/json.ts'
import { namesOf } from '../../src/api/metadata/names.ts'
import { partialObjectMetadataSchema, wholeObject } from '../../src/api/schema/shared.ts'
import { apiVersionOf, isStored } from '../../src/registry/kinds/definition.ts'
import type { ResourceDefinition } from '../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import type { ComponentClient, Followed, FollowedList } from '../support/drivers/component-client.ts'
import type { AccessServer } from '../support/fixtures/access-server.ts'
import { CALLERS, clientOf, post, startServer } from '../support/fixtures/component-callers.ts'
import type { Component } from '../support/fixtures/component-callers.ts'
import { customDefinition } from '../support/fixtures/custom-definition.ts'
import { collectionOf, nameOf } from '../support/fixtures/kind-path.ts'
import { FullObjects } from '../support/generators/full-object.ts'
import { until } from '../support/tools/until.ts'

const names = namesOf('k8s.io')
const definitions = definitionsFor(names)
const seed = Number(process.env['SEED'] ?? 1)
const PROTOBUF = 'application/vnd.kubernetes.protobuf'
const WIDGETS = '/apis/example.com/v1/widgets'

/** The informers by group and version, as `resource` or `resource?query`. */
const INFORMERS: { readonly [component in Component]: { readonly [apiVersion: string]: string } } = {
  'kube-controller-manager': {
    v1: `configmaps endpoints namespaces nodes persistentvolumeclaims persistentvolumes pods
      replicationcontrollers resourcequotas secrets serviceaccounts services
      secrets?fieldSelector=type%3Dkubernetes.io%2Fservice-account-token`,
    'apps/v1': 'controllerrevisions daemonsets deployments replicasets statefulsets',
    'autoscaling/v1': 'horizontalpodautoscalers',
    'autoscaling/v2': 'horizontalpodautoscalers',
    'batch/v1': 'cronjobs jobs',
    'certificates.k8s.io/v1': 'certificatesigningrequests',
    'coordination.k8s.io/v1': 'leases',
    'discovery.k8s.io/v1': 'endpointslices',
    'networking.k8s.io/v1': 'ingresses networkpolicies ingressclasses',
    'policy/v1': 'poddisruptionbudgets',
    'rbac.authorization.k8s.io/v1': 'clusterroles',
    'storage.k8s.io/v1': 'csidrivers csinodes storageclasses volumeattachments',
  },
  'kube-scheduler': {
    v1: `namespaces nodes persistentvolumeclaims persistentvolumes replicationcontrollers services
      pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed`,
    'apps/v1': 'replicasets statefulsets',
    'policy/v1': 'poddisruptionbudgets',
    'storage.k8s.io/v1': 'csidrivers csinodes csistoragecapacities storageclasses',
    'storage.k8s.io/v1beta1': 'csistoragecapacities',
  },
}

function followedBy(component: Component): readonly Followed[] {
  return Object.entries(INFORMERS[component]).flatMap(([apiVersion, text]) =>
    text.split(/\s+/).map((word): Followed => {
      const [plural = '', query = ''] = word.split('?')
      const definition = definitionOf(apiVersion, plural)
      return {
        path: allOf(definition),
        query,
        ...{ listAccept: `${PROTOBUF}, */*`, watchAccept: `${PROTOBUF}, */*`, encoding: 'protobuf' },
        schema: wholeObject(definition.schema),
      }
    }),
  )
}

function definitionOf(apiVersion: string, plural: string): ResourceDefinition {
  const found = definitions.find((one) => apiVersionOf(one) === apiVersion && one.plural === plural)
  return found ?? assert.fail(`${plural} of ${apiVersion}`)
}

/** The path of all objects of a kind in all namespaces. */
function allOf(definition: ResourceDefinition): string {
  return collectionOf({ ...definition, scope: 'Cluster' })
}

/** As the metadata client of client-go: protobuf first, and whole objects as a last resort. */
function metadataOf(path: string): Followed {
  const accept = (kind: string): string =>
    [PROTOBUF, 'application/json']
      .map((type) => `${type};as=${kind};g=meta.k8s.io;v=v1`)
      .concat('application/json')
      .join(',')
  return {
    ...{ path, encoding: 'protobuf', schema: partialObjectMetadataSchema },
    listAccept: accept('PartialObjectMetadataList'),
    watchAccept: accept('PartialObjectMetadata'),
  }
}

function jsonMetadataOf(path: string): Followed {
  const accept = (kind: string): string => `application/json;as=${kind};g=meta.k8s.io;v=v1`
  return {
    ...{ path, encoding: 'json', schema: partialObjectMetadataSchema },
    listAccept: accept('PartialObjectMetadataList'),
    watchAccept: accept('PartialObjectMetadata'),
  }
}

/** Finds the paths of all preferred resources with these verbs, as the discovery client does. */
async function discovered(client: ComponentClient, verbs: readonly string[]): Promise<readonly string[]> {
  const get = async (path: string): Promise<JsonObject> => {
    const { status, doc, bytes } = await client.ask('GET', path)
    assert.equal(status, 200, bytes.toString())
    const encoded = await client.ask('GET', path, { accept: `${PROTOBUF}, */*` })
    assert.deepEqual([encoded.status, encoded.type], [200, PROTOBUF], path)
    return doc
  }
  const core = textsMember(await get('/api'), 'versions').map((version) => `/api/${version}`)
  const groups = objectsMember(await get('/apis'), 'groups').map((group) => ({
    preferred: `/apis/${textMember(objectMember(group, 'preferredVersion'), 'groupVersion')}`,
    all: objectsMember(group, 'versions').map((one) => `/apis/${textMember(one, 'groupVersion')}`),
  }))
  const found = new Map<string, string>()
  for (const { preferred, all } of [...core.map((path) => ({ preferred: path, all: [path] })), ...groups]) {
    for (const path of [preferred, ...all.filter((other) => other !== preferred)]) {
      const group = path.split('/').slice(0, -1).join('/')
      for (const resource of objectsMember(await get(path), 'resources')) {
        const name = textMember(resource, 'name')
        const its = textsMember(resource, 'verbs')
        if (name.includes('/') || !verbs.every((verb) => its.includes(verb))) continue
        if (!found.has(`${group}/${name}`)) found.set(`${group}/${name}`, `${path}/${name}`)
      }
    }
  }
  return [...found.values()]
}

/**
 * Objects of which admission refuses the form with every field: that Pod names accounts and classes
 * that do not exist, and that Service has addresses of a family that is not configured.
 */
const PLAIN: { readonly [plural: string]: JsonObject } = {
  pods: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  services: { metadata: { name: 's' }, spec: { ports: [{ port: 80 }] } },
}

/** Creates an object of every kind. @returns the names by path */
async function createAll(api: AccessServer): Promise<ReadonlyMap<string, string>> {
  const maker = new FullObjects(names, seed)
  const created = new Map<string, string>()
  for (const definition of definitions.filter(isStored)) {
    // Clients create no Members.
    if (definition.kind === 'Member') continue
    const body = PLAIN[definition.plural] ?? maker.object(definition, 0)
    const { metadata } = await post(api, collectionOf(definition), body)
    created.set(allOf(definition), nameOf({ metadata: metadata ?? {} }))
  }
  return created
}

/**
 * Checks that all watches are open and that each one reports the new object of its kind, except for
 * those of Members and of token Secrets, of which no object is created.
 */
async function checkReported(
  followed: readonly Followed[],
  lists: readonly FollowedList[],
  created: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [at, { watch }] of lists.entries()) {
    assert.ok(watch.isOpen, watch.path)
    const { path = '', query = '' } = followed[at] ?? {}
    const name = created.get(path)
    if (path.includes('/members') || query.startsWith('fieldSelector=type')) continue
    await until(
      `${watch.path} reports ${name ?? 'an object'}`,
      () => watch.events().some(({ type, object }) => type === 'ADDED' && nameOf(object) === name),
      () => JSON.stringify(watch.events()),
    )
  }
}

/** The resources whose metadata the garbage collector and the quotas of the component follow. */
async function metadataFollowed(component: Component, client: ComponentClient): Promise<readonly Followed[]> {
  if (component === 'kube-scheduler') return []
  const collected = await discovered(client, ['delete', 'list', 'watch'])
  const counted = await discovered(client, ['create', 'delete', 'list', 'watch'])
  assert.ok(collected.includes(WIDGETS))
  return [...collected.map(metadataOf), ...counted.map(jsonMetadataOf)]
}

void test('every informer of both components lists and watches, as a user and as a service account', async (t) => {
  const api = await startServer(t)
  await post(api, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', customDefinition(names))
  await until('the custom kind is served', async () => (await api.admin(WIDGETS)).status === 200)
  const callers: { readonly followed: readonly Followed[]; readonly lists: readonly FollowedList[] }[] = []
  for (const { component, credentials } of CALLERS) {
    const client = await clientOf(t, api, credentials)
    const followed = [...followedBy(component), ...(await metadataFollowed(component, client))]
    callers.push({ followed, lists: await Promise.all(followed.map((one) => client.follow(one))) })
  }
  const created = new Map(await createAll(api))
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec: {} }
  await post(api, '/apis/example.com/v1/namespaces/default/widgets', widget)
  created.set(WIDGETS, 'w')
  for (const { followed, lists } of callers) await checkReported(followed, lists, created)
})
