import type { Findings } from '../api/errors/findings.ts'
import { equalJson, isJsonObject, memberOf } from '../api/json.ts'
import type { Json, JsonObject } from '../api/json.ts'
import { fieldForbidden, invalid } from '../api/errors/field-error.ts'
import { checkDns1123Label, checkQualifiedName } from '../api/metadata/name-rules.ts'
import type { ObjectMeta } from '../api/metadata/object.ts'
import type { Names } from '../api/metadata/names.ts'
import type { ObjectSchema } from '../api/schema/schema.ts'
import { shortJson } from '../api/errors/short-text.ts'
import { ageColumn, cellAt, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { selectableName } from './common/selectable-name.ts'

/**
 * A scope of names. Deleting a namespace marks it. Once the namespace is empty, its finalizer is
 * removed, and with the finalizer the namespace.
 */
export function namespaceDefinition(names: Names): ResourceDefinition {
  const labelled = (object: AnyObject) => withNameLabel(object, names)
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    singular: 'namespace',
    shortNames: ['ns'],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    schema: namespaceSchema,
    validateName: checkDns1123Label,
    deleteReturnsObject: true,
    isNamespaceKind: true,
    selectableFields: [selectableName, 'status.phase'],
    columns: [nameColumn, phaseColumn, ageColumn],
    hooks: {
      prepareForCreate: (object) => labelled(withFinalizer(withStatus(object, { phase: 'Active' }), names)),
      prepareForUpdate: (object, current) =>
        labelled(withMember(withMember(object, 'spec', current), 'status', current)),
      prepareForDelete: (object) =>
        withoutGracePeriod(withStatus(object, { ...statusOf(object), phase: 'Terminating' })),
      validate: (object, found) => checkFinalizers(object, names, found),
      blocksDeletion: (object) => finalizersOf(object).length > 0,
    },
    subresources: [
      {
        name: 'status',
        verbs: ['get', 'update', 'patch'],
        prepareForUpdate: (object, current) => labelled(withMember(object, 'spec', current)),
        validateUpdate: (object, _current, found) => checkPhase(object, found),
      },
      {
        name: 'finalize',
        verbs: ['update'],
        prepareForUpdate: (object, current) => labelled(withMember(object, 'status', current)),
        validateUpdate: (object, current, found) => {
          checkFinalizers(object, names, found)
          checkNothingAdded(object, current, found)
        },
      },
    ],
  } satisfies ResourceDefinition)
}

const phaseColumn: Column = {
  name: 'Status',
  type: 'string',
  description: 'Phase of the namespace: Active or Terminating.',
  cell: (object) => cellAt(object, 'status', 'phase'),
}

const conditionSchema: ObjectSchema = {
  type: 'object',
  definition: 'core.v1.NamespaceCondition',
  description: 'A condition of a namespace that is being deleted.',
  properties: {
    type: { type: 'string', description: 'Type of the condition.' },
    status: { type: 'string', description: 'Status of the condition: True, False or Unknown.' },
    lastTransitionTime: {
      type: 'string',
      format: 'date-time',
      always: true,
      description: 'Time of the last change of the status.',
    },
    reason: { type: 'string', description: 'Machine-readable reason, in CamelCase.' },
    message: { type: 'string', description: 'Human-readable message.' },
  },
  required: ['type', 'status'],
  protobuf: { type: 1, status: 2, lastTransitionTime: 4, reason: 5, message: 6 },
}

const namespaceSchema: ObjectSchema = {
  type: 'object',
  definition: 'core.v1.Namespace',
  description: 'A namespace: a scope for names of objects.',
  properties: {
    spec: {
      type: 'object',
      definition: 'core.v1.NamespaceSpec',
      description: 'Desired state of the namespace.',
      properties: {
        finalizers: {
          type: 'list',
          items: { type: 'string' },
          description: 'Finalizers that must be removed before the namespace is deleted.',
        },
      },
      protobuf: { finalizers: 1 },
      default: {},
    },
    status: {
      type: 'object',
      definition: 'core.v1.NamespaceStatus',
      description: 'Observed state of the namespace; set by the server.',
      properties: {
        phase: {
          type: 'string',
          enum: ['Active', 'Terminating'],
          description: 'Phase of the namespace: Active or Terminating.',
        },
        conditions: {
          type: 'list',
          items: conditionSchema,
          patchMergeKey: 'type',
          patchStrategy: 'merge',
          description: 'Conditions of the deletion.',
        },
      },
      protobuf: { phase: 1, conditions: 2 },
      default: {},
    },
  },
  protobuf: { spec: 2, status: 3 },
}

