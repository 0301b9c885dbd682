import type { Findings } from '../api/errors/findings.ts'
import { fieldForbidden, invalid, keyPath } from '../api/errors/field-error.ts'
import type { JsonObject, JsonObjectDraft } from '../api/json.ts'
import { memberOf, objectMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { listOf, part, quantities, struct, text, time } from '../api/schema/build.ts'
import { equalUnder } from '../api/schema/equal.ts'
import { compareQuantities, parseQuantity } from '../api/schema/quantity.ts'
import { ageColumn, cellAt, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkNoneNegative } from './common/amounts.ts'
import { withoutDisabled } from './common/disabled-members.ts'
import { persistentVolumeClaimSpecSchema } from './volumes/persistent-volume-claim-spec.ts'
import { selectableName } from './common/selectable-name.ts'
import { textColumn } from './common/text-column.ts'
import { keeping, statusSubresource } from './common/status-subresource.ts'
import {
  classAnnotation,
  shortAccessModes,
  shownPhase,
  storageAmount,
  storageClassOf,
  volumeModeColumn,
} from './volumes/volume-cells.ts'
import { accessModes } from './volumes/volume-modes.ts'

/** A request for a volume, which it is bound to. @source spec 2.6 */
export function persistentVolumeClaimDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'PersistentVolumeClaim',
    plural: 'persistentvolumeclaims',
    singular: 'persistentvolumeclaim',
    shortNames: ['pvc'],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: claimSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: true,
    selectableFields: [selectableName],
    columns: columnsFor(names),
    hooks: {
      prepareForCreate: (object) => withBothSources({ ...object, status: { phase: 'Pending' } }, null, names),
      prepareForUpdate: (object, current) =>
        withBothSources(keeping(object, current, 'status'), current, names),
      validateUpdate: (object, current, found) => checkUpdate(object, current, names, found),
    },
    subresources: [{ ...statusSubresource(checkStatus), prepareForUpdate: withEnabledStatus }],
  } satisfies ResourceDefinition)
}

const conditionSchema = struct('core.v1.PersistentVolumeClaimCondition', 'A condition of a claim.', {
  type: text(1, 'Type of the condition: Resizing or FileSystemResizePending.', { required: true }),
  status: text(2, 'Status of the condition: True, False or Unknown.', { required: true }),
  lastProbeTime: time(3, 'Time of the last probe.'),
  lastTransitionTime: time(4, 'Time of the last change of the status.'),
  reason: text(5, 'Machine-readable reason; ResizeStarted during a resize.'),
  message: text(6, 'Human-readable message.'),
})

const statusSchema = struct('core.v1.PersistentVolumeClaimStatus', 'Observed state of a claim.', {
  phase: text(1, 'Phase of the claim: Pending, Bound or Lost.', {
    default: 'Pending',
    known: ['Pending', 'Bound', 'Lost'],
  }),
  accessModes: accessModes(2, 'Access modes of the bound volume:'),
  capacity: quantities(3, 'Capacity of the bound volume.'),
  conditions: listOf(4, conditionSchema, 'Conditions of the claim.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
  }),
  allocatedResources: quantities(5, 'Resources allocated to the claim; above capacity during expansion.'),
  resizeStatus: text(6, 'Status of the expansion; empty when none is in progress.', {
    optional: true,
    known: [
      ...['', 'ControllerExpansionInProgress', 'ControllerExpansionFailed'],
      ...['NodeExpansionPending', 'NodeExpansionInProgress', 'NodeExpansionFailed'],
    ],
  }),
})

export const claimSchema = struct('core.v1.PersistentVolumeClaim', 'A request for a volume.', {
  spec: part(2, persistentVolumeClaimSpecSchema, 'The requested volume.'),
  status: part(3, statusSchema, 'Observed state of the claim; updated through the status subresource.'),
})

/**
 * Drops the members of the status whose feature is off, unless the stored claim has them.
 *
 * @source core `pkg/api/persistentvolumeclaim`, DropDisabledFieldsFromStatus
 */
function withEnabledStatus(object: AnyObject, current: AnyObject): AnyObject {
  const [sent, before] = [objectMember(object, 'status'), objectMember(current, 'status')]
  const status = withoutDisabled(sent, before, 'allocatedResources', 'resizeStatus')
  return { ...keeping(object, current, 'spec'), status }
}

function columnsFor(names: Names): readonly Column[] {
  const bound = (object: AnyObject) => cellAt(object, 'spec', 'volumeName') !== ''
  const status = (object: AnyObject) => objectMember(object, 'status')
  return [
    nameColumn,
    textColumn('Status', 'Pending, Bound or Lost; Terminating while it is being deleted.', shownPhase),
    textColumn('Volume', 'The volume it is bound to.', (object) =>
      textMember(objectMember(object, 'spec'), 'volumeName'),
    ),
    textColumn('Capacity', 'Capacity of the volume.', (object) =>
      bound(object) ? storageAmount(objectMember(status(object), 'capacity')) : '',
    ),
    textColumn('Access Modes', 'Access modes of the volume.', (object) =>
      bound(object) ? shortAccessModes(status(object)) : '',
    ),
    textColumn('StorageClass', 'The requested class.', (object) => storageClassOf(object, names)),
    ageColumn,
    volumeModeColumn,
  ]
}

