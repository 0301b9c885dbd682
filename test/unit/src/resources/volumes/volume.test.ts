/*
 * Goal: volumes of a Pod follow the table of spec 2.5: sources, required fields, defaults and
 * rules.
 * Method: the table again, row by row, against the declared schema.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ApiErrorCause } from '../../../../../src/api/errors/api-error.ts'
import { causesOf } from '../../../../../src/api/errors/findings.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import {
  checkVolumes,
  volumeSchema,
  volumeSources,
  withVolumeSource,
} from '../../../../../src/resources/volumes/volume.ts'
import { shaped } from '../common/shape.ts'

type Row = {
  /** The required fields of the source, and no others. */
  readonly least: JsonObject
  /** Required members. */
  readonly needs: readonly string[]
  readonly defaults?: JsonObject
}

type VolumeArguments = Parameters<typeof checkVolumes>

function volumeCauses(
  volumes: VolumeArguments[0],
  path: string,
  owner: VolumeArguments[2],
): readonly ApiErrorCause[] {
  return causesOf((found) => {
    checkVolumes(volumes, path, owner, found)
  })
}

const claimSpec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }

const table: { readonly [source: string]: Row } = {
  persistentVolumeClaim: { least: { claimName: 'c' }, needs: ['claimName'] },
  configMap: { least: { name: 'm' }, needs: ['name'], defaults: { defaultMode: 0o644 } },
  secret: { least: { secretName: 's' }, needs: ['secretName'], defaults: { defaultMode: 0o644 } },
  downwardAPI: { least: {}, needs: [], defaults: { defaultMode: 0o644 } },
  projected: { least: {}, needs: [], defaults: { sources: null, defaultMode: 0o644 } },
  emptyDir: { least: {}, needs: [] },
  hostPath: { least: { path: '/p' }, needs: ['path'], defaults: { type: '' } },
  ephemeral: { least: { volumeClaimTemplate: { spec: claimSpec } }, needs: ['volumeClaimTemplate'] },
  csi: { least: { driver: 'd.example.com' }, needs: ['driver'] },
  awsElasticBlockStore: { least: { volumeID: 'v' }, needs: ['volumeID'] },
  azureDisk: {
    least: { diskName: 'd', diskURI: 'https://a/d.vhd' },
    needs: ['diskName', 'diskURI'],
    defaults: { cachingMode: 'ReadWrite', fsType: 'ext4', kind: 'Shared', readOnly: false },
  },
  azureFile: { least: { secretName: 's', shareName: 'h' }, needs: ['secretName', 'shareName'] },
  cephfs: { least: { monitors: ['m'] }, needs: ['monitors'] },
  cinder: { least: { volumeID: 'v' }, needs: ['volumeID'] },
  fc: { least: { wwids: ['w'] }, needs: [] },
  flexVolume: { least: { driver: 'd/x' }, needs: ['driver'] },
  flocker: { least: { datasetName: 'n' }, needs: [] },
  gcePersistentDisk: { least: { pdName: 'd' }, needs: ['pdName'] },
  glusterfs: { least: { endpoints: 'e', path: 'p' }, needs: ['endpoints', 'path'] },
  iscsi: {
    least: { iqn: 'iqn.2001-04.com.example:a', lun: 0, targetPortal: '10.0.0.1' },
    needs: ['iqn', 'lun', 'targetPortal'],
    defaults: { iscsiInterface: 'default' },
  },
  nfs: { least: { path: '/p', server: 's' }, needs: ['path', 'server'] },
  photonPersistentDisk: { least: { pdID: 'd' }, needs: ['pdID'] },
  portworxVolume: { least: { volumeID: 'v' }, needs: ['volumeID'] },
  quobyte: { least: { registry: 'r:1', volume: 'v' }, needs: ['registry', 'volume'] },
  rbd: {
    least: { image: 'i', monitors: ['m'] },
    needs: ['image', 'monitors'],
    defaults: { keyring: '/etc/ceph/keyring', pool: 'rbd', user: 'admin' },
  },
  scaleIO: {
    least: { gateway: 'g', secretRef: { name: 's' }, system: 's', volumeName: 'v' },
    needs: ['gateway', 'secretRef', 'system', 'volumeName'],
    defaults: { fsType: 'xfs', storageMode: 'ThinProvisioned' },
  },
  storageos: { least: { volumeName: 'v' }, needs: ['volumeName'] },
  vsphereVolume: { least: { volumePath: 'p' }, needs: ['volumePath'] },
  gitRepo: { least: { repository: 'r' }, needs: ['repository'] },
}