/** Selectors identify a namespace by this label, so its value must be the name. */
function withNameLabel(object: AnyObject, names: Names): AnyObject {
  const key = names.label('metadata.name')
  const { name, labels } = object.metadata
  if (name === undefined || labels?.[key] === name) return object
  return { ...object, metadata: { ...object.metadata, labels: { ...labels, [key]: name } } }
}

function withFinalizer(object: AnyObject, names: Names): AnyObject {
  const finalizers = finalizersOf(object)
  if (finalizers.includes(names.namespaceFinalizer)) return object
  return { ...object, spec: { finalizers: [...finalizers, names.namespaceFinalizer] } }
}

/**
 * Unlike for other objects with finalizers, upstream sets no grace period on a namespace that is
 * being deleted.
 */
function withoutGracePeriod(object: AnyObject): AnyObject {
  const metadata: { -readonly [name in keyof ObjectMeta]: ObjectMeta[name] } = { ...object.metadata }
  delete metadata.deletionGracePeriodSeconds
  return { ...object, metadata }
}

function withStatus(object: AnyObject, status: JsonObject): AnyObject {
  return { ...object, status }
}

/** Returns the object with the member of `current`. */
function withMember(object: AnyObject, member: 'spec' | 'status', current: AnyObject): AnyObject {
  const kept = memberOf(current, member)
  return kept === undefined ? object : { ...object, [member]: kept }
}

function statusOf(object: AnyObject): JsonObject {
  const status = memberOf(object, 'status')
  return isJsonObject(status) ? status : {}
}

function finalizersOf(object: AnyObject): readonly string[] {
  const spec = memberOf(object, 'spec')
  const finalizers: Json | undefined = isJsonObject(spec) ? memberOf(spec, 'finalizers') : undefined
  return Array.isArray(finalizers) ? finalizers.map(String) : []
}

function checkFinalizers(object: AnyObject, names: Names, found: Findings): void {
  const field = 'spec.finalizers'
  for (const finalizer of finalizersOf(object)) {
    const wrong = checkQualifiedName(finalizer)
    for (const words of wrong) found.add(invalid(field, finalizer, words))
    if (wrong.length === 0 && !finalizer.includes('/') && finalizer !== names.namespaceFinalizer) {
      const words = 'name is neither a standard finalizer name nor is it fully qualified'
      found.add(invalid(field, finalizer, words))
    }
  }
}

/** While a namespace is being deleted, finalizers can only be removed. */
function checkNothingAdded(object: AnyObject, current: AnyObject, found: Findings): void {
  if (typeof current.metadata.deletionTimestamp !== 'string') return
  const before = new Set(finalizersOf(current))
  const added = finalizersOf(object).filter((finalizer) => !before.has(finalizer))
  if (added.length === 0) return
  const words = `no new finalizers can be added if the object is being deleted: ${shortJson(added, 1024)}`
  found.add(fieldForbidden('spec.finalizers', words))
}

function checkPhase(object: AnyObject, found: Findings): void {
  const phase = memberOf(statusOf(object), 'phase')
  const terminating = typeof object.metadata.deletionTimestamp === 'string'
  const wanted = terminating ? 'Terminating' : 'Active'
  if (phase === undefined || equalJson(phase, wanted)) return
  const words = terminating
    ? 'must be Terminating when `metadata.deletionTimestamp` is not empty'
    : 'must be Active if `metadata.deletionTimestamp` is empty'
  found.add(invalid('status.Phase', phase, words))
}
