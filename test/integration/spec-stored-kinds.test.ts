/*
 * Goal: statements of part 2 of the specification, by their numbers: about lists, and about single
 * fields of claims, volumes, classes, Secrets and Pods.
 * Method: requests over HTTP to the shipped server; every kind where the statement is about every
 * kind.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namesOf } from '../../src/api/metadata/names.ts'
import { apiVersionOf, isStored, listKindOf } from '../../src/registry/kinds/definition.ts'
import { definitionsFor } from '../../src/resources/index.ts'
import { collectionOf } from '../support/fixtures/kind-path.ts'
import { SpecServer, objectOf } from '../support/fixtures/spec-server.ts'
import type { Doc } from '../support/fixtures/spec-server.ts'

const claims = '/api/v1/namespaces/default/persistentvolumeclaims'
const secrets = '/api/v1/namespaces/default/secrets'
const storageClasses = '/apis/storage.orch.io/v1/storageclasses'
const mergePatch = 'application/merge-patch+json'

for (const domain of ['orch.io', 'k8s.io'] as const) {
  void test(`spec 2.1, 2.7, 2.8, 2.9: an empty list of any kind of ${domain} has kind, apiVersion, metadata and items`, async (t) => {
    const api = await SpecServer.start(t, { domain })
    const stored = definitionsFor(namesOf(domain)).filter(
      (one) => isStored(one) && one.verbs.includes('list'),
    )
    assert.ok(stored.length > 20, `${stored.length} kinds`)
    for (const definition of stored) {
      const { doc } = await api.ask('GET', `${collectionOf(definition)}?labelSelector=no-such-label`)
      const { kind, apiVersion, items, metadata } = doc
      assert.deepEqual(
        [kind, apiVersion, items],
        [listKindOf(definition), apiVersionOf(definition), []],
        definition.kind,
      )
      assert.deepEqual(Object.keys(metadata ?? {}), ['resourceVersion'], definition.kind)
    }
  })
}

void test('spec 2.6: volumeName of a claim is stored as sent; allocatedResources and resizeStatus are alpha, so dropped', async (t) => {
  const api = await SpecServer.start(t)
  const resources = { requests: { storage: '1Gi' } }
  const spec = { accessModes: ['ReadWriteOnce'], resources, volumeName: 'v' }
  const body = { ...objectOf('PersistentVolumeClaim', 'a'), spec }
  const made = await api.ask('POST', claims, { body })
  assert.deepEqual(made.doc['spec'], { ...spec, volumeMode: 'Filesystem' })
  const status = { allocatedResources: { storage: '2Gi' }, resizeStatus: 'NodeExpansionPending' }
  const changed = await api.ask('PATCH', `${claims}/a/status`, {
    body: { status: { ...status, phase: 'Bound' } },
    type: mergePatch,
  })
  assert.deepEqual([changed.status, changed.doc.status], [200, { phase: 'Bound' }])
})

void test('spec 2.7: claimRef of a volume is stored as sent', async (t) => {
  const api = await SpecServer.start(t)
  const claimRef = { kind: 'PersistentVolumeClaim', namespace: 'default', name: 'a', apiVersion: 'v1' }
  const spec = {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    hostPath: { path: '/x' },
    claimRef,
  }
  const { doc } = await api.ask('POST', '/api/v1/persistentvolumes', {
    body: { ...objectOf('PersistentVolume', 'v'), spec },
  })
  assert.deepEqual(specOf(doc)['claimRef'], claimRef)
})

void test('spec 2.8: allowVolumeExpansion of a class is a boolean, or absent', async (t) => {
  const api = await SpecServer.start(t)
  const create = (name: string, more: object) =>
    api.ask('POST', storageClasses, {
      body: {
        apiVersion: 'storage.orch.io/v1',
        kind: 'StorageClass',
        metadata: { name },
        provisioner: 'p.io/x',
        ...more,
      },
    })
  assert.equal((await create('a', {})).doc['allowVolumeExpansion'], undefined)
  for (const value of [true, false]) {
    const { doc } = await create(`is-${value}`, { allowVolumeExpansion: value })
    assert.equal(doc['allowVolumeExpansion'], value)
  }
  assert.equal((await create('b', { allowVolumeExpansion: 'yes' })).status, 400)
})

void test('spec 2.3: the Secret of a service account token names its account in an annotation', async (t) => {
  const api = await SpecServer.start(t)
  const type = 'orch.io/service-account-token'
  const create = (annotations: object) =>
    api.ask('POST', secrets, { body: { ...objectOf('Secret', 'a', { metadata: { annotations } }), type } })
  const refused = await create({})
  assert.equal(refused.status, 422)
  assert.match(
    refused.doc.message ?? '',
    /metadata\.annotations\[orch\.io\/service-account\.name\]: Required value/,
  )
  assert.equal((await create({ 'orch.io/service-account.name': 'default' })).status, 201)
})

void test('spec 2.4: a description of a bootstrap token is optional', async (t) => {
  const api = await SpecServer.start(t)
  const create = (id: string, more: object) => {
    const stringData = { 'token-id': id, 'token-secret': '0123456789abcdef', ...more }
    const secret = objectOf('Secret', `bootstrap-token-${id}`)
    const body = { ...secret, type: 'bootstrap.orch.io/token', stringData }
    return api.ask('POST', '/api/v1/namespaces/system-ns/secrets', { body })
  }
  assert.equal((await create('aaaaaa', {})).status, 201)
  assert.equal((await create('bbbbbb', { description: 'For the first node.' })).status, 201)
})

void test('spec 2.5: file modes are numbers from 0 to 511, which YAML may write in octal as well', async (t) => {
  const api = await SpecServer.start(t)
  for (const [mode, stored] of [
    ['0', 0],
    ['0600', 0o600],
    ['0777', 511],
    ['511', 511],
    ['01000', null],
    ['-1', null],
  ] as const) {
    const body = podYaml(`secret: { secretName: s, defaultMode: ${mode} }`)
    const { status, doc } = await dryRunPod(api, body)
    if (stored === null) assert.equal(status, 422, mode)
    else
      assert.deepEqual(specOf(doc)['volumes'], [
        { name: 'v', secret: { secretName: 's', defaultMode: stored } },
      ])
  }
})

void test('spec 2.5: azureDisk.kind is one of three, and scaleIO.storageMode is not checked', async (t) => {
  const api = await SpecServer.start(t)
  const disk = (kind: string, uri: string) =>
    dryRunPod(api, podYaml(`azureDisk: { diskName: d, diskURI: ${uri}, kind: ${kind} }`))
  assert.equal((await disk('Shared', 'https://x')).status, 201)
  assert.equal((await disk('Dedicated', 'https://x')).status, 201)
  assert.equal((await disk('Managed', '/subscriptions/x')).status, 201)
  assert.equal((await disk('Other', 'https://x')).status, 422)
  for (const mode of ['ThickProvisioned', 'ThinProvisioned', 'Other']) {
    const source = `{ gateway: g, system: s, secretRef: { name: x }, volumeName: v, storageMode: ${mode} }`
    assert.equal((await dryRunPod(api, podYaml(`scaleIO: ${source}`))).status, 201, mode)
  }
})

function podYaml(source: string): string {
  return [
    'apiVersion: v1',
    'kind: Pod',
    'metadata: { name: a }',
    'spec:',
    '  containers: [{ name: c, image: i }]',
    `  volumes: [{ name: v, ${source} }]`,
    '',
  ].join('\n')
}

function dryRunPod(api: SpecServer, body: string) {
  return api.ask('POST', '/api/v1/namespaces/default/pods?dryRun=All', { body, type: 'application/yaml' })
}

function specOf(doc: Doc): Readonly<Record<string, unknown>> {
  return (doc['spec'] ?? {}) as Readonly<Record<string, unknown>>
}
