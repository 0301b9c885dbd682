import type { Findings } from '../api/errors/findings.ts'
import { required } from '../api/errors/field-error.ts'
import { memberOf, numberMember, objectMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkNotMore } from './common/status-counts.ts'
import { statusSubresource } from './common/status-subresource.ts'
import { replicaCount } from './common/replica-count.ts'
import { builtInScale } from './scale.ts'
import {
  checkLastingTemplate,
  checkSelector,
  checkSharedDisks,
  containerColumns,
  countColumn,
  fillTemplate,
  labelsOf,
  selectorColumn,
  specOf,
  templateHooks,
  templateOf,
  warningsOfTemplate,
} from './workloads/pod-owner.ts'
import { replicationControllerSchema } from './workloads/replication-controller-schema.ts'

/** A number of equal Pods; the predecessor of ReplicaSet. */
export function replicationControllerDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: '',
    version: 'v1',
    kind: 'ReplicationController',
    plural: 'replicationcontrollers',
    singular: 'replicationcontroller',
    shortNames: ['rc'],
    categories: ['all'],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: replicationControllerSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    defaultPropagation: { policy: 'Orphan' },
    tracksGeneration: true,
    selectableFields: [replicaCount],
    columns: [
      nameColumn,
      countColumn('Desired', 'Desired number of Pods.', 'spec', 'replicas'),
      countColumn('Current', 'Number of Pods.', 'status', 'replicas'),
      countColumn('Ready', 'Number of ready Pods.', 'status', 'readyReplicas'),
      ageColumn,
      ...containerColumns(templateOf),
      selectorColumn(labelsOf),
    ],
    hooks: {
      ...templateHooks(replicationControllerSchema),
      fillDefaults: (object) => fillLabels(fillTemplate(object)),
      validate: (object, found) => {
        checkSpec(object, names, found)
      },
      warnings: warningsOfTemplate(names),
    },
    subresources: [builtInScale(labelsOf), statusSubresource(checkStatus)],
  } satisfies ResourceDefinition)
}

/** The labels of the template are the default of the selector and of the labels of the object. */
function fillLabels(object: AnyObject): AnyObject {
  const labels = objectMember(objectMember(templateOf(object), 'metadata'), 'labels')
  if (Object.keys(labels).length === 0) return object
  const { metadata } = object
  const spec = specOf(object)
  const isSelecting = Object.keys(objectMember(spec, 'selector')).length > 0
  const isLabelled = Object.keys(metadata.labels ?? {}).length > 0
  if (isSelecting && isLabelled) return object
  const texts = Object.fromEntries(
    Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
  return {
    ...object,
    metadata: isLabelled ? metadata : { ...metadata, labels: texts },
    spec: isSelecting ? spec : { ...spec, selector: labels },
  }
}

/** @source core `pkg/apis/core/validation`, ValidateReplicationControllerSpec */
function checkSpec(object: AnyObject, names: Names, found: Findings): void {
  const spec = specOf(object)
  const selector = objectMember(spec, 'selector')
  if (Object.keys(selector).length === 0) found.add(required('spec.selector'))
  if (memberOf(spec, 'template') === undefined) {
    found.add(required('spec.template'))
    return
  }
  if (Object.keys(selector).length > 0) checkSelector(object, { matchLabels: selector }, '', found)
  if ((numberMember(spec, 'replicas') ?? 0) > 1) checkSharedDisks(object, found)
  const deadline = 'activeDeadlineSeconds in ReplicationController is not Supported'
  checkLastingTemplate(object, names, deadline, found)
}

/** @source upstream `pkg/apis/core/validation`, ValidateReplicationControllerStatus */
function checkStatus(object: AnyObject, found: Findings): void {
  const counts = ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas']
  checkNotMore(object, counts, 'replicas', 'status.replicas', found)
  checkNotMore(object, ['availableReplicas'], 'readyReplicas', 'readyReplicas', found)
}
