import type { GroupResource } from '../../api/errors/standard-errors.ts'
import type { CompiledSchema } from '../../api/custom/structural-schema.ts'
import type { Findings } from '../../api/errors/findings.ts'
import type { JsonObject } from '../../api/json.ts'
import type { ApiObject, UserInfo } from '../../api/metadata/object.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { Key } from '../../store/key.ts'
import type { MembershipChange } from '../shared/membership-changes.ts'
import type { AccessReviewer } from './access-reviewer.ts'
import type { ClaimRules } from './claim-rules.ts'
import type { ComponentHealth } from './component-health.ts'
import type { ConversionWebhook } from './conversion-webhook.ts'
import type { Deprecation } from './deprecation.ts'
import type { JointChange, JointContext } from './joint-change.ts'
import type { TokenIssuer } from './token-issuer.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

/** An object of any kind: the common members are typed, the rest is JSON. */
export type AnyObject = ApiObject & JsonObject

/**
 * Describes a kind to generic verbs, discovery, OpenAPI and tables. Built-in kinds are declared in
 * `src/resources`. Without a hook the generic behaviour applies. Hooks are pure.
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
  /** Schema without apiVersion, kind and metadata, which all kinds share. */
  readonly schema: ObjectSchema
  /**
   * Schema that decodes and validates objects. Unset: `schema` does. Set: `schema` only describes
   * the shape.
   */
  readonly structural?: CompiledSchema
  /** Returns violations of the rule for names; messages as upstream. */
  readonly validateName: (name: string) => readonly string[]
  /** Finalizers need no prefix, as upstream for this kind. */
  readonly allowsUnqualifiedFinalizers?: true
  /** A deletion returns the object instead of a `Status`. */
  readonly deleteReturnsObject: boolean
  /**
   * Policy for the dependents if a deletion names none, as upstream for this kind. Unset: they are
   * deleted in the background.
   */
  readonly defaultPropagation?: { readonly policy: 'Orphan'; readonly warning?: string }
  /** A PUT to a missing object creates it in every domain, as upstream for this kind. */
  readonly putCreates?: true
  /** A PUT must name the version it replaces, as upstream for this kind. */
  readonly updateNeedsVersion?: true
  /**
   * `metadata.generation` counts changes outside metadata and status; `status-too`: outside
   * metadata; `labels-too`: also those of the labels; `on-create`: no changes.
   */
  readonly tracksGeneration?: true | 'status-too' | 'labels-too' | 'on-create'
  /** Its objects are namespaces: one is removed only when it is empty. */
  readonly isNamespaceKind?: true
  /**
   * Fields for field selectors besides name and namespace: dotted paths of string or boolean
   * members, or computed values.
   */
  readonly selectableFields?: readonly (string | SelectableField)[]
  /**
   * The storage version if it is another one, which is declared too. For custom kinds also this
   * version, if objects may have been stored under an older schema. Unset: this version.
   */
  readonly storedAs?: StoredVersion
  /** Deprecated: still served, but clients should not use it any longer. */
  readonly deprecated?: Deprecation
  /** Feature level below which the cluster cannot have such objects. */
  readonly sinceFeatureLevel?: number
  /** Columns of tables. Unset: name and creation time. */
  readonly columns?: readonly Column[]
  readonly hooks: ResourceHooks
  /** Evaluates an object that is not stored: the response to a create is the result. */
  readonly review?: (object: AnyObject, asking: ReviewContext) => AnyObject | Promise<AnyObject>
  /**
   * Its objects are not stored: a read returns what this member observes. They have a name, and no
   * uid or version. Only for cluster-scoped kinds with few objects and without writes and watches.
   */
  readonly observe?: (components: readonly ComponentHealth[]) => readonly AnyObject[]
  /**
   * Its objects are not stored: a create is a create of that subresource, on the object of the same
   * name.
   */
  readonly aliasOfSubresource?: { readonly plural: string; readonly subresource: string }
  readonly subresources: readonly SubresourceDefinition[]
  /**
   * Versions that are served but not listed in discovery, for clients with hard-coded names.
   * Enabled together with this one.
   */
  readonly aliases?: readonly ResourceDefinition[]
  /** Unset: a built-in kind. */
  readonly custom?: CustomOrigin
}

