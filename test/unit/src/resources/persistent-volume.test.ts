/*
 * Goal: PersistentVolume follows spec 2.7: sources, capacity, node affinity, immutable fields,
 * columns.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { persistentVolumeSources } from '../../../../src/resources/volumes/persistent-volume-spec.ts'
import { volumeSources } from '../../../../src/resources/volumes/volume.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

const kind = 'PersistentVolume'
const name = 'v'
const least = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'] }
const csi = { driver: 'd.example.com', volumeHandle: 'h' }
const spec = { ...least, csi }
const body = { metadata: { name }, spec }
const terms = [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }]
const nodeAffinity = { required: { nodeSelectorTerms: terms } }

void test('spec 2.7: the defaults of a volume are Retain and Filesystem', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.create({ kind, body: { ...body, status: { phase: 'Bound' } } })
  const defaults = { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' }
  assert.deepEqual(object['spec'], { ...spec, ...defaults })
  assert.deepEqual(object['status'], { phase: 'Pending' })
  const odd = { ...body, metadata: { name: 'w' }, spec: { ...spec, mountOptions: ['no such option!', ''] } }
  assert.equal((await api.create({ kind, body: odd })).code, 201)
})

void test('spec 2.7: every source has a persistent form, except for those of Pods only', () => {
  const ofPods = [
    ...['configMap', 'downwardAPI', 'emptyDir', 'ephemeral', 'gitRepo', 'persistentVolumeClaim'],
    ...['projected', 'secret'],
  ]
  const wanted = [...volumeSources.filter((source) => !ofPods.includes(source)), 'local']
  assert.deepEqual([...persistentVolumeSources].sort(), wanted.sort())
})

void test('spec 2.7: capacity, modes, class, reclaim policy, affinity and the source are validated', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const instead = (source: JsonObject) => ({ spec: { csi: null, ...source } })
  const hostPath = { path: '/' }
  await refusesNew(api, { kind, body }, [
    [{ spec: { capacity: null } }, ['FieldValueRequired spec.capacity']],
    [{ spec: { capacity: { cpu: '1' } } }, ['FieldValueNotSupported spec.capacity'], '"storage"'],
    [{ spec: { capacity: { storage: '0' } } }, ['FieldValueInvalid spec.capacity[storage]'], 'zero'],
    [{ spec: { accessModes: null } }, ['FieldValueRequired spec.accessModes']],
    [{ spec: { accessModes: ['x'] } }, ['FieldValueNotSupported spec.accessModes']],
    [
      { spec: { persistentVolumeReclaimPolicy: 'Burn' } },
      ['FieldValueNotSupported spec.persistentVolumeReclaimPolicy'],
      '"Delete", "Recycle", "Retain"',
    ],
    [{ spec: { storageClassName: 'A' } }, ['FieldValueInvalid spec.storageClassName']],
    [{ spec: { volumeMode: 'Tape' } }, ['FieldValueNotSupported spec.volumeMode']],
    [instead({}), ['FieldValueRequired spec'], 'must specify a volume type'],
    [
      { spec: { nfs: { server: 's', path: '/' } } },
      [`FieldValueForbidden spec.csi`],
      'more than 1 volume type',
    ],
    [{ spec: { nodeAffinity: {} } }, ['FieldValueRequired spec.nodeAffinity.required'], 'node constraints'],
    [
      { spec: { nodeAffinity: { required: {} } } },
      ['FieldValueRequired spec.nodeAffinity.required.nodeSelectorTerms'],
    ],
    [instead({ local: { path: '/d' } }), ['FieldValueRequired spec.nodeAffinity'], 'Local volume'],
    [instead({ local: {}, nodeAffinity }), ['FieldValueRequired spec.local.path']],
    [instead({ local: { path: '/a/..' }, nodeAffinity }), ['FieldValueInvalid spec.local.path'], "'..'"],
    [instead({ hostPath: {} }), ['FieldValueRequired spec.hostPath.path']],
    [
      instead({ hostPath, persistentVolumeReclaimPolicy: 'Recycle' }),
      ['FieldValueForbidden spec.persistentVolumeReclaimPolicy'],
      "hostPath mount of '/'",
    ],
    [
      instead({ flexVolume: { driver: 'd', options: { 'orch.io/x': '' } } }),
      ['FieldValueInvalid spec.flexVolume.options[orch.io/x]'],
      'reserved',
    ],
  ])
  const local = await api.create({
    kind,
    body: { metadata: { name: 'l' }, spec: { ...least, local: { path: '/d' }, nodeAffinity } },
  })
  assert.equal(local.code, 201)
})

void test('spec 2.7: csi needs a driver and a volumeHandle, and references to Secrets have name and namespace', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const secret = { name: 's', namespace: 'n' }
  const instead = (source: JsonObject) => ({ spec: { csi: null, ...source } })
  const references = ['controllerExpand', 'controllerPublish', 'nodePublish', 'nodeStage']
  await refusesNew(api, { kind, body }, [
    [{ spec: { csi: { volumeHandle: null } } }, ['FieldValueRequired spec.csi.volumeHandle']],
    [{ spec: { csi: { driver: null } } }, ['FieldValueRequired spec.csi.driver']],
    [{ spec: { csi: { driver: 'a b' } } }, ['FieldValueInvalid spec.csi.driver']],
    ...references.flatMap((what) => {
      const at = `${what}SecretRef`
      return [
        [{ spec: { csi: { [at]: { namespace: 'n' } } } }, [`FieldValueRequired spec.csi.${at}.name`]],
        [{ spec: { csi: { [at]: { name: 's' } } } }, [`FieldValueRequired spec.csi.${at}.namespace`]],
        [
          { spec: { csi: { [at]: { ...secret, namespace: 'A' } } } },
          [`FieldValueInvalid spec.csi.${at}.namespace`],
        ],
      ] as const
    }),
    [
      instead({ cinder: { volumeID: 'v', secretRef: { name: 's' } } }),
      ['FieldValueRequired spec.cinder.secretRef.namespace'],
    ],
    [
      instead({ azureFile: { secretName: 's', shareName: 'h', secretNamespace: '' } }),
      ['FieldValueRequired spec.azureFile.secretNamespace'],
    ],
    [
      instead({ glusterfs: { endpoints: 'e', path: 'p', endpointsNamespace: '' } }),
      ['FieldValueInvalid spec.glusterfs.endpointsNamespace'],
    ],
    [
      instead({ glusterfs: { endpoints: 'e', path: 'p', endpointsNamespace: 'A' } }),
      ['FieldValueInvalid spec.glusterfs.endpointsNamespace'],
    ],
    [
      instead({ storageos: { volumeName: 'v', secretRef: { namespace: 'n' } } }),
      ['FieldValueRequired spec.storageos.secretRef.name'],
    ],
  ])
  const full = Object.fromEntries(references.map((what) => [`${what}SecretRef`, secret]))
  const more = { readOnly: true, volumeAttributes: { a: 'b' } }
  const { object } = await api.create({
    kind,
    body: { ...body, spec: { ...least, csi: { ...csi, ...full, ...more } } },
  })
  assert.deepEqual((object['spec'] as JsonObject)['csi'], { ...csi, ...full, ...more })
})

void test('spec 2.7: a volume of azureFile is accepted with and without a namespace of its Secret, in both domains', async (t) => {
  for (const domain of ['orch.io', 'k8s.io'] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const azureFile = { secretName: 's', shareName: 'h' }
    for (const [name, secretNamespace] of [
      ['without', {}],
      ['null', { secretNamespace: null }],
      ['named', { secretNamespace: 'n' }],
    ] as const) {
      const source = { csi: null, azureFile: { ...azureFile, ...secretNamespace } }
      const volume = { ...body, metadata: { name }, spec: { ...spec, ...source } }
      const made = await api.create({ kind, body: volume })
      assert.equal(made.code, 201, name)
      assert.equal((await api.update({ kind, name, body: made.object })).code, 200, name)
    }
  }
})

void test('spec 2.7: persistent sources have the defaults of the inline ones', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rows: readonly (readonly [string, JsonObject, JsonObject])[] = [
    ['iscsi', { iqn: 'eui.0123456789abcdef', lun: 0, targetPortal: 'p' }, { iscsiInterface: 'default' }],
    ['rbd', { image: 'i', monitors: ['m'] }, { keyring: '/etc/ceph/keyring', pool: 'rbd', user: 'admin' }],
    [
      'scaleIO',
      { gateway: 'g', secretRef: { name: 's' }, system: 's', volumeName: 'v' },
      { fsType: 'xfs', storageMode: 'ThinProvisioned' },
    ],
    ['hostPath', { path: '/p' }, { type: '' }],
  ]
  for (const [source, given, defaults] of rows) {
    const metadata = { name: source.toLowerCase() }
    const { object } = await api.create({ kind, body: { metadata, spec: { ...least, [source]: given } } })
    assert.deepEqual((object['spec'] as JsonObject)[source], { ...given, ...defaults })
  }
})

void test('source, mode and an affinity that is set are immutable, but csi may get its controllerExpandSecretRef once; other fields are mutable', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body })
  const secret = { name: 's', namespace: 'n' }
  const source = ['FieldValueForbidden spec.persistentvolumesource']
  await refusesChange(api, { kind, name }, [
    [{ spec: { csi: { volumeHandle: 'other' } } }, source, 'immutable after creation'],
    [{ spec: { csi: null, nfs: { server: 's', path: '/' } } }, source],
    [{ spec: { csi: { nodeStageSecretRef: secret } } }, source],
    [{ spec: { volumeMode: 'Block' } }, ['FieldValueInvalid spec.volumeMode'], 'field is immutable'],
  ])
  await api.patch({ kind, name, body: { spec: { csi: { controllerExpandSecretRef: secret } } } })
  await api.patch({ kind, name, body: { spec: { nodeAffinity } } })
  await refusesChange(api, { kind, name }, [
    [{ spec: { csi: { controllerExpandSecretRef: { name: 'other' } } } }, source],
    [{ spec: { nodeAffinity: null } }, ['FieldValueInvalid spec.nodeAffinity'], 'field is immutable'],
  ])
  const use = {
    capacity: { storage: '2Gi' },
    accessModes: ['ReadOnlyMany'],
    claimRef: { namespace: 'n', name: 'c' },
    persistentVolumeReclaimPolicy: 'Delete',
    storageClassName: 'x',
    mountOptions: ['ro'],
  }
  const { object } = await api.patch({ kind, name, body: { spec: use, status: { phase: 'Bound' } } })
  assert.deepEqual({ ...(object['spec'] as JsonObject), ...use }, object['spec'])
  assert.deepEqual(object['status'], { phase: 'Pending' })
})

void test('spec 2.7: an update of the status keeps the spec; the columns show spec and status', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const claimRef = { namespace: 'n', name: 'c' }
  await api.create({ kind, body: { ...body, spec: { ...spec, claimRef, storageClassName: 'fast' } } })
  const status = { phase: 'Failed', message: 'it broke', reason: 'Broken' }
  const patch = { spec: { capacity: { storage: '9Gi' } }, status }
  const { object } = await api.patch({ kind, name, subresource: 'status', body: patch })
  assert.deepEqual(object['status'], status)
  assert.deepEqual(cells(api, kind, object), {
    Name: name,
    Capacity: '1Gi',
    'Access Modes': 'RWO',
    'Reclaim Policy': 'Retain',
    Status: 'Failed',
    Claim: 'n/c',
    StorageClass: 'fast',
    Reason: 'Broken',
    VolumeMode: 'Filesystem',
  })
  const list = await api.list({ kind })
  assert.deepEqual([list.kind, list.items.length], ['PersistentVolumeList', 1])
})

void test('spec 4.4: deleting a volume returns the object', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body })
  const gone = await api.delete({ kind, name })
  assert.deepEqual([gone.code, gone.object.kind, gone.object.metadata.name], [200, kind, name])
})
