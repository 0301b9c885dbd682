import type { Findings } from '../../api/errors/findings.ts'
import { maybe, struct, text } from '../../api/schema/build.ts'
import type { Field } from '../../api/schema/build.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import { memberOf } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import { checkDns1123Label } from '../../api/metadata/name-rules.ts'
import { fieldAt } from '../../api/schema/path.ts'
import type { Path } from '../../api/schema/path.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { localObjectReferenceSchema } from '../common/local-object-reference.ts'
import { objectReferenceSchema } from '../common/object-reference.ts'
import { requiredTexts } from '../common/required-texts.ts'
import { fsType, readOnly } from './volume-fields.ts'
import { secretRequires } from './volume-storage.ts'

/** Network storage with extra fields in its persistent form. @source spec 2.5, 2.7 */

const azureFileMembers = {
  secretName: text(1, 'Secret with the name and the key of the storage account.', { required: true }),
  shareName: text(2, 'Name of the share.', { required: true }),
  readOnly: readOnly(3),
}

export const azureFileVolumeSourceSchema = struct(
  'core.v1.AzureFileVolumeSource',
  'A file share of Azure.',
  azureFileMembers,
)

export const azureFilePersistentVolumeSourceSchema = struct(
  'core.v1.AzureFilePersistentVolumeSource',
  'A file share of Azure.',
  {
    ...azureFileMembers,
    secretNamespace: text(4, "Namespace of the Secret; the claim's when unset.", {
      optional: true,
      always: true,
    }),
  },
  {
    check: (source, at, found) => {
      if (memberIsEmpty(source, 'secretNamespace')) found.add(required(fieldAt(at, 'secretNamespace')))
    },
  },
)

const glusterfsMembers = {
  endpoints: text(1, 'Name of the Endpoints with the addresses of the servers.', { required: true }),
  path: text(2, 'Name of the volume.', { required: true }),
  readOnly: readOnly(3),
}

export const glusterfsVolumeSourceSchema = struct(
  'core.v1.GlusterfsVolumeSource',
  'A Gluster volume.',
  glusterfsMembers,
)

export const glusterfsPersistentVolumeSourceSchema = struct(
  'core.v1.GlusterfsPersistentVolumeSource',
  'A Gluster volume.',
  {
    ...glusterfsMembers,
    endpointsNamespace: text(4, "Namespace of the Endpoints; the claim's when unset.", {
      optional: true,
      rule: checkDns1123Label,
    }),
  },
  {
    check: (source, at, found) => {
      if (!memberIsEmpty(source, 'endpointsNamespace')) return
      found.add(invalid(fieldAt(at, 'endpointsNamespace'), '', 'must be unset, or the name of a namespace'))
    },
  },
)

export const storageOSVolumeSourceSchema = struct(
  'core.v1.StorageOSVolumeSource',
  'A StorageOS volume.',
  storageOSMembers(maybe(5, localObjectReferenceSchema, 'Reference to the Secret with the credentials.')),
  { check: checkStorageOS },
)

export const storageOSPersistentVolumeSourceSchema: ObjectSchema = struct(
  'core.v1.StorageOSPersistentVolumeSource',
  'A StorageOS volume.',
  storageOSMembers(maybe(5, objectReferenceSchema, 'Reference to the Secret with the credentials.')),
  { check: checkStorageOS },
)

function storageOSMembers(secretRef: Field): { readonly [name: string]: Field } {
  return {
    volumeName: text(1, 'Name of the volume, unique in its StorageOS namespace.', {
      rule: checkDns1123Label,
    }),
    volumeNamespace: text(2, "StorageOS namespace; the Pod's namespace when unset.", {
      rule: checkDns1123Label,
    }),
    fsType: fsType(3),
    readOnly: readOnly(4),
    secretRef,
  }
}

function checkStorageOS(source: JsonObject, at: Path | null, found: Findings): void {
  requiredTexts(source, at, ['volumeName'], found)
  secretRequires(['name'])(source, at, found)
}

/** Returns whether a member is empty, which differs from absent and null. */
function memberIsEmpty(source: JsonObject, name: string): boolean {
  return memberOf(source, name) === ''
}
