import type { Findings } from '../api/errors/findings.ts'
import { fieldForbidden } from '../api/errors/field-error.ts'
import { memberOf, objectMember, textMember } from '../api/json.ts'
import type { JsonObject, JsonObjectDraft } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { part, struct, text } from '../api/schema/build.ts'
import { equalUnder } from '../api/schema/equal.ts'
import { member } from '../api/schema/path.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { selectableName } from './common/selectable-name.ts'
import { checkImmutable } from './common/immutable.ts'
import { persistentVolumeSourceSchema, persistentVolumeSpecSchema } from './volumes/persistent-volume-spec.ts'
import { keeping, statusSubresource } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import {
  shortAccessModes,
  shownPhase,
  storageAmount,
  storageClassOf,
  volumeModeColumn,
} from './volumes/volume-cells.ts'
import { checkFlexOptions } from './volumes/volume.ts'

/**
 * A storage volume of the cluster, created by an administrator or by a provisioner, that a claim
 * can be bound to.
 *
 * @source spec 2.7
 */
export function persistentVolumeDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'PersistentVolume',
    plural: 'persistentvolumes',
    singular: 'persistentvolume',
    shortNames: ['pv'],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: volumeSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: true,
    selectableFields: [selectableName],
    columns: columnsFor(names),
    hooks: {
      prepareForCreate: (object) => ({ ...object, status: { phase: 'Pending' } }),
      prepareForUpdate: (object, current) => keeping(object, current, 'status'),
      validate: (object, found) =>
        checkFlexOptions(
          objectMember(objectMember(object, 'spec'), 'flexVolume'),
          'spec.flexVolume',
          names,
          found,
        ),
      validateUpdate: checkUpdate,
    },
    subresources: [statusSubresource()],
  } satisfies ResourceDefinition)
}

const statusSchema = struct('core.v1.PersistentVolumeStatus', 'Observed state of a volume.', {
  phase: text(1, 'Phase of the volume: Pending, Available, Bound, Released or Failed.', {
    default: 'Pending',
    known: ['Pending', 'Available', 'Bound', 'Released', 'Failed'],
  }),
  message: text(2, 'Human-readable message.'),
  reason: text(3, 'Machine-readable reason, in CamelCase.'),
})

const volumeSchema = struct(
  'core.v1.PersistentVolume',
  'A storage volume of the cluster that can be bound to a claim.',
  {
    spec: part(2, persistentVolumeSpecSchema, 'Source and properties of the volume.'),
    status: part(3, statusSchema, 'Observed state of the volume; updated through the status subresource.'),
  },
)

function columnsFor(names: Names): readonly Column[] {
  const spec = (object: AnyObject) => objectMember(object, 'spec')
  return [
    nameColumn,
    textColumn('Capacity', 'Capacity of the volume.', (object) =>
      storageAmount(objectMember(spec(object), 'capacity')),
    ),
    textColumn('Access Modes', 'Access modes of the volume.', (object) => shortAccessModes(spec(object))),
    textColumn('Reclaim Policy', 'What happens after its claim is deleted.', (object) =>
      textMember(spec(object), 'persistentVolumeReclaimPolicy'),
    ),
    textColumn('Status', 'Its phase; Terminating while it is being deleted.', shownPhase),
    textColumn('Claim', 'The claim that it is reserved for or bound to.', (object) => claimOf(spec(object))),
    textColumn('StorageClass', 'The class that it belongs to.', (object) => storageClassOf(object, names)),
    textColumn('Reason', 'Why it is in its phase.', (object) =>
      textMember(objectMember(object, 'status'), 'reason'),
    ),
    ageColumn,
    volumeModeColumn,
  ]
}

function claimOf(spec: JsonObject): string {
  if (!Object.hasOwn(spec, 'claimRef')) return ''
  const claim = objectMember(spec, 'claimRef')
  return `${textMember(claim, 'namespace')}/${textMember(claim, 'name')}`
}

/**
 * The source and the mode are immutable, except that a source may get a Secret. The node affinity
 * can be set once.
 * @source core `pkg/apis/core/validation`, ValidatePersistentVolumeUpdate
 */
function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  const [spec, before] = [objectMember(object, 'spec'), objectMember(current, 'spec')]
  if (!equalUnder(persistentVolumeSourceSchema, withoutNewSecret(spec, before), before)) {
    const words = 'spec.persistentvolumesource is immutable after creation'
    found.add(fieldForbidden('spec.persistentvolumesource', words))
  }
  const fixed = ['volumeMode', ...(Object.hasOwn(before, 'nodeAffinity') ? ['nodeAffinity'] : [])]
  const of = { value: spec, before }
  checkImmutable(persistentVolumeSpecSchema, member(null, 'spec'), of, fixed, found)
}

/** The Secret for expanding a volume may be added later, once. */
function withoutNewSecret(spec: JsonObject, before: JsonObject): JsonObject {
  const there = 'controllerExpandSecretRef'
  const [csi, csiBefore] = [memberOf(spec, 'csi'), memberOf(before, 'csi')]
  if (csi === undefined || csiBefore === undefined) return spec
  if (Object.hasOwn(objectMember(before, 'csi'), there)) return spec
  const rest: JsonObjectDraft = { ...objectMember(spec, 'csi') }
  delete rest[there]
  return { ...spec, csi: rest }
}
