import type { GroupResource } from '../../api/errors/standard-errors.ts'
import type { CompiledSchema } from '../../api/custom/structural-schema.ts'
import type { Findings } from '../../api/errors/findings.ts'
import type { JsonObject } from '../../api/json.ts'
import type { ApiObject, UserInfo } from '../../api/metadata/object.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { DefinitionBasis } from './definition-basis.ts'
import type { MembershipChange } from '../shared/membership-changes.ts'
import type { AccessReviewer } from './access-reviewer.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

/** An object of some kind: what all share is typed, the rest is JSON. */
export type AnyObject = ApiObject & JsonObject

/**
 * All that generic verbs, discovery, OpenAPI and tables need to know of a kind: one frozen value in
 * one file under `src/resources`. What a hook does not state, the generic verb decides. Hooks are
 * pure.
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
  /**
   * How its objects are decoded and validated. Unset: as `schema` says. Set: that tells their
   * shape, and no rules.
   */
  readonly structural?: CompiledSchema
  /** Whether an object's name follows the rule; messages as upstream. */
  readonly validateName: (name: string) => readonly string[]
  /** Finalizers need no prefix, as upstream has it for this kind. */
  readonly allowsUnqualifiedFinalizers?: true
  /** Deleting answers with the object instead of a `Status`. */
  readonly deleteReturnsObject: boolean
  /** A PUT to a missing object creates it in every domain, as upstream for this kind. */
  readonly putCreates?: true
  /** A PUT says which version it replaces, as upstream has it for this kind. */
  readonly updateNeedsVersion?: true
  /**
   * `metadata.generation` counts changes outside metadata and status; `status-too`: outside
   * metadata.
   */
  readonly tracksGeneration?: true | 'status-too'
  /** Its objects are namespaces: one goes only when nothing is left in it. */
  readonly isNamespaceKind?: true
  /**
   * What field selectors may name besides name and namespace: dotted paths of string members, or
   * made of them.
   */
  readonly selectableFields?: readonly (string | SelectableField)[]
  /**
   * Its objects are stored in another version, which is declared too; for custom kinds also: in
   * this one, but perhaps under a schema that was another then. Unset: as they are.
   */
  readonly storedAs?: StoredVersion
  /** Still served, but clients should turn to another version. */
  readonly deprecated?: Deprecation
  /** Before the cluster decides by these rules there can be no such objects. */
  readonly sinceFeatureLevel?: number
  /** Of its tables. Unset: name and time of creation. */
  readonly columns?: readonly Column[]
  readonly hooks: ResourceHooks
  /**
   * Its objects ask something and are not stored: a create is answered with what this makes of it.
   */
  readonly review?: (object: AnyObject, asking: ReviewContext) => AnyObject | Promise<AnyObject>
  /**
   * Its objects are not stored: a create is one of that subresource of the object whose name they
   * have.
   */
  readonly aliasOfSubresource?: { readonly plural: string; readonly subresource: string }
  readonly subresources: readonly SubresourceDefinition[]
  /**
   * Other versions of it that are served but told of nowhere, for clients with names built into
   * them. Switched on and off with it.
   */
  readonly aliases?: readonly ResourceDefinition[]
  /** Unset: the kind is the program's own. */
  readonly custom?: CustomOrigin
}

/** A kind that an object in the store defines. */
export type CustomOrigin = {
  /** Of that object: when it is deleted and made again, that is another kind. */
  readonly uid: string
  /** What its writes go by. Unset: nothing in this store defines it. */
  readonly basis?: DefinitionBasis
  /** What lists of it say they are. */
  readonly listKind: string
  /**
   * The whole schema, apiVersion, kind and metadata included, as OpenAPI 3.0 says it; null: there
   * is none.
   */
  readonly published: JsonObject | null
}

/** What a list of objects says it is. */
export function listKindOf({ kind, custom }: Pick<ResourceDefinition, 'kind' | 'custom'>): string {
  return custom?.listKind ?? `${kind}List`
}

/** Who asks for a review, where, and who knows the answer. */
export type ReviewContext = {
  readonly user: UserInfo
  /** null: of a cluster-scoped kind. */
  readonly namespace: string | null
  readonly reviewers: AccessReviewer
}

