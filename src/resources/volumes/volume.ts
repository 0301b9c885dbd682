import type { Findings } from '../../api/errors/findings.ts'
import { duplicate, fieldForbidden, invalid, keyPath } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { objectMember, textMember } from '../../api/json.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import type { Names } from '../../api/metadata/names.ts'
import { maybe, quantity, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { parseQuantity } from '../../api/schema/quantity.ts'
import { ephemeralVolumeSourceSchema } from './ephemeral-volume.ts'
import { checkDescendingPath } from './file-path.ts'
import { exactlyOne, membersSet } from '../common/one-of.ts'
import { csiVolumeSourceSchema } from './volume-csi.ts'
import {
  awsElasticBlockStoreVolumeSourceSchema,
  azureDiskVolumeSourceSchema,
  gcePersistentDiskVolumeSourceSchema,
  photonPersistentDiskVolumeSourceSchema,
  portworxVolumeSourceSchema,
  vsphereVirtualDiskVolumeSourceSchema,
} from './volume-disks.ts'
import {
  configMapVolumeSourceSchema,
  downwardAPIVolumeSourceSchema,
  projectedVolumeSourceSchema,
  secretVolumeSourceSchema,
} from './volume-files.ts'
import { readOnly } from './volume-fields.ts'
import {
  azureFileVolumeSourceSchema,
  glusterfsVolumeSourceSchema,
  storageOSVolumeSourceSchema,
} from './volume-network.ts'
import {
  fcVolumeSourceSchema,
  flockerVolumeSourceSchema,
  hostPathVolumeSourceSchema,
  nfsVolumeSourceSchema,
  quobyteVolumeSourceSchema,
} from './volume-shares.ts'
import {
  cephFSVolumeSourceSchema,
  cinderVolumeSourceSchema,
  flexVolumeSourceSchema,
  iscsiVolumeSourceSchema,
  rbdVolumeSourceSchema,
  scaleIOVolumeSourceSchema,
} from './volume-storage.ts'

/** Volumes of a Pod. @source spec 2.5 */

const persistentVolumeClaimVolumeSourceSchema = struct(
  'core.v1.PersistentVolumeClaimVolumeSource',
  'Mounts the volume of a claim.',
  {
    claimName: text(1, 'Name of the claim in the namespace of the Pod.', { required: true }),
    readOnly: readOnly(2),
  },
)

const emptyDirVolumeSourceSchema = struct(
  'core.v1.EmptyDirVolumeSource',
  'An initially empty directory on the node that is deleted with the Pod.',
  {
    medium: text(1, "Storage medium: Memory, HugePages, HugePages-<size>, or empty for the node's disk."),
    sizeLimit: quantity(2, 'Size limit; unlimited when unset.', { optional: true }),
  },
  { check: checkEmptyDir },
)

const gitRepoVolumeSourceSchema = struct(
  'core.v1.GitRepoVolumeSource',
  'Deprecated. The files of a git repository.',
  {
    repository: text(1, 'URL of the repository.', { required: true }),
    revision: text(2, 'Commit to check out.'),
    directory: text(3, 'Relative target directory in the volume, without `..`.'),
  },
  {
    check: (source, at, found) =>
      checkDescendingPath(textMember(source, 'directory'), fieldAt(at, 'directory'), found),
  },
)

const sources = {
  hostPath: maybe(1, hostPathVolumeSourceSchema, 'A file or a directory of the node.'),
  emptyDir: maybe(2, emptyDirVolumeSourceSchema, 'A temporary directory that is deleted with the Pod.'),
  gcePersistentDisk: maybe(3, gcePersistentDiskVolumeSourceSchema, 'A disk of Google Compute Engine.'),
  awsElasticBlockStore: maybe(4, awsElasticBlockStoreVolumeSourceSchema, 'A disk of AWS.'),
  gitRepo: maybe(5, gitRepoVolumeSourceSchema, 'Deprecated. The files of a git repository.'),
  secret: maybe(6, secretVolumeSourceSchema, 'The keys of a Secret as files.'),
  nfs: maybe(7, nfsVolumeSourceSchema, 'A directory that an NFS server exports.'),
  iscsi: maybe(8, iscsiVolumeSourceSchema, 'An iSCSI disk.'),
  glusterfs: maybe(9, glusterfsVolumeSourceSchema, 'A Gluster volume.'),
  persistentVolumeClaim: maybe(10, persistentVolumeClaimVolumeSourceSchema, 'The volume of a claim.'),
  rbd: maybe(11, rbdVolumeSourceSchema, 'A Rados block device.'),
  flexVolume: maybe(12, flexVolumeSourceSchema, 'A volume of a FlexVolume driver.'),
  cinder: maybe(13, cinderVolumeSourceSchema, 'A Cinder volume of OpenStack.'),
  cephfs: maybe(14, cephFSVolumeSourceSchema, 'A directory of a Ceph file system.'),
  flocker: maybe(15, flockerVolumeSourceSchema, 'A data set of Flocker.'),
  downwardAPI: maybe(16, downwardAPIVolumeSourceSchema, 'Fields of the Pod as files.'),
  fc: maybe(17, fcVolumeSourceSchema, 'A Fibre Channel disk.'),
  azureFile: maybe(18, azureFileVolumeSourceSchema, 'A file share of Azure.'),
  configMap: maybe(19, configMapVolumeSourceSchema, 'The keys of a ConfigMap as files.'),
  vsphereVolume: maybe(20, vsphereVirtualDiskVolumeSourceSchema, 'A disk of vSphere.'),
  quobyte: maybe(21, quobyteVolumeSourceSchema, 'A Quobyte volume.'),
  azureDisk: maybe(22, azureDiskVolumeSourceSchema, 'A disk of Azure.'),
  photonPersistentDisk: maybe(23, photonPersistentDiskVolumeSourceSchema, 'A disk of a Photon controller.'),
  portworxVolume: maybe(24, portworxVolumeSourceSchema, 'A Portworx volume.'),
  scaleIO: maybe(25, scaleIOVolumeSourceSchema, 'A ScaleIO volume.'),
  projected: maybe(26, projectedVolumeSourceSchema, 'Several sources combined in one volume.'),
  storageos: maybe(27, storageOSVolumeSourceSchema, 'A StorageOS volume.'),
  csi: maybe(28, csiVolumeSourceSchema, 'An inline CSI volume.'),
  ephemeral: maybe(29, ephemeralVolumeSourceSchema, 'A volume with a claim that is deleted with the Pod.'),
}

const volumeSourceSchema = struct('core.v1.VolumeSource', 'Source of a volume.', sources)

/** The names of all volume sources. As upstream, a source besides `emptyDir` is the one refused. */
export const volumeSources: readonly string[] = [...new Set(['emptyDir', ...Object.keys(sources)])]

export const volumeSchema = struct(
  'core.v1.Volume',
  'A volume that containers of the Pod can mount.',
  {
    name: text(1, 'Name of the volume: a DNS label, unique in the Pod.', {
      required: true,
      rule: checkDns1123Label,
    }),
  },
  {
    inline: [{ number: 2, schema: volumeSourceSchema }],
    check: (volume, at, found) => exactlyOne(volume, at, volumeSources, 'volume', found),
  },
)

/** A volume without a source becomes an emptyDir. @source core `pkg/apis/core/v1/defaults.go` */
export function withVolumeSource(volume: JsonObject): JsonObject {
  return membersSet(volume, volumeSources).length > 0 ? volume : { ...volume, emptyDir: {} }
}

/** The Pod that declares the volumes. */
export type VolumeOwner = {
  readonly names: Names
  /** '' if it has no name yet, as in a template. */
  readonly podName: string
}

/**
 * Validates the rules of volumes that their schema cannot express: names are unique, claims made
 * for the Pod have valid names, and drivers do not get reserved options.
 *
 * @param path of the list: `spec.volumes`
 */
export function checkVolumes(
  volumes: readonly JsonObject[],
  path: string,
  { names, podName }: VolumeOwner,
  found: Findings,
): void {
  const seen = new Set<string>()
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`
    const name = textMember(volume, 'name')
    if (seen.has(name)) found.add(duplicate(`${at}.name`, name))
    seen.add(name)
    checkFlexOptions(objectMember(volume, 'flexVolume'), `${at}.flexVolume`, names, found)
    if (name === '' || podName === '' || !Object.hasOwn(volume, 'ephemeral')) continue
    const claim = `${podName}-${name}`
    for (const words of checkDns1123Subdomain(claim)) {
      found.add(invalid(`${at}.name`, name, `PVC name ${JSON.stringify(claim)}: ${words}`))
    }
  }
}

/** Keys under the domains of the platform are reserved. @param field path of the source */
export function checkFlexOptions(source: JsonObject, field: string, names: Names, found: Findings): void {
  const reserved = [names.domain, names.label('').slice(0, -1)]
  const isReserved = (key: string): boolean => {
    const slash = key.indexOf('/')
    const space = `.${(slash < 0 ? key : key.slice(0, slash)).toLowerCase()}`
    return reserved.some((domain) => space.endsWith(`.${domain}`))
  }
  const keys = Object.keys(objectMember(source, 'options')).filter(isReserved)
  const words = `${[...new Set(reserved)].join(' and ')} namespaces are reserved`
  for (const key of keys) found.add(invalid(keyPath(`${field}.options`, key), key, words))
}

function checkEmptyDir(source: JsonObject, at: Path | null, found: Findings): void {
  const limit = parseQuantity(textMember(source, 'sizeLimit'))
  if (limit === null || limit.nanos >= 0n) return
  found.add(fieldForbidden(fieldAt(at, 'sizeLimit'), 'SizeLimit field must be a valid resource quantity'))
}
