import type { Findings } from '../api/errors/findings.ts'
import { invalid, required } from '../api/errors/field-error.ts'
import { goIntOrString } from '../api/errors/go-values.ts'
import { memberOf, objectMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { member } from '../api/schema/path.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkImmutable } from './common/immutable.ts'
import { checkIntOrPercent, checkWithinAll, isNone } from './common/int-or-percent.ts'
import { labelsText } from './common/selector.ts'
import { checkCollisions } from './common/status-counts.ts'
import { statusSubresource } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import { daemonSetSchema, daemonSetSpecSchema } from './workloads/daemon-set-schema.ts'
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
import {
  withFirstTemplateGeneration,
  withNextTemplateGeneration,
  withSameTemplateGeneration,
} from './workloads/template-generation.ts'

/** A Pod on each node, or on those that the template selects. */
export function daemonSetDefinition(names: Names): ResourceDefinition {
  const { prepareForCreate, prepareForUpdate } = templateHooks(daemonSetSchema)
  const status = statusSubresource()
  return Object.freeze({
    group: 'apps',
    version: 'v1',
    kind: 'DaemonSet',
    plural: 'daemonsets',
    singular: 'daemonset',
    shortNames: ['ds'],
    categories: ['all'],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: daemonSetSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    tracksGeneration: true,
    columns,
    hooks: {
      prepareForCreate: (object, writing) => withFirstTemplateGeneration(prepareForCreate(object, writing)),
      prepareForUpdate: (object, current, writing) =>
        withNextTemplateGeneration(prepareForUpdate(object, current, writing), current),
      fillDefaults: (object) => fillStrategy(fillTemplate(object)),
      validate: (object, found) => {
        const words = 'empty selector is invalid for daemonset'
        checkSelector(object, memberOf(specOf(object), 'selector'), words, found)
        checkLastingTemplate(object, names, 'must not be specified', found)
        checkSharedDisks(object, found)
        checkStrategy(object, found)
      },
      validateUpdate: (object, current, found) => {
        const of = { value: specOf(object), before: specOf(current) }
        checkImmutable(daemonSetSpecSchema, member(null, 'spec'), of, ['selector'], found)
      },
      warnings: warningsOfTemplate(names),
    },
    subresources: [
      {
        ...status,
        prepareForUpdate: (object, current, writing) =>
          withSameTemplateGeneration(status.prepareForUpdate(object, current, writing), current),
        validateUpdate: checkCollisions,
      },
    ],
  } satisfies ResourceDefinition)
}

const columns: readonly Column[] = [
  nameColumn,
  countColumn('Desired', 'Number of nodes that should run a Pod.', 'status', 'desiredNumberScheduled'),
  countColumn('Current', 'Number of nodes that run a Pod and should.', 'status', 'currentNumberScheduled'),
  countColumn('Ready', 'Number of nodes with a ready Pod.', 'status', 'numberReady'),
  countColumn('Up-to-date', 'Number of Pods of the current template.', 'status', 'updatedNumberScheduled'),
  countColumn('Available', 'Number of nodes with an available Pod.', 'status', 'numberAvailable'),
  textColumn('Node Selector', 'Labels of the nodes.', (object) => {
    const text = labelsText(objectMember(objectMember(templateOf(object), 'spec'), 'nodeSelector'))
    return text === '' ? '<none>' : text
  }),
  ageColumn,
  ...containerColumns(templateOf),
  selectorColumn(selectorOf),
]

/** A rolling update replaces one Pod at a time by default. */
function fillStrategy(object: AnyObject): AnyObject {
  const spec = specOf(object)
  const updateStrategy = objectMember(spec, 'updateStrategy')
  if (textMember(updateStrategy, 'type') !== 'RollingUpdate') return object
  const given = objectMember(updateStrategy, 'rollingUpdate')
  if (Object.hasOwn(given, 'maxUnavailable') && Object.hasOwn(given, 'maxSurge')) return object
  const rollingUpdate = { maxUnavailable: 1, maxSurge: 0, ...given }
  return { ...object, spec: { ...spec, updateStrategy: { ...updateStrategy, rollingUpdate } } }
}

/** @source upstream `pkg/apis/apps/validation`, ValidateRollingUpdateDaemonSet */
function checkStrategy(object: AnyObject, found: Findings): void {
  const at = 'spec.updateStrategy.rollingUpdate'
  const strategy = objectMember(specOf(object), 'updateStrategy')
  if (textMember(strategy, 'type') !== 'RollingUpdate') return
  const limits = objectMember(strategy, 'rollingUpdate')
  const [unavailable, surge] = [memberOf(limits, 'maxUnavailable'), memberOf(limits, 'maxSurge')]
  for (const [name, value] of [
    ['maxUnavailable', unavailable],
    ['maxSurge', surge],
  ] as const) {
    checkIntOrPercent(value, `${at}.${name}`, found)
    checkWithinAll(value, `${at}.${name}`, found)
  }
  if (isNone(unavailable) && isNone(surge))
    found.add(required(`${at}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'))
  if (!isNone(unavailable) && !isNone(surge))
    found.add(
      invalid(`${at}.maxSurge`, surge, 'may not be set when maxUnavailable is non-zero', goIntOrString),
    )
}
