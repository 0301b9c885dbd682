import { checkDns1123Subdomain } from '../../api/metadata/name-rules.ts'
import { equalJson } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import type { Column, ResourceDefinition, ResourceHooks } from '../../registry/kinds/definition.ts'
import { statusApart } from '../common/status-apart.ts'
import { statusWithoutMetadata } from '../common/status-subresource.ts'

/** The parts in which the two kinds of flow control differ. */
export type FlowKind = {
  readonly kind: string
  readonly schema: ObjectSchema
  readonly columns: readonly Column[]
  readonly validate: NonNullable<ResourceHooks['validate']>
}

const NOT_ENFORCED =
  'stored but not enforced by this release: requests are limited per member and per user, ' +
  'without priority levels'

/** Returns a kind of flow control in the version that is stored. */
export function flowDefinition(names: Names, of: FlowKind): ResourceDefinition {
  const { kind, schema, columns, validate } = of
  return Object.freeze({
    group: names.group('flowcontrol.apiserver'),
    version: 'v1beta2',
    kind,
    plural: `${kind.toLowerCase()}s`,
    singular: kind.toLowerCase(),
    shortNames: [],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    tracksGeneration: true,
    columns,
    hooks: {
      ...statusApart(schema),
      validate,
      warnings: (object, current) =>
        current !== null && equalJson(object['spec'], current['spec']) ? [] : [NOT_ENFORCED],
    },
    subresources: [statusWithoutMetadata()],
  } satisfies ResourceDefinition)
}

/** Returns the version for older clients; stored as `v1beta2`, which has the same shape. */
export function flowV1beta1Definition(newer: ResourceDefinition): ResourceDefinition {
  const { group, version, kind } = newer
  return Object.freeze({
    ...newer,
    version: 'v1beta1',
    storedAs: { name: version },
    deprecated: { since: '1.23', removed: '1.26', replacement: { group, version, kind } },
  } satisfies ResourceDefinition)
}