/**
 * Copies `dataSource` to `dataSourceRef` or back, if only one is set. A `dataSource` of a kind that
 * it does not support is dropped, as in older releases, unless the claim had a source before: an
 * update by an old client, which omits `dataSourceRef`, must not change it.
 *
 * @param current null: the claim is new
 */
function withBothSources(object: AnyObject, current: AnyObject | null, names: Names): AnyObject {
  const spec: JsonObjectDraft = { ...objectMember(object, 'spec') }
  const before = current === null ? {} : objectMember(current, 'spec')
  const hadSource = Object.hasOwn(before, 'dataSource') || Object.hasOwn(before, 'dataSourceRef')
  if (!hadSource && !canBeDataSource(objectMember(spec, 'dataSource'), names)) delete spec['dataSource']
  const { dataSource, dataSourceRef } = spec
  if (dataSource !== undefined && dataSourceRef === undefined) spec['dataSourceRef'] = dataSource
  if (dataSource === undefined && dataSourceRef !== undefined) spec['dataSource'] = dataSourceRef
  return { ...object, spec }
}

function canBeDataSource(source: JsonObject, names: Names): boolean {
  const group = textMember(source, 'apiGroup')
  const kind = textMember(source, 'kind')
  if (kind === 'PersistentVolumeClaim') return group === ''
  return kind === 'VolumeSnapshot' && group === names.group('snapshot.storage')
}

/**
 * The spec is immutable, except that the volume is set once, that a bound claim may request more
 * storage, and that the class may move from the annotation to `storageClassName`.
 */
function checkUpdate(object: AnyObject, current: AnyObject, names: Names, found: Findings): void {
  const [spec, before] = [objectMember(object, 'spec'), objectMember(current, 'spec')]
  const wanted: JsonObjectDraft = { ...spec }
  if (textMember(before, 'volumeName') === '') delete wanted['volumeName']
  const movesClass = movesClassFromAnnotation(object, current, names)
  if (movesClass) delete wanted['storageClassName']
  else checkClassAnnotation(object, current, names, found)
  const isBound = textMember(objectMember(object, 'status'), 'phase') === 'Bound'
  if (isBound) wanted['resources'] = withStorage(objectMember(spec, 'resources'), storageOf(before))
  if (!equalUnder(persistentVolumeClaimSpecSchema, wanted, before)) {
    const words = 'spec is immutable after creation except resources.requests for bound claims'
    found.add(fieldForbidden('spec', words))
  }
  if (isLess(storageOf(spec), storageOf(before))) {
    const words = 'field can not be less than previous value'
    found.add(fieldForbidden('spec.resources.requests.storage', words))
  }
}

function storageOf(spec: JsonObject): string {
  return textMember(objectMember(objectMember(spec, 'resources'), 'requests'), 'storage')
}

/** @param storage '' if unset */
function withStorage(resources: JsonObject, storage: string): JsonObject {
  const requests = { ...objectMember(resources, 'requests'), ...(storage === '' ? {} : { storage }) }
  return { ...resources, requests }
}

function isLess(amount: string, than: string): boolean {
  const [a, b] = [parseQuantity(amount), parseQuantity(than)]
  return a !== null && b !== null && compareQuantities(a, b) < 0
}

/**
 * Returns whether an update moves the class name of an old claim from the annotation to the member.
 */
function movesClassFromAnnotation(object: AnyObject, current: AnyObject, names: Names): boolean {
  const key = classAnnotation(names)
  const named = memberOf(objectMember(object, 'spec'), 'storageClassName')
  if (memberOf(objectMember(current, 'spec'), 'storageClassName') !== undefined) return false
  const [old, now] = [current.metadata.annotations?.[key], object.metadata.annotations?.[key]]
  return old !== undefined && named === old && (now === undefined || now === old)
}

function checkClassAnnotation(object: AnyObject, current: AnyObject, names: Names, found: Findings): void {
  const key = classAnnotation(names)
  const now = object.metadata.annotations?.[key] ?? ''
  if (now === (current.metadata.annotations?.[key] ?? '')) return
  found.add(invalid(keyPath('metadata.annotations', key), now, 'field is immutable'))
}

function checkStatus(object: AnyObject, found: Findings): void {
  const capacity = objectMember(objectMember(object, 'status'), 'capacity')
  checkNoneNegative(capacity, 'status.capacity', found)
}
