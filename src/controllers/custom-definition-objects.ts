import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import type { DefinitionSummary } from './custom-definition-summary.ts'

/**
 * Returns a kind for deleting the objects of a definition: in whatever versions they are, served or
 * not, and whatever its schemas are.
 */
export function objectsOf({
  group,
  scope,
  requested,
  storageVersion,
}: DefinitionSummary): ResourceDefinition {
  return {
    ...{ group, scope, kind: requested.kind, plural: requested.plural, singular: requested.singular },
    version: storageVersion,
    ...{ shortNames: [], categories: [], subresources: [], hooks: {} },
    verbs: ['list', 'delete', 'deletecollection'],
    schema: { type: 'object', properties: {} },
    validateName: () => [],
    deleteReturnsObject: false,
  }
}
