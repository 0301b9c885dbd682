import type { Findings } from '../api/errors/findings.ts'
import { memberOf, numberMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { member } from '../api/schema/path.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkImmutable } from './common/immutable.ts'
import { replicaCount } from './common/replica-count.ts'
import { checkNotMore } from './common/status-counts.ts'
import { statusSubresource } from './common/status-subresource.ts'
import { builtInScale } from './scale.ts'
import {
  checkLastingTemplate,
  checkSelector,
  checkSharedDisks,
  containerColumns,
  countColumn,
  fillTemplate,
  selectorColumn,
  selectorOf,
  specOf,
  templateHooks,
  templateOf,
  warningsOfTemplate,
} from './workloads/pod-owner.ts'
import { replicaSetSchema, replicaSetSpecSchema } from './workloads/replica-set-schema.ts'

/** A number of equal Pods. */
export function replicaSetDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: 'apps',
    version: 'v1',
    kind: 'ReplicaSet',
    plural: 'replicasets',
    singular: 'replicaset',
    shortNames: ['rs'],
    categories: ['all'],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: replicaSetSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    tracksGeneration: true,
    selectableFields: [replicaCount],
    columns: [
      nameColumn,
      countColumn('Desired', 'Desired number of Pods.', 'spec', 'replicas'),
      countColumn('Current', 'Number of Pods.', 'status', 'replicas'),
      countColumn('Ready', 'Number of ready Pods.', 'status', 'readyReplicas'),
      ageColumn,
      ...containerColumns(templateOf),
      selectorColumn(selectorOf),
    ],
    hooks: {
      ...templateHooks(replicaSetSchema),
      fillDefaults: fillTemplate,
      validate: (object, found) => {
        checkReplicas(object, names, found)
      },
      validateUpdate: (object, current, found) => {
        const of = { value: specOf(object), before: specOf(current) }
        checkImmutable(replicaSetSpecSchema, member(null, 'spec'), of, ['selector'], found)
      },
      warnings: warningsOfTemplate(names),
    },
    subresources: [builtInScale(selectorOf), statusSubresource(checkStatus)],
  } satisfies ResourceDefinition)
}

/**
 * Checks selector and template, of a ReplicaSet or a Deployment, and that several replicas can
 * share its disks.
 *
 * @source upstream `pkg/apis/apps/validation`, ValidateReplicaSetSpec
 */
export function checkReplicas(object: AnyObject, names: Names, found: Findings): void {
  const spec = specOf(object)
  checkSelector(object, memberOf(spec, 'selector'), 'empty selector is invalid for deployment', found)
  checkLastingTemplate(object, names, 'activeDeadlineSeconds in ReplicaSet is not Supported', found)
  if ((numberMember(spec, 'replicas') ?? 0) > 1) checkSharedDisks(object, found)
}

/** @source upstream `pkg/apis/apps/validation`, ValidateReplicaSetStatus */
function checkStatus(object: AnyObject, found: Findings): void {
  const counts = ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas']
  checkNotMore(object, counts, 'replicas', 'status.replicas', found)
  checkNotMore(object, ['availableReplicas'], 'readyReplicas', 'readyReplicas', found)
}
