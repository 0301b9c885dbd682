import type { Findings } from '../api/errors/findings.ts'
import { fieldForbidden, invalid } from '../api/errors/field-error.ts'
import { goIntOrString } from '../api/errors/go-values.ts'
import { memberOf, numberMember, objectMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { member } from '../api/schema/path.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkImmutable } from './common/immutable.ts'
import { checkIntOrPercent, checkWithinAll, isNone } from './common/int-or-percent.ts'
import { checkCollisions, checkNotMore } from './common/status-counts.ts'
import { statusWithoutLabels } from './common/status-subresource.ts'
import { checkReplicas } from './replica-set.ts'
import { builtInScale } from './scale.ts'
import {
  containerColumns,
  countColumn,
  fillTemplate,
  readyColumn,
  selectorColumn,
  selectorOf,
  specOf,
  templateHooks,
  templateOf,
  warningsOfTemplate,
} from './workloads/pod-owner.ts'
import { deploymentSchema, deploymentSpecSchema } from './workloads/deployment-schema.ts'

/** A number of equal Pods, and how they are replaced when the template changes. */
export function deploymentDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    plural: 'deployments',
    singular: 'deployment',
    shortNames: ['deploy'],
    categories: ['all'],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: deploymentSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    tracksGeneration: true,
    columns,
    hooks: {
      ...templateHooks(deploymentSchema),
      fillDefaults: (object) => fillStrategy(fillTemplate(object)),
      validate: (object, found) => {
        checkReplicas(object, names, found)
        checkStrategy(object, found)
        checkDeadline(object, found)
      },
      validateUpdate: (object, current, found) => {
        const of = { value: specOf(object), before: specOf(current) }
        checkImmutable(deploymentSpecSchema, member(null, 'spec'), of, ['selector'], found)
      },
      warnings: warningsOfTemplate(names),
    },
    subresources: [
      builtInScale(selectorOf),
      {
        ...statusWithoutLabels(),
        validateUpdate: (object, current, found) => {
          checkStatus(object, found)
          checkCollisions(object, current, found)
        },
      },
    ],
  } satisfies ResourceDefinition)
}

const columns: readonly Column[] = [
  nameColumn,
  readyColumn,
  countColumn('Up-to-date', 'Number of Pods of the current template.', 'status', 'updatedReplicas', 'string'),
  countColumn('Available', 'Number of available Pods.', 'status', 'availableReplicas', 'string'),
  ageColumn,
  ...containerColumns(templateOf),
  selectorColumn(selectorOf),
]

/** A rolling update replaces a quarter of the Pods at a time by default. */
function fillStrategy(object: AnyObject): AnyObject {
  const spec = specOf(object)
  const strategy = objectMember(spec, 'strategy')
  if (textMember(strategy, 'type') !== 'RollingUpdate') return object
  const given = objectMember(strategy, 'rollingUpdate')
  if (Object.hasOwn(given, 'maxUnavailable') && Object.hasOwn(given, 'maxSurge')) return object
  const rollingUpdate = { maxUnavailable: '25%', maxSurge: '25%', ...given }
  return { ...object, spec: { ...spec, strategy: { ...strategy, rollingUpdate } } }
}

/** @source upstream `pkg/apis/apps/validation`, ValidateDeploymentStrategy */
function checkStrategy(object: AnyObject, found: Findings): void {
  const at = 'spec.strategy.rollingUpdate'
  const strategy = objectMember(specOf(object), 'strategy')
  if (textMember(strategy, 'type') === 'Recreate') {
    const words = "may not be specified when strategy `type` is 'Recreate'"
    if (Object.hasOwn(strategy, 'rollingUpdate')) found.add(fieldForbidden(at, words))
    return
  }
  if (textMember(strategy, 'type') !== 'RollingUpdate') return
  const limits = objectMember(strategy, 'rollingUpdate')
  const [unavailable, surge] = [memberOf(limits, 'maxUnavailable'), memberOf(limits, 'maxSurge')]
  checkIntOrPercent(unavailable, `${at}.maxUnavailable`, found)
  checkIntOrPercent(surge, `${at}.maxSurge`, found)
  if (isNone(unavailable) && isNone(surge))
    found.add(
      invalid(`${at}.maxUnavailable`, unavailable, 'may not be 0 when `maxSurge` is 0', goIntOrString),
    )
  checkWithinAll(unavailable, `${at}.maxUnavailable`, found)
}

function checkDeadline(object: AnyObject, found: Findings): void {
  const spec = specOf(object)
  const deadline = numberMember(spec, 'progressDeadlineSeconds')
  if (deadline === null || deadline > (numberMember(spec, 'minReadySeconds') ?? 0)) return
  found.add(invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'))
}

/** @source upstream `pkg/apis/apps/validation`, ValidateDeploymentStatus */
function checkStatus(object: AnyObject, found: Findings): void {
  const counts = ['updatedReplicas', 'readyReplicas', 'availableReplicas']
  checkNotMore(object, counts, 'replicas', 'status.replicas', found)
  checkNotMore(object, ['availableReplicas'], 'readyReplicas', 'readyReplicas', found)
}