/** The stored object that defines a custom kind, and its generation. */
export type DefinitionBasis = {
  readonly key: Key
  readonly uid: string
  readonly generation: number
}

/** Origin of a kind that a stored object defines. */
export type CustomOrigin = {
  /** uid of the definition: one that is deleted and created again defines another kind. */
  readonly uid: string
  /** The definition that writes depend on. Unset: no object in this store defines the kind. */
  readonly basis?: DefinitionBasis
  /** The `kind` of lists. */
  readonly listKind: string
  /**
   * The whole schema, including apiVersion, kind and metadata, as OpenAPI 3.0; null: none is
   * published.
   */
  readonly published: JsonObject | null
}

/** Returns the `kind` of lists. */
export function listKindOf({ kind, custom }: Pick<ResourceDefinition, 'kind' | 'custom'>): string {
  return custom?.listKind ?? `${kind}List`
}

/** User, namespace and evaluator of a review. */
export type ReviewContext = {
  readonly user: UserInfo
  /** null: cluster-scoped kind. */
  readonly namespace: string | null
  readonly reviewers: AccessReviewer
}

/** A computed value for field selectors. */
export type SelectableField = {
  readonly name: string
  /** Pure. Its argument was stored, so it conforms to the schema. */
  readonly textOf: (object: AnyObject) => string
}

/** The storage version; has the same kind and plural. @source spec 9.5 items 2 and 4b */
export type StoredVersion = {
  /** Such as `v1`. */
  readonly name: string
  /**
   * A webhook converts objects between versions. `conversion` then only shapes them: `fromStored`
   * by the schema of the version that they have, `toStored` by that of the storage version. Unset:
   * `conversion` converts them.
   */
  readonly webhook?: WebhookConversion
  /** As in `ResourceDefinition`; unset: the same. */
  readonly group?: string
  /**
   * Pure inverse functions, so that converting in both directions loses nothing; for custom kinds,
   * fields that the other schema lacks are lost. Of the metadata only annotations may be converted;
   * apiVersion is not. Unset: the versions have the same shape.
   */
  readonly conversion?: {
    readonly toStored: (object: AnyObject) => AnyObject
    /** Returns its argument if nothing changes: the stored bytes are then sent as they are. */
    readonly fromStored: (object: AnyObject) => AnyObject
  }
}

/** Conversion of the objects of a custom kind by a webhook. */
export type WebhookConversion = {
  readonly target: ConversionWebhook
  /** Shapes an object that the webhook converted, by the schema of the requested version. Pure. */
  readonly toRequested: (object: AnyObject) => AnyObject
}

/** One column of a kind's tables, for get, list and watch. */
export type Column = {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date'
  /** `name`: the name of the object. Custom kinds may have other formats. */
  readonly format?: string
  readonly description: string
  /** Above 0: shown by wide output only. Unset: 0. */
  readonly priority?: number
  /** Pure. Its argument was stored, so it conforms to the schema. */
  readonly cell: (object: AnyObject) => Cell
}

/**
 * `since` is shown as an age at the time of reading, between the texts before and after; null:
 * unknown.
 */
export type Cell = string | number | bigint | boolean | null | AgeCell
type AgeCell = { readonly since: string | null; readonly before?: string; readonly after?: string }

/** User and time of a write, for kinds whose objects record them. */
export type WriteContext = {
  readonly user: UserInfo
  /** RFC 3339, whole seconds. */
  readonly time: string
}