const see = (volume: JsonObject) => shaped(volumeSchema, 'v', { name: 'a', ...volume })
const causes = (volume: JsonObject) => see(volume).causes

void describe('spec 2.5: sources of volumes', () => {
  void test('spec 2.5: exactly 29 sources exist', () => {
    assert.equal(Object.keys(table).length, 29)
    assert.deepEqual([...volumeSources].sort(), Object.keys(table).sort())
    assert.deepEqual(Object.keys(volumeSchema.properties).sort(), [...volumeSources, 'name'].sort())
  })

  void test('spec 2.5: iscsi.lun is required, even if it is 0', () => {
    const iscsi = { iqn: 'iqn.2001-04.com.example:a', targetPortal: '10.0.0.1' }
    assert.deepEqual(causes({ iscsi }), ['FieldValueRequired v.iscsi.lun'])
    const { value, causes: none } = see({ iscsi: { ...iscsi, lun: 0 } })
    assert.deepEqual(none, [])
    assert.equal((value['iscsi'] as JsonObject)['lun'], 0)
  })

  for (const [source, { least, needs, defaults = {} }] of Object.entries(table)) {
    void test(`spec 2.5: ${source} has its required fields and defaults`, () => {
      const { value, causes: none } = see({ [source]: least })
      assert.deepEqual(none, [])
      const got = value[source] as JsonObject
      if (source !== 'ephemeral') assert.deepEqual(got, { ...defaults, ...least })
      for (const member of needs) {
        const rest = Object.fromEntries(Object.entries(least).filter(([name]) => name !== member))
        assert.deepEqual(causes({ [source]: rest }), [`FieldValueRequired v.${source}.${member}`])
      }
    })
  }

  void test('spec 2.5: a volume has exactly one source', () => {
    assert.deepEqual(causes({}), ['FieldValueRequired v'])
    assert.match(see({}).words[0] ?? '', /must specify a volume type/)
    const two = see({ nfs: table['nfs']?.least ?? {}, emptyDir: {} })
    assert.equal(two.causes.length, 1)
    assert.match(two.words[0] ?? '', /may not specify more than 1 volume type/)
    assert.deepEqual(withVolumeSource({ name: 'a' }), { name: 'a', emptyDir: {} })
    const nfs = { name: 'a', nfs: {} }
    assert.equal(withVolumeSource(nfs), nfs)
  })

  void test('spec 2.5: the name of a volume is a DNS label', () => {
    assert.deepEqual(shaped(volumeSchema, 'v', { emptyDir: {} }).causes, ['FieldValueRequired v.name'])
    assert.deepEqual(causes({ name: 'a.b', emptyDir: {} }), ['FieldValueInvalid v.name'])
    assert.deepEqual(causes({ name: 'a'.repeat(64), emptyDir: {} }), ['FieldValueInvalid v.name'])
  })
})

