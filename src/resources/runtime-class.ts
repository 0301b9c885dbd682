import type { Findings } from '../api/errors/findings.ts'
import { duplicate, invalid, keyPath } from '../api/errors/field-error.ts'
import { numberMember, objectMember, objectsMember, textMember } from '../api/json.ts'
import {
  checkDns1123Label,
  checkDns1123Subdomain,
  checkLabelValue,
  checkQualifiedName,
} from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { listOf, maybe, quantities, struct, text, textMap } from '../api/schema/build.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkImmutable } from './common/immutable.ts'
import { textColumn } from './common/text-column.ts'
import { checkAmounts } from './containers/container-resources.ts'
import { tolerationSchema } from './pods/toleration.ts'

/** A configuration of the container runtime that Pods can select. */
export function runtimeClassDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('node'),
    version: 'v1',
    kind: 'RuntimeClass',
    plural: 'runtimeclasses',
    singular: 'runtimeclass',
    shortNames: [],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: runtimeClassSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    putCreates: true,
    updateNeedsVersion: true,
    columns: [
      nameColumn,
      textColumn('Handler', 'Configuration of the container runtime.', (object) =>
        textMember(object, 'handler'),
      ),
      ageColumn,
    ],
    hooks: { validate, validateUpdate: checkUpdate },
    subresources: [],
  } satisfies ResourceDefinition)
}

/** The version for older clients; stored as `v1`, which has the same shape. */
export function runtimeClassV1beta1Definition(names: Names): ResourceDefinition {
  const stable = runtimeClassDefinition(names)
  const { group, version, kind } = stable
  return Object.freeze({
    ...stable,
    version: 'v1beta1',
    storedAs: { name: version },
    deprecated: { since: '1.22', removed: '1.25', replacement: { group, version, kind } },
  } satisfies ResourceDefinition)
}

const overheadSchema = struct('node.v1.Overhead', 'Resources that Pods of the class need in addition.', {
  podFixed: quantities(1, 'Fixed amounts for each Pod, by resource.'),
})

const schedulingSchema = struct('node.v1.Scheduling', 'Nodes that support the class.', {
  nodeSelector: textMap(1, 'Labels of those nodes; merged into the selector of Pods.', {
    mapType: 'atomic',
  }),
  tolerations: listOf(2, tolerationSchema, 'Tolerations that are added to those of Pods.', {
    listType: 'atomic',
  }),
})

const runtimeClassSchema = struct('node.v1.RuntimeClass', 'A configuration of the container runtime.', {
  handler: text(2, 'Name of the configuration, as the node knows it. Immutable.', {
    required: true,
    rule: checkDns1123Label,
  }),
  overhead: maybe(3, overheadSchema, 'Resources that Pods of the class need in addition.'),
  scheduling: maybe(4, schedulingSchema, 'Nodes that support the class; all nodes when unset.'),
})

/** @source upstream `pkg/apis/node/validation` */
function validate(object: AnyObject, found: Findings): void {
  checkAmounts(objectMember(objectMember(object, 'overhead'), 'podFixed'), 'overhead.podFixed', found)
  const scheduling = objectMember(object, 'scheduling')
  const selector = objectMember(scheduling, 'nodeSelector')
  for (const key of Object.keys(selector)) {
    const field = keyPath('scheduling.nodeSelector', key)
    for (const words of checkQualifiedName(key)) found.add(invalid(field, key, words))
    const value = textMember(selector, key)
    for (const words of checkLabelValue(value)) found.add(invalid(field, value, words))
  }
  const seen = new Set<string>()
  for (const [index, toleration] of objectsMember(scheduling, 'tolerations').entries()) {
    const names = ['key', 'operator', 'value', 'effect'] as const
    const seconds = numberMember(toleration, 'tolerationSeconds')
    const text = JSON.stringify([...names.map((name) => textMember(toleration, name)), seconds])
    if (seen.has(text)) found.add(duplicate(`scheduling.tolerations[${index}]`, toleration))
    seen.add(text)
  }
}

function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  checkImmutable(runtimeClassSchema, null, { value: object, before: current }, ['handler'], found)
}
