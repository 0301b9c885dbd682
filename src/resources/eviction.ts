import { objectMember } from '../api/json.ts'
import { maybe, struct } from '../api/schema/build.ts'
import { deleteOptionsSchema } from '../api/schema/shared.ts'
import type { OperationSubresource } from '../registry/kinds/definition.ts'
import { chargeBudget } from './policies/eviction-budget.ts'

/**
 * `pods/eviction`: a deletion that a disruption budget may refuse. The command that deletes also
 * charges the budget, so concurrent evictions never exceed it.
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
  jointChange: chargeBudget,
  operation: (body) => ({ kind: 'delete', options: objectMember(body, 'deleteOptions') }),
}