/** What a field selector compares where no member says it. */
export type SelectableField = {
  readonly name: string
  /** Pure. What it is given was stored, so its schema holds. */
  readonly textOf: (object: AnyObject) => string
}

/** Of the same kind and plural. @source spec 9.5 items 2 and 4b */
export type StoredVersion = {
  /** Such as `v1`. */
  readonly name: string
  /**
   * A webhook converts objects between versions. It is not called yet: other versions than this one
   * are refused, and an object that was stored in another version is not shown.
   */
  readonly byWebhook?: true
  /** As in `ResourceDefinition`; unset: the same. */
  readonly group?: string
  /**
   * Pure, the one undoing the other, so that nothing is lost on the way through either version;
   * custom kinds lose what the other version's schema lacks. Metadata stays as it is, and
   * apiVersion is not theirs. Unset: the two versions have one shape.
   */
  readonly conversion?: {
    readonly toStored: (object: AnyObject) => AnyObject
    /** The very object it is given where nothing changes: then its bytes are shown as they are. */
    readonly fromStored: (object: AnyObject) => AnyObject
  }
}

/** @source spec 6.2, 9.5, 9.6 */
export type Deprecation =
  | {
      /** Releases of the API, such as `1.24`. */
      readonly since: string
      readonly removed: string
      readonly replacement: { readonly group: string; readonly version: string; readonly kind: string }
    }
  /** Of custom kinds: what clients are told; nobody knows when they go. */
  | { readonly words: string; readonly removed: '' }

/** One column of a kind's tables, on every path: get, list and watch. */
export type Column = {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  /** `name`: what the object is called. Custom kinds may say others. */
  readonly format?: string
  readonly description: string
  /** Above 0: only where a client shows all there is. Unset: 0. */
  readonly priority?: number
  /** Pure. What it is given was stored, so its schema holds. */
  readonly cell: (object: AnyObject) => Cell
}

/**
 * `since` is shown as how long ago that was, at the moment somebody reads it, between the words
 * before and after; null: nobody knows.
 */
export type Cell = string | number | bigint | boolean | null | AgeCell
type AgeCell = { readonly since: string | null; readonly before?: string; readonly after?: string }

/** Who writes, and when: for kinds whose objects say so. */
export type WriteContext = {
  readonly user: UserInfo
  /** RFC 3339, whole seconds. */
  readonly time: string
}

export type ResourceHooks = {
  /**
   * Defaults that follow from other members, behind those of the schema. What has them is not
   * changed.
   */
  readonly fillDefaults?: (object: AnyObject) => AnyObject
  /**
   * Sets what the server owns: clears status on create, keeps it on update, merges write-only
   * input.
   */
  readonly prepareForCreate?: (object: AnyObject, writing: WriteContext) => AnyObject
  readonly prepareForUpdate?: (object: AnyObject, current: AnyObject, writing: WriteContext) => AnyObject
  /**
   * Seconds that an object gets to end in good order when it is deleted; 0: it goes at once, as
   * without this.
   *
   * @param asked by whoever deletes; null: what the object itself says
   */
  readonly gracePeriodSeconds?: (object: AnyObject, asked: number | null) => number
  /** What else changes when `deletionTimestamp` is set. */
  readonly prepareForDelete?: (object: AnyObject) => AnyObject
  readonly validate?: (object: AnyObject, found: Findings) => void
  /** What only a new object must not say. */
  readonly validateNew?: (object: AnyObject, found: Findings) => void
  readonly validateUpdate?: (object: AnyObject, current: AnyObject, found: Findings) => void
  /**
   * What to tell who writes a valid object; made one by one as they are taken. @param current null:
   * it is new
   */
  readonly warnings?: (object: AnyObject, current: AnyObject | null) => Iterable<string>
  /** Of a new object, among all others. Only for cluster-scoped kinds of which there are few. */
  readonly validateAmong?: (object: AnyObject, others: readonly AnyObject[], found: Findings) => void
  /**
   * For kinds whose objects only show what is decided elsewhere: what has to be asked for there
   * before `current` can be `object`, or be deleted (null). What is shown then is for that other
   * place to write.
   */
  readonly membershipChanges?: (object: AnyObject | null, current: AnyObject) => readonly MembershipChange[]
  /** Where other objects lie that go before it: it is removed only when nothing is left there. */
  readonly contains?: (object: AnyObject) => readonly { readonly group: string; readonly plural: string }[]
  /** Something besides `metadata.finalizers` keeps an object that is being deleted. */
  readonly blocksDeletion?: (object: AnyObject) => boolean
}

