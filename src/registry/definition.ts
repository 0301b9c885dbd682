import type { ApiErrorCause } from '../api/api-error.ts'
import type { JsonObject } from '../api/json.ts'
import type { ApiObject } from '../api/object.ts'
import type { ObjectSchema } from '../api/schema/schema.ts'
import type { Names } from '../api/names.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

/**
 * All that generic verbs, discovery, OpenAPI and tables need to know of a kind: one frozen value in one
 * file under `src/resources`. What a hook does not state, the generic verb decides. Hooks are pure.
 */
export type ResourceDefinition = {
  /** Empty: the core group. Already in the cluster's domain. */
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly scope: 'Namespaced' | 'Cluster'
  readonly verbs: readonly Verb[]
  /** The whole object without apiVersion, kind and metadata, which all kinds share. */
  readonly schema: ObjectSchema
  /** Whether an object's name follows the rule; messages as upstream. */
  readonly validateName: (name: string) => readonly string[]
  /** Deleting answers with the object instead of a `Status`. */
  readonly deleteReturnsObject: boolean
  readonly hooks: ResourceHooks
  readonly subresources: readonly SubresourceDefinition[]
}

export type ResourceHooks = {
  /** Sets what the server owns: clears status on create, keeps it on update, merges write-only input. */
  readonly prepareForCreate?: (object: ApiObject & JsonObject) => ApiObject & JsonObject
  readonly prepareForUpdate?: (
    object: ApiObject & JsonObject,
    current: ApiObject & JsonObject,
  ) => ApiObject & JsonObject
  readonly validate?: (object: ApiObject & JsonObject) => readonly ApiErrorCause[]
  readonly validateUpdate?: (
    object: ApiObject & JsonObject,
    current: ApiObject & JsonObject,
  ) => readonly ApiErrorCause[]
}

/** A path under an object that reads or writes part of it (`status`, `finalize`). */
export type SubresourceDefinition = {
  readonly name: string
  readonly verbs: readonly ('get' | 'update' | 'patch')[]
  /** What of the sent object counts; the rest stays as it is. */
  readonly prepareForUpdate: (
    object: ApiObject & JsonObject,
    current: ApiObject & JsonObject,
  ) => ApiObject & JsonObject
  readonly validateUpdate?: (
    object: ApiObject & JsonObject,
    current: ApiObject & JsonObject,
  ) => readonly ApiErrorCause[]
}

/** A kind as one domain names it. */
export type DefinitionFor = (names: Names) => ResourceDefinition
