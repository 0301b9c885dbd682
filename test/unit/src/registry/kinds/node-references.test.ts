/*
 * Goal: every reference of a Pod or a PersistentVolume that its node has to resolve is found, and
 * nothing else.
 * Method: hand-written objects in which every reference has a name of its own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podReferences, volumeReferences } from '../../../../../src/registry/kinds/node-references.ts'
import type { PodReferences, VolumeReferences } from '../../../../../src/registry/kinds/node-references.ts'
import type { AnyObject } from '../../../../../src/registry/kinds/definition.ts'

const mirror = 'kubernetes.io/config.mirror'

const container = (name: string): object => ({
  name,
  envFrom: [{ configMapRef: { name: `${name}-c1` } }, { secretRef: { name: `${name}-s1` } }],
  env: [
    { name: 'A', value: 'x' },
    { name: 'B', valueFrom: { configMapKeyRef: { name: `${name}-c2`, key: 'k' } } },
    { name: 'C', valueFrom: { secretKeyRef: { name: `${name}-s2`, key: 'k' } } },
    { name: 'D', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ],
})

const spec = {
  nodeName: 'n1',
  serviceAccountName: 'builder',
  imagePullSecrets: [{ name: 'pull' }, {}],
  containers: [container('main')],
  initContainers: [container('init')],
  ephemeralContainers: [container('debug')],
  volumes: [
    { name: 'a', configMap: { name: 'cm' } },
    { name: 'b', secret: { secretName: 'plain' } },
    { name: 'c', azureFile: { secretName: 'azure', shareName: 's' } },
    { name: 'd', cephfs: { secretRef: { name: 'ceph' } } },
    { name: 'e', flexVolume: { secretRef: { name: 'flex' } } },
    { name: 'f', iscsi: { secretRef: { name: 'iscsi' } } },
    { name: 'g', rbd: { secretRef: { name: 'rbd' } } },
    { name: 'h', scaleIO: { secretRef: { name: 'scale' } } },
    { name: 'i', storageos: { secretRef: { name: 'storageos' } } },
    { name: 'j', cinder: { secretRef: { name: 'cinder' } } },
    { name: 'k', csi: { driver: 'd', nodePublishSecretRef: { name: 'csi' } } },
    { name: 'l', persistentVolumeClaim: { claimName: 'claim' } },
    { name: 'scratch', ephemeral: { volumeClaimTemplate: {} } },
    { name: 'm', emptyDir: {} },
    {
      name: 'n',
      projected: {
        sources: [
          { configMap: { name: 'pcm' } },
          { secret: { name: 'ps' } },
          { serviceAccountToken: { path: 't' } },
        ],
      },
    },
  ],
}

/** Returns an object as it is stored. */
function stored(kind: string, metadata: object, ofSpec: object): AnyObject {
  return JSON.parse(JSON.stringify({ apiVersion: 'v1', kind, metadata, spec: ofSpec })) as AnyObject
}

function pod(change: object = {}, annotations: Record<string, string> = {}): PodReferences {
  const metadata = { name: 'web', namespace: 'x', annotations }
  return podReferences(stored('Pod', metadata, { ...spec, ...change }), mirror)
}

void test('the references of a Pod are those of its containers, volumes, account and pull secrets', () => {
  const { node, references } = pod()
  assert.equal(node, 'n1')
  const ofContainers = ['main', 'init', 'debug'].flatMap((name) => [
    ...[`configmaps/x/${name}-c1`, `configmaps/x/${name}-c2`],
    ...[`secrets/x/${name}-s1`, `secrets/x/${name}-s2`],
  ])
  const secrets = [
    ...[
      'pull',
      'plain',
      'azure',
      'ceph',
      'flex',
      'iscsi',
      'rbd',
      'scale',
      'storageos',
      'cinder',
      'csi',
      'ps',
    ],
  ]
  assert.deepEqual(
    [...references].sort(),
    [
      ...ofContainers,
      ...secrets.map((name) => `secrets/x/${name}`),
      ...['configmaps/x/cm', 'configmaps/x/pcm', 'serviceaccounts/x/builder'],
      ...['persistentvolumeclaims/x/claim', 'persistentvolumeclaims/x/web-scratch'],
    ].sort(),
  )
})

void test('a Pod without a node, and a mirror Pod, refer to nothing', () => {
  assert.deepEqual(pod({ nodeName: '' }), { node: '', references: [] })
  assert.deepEqual(pod({}, { [mirror]: 'digest' }), { node: 'n1', references: [] })
})

void test('a volume refers to its claim and to the Secrets that a node reads', () => {
  const secretRef = (name: string, namespace?: string): object => ({ secretRef: { name, namespace } })
  const claimRef = { namespace: 'x', name: 'claim' }
  const volume = (source: object): VolumeReferences =>
    volumeReferences(stored('PersistentVolume', { name: 'v' }, { claimRef, ...source }))
  assert.deepEqual(volume({ hostPath: { path: '/x' } }), {
    claim: 'persistentvolumeclaims/x/claim',
    secrets: [],
  })
  assert.deepEqual(volume({ cephfs: secretRef('a', 'y') }).secrets, ['secrets/y/a'])
  assert.deepEqual(volume({ rbd: secretRef('a') }).secrets, ['secrets/x/a'])
  assert.deepEqual(volume({ azureFile: { secretName: 'a', secretNamespace: 'z' } }).secrets, ['secrets/z/a'])
  const reference = (name: string): object => ({ name, namespace: 'y' })
  const csi = {
    nodeStageSecretRef: reference('stage'),
    nodePublishSecretRef: reference('publish'),
    controllerPublishSecretRef: reference('attach'),
    controllerExpandSecretRef: reference('expand'),
  }
  assert.deepEqual(volume({ csi }).secrets, ['secrets/y/stage', 'secrets/y/publish'])
  assert.equal(volumeReferences(stored('PersistentVolume', { name: 'v' }, {})).claim, null)
})