/** A path under an object. */
export type SubresourceDefinition = PartSubresource | ViewSubresource | OperationSubresource

/** Reads or writes part of the object (`status`, `finalize`). */
export type PartSubresource = {
  readonly name: string
  readonly verbs: readonly PartVerb[]
  readonly body?: undefined
  readonly view?: undefined
  /** What of the sent object counts; the rest stays as it is. */
  readonly prepareForUpdate: (object: AnyObject, current: AnyObject, writing: WriteContext) => AnyObject
  readonly validateUpdate?: (object: AnyObject, current: AnyObject, found: Findings) => void
}

export type PartVerb = 'get' | 'update' | 'patch'

/**
 * Shows part of the object as one of another kind, and takes that back (`scale`). Those are not
 * stored.
 */
export type ViewSubresource = {
  readonly name: string
  readonly verbs: readonly PartVerb[]
  readonly body: BodyKind
  readonly view: ObjectView
  readonly operation?: undefined
}

/** Pure; all throw `ApiError` where the object cannot be shown like this. */
export type ObjectView = {
  readonly show: (object: AnyObject) => AnyObject
  /** What a patch is applied to: also of an object that does not say yet what it is to say then. */
  readonly patched: (object: AnyObject) => AnyObject
  /**
   * The object with what was said in the other shape; its metadata is not the view's. @param said
   * of the schema, and valid
   */
  readonly change: (said: AnyObject, current: AnyObject) => AnyObject
}

/**
 * Has something done to the object (`eviction`). What it is sent is of another kind, and not
 * stored. @source spec 1.4
 */
export type OperationSubresource = {
  readonly name: string
  readonly verbs: readonly ['create']
  readonly body: BodyKind
  readonly view?: undefined
  /** What is to be done for a body of that name. Pure. */
  readonly operation: (body: AnyObject) => ObjectOperation
}

/** A kind of which objects are only sent. */
export type BodyKind = Pick<ResourceDefinition, 'group' | 'version' | 'kind' | 'schema'> & {
  /** Other versions of one shape with it, which a body may say as well. */
  readonly otherVersions?: readonly string[]
}

export type ObjectOperation =
  /** @param options of the shape `DeleteOptions` */
  | { readonly kind: 'delete'; readonly options: JsonObject }
  /**
   * A uid and a version that the body says are those the object must have. @param change throws
   * `ApiError` to refuse
   */
  | { readonly kind: 'change'; readonly change: (current: AnyObject, writing: WriteContext) => AnyObject }

/** Whether there are objects of it in the store. */
export function isStored({ review, aliasOfSubresource }: ResourceDefinition): boolean {
  return review === undefined && aliasOfSubresource === undefined
}

/** A kind as one domain names it. */
export type DefinitionFor = (names: Names) => ResourceDefinition

/** `v1`, `storage.orch.io/v1`. */
export function apiVersionOf({ group, version }: Pick<ResourceDefinition, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}

/** Group and version in which objects of a kind are stored. */
export function storedTypeOf({
  group,
  version,
  storedAs,
}: ResourceDefinition): Pick<ResourceDefinition, 'group' | 'version'> {
  return { group: storedAs?.group ?? group, version: storedAs?.name ?? version }
}

/**
 * Where objects of a kind lie: the same for all versions that share them, whatever their groups.
 */
export function placeOf(definition: ResourceDefinition): { readonly group: string; readonly plural: string } {
  return { group: storedTypeOf(definition).group, plural: definition.plural }
}

/** As the constructors of `api-errors.ts` want it. */
export function resourceOf(definition: ResourceDefinition): GroupResource {
  return { group: definition.group, resource: definition.plural }
}
