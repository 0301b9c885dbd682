import type { JsonObject } from '../../src/api/json.ts'
import type { ResourceDefinition } from '../../src/registry/kinds/definition.ts'

type Words = Pick<ResourceDefinition, 'group' | 'plural' | 'kind'> &
  Partial<ResourceDefinition> & {
    /** Of the definition that it is made by. */
    readonly uid?: string
    readonly published?: JsonObject
  }

/** A kind as a definition in the store would make it, by hand: what is not said is as small as can be. */
export function customKind({ uid = 'uid-1', published, ...words }: Words): ResourceDefinition {
  return {
    version: 'v1',
    singular: words.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
    schema: { type: 'object', properties: { spec: { type: 'any' } } },
    validateName: () => [],
    deleteReturnsObject: false,
    hooks: {},
    subresources: [],
    custom: { uid, listKind: `${words.kind}List`, published: published ?? null },
    ...words,
  }
}