export type ResourceHooks = {
  /**
   * Merges write-only members into stored members when a body is read, so that the owners of
   * fields, admission and webhooks see only stored members. Also called for a merge patch and for
   * the part of an object that is applied.
   */
  readonly mergeWriteOnly?: (object: JsonObject) => JsonObject
  /**
   * Defaults that depend on other members, after those of the schema. Does not overwrite values.
   */
  readonly fillDefaults?: (object: AnyObject) => AnyObject
  /**
   * Sets the fields that the server owns: clears status on create, keeps it on update.
   */
  readonly prepareForCreate?: (object: AnyObject, writing: WriteContext) => AnyObject
  readonly prepareForUpdate?: (object: AnyObject, current: AnyObject, writing: WriteContext) => AnyObject
  /**
   * Returns the seconds for graceful termination; 0: removed at once, as without this hook.
   *
   * @param requested as requested by the client; null: the default of the object
   */
  readonly gracePeriodSeconds?: (object: AnyObject, requested: number | null) => number
  /** Further changes when `deletionTimestamp` is set. */
  readonly prepareForDelete?: (object: AnyObject) => AnyObject
  readonly validate?: (object: AnyObject, found: Findings) => void
  /** Rules that apply to new objects only. */
  readonly validateNew?: (object: AnyObject, found: Findings) => void
  readonly validateUpdate?: (object: AnyObject, current: AnyObject, found: Findings) => void
  /** Warnings about a valid object, generated lazily. @param current null: the object is new */
  readonly warnings?: (object: AnyObject, current: AnyObject | null) => Iterable<string>
  /** Validates a new object against all others. Only for cluster-scoped kinds with few objects. */
  readonly validateAmong?: (object: AnyObject, others: readonly AnyObject[], found: Findings) => void
  /**
   * For kinds whose objects reflect the membership: the changes to request before `current` can
   * become `object`, or be deleted (null). The membership then updates the objects.
   */
  readonly membershipChanges?: (object: AnyObject | null, current: AnyObject) => readonly MembershipChange[]
  /** Values that no other object may have. Set by full writes, after `prepareFor...`. */
  readonly claims?: ClaimRules
  /** The location of an object of the same name that is removed with the object. */
  readonly removedToo?: { readonly group: string; readonly plural: string }
  /** Locations of dependent objects: the object is removed only when they are empty. */
  readonly contains?: (object: AnyObject) => readonly { readonly group: string; readonly plural: string }[]
  /**
   * Whether something besides `metadata.finalizers` prevents the removal of an object whose
   * deletion is requested or has begun.
   */
  readonly blocksDeletion?: (object: AnyObject) => boolean
}

/** A path below an object. */
export type SubresourceDefinition =
  PartSubresource | ViewSubresource | OperationSubresource | ConnectSubresource

/** Reads or writes part of the object, such as `status`. */
export type PartSubresource = {
  readonly name: string
  readonly verbs: readonly PartVerb[]
  readonly body?: undefined
  readonly view?: undefined
  /**
   * Returns the current object with the parts of the sent object that this subresource may change.
   */
  readonly prepareForUpdate: (object: AnyObject, current: AnyObject, writing: WriteContext) => AnyObject
  readonly validateUpdate?: (object: AnyObject, current: AnyObject, found: Findings) => void
}

export type PartVerb = 'get' | 'update' | 'patch'

/**
 * Reads and writes part of the object as an object of another kind (`scale`), which is not stored.
 */
export type ViewSubresource = {
  readonly name: string
  readonly verbs: readonly PartVerb[]
  readonly body: BodyKind
  readonly view: ObjectView
  readonly operation?: undefined
}

/** Pure; all throw `ApiError` if the object cannot be represented. */
export type ObjectView = {
  readonly show: (object: AnyObject) => AnyObject
  /** Returns the view that a patch is applied to, also if the object lacks the fields it shows. */
  readonly patched: (object: AnyObject) => AnyObject
  /**
   * Returns the object changed by the view; the view's metadata is ignored. @param view valid
   */
  readonly change: (view: AnyObject, current: AnyObject) => AnyObject
  /**
   * Returns the object with those members that an applied view sets. @param place the object with
   * its identity only
   */
  readonly applied: (view: AnyObject, place: AnyObject) => AnyObject
}