/** The source, the cause at its member, and a part of the message. */
const refusals: readonly (readonly [JsonObject, string, RegExp])[] = [
  [{ emptyDir: { sizeLimit: '-1' } }, 'FieldValueForbidden v.emptyDir.sizeLimit', /valid resource quantity/],
  [{ hostPath: { path: '/a/../b' } }, 'FieldValueInvalid v.hostPath.path', /must not contain '\.\.'/],
  [{ hostPath: { path: '/a', type: 'Pipe' } }, 'FieldValueNotSupported v.hostPath.type', /DirectoryOrCreate/],
  [
    { gitRepo: { repository: 'r', directory: '/a' } },
    'FieldValueInvalid v.gitRepo.directory',
    /relative path/,
  ],
  [{ nfs: { server: 's', path: 'p' } }, 'FieldValueInvalid v.nfs.path', /absolute path/],
  [
    { gcePersistentDisk: { pdName: 'd', partition: 256 } },
    'FieldValueInvalid v.gcePersistentDisk.partition',
    /255/,
  ],
  [
    { awsElasticBlockStore: { volumeID: 'v', partition: -1 } },
    'FieldValueInvalid v.awsElasticBlockStore.partition',
    /255/,
  ],
  [{ fc: {} }, 'FieldValueRequired v.fc.targetWWNs', /either targetWWNs or wwids/],
  [{ fc: { targetWWNs: ['t'] } }, 'FieldValueRequired v.fc.lun', /lun is required/],
  [{ fc: { targetWWNs: ['t'], lun: 256 } }, 'FieldValueInvalid v.fc.lun', /between 0 and 255/],
  [
    { fc: { targetWWNs: ['t'], lun: 0, wwids: ['w'] } },
    'FieldValueInvalid v.fc.targetWWNs',
    /simultaneously/,
  ],
  [{ flocker: {} }, 'FieldValueRequired v.flocker', /one of datasetName and datasetUUID/],
  [{ flocker: { datasetName: 'a', datasetUUID: 'b' } }, 'FieldValueInvalid v.flocker', /simultaneously/],
  [{ flocker: { datasetName: 'a/b' } }, 'FieldValueInvalid v.flocker.datasetName', /must not contain '\/'/],
  [{ quobyte: { registry: 'r', volume: 'v' } }, 'FieldValueInvalid v.quobyte.registry', /host:port pair/],
  [
    { quobyte: { registry: 'r:1,[::1]:2', volume: 'v', tenant: 't'.repeat(65) } },
    'FieldValueTooLong v.quobyte.tenant',
    /64/,
  ],
  [
    { azureDisk: { diskName: 'd', diskURI: 'https://d', kind: 'Managed' } },
    'FieldValueNotSupported v.azureDisk.diskURI',
    /subscriptions/,
  ],
  [
    { azureDisk: { diskName: 'd', diskURI: '/subscriptions/d' } },
    'FieldValueNotSupported v.azureDisk.diskURI',
    /https:/,
  ],
  [
    { azureDisk: { diskName: 'd', diskURI: 'https://d', cachingMode: 'All' } },
    'FieldValueNotSupported v.azureDisk.cachingMode',
    /ReadOnly/,
  ],
  [
    { azureDisk: { diskName: 'd', diskURI: 'https://d', kind: 'Own' } },
    'FieldValueNotSupported v.azureDisk.kind',
    /Dedicated/,
  ],
  [
    { iscsi: { iqn: 'x', lun: 0, targetPortal: 'p' } },
    'FieldValueInvalid v.iscsi.iqn',
    /starting with iqn, eui, or naa/,
  ],
  [{ iscsi: { iqn: 'iqn.x', lun: 0, targetPortal: 'p' } }, 'FieldValueInvalid v.iscsi.iqn', /valid format/],
  [
    { iscsi: { ...table['iscsi']?.least, initiatorName: 'eui.1' } },
    'FieldValueInvalid v.iscsi.initiatorName',
    /valid format/,
  ],
  [{ iscsi: { ...table['iscsi']?.least, lun: 256 } }, 'FieldValueInvalid v.iscsi.lun', /255/],
  [
    { iscsi: { ...table['iscsi']?.least, chapAuthSession: true } },
    'FieldValueRequired v.iscsi.secretRef',
    /Required/,
  ],
  [
    { iscsi: { ...table['iscsi']?.least, chapAuthDiscovery: true, secretRef: {} } },
    'FieldValueRequired v.iscsi.secretRef.name',
    /Required/,
  ],
  [{ cinder: { volumeID: 'v', secretRef: {} } }, 'FieldValueRequired v.cinder.secretRef.name', /Required/],
  [{ storageos: { volumeName: 'V' } }, 'FieldValueInvalid v.storageos.volumeName', /label/],
  [
    { storageos: { volumeName: 'v', volumeNamespace: 'a.b' } },
    'FieldValueInvalid v.storageos.volumeNamespace',
    /label/,
  ],
  [{ storageos: { volumeName: 'v', secretRef: {} } }, 'FieldValueRequired v.storageos.secretRef.name', /Req/],
  [{ csi: { driver: 'a_b' } }, 'FieldValueInvalid v.csi.driver', /subdomain/],
  [{ csi: { driver: 'd'.repeat(64) } }, 'FieldValueTooLong v.csi.driver', /63/],
  [
    { csi: { driver: 'Driver.Example.Com', nodePublishSecretRef: {} } },
    'FieldValueRequired v.csi.nodePublishSecretRef.name',
    /Required/,
  ],
]

void test('an invalid source is reported with its path', () => {
  for (const [volume, cause, words] of refusals) {
    const seen = see(volume)
    assert.deepEqual(seen.causes, [cause])
    assert.match(seen.words[0] ?? '', words)
  }
})

