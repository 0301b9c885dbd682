import type { Findings } from '../api/errors/findings.ts'
import { fieldForbidden, required, tooLong } from '../api/errors/field-error.ts'
import { memberOf, objectMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { flag, maybe, part, struct, text, textMap, time } from '../api/schema/build.ts'
import type { Path } from '../api/schema/path.ts'
import { fieldAt, spellPath } from '../api/schema/path.ts'
import { utf8Length } from '../api/utf8.ts'
import { ageColumn, cellAt, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkImmutable } from './common/immutable.ts'
import { inlineVolumeSpecSchema } from './volumes/persistent-volume-spec.ts'
import { keeping, statusWithoutMetadata } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import { checkDriverName } from './volumes/volume-csi.ts'
import { checkFlexOptions } from './volumes/volume.ts'

/** A request to attach a volume to a node. @source spec 2.9 */
export function volumeAttachmentDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('storage'),
    version: 'v1',
    kind: 'VolumeAttachment',
    plural: 'volumeattachments',
    singular: 'volumeattachment',
    shortNames: [],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: attachmentSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: true,
    updateNeedsVersion: true,
    columns,
    hooks: {
      prepareForCreate: (object) => ({ ...object, status: { attached: false } }),
      prepareForUpdate: (object, current) => keeping(object, current, 'status'),
      validate: (object, found) => checkInlineOptions(object, names, found),
      validateUpdate: (object, current, found) =>
        checkImmutable(attachmentSchema, null, { value: object, before: current }, ['spec'], found),
    },
    subresources: [statusWithoutMetadata()],
  } satisfies ResourceDefinition)
}

const ERROR_BYTES_MAX = 1024
/** Limit on keys and values together, in bytes. */
const METADATA_BYTES_MAX = 256 * 1024

const sourceSchema = struct(
  'storage.v1.VolumeAttachmentSource',
  'Volume to attach: a PersistentVolume by name, or an inline volume.',
  {
    persistentVolumeName: text(1, 'Name of the PersistentVolume.', {
      optional: true,
      rule: checkDns1123Subdomain,
    }),
    inlineVolumeSpec: maybe(2, inlineVolumeSpecSchema, 'Inline volume; for migration from in-tree drivers.'),
  },
  { check: checkSource },
)

const specSchema = struct(
  'storage.v1.VolumeAttachmentSpec',
  'The requested attachment.',
  {
    attacher: text(1, 'Name of the CSI driver that attaches the volume.', { required: true }),
    source: part(2, sourceSchema, 'The volume to attach.', { required: true, always: true }),
    nodeName: text(3, 'Name of the node.', { required: true, rule: checkDns1123Subdomain }),
  },
  {
    check: (spec, at, found) => checkDriverName(textMember(spec, 'attacher'), fieldAt(at, 'attacher'), found),
  },
)

const errorSchema = struct('storage.v1.VolumeError', 'An error of a volume operation.', {
  time: time(1, 'Time of the error.'),
  message: text(2, 'Error message; must not contain secrets, because it may be logged.', {
    lengthMax: ERROR_BYTES_MAX,
  }),
})

const statusSchema = struct(
  'storage.v1.VolumeAttachmentStatus',
  'State of the attachment; set by the driver.',
  {
    attached: flag(1, 'Whether the volume is attached; set only by the attacher.', {
      required: true,
      always: true,
    }),
    attachmentMetadata: textMap(2, 'Metadata of the attachment, for later operations.'),
    attachError: maybe(3, errorSchema, 'Last error of attaching.'),
    detachError: maybe(4, errorSchema, 'Last error of detaching.'),
  },
  { check: checkMetadataSize },
)

const attachmentSchema = struct(
  'storage.v1.VolumeAttachment',
  'Requests the attachment of a volume to a node.',
  {
    spec: part(2, specSchema, 'The requested attachment; immutable.', {
      required: true,
      always: true,
    }),
    status: part(3, statusSchema, 'State of the attachment; set by the driver.'),
  },
)

const columns: readonly Column[] = [
  nameColumn,
  {
    name: 'Attacher',
    type: 'string',
    format: 'name',
    description: 'Name of the driver that attaches the volume.',
    cell: (object) => cellAt(object, 'spec', 'attacher'),
  },
  textColumn('PV', 'Name of the PersistentVolume; empty for an inline volume.', (object) =>
    textMember(objectMember(objectMember(object, 'spec'), 'source'), 'persistentVolumeName'),
  ),
  textColumn('Node', 'Name of the node.', (object) => textMember(objectMember(object, 'spec'), 'nodeName')),
  {
    name: 'Attached',
    type: 'boolean',
    description: 'Whether the volume is attached.',
    cell: (object) => memberOf(objectMember(object, 'status'), 'attached') === true,
  },
  ageColumn,
]

function checkSource(source: JsonObject, at: Path | null, found: Findings): void {
  const isNamed = Object.hasOwn(source, 'persistentVolumeName')
  const isInline = Object.hasOwn(source, 'inlineVolumeSpec')
  const words = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName'
  if (!isNamed && !isInline) {
    found.add(required(spellPath(at), words))
    return
  }
  if (isNamed && isInline) {
    found.add(fieldForbidden(spellPath(at), words))
    return
  }
  if (!isNamed || textMember(source, 'persistentVolumeName') !== '') return
  found.add(required(fieldAt(at, 'persistentVolumeName'), 'must specify non empty persistentVolumeName'))
}

function checkMetadataSize(status: JsonObject, at: Path | null, found: Findings): void {
  const metadata = objectMember(status, 'attachmentMetadata')
  let bytes = 0
  for (const key of Object.keys(metadata)) bytes += utf8Length(key) + utf8Length(textMember(metadata, key))
  if (bytes > METADATA_BYTES_MAX) found.add(tooLong(fieldAt(at, 'attachmentMetadata'), METADATA_BYTES_MAX))
}

function checkInlineOptions(object: AnyObject, names: Names, found: Findings): void {
  const inline = objectMember(objectMember(objectMember(object, 'spec'), 'source'), 'inlineVolumeSpec')
  const field = 'spec.source.inlineVolumeSpec.flexVolume'
  checkFlexOptions(objectMember(inline, 'flexVolume'), field, names, found)
}
