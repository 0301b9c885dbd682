import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { memberOf, objectMember, textMember } from '../../api/json.ts'
import type { Field } from '../../api/schema/build.ts'
import { flag, int32, maybe, struct, text, textMap, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, member } from '../../api/schema/path.ts'
import type { ObjectSchema, ShapeCheck } from '../../api/schema/schema.ts'
import { localObjectReferenceSchema } from '../common/local-object-reference.ts'
import { requiredTexts } from '../common/required-texts.ts'
import { secretReferenceSchema } from '../common/secret-reference.ts'
import { fsType, readOnly } from './volume-fields.ts'

/**
 * Network storage with credentials. A Pod references a Secret in its own namespace, a persistent
 * volume also gives the namespace; otherwise both forms are the same.
 *
 * @source spec 2.5, 2.7
 */

const monitors = texts(1, 'Addresses of the Ceph monitors.', { required: true })

export const iscsiVolumeSourceSchema = iscsi('core.v1.ISCSIVolumeSource', localObjectReferenceSchema)
export const iscsiPersistentVolumeSourceSchema = iscsi(
  'core.v1.ISCSIPersistentVolumeSource',
  secretReferenceSchema,
)

export const rbdVolumeSourceSchema = rbd('core.v1.RBDVolumeSource', localObjectReferenceSchema)
export const rbdPersistentVolumeSourceSchema = rbd('core.v1.RBDPersistentVolumeSource', secretReferenceSchema)

export const cephFSVolumeSourceSchema = cephFS('core.v1.CephFSVolumeSource', localObjectReferenceSchema)
export const cephFSPersistentVolumeSourceSchema = cephFS(
  'core.v1.CephFSPersistentVolumeSource',
  secretReferenceSchema,
)

export const cinderVolumeSourceSchema = cinder('core.v1.CinderVolumeSource', localObjectReferenceSchema, [
  'name',
])
export const cinderPersistentVolumeSourceSchema = cinder(
  'core.v1.CinderPersistentVolumeSource',
  secretReferenceSchema,
  ['name', 'namespace'],
)

export const flexVolumeSourceSchema = flex('core.v1.FlexVolumeSource', localObjectReferenceSchema)
export const flexPersistentVolumeSourceSchema = flex(
  'core.v1.FlexPersistentVolumeSource',
  secretReferenceSchema,
)

export const scaleIOVolumeSourceSchema = scaleIO('core.v1.ScaleIOVolumeSource', localObjectReferenceSchema)
export const scaleIOPersistentVolumeSourceSchema = scaleIO(
  'core.v1.ScaleIOPersistentVolumeSource',
  secretReferenceSchema,
)

function iscsi(definition: string, secret: ObjectSchema): ObjectSchema {
  return struct(
    definition,
    'An iSCSI disk.',
    {
      targetPortal: text(1, 'Target portal, as address or address:port.', { required: true }),
      iqn: text(2, 'Name of the target; begins with iqn, eui or naa.', { required: true }),
      lun: int32(3, 'LUN of the disk.', { required: true, minimum: 0, maximum: 255 }),
      iscsiInterface: text(4, 'iSCSI interface of the node.', { default: 'default' }),
      fsType: fsType(5),
      readOnly: readOnly(6),
      portals: texts(7, 'Additional portals of the target, as address or address:port.'),
      chapAuthDiscovery: flag(8, 'Whether discovery uses CHAP authentication.'),
      chapAuthSession: flag(11, 'Whether the session uses CHAP authentication.'),
      secretRef: secretRef(10, secret),
      initiatorName: text(12, 'Initiator name.', { optional: true }),
    },
    { check: checkIscsi },
  )
}

function rbd(definition: string, secret: ObjectSchema): ObjectSchema {
  return struct(definition, 'A Rados block device.', {
    monitors,
    image: text(2, 'Name of the image.', { required: true }),
    fsType: fsType(3),
    pool: text(4, 'Pool of the image.', { default: 'rbd' }),
    user: text(5, 'Ceph user.', { default: 'admin' }),
    keyring: text(6, 'Path of the keyring on the node.', { default: '/etc/ceph/keyring' }),
    secretRef: secretRef(7, secret),
    readOnly: readOnly(8),
  })
}

