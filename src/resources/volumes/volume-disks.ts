import type { Findings } from '../../api/errors/findings.ts'
import { notSupported } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { textMember } from '../../api/json.ts'
import { flag, int32, struct, text } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt } from '../../api/schema/path.ts'
import { fsType, readOnly } from './volume-fields.ts'

/**
 * Disks of a cloud or a hypervisor, with the same schema in pods and persistent volumes.
 *
 * @source spec 2.5
 */

const partition = int32(3, 'Partition to mount; 0 or unset means the whole disk.', {
  minimum: 0,
  maximum: 255,
})

export const awsElasticBlockStoreVolumeSourceSchema = struct(
  'core.v1.AWSElasticBlockStoreVolumeSource',
  'A disk of AWS.',
  {
    volumeID: text(1, 'ID of the disk at AWS.', { required: true }),
    fsType: fsType(2),
    partition,
    readOnly: readOnly(4),
  },
)

export const gcePersistentDiskVolumeSourceSchema = struct(
  'core.v1.GCEPersistentDiskVolumeSource',
  'A disk of Google Compute Engine.',
  {
    pdName: text(1, 'Name of the disk at Google Compute Engine.', { required: true }),
    fsType: fsType(2),
    partition,
    readOnly: readOnly(4),
  },
)

export const photonPersistentDiskVolumeSourceSchema = struct(
  'core.v1.PhotonPersistentDiskVolumeSource',
  'A disk of a Photon controller.',
  { pdID: text(1, 'ID of the disk at the controller.', { required: true }), fsType: fsType(2) },
)

export const portworxVolumeSourceSchema = struct('core.v1.PortworxVolumeSource', 'A Portworx volume.', {
  volumeID: text(1, 'ID of the volume.', { required: true }),
  fsType: fsType(2),
  readOnly: readOnly(3),
})

export const vsphereVirtualDiskVolumeSourceSchema = struct(
  'core.v1.VsphereVirtualDiskVolumeSource',
  'A disk of vSphere.',
  {
    volumePath: text(1, 'Path of the disk file.', { required: true }),
    fsType: fsType(2),
    storagePolicyName: text(3, 'Name of the storage policy.'),
    storagePolicyID: text(4, 'ID of the storage policy.'),
  },
)

export const azureDiskVolumeSourceSchema = struct(
  'core.v1.AzureDiskVolumeSource',
  'A disk of Azure.',
  {
    diskName: text(1, 'Name of the disk.', { required: true }),
    diskURI: text(2, 'URI of the disk: an Azure resource if managed, otherwise a blob.', {
      required: true,
    }),
    cachingMode: text(3, 'Caching mode of the host: None, ReadOnly or ReadWrite.', {
      optional: true,
      enum: ['None', 'ReadOnly', 'ReadWrite'],
      default: 'ReadWrite',
    }),
    fsType: text(4, 'File system type.', { optional: true, default: 'ext4' }),
    readOnly: flag(5, 'Whether the volume is mounted read-only.', { optional: true, default: false }),
    kind: text(6, 'Kind of disk: a blob in a Shared or Dedicated storage account, or Managed.', {
      optional: true,
      enum: ['Dedicated', 'Managed', 'Shared'],
      default: 'Shared',
    }),
  },
  { check: checkAzureDisk },
)

const MANAGED_DISK =
  '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}'
const BLOB_DISK = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd'

/** A managed disk and a blob have different URIs. */
function checkAzureDisk(disk: JsonObject, at: Path | null, found: Findings): void {
  const uri = textMember(disk, 'diskURI')
  const isManaged = textMember(disk, 'kind') === 'Managed'
  if (uri === '' || uri.startsWith(isManaged ? '/subscriptions/' : 'https://')) return
  found.add(notSupported(fieldAt(at, 'diskURI'), uri, [isManaged ? MANAGED_DISK : BLOB_DISK]))
}
