import type { ObjectSchema } from '../../api/schema/schema.ts'
import { validateSchema } from '../../api/schema/validate.ts'
import type { ResourceDefinition, StoredVersion } from '../../registry/kinds/definition.ts'
import { hooksThroughStorage } from '../common/through-storage.ts'
import { autoscalerColumns } from './autoscaler-columns.ts'

export type OlderVersion = {
  readonly version: string
  readonly schema: ObjectSchema
  readonly conversion: Required<StoredVersion>['conversion']
  /** Rules for the converted object, in addition to those of `schema`. */
  readonly rules: ObjectSchema
}

/** Returns a version of the autoscaler that has the members of the stored one in other places. */
export function olderAutoscaler(
  stored: ResourceDefinition,
  { version, schema, conversion, rules }: OlderVersion,
): ResourceDefinition {
  return Object.freeze({
    ...stored,
    ...{ version, schema },
    storedAs: { name: stored.version, conversion },
    columns: autoscalerColumns.map((column) => ({
      ...column,
      cell: (object) => column.cell(conversion.toStored(object)),
    })),
    hooks: {
      ...hooksThroughStorage(stored, conversion),
      validate: (object, found) => {
        validateSchema(rules, conversion.toStored(object), found)
      },
    },
    subresources: stored.subresources.map((subresource) =>
      'prepareForUpdate' in subresource
        ? {
            ...subresource,
            prepareForUpdate: (object, current, writing) => {
              const [sent, before] = [conversion.toStored(object), conversion.toStored(current)]
              return conversion.fromStored(subresource.prepareForUpdate(sent, before, writing))
            },
          }
        : subresource,
    ),
  } satisfies ResourceDefinition)
}