/**
 * Runs an operation on the object, such as `eviction`. Its body is of another kind and not stored.
 * @source spec 1.4
 */
export type OperationSubresource = {
  readonly name: string
  readonly verbs: readonly ['create']
  readonly body: BodyKind
  readonly view?: undefined
  /**
   * The response is the completed body, and the body need not name the object. Unset: a `Status`.
   */
  readonly returnsBody?: true
  /** Returns the operation that a valid body requests. Pure. */
  readonly operation: (body: AnyObject) => ObjectOperation
  /**
   * For a deletion: decides on current memory which other object the same command changes. Pure.
   * @throws ApiError to refuse
   */
  readonly jointChange?: (context: JointContext) => Promise<JointChange>
}

/** A path that connects the caller to another server: the agent of a node, a Pod or a Service. */
export type ConnectSubresource = {
  readonly name: string
  readonly verbs: readonly ('get' | 'create' | 'update' | 'patch' | 'delete')[]
  readonly connects: 'log' | 'exec' | 'attach' | 'portforward' | 'proxy'
  /** The kind of its options, which are query parameters; null: it is not admitted. */
  readonly options: BodyKind | null
  /** Describes its query parameters. */
  readonly parameters: ObjectSchema
  readonly body?: undefined
  readonly view?: undefined
}

/** A kind whose objects are request bodies only. */
export type BodyKind = Pick<ResourceDefinition, 'group' | 'version' | 'kind' | 'schema'> & {
  /** Other versions with the same shape, which a body may name too. */
  readonly otherVersions?: readonly string[]
  /** The columns of a table of it; unset: the default ones. */
  readonly columns?: readonly Column[]
}

export type ObjectOperation =
  /** @param options of the shape `DeleteOptions` */
  | { readonly kind: 'delete'; readonly options: JsonObject }
  /**
   * uid and resourceVersion of the body are preconditions. @param change throws `ApiError` to
   * refuse
   */
  | { readonly kind: 'change'; readonly change: (current: AnyObject, writing: WriteContext) => AnyObject }
  /** Writes nothing and returns the completed body. @param answer throws `ApiError` to refuse */
  | { readonly kind: 'answer'; readonly answer: (context: OperationContext) => Promise<AnyObject> }

/** The inputs of an operation that returns its body. */
export type OperationContext = {
  /** The object of the path. */
  readonly object: AnyObject
  /** Returns an object of the core group in the namespace of the path. @returns null: none */
  readonly find: (plural: string, name: string) => AnyObject | null
  readonly tokens: TokenIssuer
  readonly dryRun: boolean
  /** See `RequestContext`. */
  readonly warn: (text: string) => void
}

/** Whether the store has objects of the kind. */
export function isStored({ review, observe, aliasOfSubresource }: ResourceDefinition): boolean {
  return review === undefined && observe === undefined && aliasOfSubresource === undefined
}

/** A kind with the names of one domain. */
export type DefinitionFor = (names: Names) => ResourceDefinition

/** Returns `v1` or `storage.orch.io/v1`, for example. */
export function apiVersionOf({ group, version }: Pick<ResourceDefinition, 'group' | 'version'>): string {
  return group === '' ? version : `${group}/${version}`
}

/** Returns the group and version in which objects of a kind are stored. */
export function storedTypeOf({
  group,
  version,
  storedAs,
}: ResourceDefinition): Pick<ResourceDefinition, 'group' | 'version'> {
  return { group: storedAs?.group ?? group, version: storedAs?.name ?? version }
}

/**
 * Returns the location of objects in the store: the same for all versions of a kind, in any group.
 */
export function placeOf(definition: ResourceDefinition): { readonly group: string; readonly plural: string } {
  return { group: storedTypeOf(definition).group, plural: definition.plural }
}

/** Returns the resource for the constructors of `standard-errors.ts`. */
export function resourceOf(definition: ResourceDefinition): GroupResource {
  return { group: definition.group, resource: definition.plural }
}