void describe('spec 2.5: files in volumes', () => {
  const item = (more: JsonObject) => ({ configMap: { name: 'm', items: [{ key: 'k', path: 'p', ...more }] } })
  const at = 'v.configMap.items[0]'
  const file = (more: JsonObject) => ({ downwardAPI: { items: [{ path: 'p', ...more }] } })
  const name = { fieldRef: { fieldPath: 'metadata.name' } }
  const rows: readonly (readonly [string, JsonObject, readonly string[]])[] = [
    ['KeyToPath', item({}), []],
    ['KeyToPath', item({ path: 'a/b..c', mode: 0 }), []],
    ['KeyToPath key', item({ key: '' }), [`FieldValueRequired ${at}.key`]],
    ['KeyToPath path', item({ path: '' }), [`FieldValueRequired ${at}.path`]],
    ['KeyToPath absolute', item({ path: '/a' }), [`FieldValueInvalid ${at}.path`]],
    ['KeyToPath up', item({ path: 'a/../b' }), [`FieldValueInvalid ${at}.path`]],
    ['KeyToPath reserved', item({ path: '..data' }), [`FieldValueInvalid ${at}.path`]],
    ['KeyToPath mode', item({ mode: 512 }), [`FieldValueInvalid ${at}.mode`]],
    [
      'defaultMode',
      { secret: { secretName: 's', defaultMode: -1 } },
      ['FieldValueInvalid v.secret.defaultMode'],
    ],
    ['defaultMode', { projected: { defaultMode: 512 } }, ['FieldValueInvalid v.projected.defaultMode']],
    ['fieldRef', file(name), []],
    ['fieldRef', file({ fieldRef: { fieldPath: "metadata.annotations['a/b']" } }), []],
    [
      'fieldRef',
      file({ fieldRef: { fieldPath: 'status.podIP' } }),
      ['FieldValueNotSupported v.downwardAPI.items[0].fieldRef.fieldPath'],
    ],
    ['fieldRef', file({}), ['FieldValueRequired v.downwardAPI.items[0]']],
    ['path', file({ ...name, path: '../a' }), ['FieldValueInvalid v.downwardAPI.items[0].path']],
    [
      'both',
      file({ ...name, resourceFieldRef: { containerName: 'c', resource: 'limits.cpu' } }),
      ['FieldValueInvalid v.downwardAPI.items[0]'],
    ],
    ['resourceFieldRef', file({ resourceFieldRef: { containerName: 'c', resource: 'requests.memory' } }), []],
    [
      'resourceFieldRef',
      file({ resourceFieldRef: { resource: 'limits.cpu' } }),
      ['FieldValueRequired v.downwardAPI.items[0].resourceFieldRef.containerName'],
    ],
    [
      'resourceFieldRef',
      file({ resourceFieldRef: { containerName: 'c', resource: 'limits.gold' } }),
      ['FieldValueNotSupported v.downwardAPI.items[0].resourceFieldRef.resource'],
    ],
  ]
  void test('spec 2.5: KeyToPath and DownwardAPIVolumeFile need a source and a relative path, and a valid mode', () => {
    for (const [what, volume, wanted] of rows) assert.deepEqual(causes(volume), wanted, what)
  })

  const source = (...sources: readonly JsonObject[]) => ({ projected: { sources } })
  const token = (more: JsonObject) => source({ serviceAccountToken: { path: 't', ...more } })
  const tokenAt = 'v.projected.sources[0].serviceAccountToken'

  void test('spec 2.5: a token of a projected volume expires in an hour by default, ten minutes at least', () => {
    const { value } = see(token({}))
    const projected = value['projected'] as JsonObject
    assert.deepEqual(projected['sources'], [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }])
    for (const seconds of [600, 2 ** 32]) assert.deepEqual(causes(token({ expirationSeconds: seconds })), [])
    for (const seconds of [0, 599, 2 ** 32 + 1]) {
      const seen = causes(token({ expirationSeconds: seconds }))
      assert.deepEqual(seen, [`FieldValueInvalid ${tokenAt}.expirationSeconds`])
    }
    assert.deepEqual(causes(token({ path: '' })), [`FieldValueRequired ${tokenAt}.path`])
    assert.deepEqual(causes(token({ path: '/t' })), [`FieldValueInvalid ${tokenAt}.path`])
  })

  void test('spec 2.5: projected sources name one object each, and no path twice', () => {
    const both = causes(source({ secret: { name: 's' }, configMap: { name: 'm' } }))
    assert.deepEqual(both, ['FieldValueForbidden v.projected.sources[0].configMap'])
    for (const kind of ['secret', 'configMap']) {
      const seen = causes(source({ [kind]: {} }))
      assert.deepEqual(seen, [`FieldValueRequired v.projected.sources[0].${kind}.name`])
    }
    const twice = causes(
      source(
        { configMap: { name: 'm', items: [{ key: 'k', path: 'p' }] } },
        { downwardAPI: { items: [{ path: 'p', ...name }] } },
        { serviceAccountToken: { path: 'p' } },
      ),
    )
    assert.deepEqual(twice, [
      'FieldValueInvalid v.projected.sources[1].downwardAPI.items[0].path',
      'FieldValueInvalid v.projected.sources[2].serviceAccountToken.path',
    ])
  })
})

