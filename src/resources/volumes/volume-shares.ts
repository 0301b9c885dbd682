import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import type { JsonObject } from '../../api/json.ts'
import { textMember, textsMember } from '../../api/json.ts'
import { int32, struct, text, texts } from '../../api/schema/build.ts'
import type { Path } from '../../api/schema/path.ts'
import { fieldAt, spellPath } from '../../api/schema/path.ts'
import { checkNoBacksteps } from './file-path.ts'
import { fsType, readOnly } from './volume-fields.ts'

/**
 * Files of the node, and network storage without credentials, with the same schema in pods and
 * persistent volumes.
 *
 * @source spec 2.5
 */

export const hostPathVolumeSourceSchema = struct(
  'core.v1.HostPathVolumeSource',
  'A file or a directory of the node.',
  {
    path: text(1, 'Path on the node.', { required: true }),
    type: text(2, 'Expected type of the path, created if missing for some types; unchecked when empty.', {
      optional: true,
      default: '',
      enum: [
        '',
        'BlockDevice',
        'CharDevice',
        'Directory',
        'DirectoryOrCreate',
        'File',
        'FileOrCreate',
        'Socket',
      ],
    }),
  },
  { check: (source, at, found) => checkNoBacksteps(textMember(source, 'path'), fieldAt(at, 'path'), found) },
)

export const nfsVolumeSourceSchema = struct(
  'core.v1.NFSVolumeSource',
  'A directory that an NFS server exports.',
  {
    server: text(1, 'Host name or address of the server.', { required: true }),
    path: text(2, 'Exported path, absolute.', { required: true }),
    readOnly: readOnly(3),
  },
  {
    check: (source, at, found) => {
      const path = textMember(source, 'path')
      if (path === '' || path.startsWith('/')) return
      found.add(invalid(fieldAt(at, 'path'), path, 'must be an absolute path'))
    },
  },
)

export const fcVolumeSourceSchema = struct(
  'core.v1.FCVolumeSource',
  'A Fibre Channel disk, by target and LUN or by WWIDs.',
  {
    targetWWNs: texts(1, 'WWNs of the targets.'),
    lun: int32(2, 'LUN of the disk.', { optional: true, minimum: 0, maximum: 255 }),
    fsType: fsType(3),
    readOnly: readOnly(4),
    wwids: texts(5, 'WWIDs of the volume.'),
  },
  { check: checkFibreChannel },
)

export const flockerVolumeSourceSchema = struct(
  'core.v1.FlockerVolumeSource',
  'A data set of Flocker, by name or by UUID.',
  {
    datasetName: text(1, 'Name of the data set.'),
    datasetUUID: text(2, 'UUID of the data set.'),
  },
  { check: checkFlocker },
)

export const quobyteVolumeSourceSchema = struct(
  'core.v1.QuobyteVolumeSource',
  'A Quobyte volume.',
  {
    registry: text(1, 'Registries as host:port, separated by commas.', { required: true }),
    volume: text(2, 'Name of the volume.', { required: true }),
    readOnly: readOnly(3),
    user: text(4, 'User to mount the volume as; that of the service account when unset.'),
    group: text(5, 'Group to mount the volume as.'),
    tenant: text(6, 'Tenant that owns the volume.', { lengthMax: 64 }),
  },
  { check: checkQuobyte },
)

function checkFibreChannel(source: JsonObject, at: Path | null, found: Findings): void {
  const targets = textsMember(source, 'targetWWNs')
  const field = fieldAt(at, 'targetWWNs')
  const hasIdentifiers = textsMember(source, 'wwids').length > 0
  if (targets.length === 0) {
    const words = 'must specify either targetWWNs or wwids, but not both'
    if (!hasIdentifiers) found.add(required(field, words))
    return
  }
  if (hasIdentifiers) {
    found.add(invalid(field, targets, 'targetWWNs and wwids can not be specified simultaneously'))
  }
  if (!Object.hasOwn(source, 'lun')) {
    found.add(required(fieldAt(at, 'lun'), 'lun is required if targetWWNs is specified'))
  }
}

function checkFlocker(source: JsonObject, at: Path | null, found: Findings): void {
  const name = textMember(source, 'datasetName')
  const hasIdentity = textMember(source, 'datasetUUID') !== ''
  if (name === '') {
    if (!hasIdentity) found.add(required(spellPath(at), 'one of datasetName and datasetUUID is required'))
    return
  }
  if (hasIdentity) {
    const words = 'can not specify both datasetName and datasetUUID simultaneously'
    found.add(invalid(spellPath(at), 'resource', words))
  }
  if (name.includes('/')) found.add(invalid(fieldAt(at, 'datasetName'), name, "must not contain '/'"))
}

function checkQuobyte(source: JsonObject, at: Path | null, found: Findings): void {
  const registry = textMember(source, 'registry')
  if (registry === '' || registry.split(',').every((pair) => HOST_AND_PORT.test(pair))) return
  const words = 'must be a host:port pair or multiple pairs separated by commas'
  found.add(invalid(fieldAt(at, 'registry'), registry, words))
}

const HOST_AND_PORT = /^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/