function cephFS(definition: string, secret: ObjectSchema): ObjectSchema {
  return struct(definition, 'A directory of a Ceph file system.', {
    monitors,
    path: text(2, 'Path in the file system; / when unset.'),
    user: text(3, 'Ceph user; admin when unset.'),
    secretFile: text(4, 'Path of the keyring on the node; /etc/ceph/user.secret when unset.'),
    secretRef: secretRef(5, secret),
    readOnly: readOnly(6),
  })
}

/** @param secretMembers required members of a reference to a Secret */
function cinder(definition: string, secret: ObjectSchema, secretMembers: readonly string[]): ObjectSchema {
  return struct(
    definition,
    'A Cinder volume of OpenStack.',
    {
      volumeID: text(1, 'ID of the volume in Cinder.', { required: true }),
      fsType: fsType(2),
      readOnly: readOnly(3),
      secretRef: secretRef(4, secret),
    },
    { check: secretRequires(secretMembers) },
  )
}

function flex(definition: string, secret: ObjectSchema): ObjectSchema {
  return struct(definition, 'A volume of a FlexVolume driver: a program on the node.', {
    driver: text(1, 'Name of the driver.', { required: true }),
    fsType: text(2, "File system type; the driver's default when unset."),
    secretRef: secretRef(3, secret),
    readOnly: readOnly(4),
    options: textMap(5, 'Options for the driver.'),
  })
}

function scaleIO(definition: string, secret: ObjectSchema): ObjectSchema {
  return struct(
    definition,
    'A ScaleIO volume.',
    {
      gateway: text(1, 'Address of the ScaleIO gateway.', { required: true }),
      system: text(2, 'Name of the system in ScaleIO.', { required: true }),
      secretRef: maybe(3, secret, 'Secret with the user and the password.', { required: true }),
      sslEnabled: flag(4, 'Whether TLS is used for the gateway.'),
      protectionDomain: text(5, 'The protection domain of the volume.'),
      storagePool: text(6, 'The storage pool of the volume.'),
      storageMode: text(7, 'Provisioning mode: ThickProvisioned or ThinProvisioned.', {
        default: 'ThinProvisioned',
      }),
      volumeName: text(8, 'Name of the volume.'),
      fsType: text(9, 'File system type.', { default: 'xfs' }),
      readOnly: readOnly(10),
    },
    { check: (source, at, found) => requiredTexts(source, at, ['volumeName'], found) },
  )
}

function secretRef(number: number, secret: ObjectSchema): Field {
  return maybe(number, secret, 'Reference to the Secret with the credentials.')
}

/** @param names required members of a reference to a Secret, if there is one */
export function secretRequires(names: readonly string[]): ShapeCheck {
  return (source, at, found) => {
    if (!Object.hasOwn(source, 'secretRef')) return
    requiredTexts(objectMember(source, 'secretRef'), member(at, 'secretRef'), names, found)
  }
}

/** @source RFC 3720 section 3.2.6.3, as far as upstream checks it */
const TARGET_NAMES = [
  { prefix: 'iqn', form: /^iqn\.[0-9]{4}-[0-9]{2}\.[A-Za-z0-9.-]+(?::[^,;*&$|\s]+)$/ },
  { prefix: 'eui', form: /^eui\.[A-Za-z0-9]{16}$/ },
  { prefix: 'naa', form: /^naa\.[A-Za-z0-9]{32}$/ },
]

function checkTargetName(name: string, field: string, found: Findings): void {
  if (name === '') return
  const kind = TARGET_NAMES.find(({ prefix }) => name.startsWith(prefix))
  if (kind === undefined) {
    found.add(invalid(field, name, 'must be valid format starting with iqn, eui, or naa'))
    return
  }
  if (!kind.form.test(name)) found.add(invalid(field, name, 'must be valid format'))
}

function checkIscsi(source: JsonObject, at: Path | null, found: Findings): void {
  checkTargetName(textMember(source, 'iqn'), fieldAt(at, 'iqn'), found)
  checkTargetName(textMember(source, 'initiatorName'), fieldAt(at, 'initiatorName'), found)
  const usesChap = ['chapAuthDiscovery', 'chapAuthSession'].some((name) => memberOf(source, name) === true)
  if (usesChap && !Object.hasOwn(source, 'secretRef')) found.add(required(fieldAt(at, 'secretRef')))
  secretRequires(['name'])(source, at, found)
}
