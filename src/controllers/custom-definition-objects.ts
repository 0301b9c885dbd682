import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import type { DefinitionSummary } from './custom-definition-summary.ts'

/**
 * Returns a kind for deleting the objects of a definition and for changing their metadata, whatever
 * API version they are stored in, whether it is served, and whatever the schemas are.
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
    ...{ shortNames: [], categories: [], subresources: [] },
    hooks: { prepareForUpdate: withMetadata },
    verbs: ['get', 'list', 'update', 'delete', 'deletecollection'],
    allowsUnqualifiedFinalizers: true,
    schema: { type: 'object', properties: {} },
    validateName: () => [],
    deleteReturnsObject: false,
  }
}

/** Keeps all but the metadata as stored, such as the API version, and also the generation. */
function withMetadata({ metadata }: AnyObject, current: AnyObject): AnyObject {
  const { generation } = current.metadata
  return { ...current, metadata: { ...metadata, ...(generation === undefined ? {} : { generation }) } }
}
