import { objectMember } from '../api/json.ts'
import { maybe, struct } from '../api/schema/build.ts'
import { deleteOptionsSchema } from '../api/schema/shared.ts'
import type { OperationSubresource } from '../registry/kinds/definition.ts'

/**
 * `pods/eviction`: a deletion that may be refused to keep enough Pods of a kind running. Budgets
 * that say how many are enough do not exist yet, so it is refused for what a deletion is refused
 * for. They will be asked where the operation is planned, and what they allow counted down by the
 * command that deletes.
 *
 * @source spec 1.4; core `pkg/registry/core/pod/storage/eviction.go`
 */
export const eviction: OperationSubresource = {
  name: 'eviction',
  verbs: ['create'],
  body: {
    ...{ group: 'policy', version: 'v1', kind: 'Eviction', otherVersions: ['v1beta1'] },
    schema: struct('policy.v1.Eviction', 'Evicts a Pod if enough replicas remain available.', {
      deleteOptions: maybe(2, deleteOptionsSchema, 'Options of the deletion.'),
    }),
  },
  operation: (body) => ({ kind: 'delete', options: objectMember(body, 'deleteOptions') }),
}
