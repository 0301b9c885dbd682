import type { Findings } from '../errors/findings.ts'
import type { Json, JsonObject } from '../json.ts'
import type { NameRule } from '../metadata/name-rules.ts'
import type { Path } from './path.ts'

/**
 * The type of a value, declared once per kind: validation, defaulting, pruning, strategic merge,
 * OpenAPI, protobuf and apply are derived from it. Plain immutable data and pure functions, so that
 * custom resource definitions can be converted to it at run time. `build.ts` has short functions to
 * declare one.
 */
export type Schema =
  | StringSchema
  | BooleanSchema
  | IntegerSchema
  | NumberSchema
  | ObjectSchema
  | MapSchema
  | ListSchema
  | QuantitySchema
  | IntOrStringSchema
  | AnySchema

type Common = {
  /** In the project's own words; shown by OpenAPI and `kubectl explain`. */
  readonly description?: string
  /**
   * The description of a member whose struct has a shared definition; `description` is that of the
   * definition.
   */
  readonly memberDescription?: string
  /** Used if the member is absent. */
  readonly default?: Json
  /**
   * `false`, `0`, empty text and an empty struct differ from absent. For other members, except
   * lists, maps and bytes, a protobuf message always contains the zero.
   */
  readonly zeroMatters?: true
  /**
   * Written to JSON even if it is the zero of its type or unset: unset lists, maps, times and
   * optional members are `null`.
   */
  readonly always?: true
  /** Empty text, lists and maps count as absent: `FieldValueRequired`. */
  readonly nonEmpty?: true
}

export type StringSchema = Common & {
  readonly type: 'string'
  readonly format?: 'bytes' | 'date-time' | 'micro-time'
  /** Allowed values; others, except the empty one, are `FieldValueNotSupported`. */
  readonly enum?: readonly string[]
  /** Documented values, shown in OpenAPI. Other values are valid too, or are checked elsewhere. */
  readonly known?: readonly string[]
  /** The syntax of every text but the empty one. */
  readonly rule?: NameRule
  /** In bytes of UTF-8. */
  readonly lengthMax?: number
}

export type BooleanSchema = Common & { readonly type: 'boolean' }

export type IntegerSchema = Common & {
  readonly type: 'integer'
  readonly format: 'int32' | 'int64'
  readonly minimum?: number
  readonly maximum?: number
}

export type NumberSchema = Common & { readonly type: 'number' }

/** A struct: named members. */
export type ObjectSchema = Common & {
  readonly type: 'object'
  /**
   * Name in OpenAPI definitions, for schemas that have one: neutral as `core.v1.ConfigMap` or
   * `meta.v1.ObjectMeta`, which `names.definition` converts for the domain. The schema of a kind is
   * named by its group, version and kind.
   */
  readonly definition?: string
  readonly properties: { readonly [name: string]: Schema }
  /** In OpenAPI and in validation: absent is `FieldValueRequired`. */
  readonly required?: readonly string[]
  /** Numbers of the protobuf message, by member. */
  readonly protobuf?: { readonly [name: string]: number }
  /** Structs whose members are inlined in JSON and are messages of their own in protobuf. */
  readonly inline?: readonly InlinePart[]
  /** Checks the relations between members; called for every such struct, after its members. */
  readonly check?: ShapeCheck
  /** The member that a discriminator selects, shown in OpenAPI; `check` enforces it. */
  readonly unions?: readonly UnionShape[]
  /**
   * JSON types that are allowed instead of the struct: a boolean or a list. Such a schema has no
   * protobuf message, and OpenAPI does not describe its members.
   */
  readonly instead?: readonly (BooleanSchema | ListSchema)[]
  /**
   * Members that `properties` lacks are stored as they were sent, with a warning, because later
   * releases of the API have them. Unset: they are dropped.
   */
  readonly keepsUnknown?: true
  /** Server-side apply: the struct is replaced as a whole. */
  readonly mapType?: 'atomic'
  /**
   * Strategic merge patch: the struct is replaced as a whole, or clients list the members to keep.
   */
  readonly patchStrategy?: 'replace' | 'retainKeys'
}

/** @source structured-merge-diff, and the extension `unions` of upstream's OpenAPI */
export type UnionShape = {
  /** The member that selects the union member. */
  readonly discriminator: string
  /** For each union member, the value of the discriminator that selects it. */
  readonly members: { readonly [name: string]: string }
}

/**
 * Its properties are also among those of the struct that contains it. Always written in protobuf.
 */
export type InlinePart = { readonly number: number; readonly schema: ObjectSchema }

/**
 * Pure, and linear in the size of the value.
 *
 * @param value has the types of the schema
 * @param at its path, for `fieldAt`; null: the root
 */
export type ShapeCheck = (value: JsonObject, at: Path | null, found: Findings) => void

export type MapSchema = Common & {
  readonly type: 'map'
  readonly values: Schema
  readonly mapType?: 'atomic'
}

export type ListSchema = Common & {
  readonly type: 'list'
  readonly items: Schema
  /**
   * Server-side apply. Unset: `set` or `map` for a list that strategic merge patches merge, else
   * `atomic`.
   */
  readonly listType?: 'atomic' | 'set' | 'map'
  readonly listMapKeys?: readonly string[]
  /**
   * Strategic merge patch: elements with the same value of this member are merged. Unset for lists
   * of scalars.
   */
  readonly patchMergeKey?: string
  /** With `merge`, elements are merged by `patchMergeKey`, and scalars are united. */
  readonly patchStrategy?: 'merge' | 'replace' | 'retainKeys' | 'merge,retainKeys'
  readonly itemsMax?: number
  /**
   * In protobuf the list is wrapped in a message with the items as field 1; inside of a map or a
   * list it always is.
   */
  readonly inMessage?: true
}

/** `500m`, `1Gi`: a string or a number in JSON. */
export type QuantitySchema = Common & { readonly type: 'quantity' }
export type IntOrStringSchema = Common & { readonly type: 'int-or-string' }
/** Any JSON, kept as it was sent (RawExtension, FieldsV1). */
export type AnySchema = Common & {
  readonly type: 'any'
  /** Server-side apply: the declared part of a value whose other members are kept too. */
  readonly declared?: Schema
  /**
   * As in `ObjectSchema`. OpenAPI describes a definition of this type as any type; other
   * definitions are structs.
   */
  readonly definition?: string
}
