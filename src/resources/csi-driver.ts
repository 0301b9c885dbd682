import type { Findings } from '../api/errors/findings.ts'
import { duplicate, invalid, notSupported } from '../api/errors/field-error.ts'
import {
  integerMember,
  isJsonObject,
  memberOf,
  objectMember,
  objectsMember,
  textMember,
  textsMember,
} from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { flag, int64, listOf, part, struct, text, texts } from '../api/schema/build.ts'
import { fieldAt, member } from '../api/schema/path.ts'
import type { Path } from '../api/schema/path.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkImmutable } from './common/immutable.ts'
import { textColumn } from './common/text-column.ts'

/** The properties of a storage driver that the cluster needs. @source spec 2.10 */
export function csiDriverDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('storage'),
    version: 'v1',
    kind: 'CSIDriver',
    plural: 'csidrivers',
    singular: 'csidriver',
    shortNames: [],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: csiDriverSchema,
    validateName,
    deleteReturnsObject: true,
    updateNeedsVersion: true,
    tracksGeneration: true,
    columns,
    hooks: { fillDefaults, validateUpdate: checkUpdate },
    subresources: [],
  } satisfies ResourceDefinition)
}

const NAME_LENGTH_MAX = 63
/** The range of token lifetimes, in seconds. */
const TOKEN_SECONDS_MIN = 10 * 60
const TOKEN_SECONDS_MAX = 2 ** 32
const LIFECYCLE_MODES = ['Ephemeral', 'Persistent']

const tokenRequestSchema = struct(
  'storage.v1.TokenRequest',
  'A service account token of the Pod that is passed to the driver.',
  {
    audience: text(1, 'Audience of the token; this API server when empty.', {
      required: true,
      always: true,
    }),
    expirationSeconds: int64(2, 'Lifetime of the token in seconds, at least 600.', {
      optional: true,
    }),
  },
)

const specSchema = struct(
  'storage.v1.CSIDriverSpec',
  'Capabilities and requirements of a CSI driver.',
  {
    attachRequired: flag(1, 'Whether volumes must be attached to the node before they are mounted.', {
      optional: true,
      default: true,
    }),
    podInfoOnMount: flag(2, 'Whether Pod information is passed to the driver on mount.', {
      optional: true,
      default: false,
    }),
    volumeLifecycleModes: texts(
      3,
      'Supported volume types: Persistent, or Ephemeral for inline volumes of Pods.',
      {
        listType: 'set',
      },
    ),
    storageCapacity: flag(4, 'Whether the driver publishes its storage capacity.', {
      optional: true,
      default: false,
    }),
    fsGroupPolicy: text(
      5,
      'Policy for changing the group of a volume: ReadWriteOnceWithFSType, File or None.',
      {
        optional: true,
        enum: ['File', 'None', 'ReadWriteOnceWithFSType'],
        default: 'ReadWriteOnceWithFSType',
      },
    ),
    tokenRequests: listOf(
      6,
      tokenRequestSchema,
      'Service account tokens that the driver needs for mounting.',
      {
        listType: 'atomic',
      },
    ),
    requiresRepublish: flag(7, 'Whether volumes are republished periodically to refresh their content.', {
      optional: true,
      default: false,
    }),
  },
  { check: checkSpec },
)

const csiDriverSchema = struct('storage.v1.CSIDriver', 'A storage driver that is installed in the cluster.', {
  spec: part(2, specSchema, 'Capabilities and requirements of the driver.', { required: true }),
})

const columns: readonly Column[] = [
  nameColumn,
  flagColumn('AttachRequired', 'Whether volumes are attached before they are mounted.', 'attachRequired'),
  flagColumn('PodInfoOnMount', 'Whether Pod information is passed to the driver on mount.', 'podInfoOnMount'),
  flagColumn('StorageCapacity', 'Whether the driver publishes its storage capacity.', 'storageCapacity'),
  textColumn('TokenRequests', 'Audiences of the tokens that the driver needs.', (object) => {
    const requests = objectsMember(objectMember(object, 'spec'), 'tokenRequests')
    if (requests.length === 0) return '<unset>'
    return requests.map((request) => textMember(request, 'audience')).join(',')
  }),
  flagColumn(
    'RequiresRepublish',
    'Whether mounted volumes are published again periodically.',
    'requiresRepublish',
  ),
  textColumn('Modes', 'Supported volume types.', (object) => {
    const modes = textsMember(objectMember(object, 'spec'), 'volumeLifecycleModes')
    return modes.length === 0 ? '<none>' : modes.join(',')
  }),
  ageColumn,
]

function flagColumn(name: string, description: string, field: string): Column {
  const cell: Column['cell'] = (object) => memberOf(objectMember(object, 'spec'), field) === true
  return { name, type: 'boolean', description, cell }
}

/** Checks the name of the driver. */
function validateName(name: string): readonly string[] {
  const isLong = name.length > NAME_LENGTH_MAX
  const wrong = isLong ? [`must be no more than ${NAME_LENGTH_MAX} characters`] : []
  return [...wrong, ...checkDns1123Subdomain(name)]
}

function fillDefaults(object: AnyObject): AnyObject {
  const spec = memberOf(object, 'spec')
  if (!isJsonObject(spec) || textsMember(spec, 'volumeLifecycleModes').length > 0) return object
  return { ...object, spec: { ...spec, volumeLifecycleModes: ['Persistent'] } }
}

/** @source upstream `pkg/apis/storage/validation`, validateCSIDriverSpec */
function checkSpec(spec: JsonObject, at: Path | null, found: Findings): void {
  const modes = textsMember(spec, 'volumeLifecycleModes')
  for (const mode of modes.filter((mode) => !LIFECYCLE_MODES.includes(mode)))
    found.add(notSupported(fieldAt(at, 'volumeLifecycleModes'), mode, LIFECYCLE_MODES))
  const audiences = new Set<string>()
  for (const [index, request] of objectsMember(spec, 'tokenRequests').entries()) {
    const field = (name: string) => fieldAt(at, 'tokenRequests', index, name)
    const audience = textMember(request, 'audience')
    if (audiences.has(audience)) found.add(duplicate(field('audience'), audience))
    audiences.add(audience)
    const seconds = integerMember(request, 'expirationSeconds')
    if (seconds === null) continue
    const place = field('expirationSeconds')
    if (seconds < TOKEN_SECONDS_MIN) {
      found.add(invalid(place, seconds, 'may not specify a duration less than 10 minutes'))
    } else {
      if (seconds > TOKEN_SECONDS_MAX) {
        found.add(invalid(place, seconds, 'may not specify a duration larger than 2^32 seconds'))
      }
    }
  }
}

/** Fields that running Pods depend on: they determined how the volumes were mounted. */
const FIXED = ['attachRequired', 'fsGroupPolicy', 'podInfoOnMount', 'volumeLifecycleModes']

function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  const value = memberOf(object, 'spec')
  // A missing spec is reported once, not again for each field.
  if (!isJsonObject(value)) return
  const of = { value, before: objectMember(current, 'spec') }
  checkImmutable(specSchema, member(null, 'spec'), of, FIXED, found)
}
