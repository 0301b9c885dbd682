import { objectMember } from '../api/json.ts'
import { maybe, struct } from '../api/schema/build.ts'
import { deleteOptionsSchema } from '../api/schema/shared.ts'
import type { OperationSubresource } from '../registry/kinds/definition.ts'

/**
 * `pods/eviction`: a deletion that a disruption budget may refuse. Disruption budgets do not exist
 * yet, so only the rules of a deletion apply. The budget will be checked where the operation is
 * planned, and decremented by the command that deletes.
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
