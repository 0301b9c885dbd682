import type { Findings } from '../../api/errors/findings.ts'
import { fieldForbidden, keyPath, notSupported, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, objectMember, textMember } from '../../api/json.ts'
import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import { maybe, quantities, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { checkPositive } from '../common/amounts.ts'
import { checkNoBacksteps } from './file-path.ts'
import { nodeSelectorSchema } from '../nodes/node-selector.ts'
import { objectReferenceSchema } from '../common/object-reference.ts'
import { exactlyOne } from '../common/one-of.ts'
import { csiPersistentVolumeSourceSchema } from './volume-csi.ts'
import {
  awsElasticBlockStoreVolumeSourceSchema,
  azureDiskVolumeSourceSchema,
  gcePersistentDiskVolumeSourceSchema,
  photonPersistentDiskVolumeSourceSchema,
  portworxVolumeSourceSchema,
  vsphereVirtualDiskVolumeSourceSchema,
} from './volume-disks.ts'
import { accessModes, checkAccessModes, volumeMode } from './volume-modes.ts'
import {
  azureFilePersistentVolumeSourceSchema,
  glusterfsPersistentVolumeSourceSchema,
  storageOSPersistentVolumeSourceSchema,
} from './volume-network.ts'
import {
  fcVolumeSourceSchema,
  flockerVolumeSourceSchema,
  hostPathVolumeSourceSchema,
  nfsVolumeSourceSchema,
  quobyteVolumeSourceSchema,
} from './volume-shares.ts'
import {
  cephFSPersistentVolumeSourceSchema,
  cinderPersistentVolumeSourceSchema,
  flexPersistentVolumeSourceSchema,
  iscsiPersistentVolumeSourceSchema,
  rbdPersistentVolumeSourceSchema,
  scaleIOPersistentVolumeSourceSchema,
} from './volume-storage.ts'

/** The spec of a PersistentVolume, also used inline in attachments. @source spec 2.7, 2.9 */

const localVolumeSourceSchema = struct(
  'core.v1.LocalVolumeSource',
  'Local storage of one node.',
  {
    path: text(1, 'Path on the node.', { required: true }),
    fsType: text(2, 'File system type, if the path is a block device.', { optional: true }),
  },
  { check: (source, at, found) => checkNoBacksteps(textMember(source, 'path'), fieldAt(at, 'path'), found) },
)

const sources = {
  gcePersistentDisk: maybe(1, gcePersistentDiskVolumeSourceSchema, 'A disk of Google Compute Engine.'),
  awsElasticBlockStore: maybe(2, awsElasticBlockStoreVolumeSourceSchema, 'A disk of AWS.'),
  hostPath: maybe(3, hostPathVolumeSourceSchema, 'Directory of the node; for clusters of one node.'),
  glusterfs: maybe(4, glusterfsPersistentVolumeSourceSchema, 'A Gluster volume.'),
  nfs: maybe(5, nfsVolumeSourceSchema, 'A directory that an NFS server exports.'),
  rbd: maybe(6, rbdPersistentVolumeSourceSchema, 'A Rados block device.'),
  iscsi: maybe(7, iscsiPersistentVolumeSourceSchema, 'A unit of an iSCSI target.'),
  cinder: maybe(8, cinderPersistentVolumeSourceSchema, 'A Cinder volume of OpenStack.'),
  cephfs: maybe(9, cephFSPersistentVolumeSourceSchema, 'A directory of a Ceph file system.'),
  fc: maybe(10, fcVolumeSourceSchema, 'A Fibre Channel disk.'),
  flocker: maybe(11, flockerVolumeSourceSchema, 'A data set of Flocker.'),
  flexVolume: maybe(12, flexPersistentVolumeSourceSchema, 'A volume of a driver that is a program.'),
  azureFile: maybe(13, azureFilePersistentVolumeSourceSchema, 'A file share of Azure.'),
  vsphereVolume: maybe(14, vsphereVirtualDiskVolumeSourceSchema, 'A disk of vSphere.'),
  quobyte: maybe(15, quobyteVolumeSourceSchema, 'A Quobyte volume.'),
  azureDisk: maybe(16, azureDiskVolumeSourceSchema, 'A disk of Azure.'),
  photonPersistentDisk: maybe(17, photonPersistentDiskVolumeSourceSchema, 'A disk of a Photon controller.'),
  portworxVolume: maybe(18, portworxVolumeSourceSchema, 'A Portworx volume.'),
  scaleIO: maybe(19, scaleIOPersistentVolumeSourceSchema, 'A ScaleIO volume.'),
  local: maybe(20, localVolumeSourceSchema, 'Local storage of one node.'),
  storageos: maybe(21, storageOSPersistentVolumeSourceSchema, 'A StorageOS volume.'),
  csi: maybe(22, csiPersistentVolumeSourceSchema, 'A CSI volume.'),
}

export const persistentVolumeSourceSchema = struct(
  'core.v1.PersistentVolumeSource',
  'Source of a volume; exactly one member is set.',
  sources,
)

/** The names of all volume sources. */
export const persistentVolumeSources: readonly string[] = Object.keys(sources)

const volumeNodeAffinitySchema = struct(
  'core.v1.VolumeNodeAffinity',
  'Nodes with access to a volume.',
  { required: maybe(1, nodeSelectorSchema, 'Required node selector.') },
  {
    check: (affinity, at, found) => {
      if (!Object.hasOwn(affinity, 'required'))
        found.add(required(fieldAt(at, 'required'), 'must specify required node constraints'))
    },
  },
)

const specSchema = struct(
  'core.v1.PersistentVolumeSpec',
  'Source and properties of a volume.',
  {
    capacity: quantities(1, 'Capacity of the volume.'),
    accessModes: accessModes(3, 'Access modes of the volume:'),
    claimRef: maybe(4, objectReferenceSchema, 'Claim that the volume is reserved for or bound to.'),
    persistentVolumeReclaimPolicy: text(
      5,
      'What happens to the volume after its claim is deleted: Retain, Delete or Recycle (deprecated).',
      { enum: ['Delete', 'Recycle', 'Retain'], default: 'Retain' },
    ),
    storageClassName: text(6, 'StorageClass of the volume; empty means none.', {
      rule: checkDns1123Subdomain,
    }),
    mountOptions: texts(7, 'Mount options; validated only when mounting.'),
    volumeMode: volumeMode(8),
    nodeAffinity: maybe(9, volumeNodeAffinitySchema, 'Nodes with access to the volume; all when unset.'),
  },
  { inline: [{ number: 2, schema: persistentVolumeSourceSchema }] },
)

export const persistentVolumeSpecSchema: ObjectSchema = { ...specSchema, check: checkSpec }

/** The spec without a PersistentVolume: for attaching a volume that a Pod declares inline. */
export const inlineVolumeSpecSchema: ObjectSchema = { ...specSchema, check: checkInlineSpec }

/** @source core `pkg/apis/core/validation`, ValidatePersistentVolumeSpec */
function checkSpec(spec: JsonObject, at: Path | null, found: Findings): void {
  checkAccessModes(spec, at, found)
  checkCapacity(spec, at, found)
  exactlyOne(spec, at, persistentVolumeSources, 'volume', found)
  if (Object.hasOwn(spec, 'local') && !Object.hasOwn(spec, 'nodeAffinity')) {
    found.add(required(fieldAt(at, 'nodeAffinity'), 'Local volume requires node affinity'))
  }
  const policy = textMember(spec, 'persistentVolumeReclaimPolicy')
  if (policy === 'Recycle' && isRoot(textMember(objectMember(spec, 'hostPath'), 'path'))) {
    const words = "may not be 'recycle' for a hostPath mount of '/'"
    found.add(fieldForbidden(fieldAt(at, 'persistentVolumeReclaimPolicy'), words))
  }
}

function checkCapacity(spec: JsonObject, at: Path | null, found: Findings): void {
  const capacity = objectMember(spec, 'capacity')
  const field = fieldAt(at, 'capacity')
  const resources = Object.keys(capacity)
  if (resources.length === 0) {
    found.add(required(field))
    return
  }
  for (const name of resources) checkPositive(textMember(capacity, name), keyPath(field, name), found)
  if (resources.length === 1 && resources[0] === 'storage') return
  found.add(notSupported(field, capacity, ['storage']))
}

function isRoot(path: string): boolean {
  return path !== '' && path.split('/').every((step) => step === '' || step === '.')
}

const INLINE = 'in the context of inline volumes'

/** @source core `pkg/apis/core/validation`, ValidatePersistentVolumeSpec of inline specs */
function checkInlineSpec(spec: JsonObject, at: Path | null, found: Findings): void {
  checkAccessModes(spec, at, found)
  exactlyOne(spec, at, persistentVolumeSources, 'volume', found)
  for (const name of ['claimRef', 'capacity', 'nodeAffinity', 'storageClassName']) {
    const value = memberOf(spec, name)
    if (value === undefined || value === '' || Object.keys(value ?? {}).length === 0) continue
    found.add(fieldForbidden(fieldAt(at, name), `may not be specified ${INLINE}`))
  }
  if (!Object.hasOwn(spec, 'csi')) {
    found.add(required(fieldAt(at, 'csi'), `has to be specified ${INLINE}`))
  }
  if (textMember(spec, 'persistentVolumeReclaimPolicy') !== 'Retain') {
    const field = fieldAt(at, 'persistentVolumeReclaimPolicy')
    found.add(fieldForbidden(field, `may only be Retain ${INLINE}`))
  }
  if (textMember(spec, 'volumeMode') !== 'Filesystem') {
    const words = `may not specify volumeMode other than Filesystem ${INLINE}`
    found.add(fieldForbidden(fieldAt(at, 'volumeMode'), words))
  }
}
