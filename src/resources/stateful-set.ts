import type { Findings } from '../api/errors/findings.ts'
import { fieldForbidden, invalid } from '../api/errors/field-error.ts'
import type { JsonObject } from '../api/json.ts'
import { memberOf, objectMember, textMember, withoutMembers } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { equalUnder } from '../api/schema/equal.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkCollisions, checkNotMore } from './common/status-counts.ts'
import { withoutDisabled } from './common/disabled-members.ts'
import { statusSubresource } from './common/status-subresource.ts'
import { builtInScale } from './scale.ts'
import {
  checkLastingTemplate,
  checkSelector,
  containerColumns,
  fillTemplate,
  readyColumn,
  selectorOf,
  specOf,
  templateHooks,
  templateOf,
  warningsOfTemplate,
} from './workloads/pod-owner.ts'
import { statefulSetSchema, statefulSetSpecSchema } from './workloads/stateful-set-schema.ts'

/** Pods with stable names, and claims of their own. */
export function statefulSetDefinition(names: Names): ResourceDefinition {
  const { prepareForCreate, prepareForUpdate } = templateHooks(statefulSetSchema)
  return Object.freeze({
    group: 'apps',
    version: 'v1',
    kind: 'StatefulSet',
    plural: 'statefulsets',
    singular: 'statefulset',
    shortNames: ['sts'],
    categories: ['all'],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: statefulSetSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    tracksGeneration: true,
    columns,
    hooks: {
      prepareForCreate: (object, writing) => withEnabledSpec(prepareForCreate(object, writing), null),
      prepareForUpdate: (object, current, writing) =>
        withEnabledSpec(prepareForUpdate(object, current, writing), specOf(current)),
      fillDefaults: (object) => fillStrategy(fillTemplate(object)),
      validate: (object, found) => {
        const words = 'empty selector is invalid for statefulset'
        checkSelector(object, memberOf(specOf(object), 'selector'), words, found)
        checkLastingTemplate(object, names, 'activeDeadlineSeconds in StatefulSet is not Supported', found)
        checkOrder(object, found)
        checkStrategy(object, found)
      },
      validateUpdate: checkUpdate,
      warnings: warningsOfTemplate(names),
    },
    subresources: [
      builtInScale(selectorOf),
      {
        ...statusSubresource(),
        validateUpdate: (object, current, found) => {
          checkStatus(object, found)
          checkCollisions(object, current, found)
        },
      },
    ],
  } satisfies ResourceDefinition)
}

const columns: readonly Column[] = [nameColumn, readyColumn, ageColumn, ...containerColumns(templateOf)]

/**
 * Drops members whose features are off, unless the stored object has them.
 *
 * @param before null: the object is new
 * @source upstream `pkg/registry/apps/statefulset`, dropStatefulSetDisabledFields
 */
function withEnabledSpec(object: AnyObject, before: JsonObject | null): AnyObject {
  const spec = withoutDisabled(specOf(object), before, 'persistentVolumeClaimRetentionPolicy')
  const strategy = objectMember(spec, 'updateStrategy')
  const limits = objectMember(strategy, 'rollingUpdate')
  const limitsBefore = objectMember(objectMember(before ?? {}, 'updateStrategy'), 'rollingUpdate')
  const rollingUpdate = withoutDisabled(limits, limitsBefore, 'maxUnavailable')
  if (rollingUpdate === limits) return { ...object, spec }
  return { ...object, spec: { ...spec, updateStrategy: { ...strategy, rollingUpdate } } }
}

function fillStrategy(object: AnyObject): AnyObject {
  const spec = specOf(object)
  const given = objectMember(spec, 'updateStrategy')
  const isUnset = textMember(given, 'type') === ''
  const isRolling = isUnset || textMember(given, 'type') === 'RollingUpdate'
  const limits = memberOf(given, 'rollingUpdate')
  if (!isRolling || (!isUnset && limits === undefined)) return object
  const rollingUpdate = { partition: 0, ...objectMember(given, 'rollingUpdate') }
  return { ...object, spec: { ...spec, updateStrategy: { ...given, type: 'RollingUpdate', rollingUpdate } } }
}

function checkOrder(object: AnyObject, found: Findings): void {
  const policy = textMember(specOf(object), 'podManagementPolicy')
  if (policy === 'OrderedReady' || policy === 'Parallel') return
  found.add(invalid('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'"))
}

/** @source upstream `pkg/apis/apps/validation`, ValidateStatefulSetSpec */
function checkStrategy(object: AnyObject, found: Findings): void {
  const strategy = objectMember(specOf(object), 'updateStrategy')
  const type = textMember(strategy, 'type')
  const limits = memberOf(strategy, 'rollingUpdate')
  if (type === 'OnDelete' && limits !== undefined) {
    const words = "only allowed for updateStrategy 'RollingUpdate'"
    found.add(invalid('spec.updateStrategy.rollingUpdate', limits, words))
  }
  if (type !== 'OnDelete' && type !== 'RollingUpdate')
    found.add(invalid('spec.updateStrategy.type', type, "must be 'RollingUpdate' or 'OnDelete'"))
}

const MUTABLE = [
  ...['replicas', 'template', 'updateStrategy', 'minReadySeconds', 'persistentVolumeClaimRetentionPolicy'],
]
const UPDATE_WORDS =
  "updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', " +
  "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"

/** @source upstream `pkg/apis/apps/validation`, ValidateStatefulSetUpdate */
function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  const fixed = (of: AnyObject): JsonObject => withoutMembers(specOf(of), ...MUTABLE)
  if (equalUnder(statefulSetSpecSchema, fixed(object), fixed(current))) return
  found.add(fieldForbidden('spec', UPDATE_WORDS))
}

/** @source upstream `pkg/apis/apps/validation`, ValidateStatefulSetStatus */
function checkStatus(object: AnyObject, found: Findings): void {
  const counts = ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas']
  checkNotMore(object, counts, 'replicas', 'status.replicas', found)
  checkNotMore(object, ['availableReplicas'], 'readyReplicas', 'status.readyReplicas', found)
}