void describe('spec 2.5: an ephemeral volume', () => {
  const template = (volumeClaimTemplate: JsonObject) => ({ ephemeral: { volumeClaimTemplate } })
  const at = 'v.ephemeral.volumeClaimTemplate'

  void test('spec 2.5: the metadata in an ephemeral volume may have the generation 0, and no other one', () => {
    const of = (generation: number) => causes(template({ metadata: { generation }, spec: claimSpec }))
    assert.deepEqual(of(0), [])
    assert.deepEqual(of(1), [`FieldValueForbidden ${at}.metadata.generation`])
  })

  void test('spec 2.5: the spec in an ephemeral volume follows the rules of claims', () => {
    const { value } = see(template({ spec: claimSpec }))
    const { volumeClaimTemplate } = value['ephemeral'] as { readonly volumeClaimTemplate: JsonObject }
    assert.deepEqual(volumeClaimTemplate['spec'], { ...claimSpec, volumeMode: 'Filesystem' })
    const empty = [
      `FieldValueRequired ${at}.spec.accessModes`,
      `FieldValueRequired ${at}.spec.resources[storage]`,
    ]
    assert.deepEqual(causes(template({ metadata: { labels: { a: 'b' } } })), empty)
  })

  void test('spec 2.5: an ephemeral volume has labels and annotations for its claim, and no other metadata', () => {
    const metadata = { labels: { a: 'b' }, annotations: { c: 'd' }, creationTimestamp: null }
    assert.deepEqual(causes(template({ metadata, spec: claimSpec })), [])
    const named = causes(template({ metadata: { name: 'x' }, spec: claimSpec }))
    assert.deepEqual(named, [`FieldValueForbidden ${at}.metadata.name`])
    const wrong = { labels: { 'a b': '' }, annotations: { 'c d': '' } }
    assert.deepEqual(causes(template({ metadata: wrong, spec: claimSpec })), [
      `FieldValueInvalid ${at}.metadata.labels`,
      `FieldValueInvalid ${at}.metadata.annotations`,
    ])
  })

  void test('spec 2.5: the name of the claim of an ephemeral volume is made of the names of Pod and volume', () => {
    const names = namesOf('orch.io')
    const volumes = [{ name: 'v', ...template({ spec: claimSpec }) }]
    assert.deepEqual(volumeCauses(volumes, 'spec.volumes', { names, podName: 'p' }), [])
    assert.deepEqual(volumeCauses(volumes, 'spec.volumes', { names, podName: '' }), [])
    const [cause] = volumeCauses(volumes, 'spec.volumes', { names, podName: 'p'.repeat(252) })
    assert.equal(cause?.field, 'spec.volumes[0].name')
    assert.match(cause.message, /PVC name/)
  })
})

void test('spec 2.5: volumes of a Pod have distinct names', () => {
  const volumes = ['a', 'b', 'a'].map((name) => ({ name, emptyDir: {} }))
  const seen = volumeCauses(volumes, 'spec.volumes', { names: namesOf('orch.io'), podName: 'p' })
  assert.deepEqual(
    seen.map(({ reason, field }) => `${reason} ${field}`),
    ['FieldValueDuplicate spec.volumes[2].name'],
  )
})

void test("options under the domain's own names are reserved", () => {
  for (const [domain, refusedKey] of [
    ['orch.io', 'x.orch.io/a'],
    ['k8s.io', 'Kubernetes.io/a'],
    ['k8s.io', 'k8s.io'],
  ] as const) {
    const options = { [refusedKey]: '', 'example.com/a': '', 'xkubernetes.io': '', plain: '' }
    const volumes = [{ name: 'v', flexVolume: { driver: 'd', options } }]
    const seen = volumeCauses(volumes, 'v', { names: namesOf(domain), podName: 'p' })
    assert.deepEqual(
      seen.map(({ field }) => field),
      [`v[0].flexVolume.options[${refusedKey}]`],
    )
  }
})
